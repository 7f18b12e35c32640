"""Answers to lesson 07 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.records import Candidate, MemoryRecord, Source, check_fraction, check_text
from memlab.store import MemoryStore
from solutions.consolidation import consolidate
from solutions.forgetting import Revocation, detach, rests_only_on, tombstone

Answer = Callable[..., Any]
Wrong = list[tuple[Answer, str]]
Statement = tuple[Source, Candidate]


# --- 07-rests-only ----------------------------------------------------------------------------------


def touched(record: MemoryRecord, source_id: str) -> bool:
    return source_id in {source.source_id for source in record.sources}


def as_published(record: MemoryRecord, source_id: str) -> bool:
    return {source.source_id for source in record.sources} == {source_id}


def counts_entries(record: MemoryRecord, source_id: str) -> bool:
    own = record.own_sources()
    return len(own) == 1 and own[0].source_id == source_id


def has_one_source(record: MemoryRecord, source_id: str) -> bool:
    return len({source.source_id for source in record.own_sources()}) == 1


def all_of_nothing(record: MemoryRecord, source_id: str) -> bool:
    return all(source.source_id == source_id for source in record.own_sources())


def with_a_loop(record: MemoryRecord, source_id: str) -> bool:
    found = False
    for source in record.sources:
        if source.inherited:
            continue
        if source.source_id != source_id:
            return False
        found = True
    return found


# --- 07-forget-source -------------------------------------------------------------------------------


def _forget(
    store: MemoryStore,
    source_id: str,
    user_id: str,
    app_name: str = "default",
    *,
    owned: Callable[[], list[MemoryRecord]] | None = None,
    ends: Callable[[MemoryRecord, str], bool] = rests_only_on,
    free: Callable[[list[MemoryRecord]], list[MemoryRecord]] = list,
    remove: bool = True,
    revoke: bool = True,
    purge: bool = True,
    without_app: str = "",
) -> Revocation:
    app = dict.fromkeys(("owned", "revoke", "remove"), app_name) | {without_app: "default"}
    with store.transaction():
        records = owned() if owned else store.owned(user_id, app["owned"])
        erased = [record for record in records if ends(record, source_id)]
        left = [record for record in records if record not in erased]
        changed = detach(source_id, left, free(erased))
        if revoke:
            store.revoke(source_id, user_id, app["revoke"])
        for record in erased:
            if remove:
                store.remove(record.memory_id, user_id, app["remove"])
            else:
                record.sources = []
                tombstone(store, record, "revoked")
        for record in changed:
            store.put(record)
    if purge:
        store.purge()
    return Revocation(
        [record.memory_id for record in erased],
        [record.memory_id for record in changed if record.needs_regeneration],
    )


def naive(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    return _forget(store, source_id, user_id, app_name, ends=touched)


def tombstones(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    return _forget(store, source_id, user_id, app_name, remove=False)


def keeps_the_source(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    owned = store.owned(user_id, app_name)
    gone = [r.memory_id for r in owned if rests_only_on(r, source_id)]
    flagged = [r.memory_id for r in owned if touched(r, source_id) and r.memory_id not in gone]
    for memory_id in gone:
        store.remove(memory_id, user_id, app_name)
    return Revocation(gone, flagged)


def counts_inherited(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    return _forget(store, source_id, user_id, app_name, ends=as_published)


def leaves_the_stone(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    return _forget(store, source_id, user_id, app_name, free=lambda _: [])


def active_only(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    active = [record for record in store.owned(user_id, app_name) if record.active()]
    freed = [r for r in store.owned(user_id, app_name) if r.superseded_by and not touched(r, source_id)]
    replaced = {record.memory_id for record in active if rests_only_on(record, source_id)}
    behind = [r for r in store.owned(user_id, app_name) if r.superseded_by in replaced]
    records = active + behind + [record for record in freed if record not in behind]
    return _forget(store, source_id, user_id, app_name, owned=lambda: records)


def one_session(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    scopes, session = ("user", "session"), source_id
    return _forget(
        store, source_id, user_id, app_name,
        owned=lambda: store.scan(user_id, app_name, scopes, session, include_invalid=True),
    )  # fmt: skip


def everybodys(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    for other, app in (("bo", "default"), (user_id, "bank")):
        for record in store.owned(other, app):
            if rests_only_on(record, source_id):
                store.remove(record.memory_id, other, app)
    return _forget(store, source_id, user_id, app_name)


def without_app(method: str) -> Answer:
    def forget_source(
        store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
    ) -> Revocation:
        return _forget(store, source_id, user_id, app_name, without_app=method)

    return forget_source


def forgets_to_revoke(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    return _forget(store, source_id, user_id, app_name, revoke=False)


def without_a_transaction(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    owned = store.owned(user_id, app_name)
    erased = [record for record in owned if rests_only_on(record, source_id)]
    changed = detach(source_id, [record for record in owned if record not in erased], erased)
    store.revoke(source_id, user_id, app_name)
    for record in erased:
        store.remove(record.memory_id, user_id, app_name)
    for record in changed:
        store.put(record)
    store.purge()
    flagged = [record.memory_id for record in changed if record.needs_regeneration]
    return Revocation([record.memory_id for record in erased], flagged)


def without_a_purge(
    store: MemoryStore, source_id: str, user_id: str, app_name: str = "default"
) -> Revocation:
    return _forget(store, source_id, user_id, app_name, purge=False)


def in_two_lists(store: MemoryStore, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
    erased: list[MemoryRecord] = []
    left: list[MemoryRecord] = []
    with store.transaction():
        for record in store.owned(user_id, app_name):
            (erased if with_a_loop(record, source_id) else left).append(record)
        for record in erased:
            store.remove(record.memory_id, user_id, app_name)
        flagged = []
        for record in detach(source_id, left, erased):
            store.put(record)
            flagged += [record.memory_id] if record.needs_regeneration else []
        store.revoke(source_id, user_id, app_name)
    store.purge()
    return Revocation([record.memory_id for record in erased], flagged)


# --- 07-replay --------------------------------------------------------------------------------------


def _consolidated(
    statements: Iterable[Statement],
    scratch: MemoryStore,
    user_id: str,
    app_name: str,
    beside: Iterable[MemoryRecord] = (),
) -> MemoryStore:
    for record in beside:
        scratch.put(record)
    for source, candidate in statements:
        consolidate(scratch, candidate, source, user_id=user_id, app_name=app_name)
    return scratch


def puts_copies(
    statements: Iterable[Statement], *, user_id: str, app_name: str = "default", **_: Any
) -> list[MemoryRecord]:
    return [
        MemoryRecord(c.content, user_id, app_name, topic=c.topic, confidence=0.65, sources=[source])
        for source, c in statements
    ]


def drops_tombstones(
    statements: Iterable[Statement], *, user_id: str, app_name: str = "default", **_: Any
) -> list[MemoryRecord]:
    return _consolidated(statements, MemoryStore(), user_id, app_name).scan(user_id, app_name)


def backwards(
    statements: Iterable[Statement], *, user_id: str, app_name: str = "default", **_: Any
) -> list[MemoryRecord]:
    return _consolidated([*statements][::-1], MemoryStore(), user_id, app_name).owned(user_id, app_name)


def sorts_by_date(
    statements: Iterable[Statement], *, user_id: str, app_name: str = "default", **_: Any
) -> list[MemoryRecord]:
    ordered = sorted(statements, key=lambda statement: statement[0].at)
    return _consolidated(ordered, MemoryStore(), user_id, app_name).owned(user_id, app_name)


def one_source_for_all(
    statements: Iterable[Statement], *, user_id: str, app_name: str = "default", **_: Any
) -> list[MemoryRecord]:
    said = list(statements)
    same = [(replace(said[0][0]), candidate) for _, candidate in said]
    return _consolidated(same, MemoryStore(), user_id, app_name).owned(user_id, app_name)


def forgets_beside(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    return _consolidated(statements, MemoryStore(embedder=embedder), user_id, app_name).owned(
        user_id, app_name
    )


def in_the_default_app(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    scratch = MemoryStore(embedder=embedder)
    return _consolidated(statements, scratch, user_id, "default", beside).owned(user_id)


def reads_the_default_app(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    scratch = MemoryStore(embedder=embedder)
    return _consolidated(statements, scratch, user_id, app_name, beside).owned(user_id)


def with_its_own_embedder(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    return _consolidated(statements, MemoryStore(), user_id, app_name, beside).owned(user_id, app_name)


def closing_by_hand(
    statements: Iterable[Statement],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    scratch = MemoryStore(embedder=embedder)
    found = _consolidated(statements, scratch, user_id, app_name, beside).scan(
        user_id, app_name, scopes=("user",), include_invalid=True
    )
    scratch.close()
    return found


# --- 07-prune ---------------------------------------------------------------------------------------


def _ended(
    store: MemoryStore,
    records: Iterable[MemoryRecord],
    ends: Callable[[MemoryRecord], bool],
    reason: str,
) -> list[MemoryRecord]:
    ended = [record for record in records if ends(record)]
    for record in ended:
        tombstone(store, record, reason)
    return ended


def _standing(store: MemoryStore, user_id: str, app_name: str) -> list[MemoryRecord]:
    return [record for record in store.owned(user_id, app_name) if record.invalidated_at is None]


def _faded(record: MemoryRecord, floor: float) -> bool:
    return record.importance < 1.0 and record.decayed_confidence() < floor


def stored_confidence(
    store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default"
) -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: r.importance < 1.0 and r.confidence < floor, "pruned")


def keeps_the_old(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: r.decayed_confidence() > floor, "pruned")


def at_the_floor(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: r.decayed_confidence() <= floor, "pruned")


def pins_too(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: r.decayed_confidence() < floor, "pruned")


def deletes(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    faded = [record for record in _standing(store, user_id, app_name) if _faded(record, floor)]
    for record in faded:
        store.remove(record.memory_id, user_id, app_name)
    return faded


def only_tells(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    return [record for record in _standing(store, user_id, app_name) if _faded(record, floor)]


def writes_decay(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    faded = [record for record in _standing(store, user_id, app_name) if _faded(record, floor)]
    for record in faded:
        record.confidence = record.decayed_confidence()
        tombstone(store, record, "pruned")
    return faded


def tombstones_too(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    return _ended(store, store.owned(user_id, app_name), lambda r: _faded(r, floor), "pruned")


def silently(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    return _ended(store, _standing(store, user_id, app_name), lambda r: _faded(r, floor), "ended")


def scans(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    records = store.scan(user_id, app_name, scopes=("user",))
    return _ended(store, records, lambda r: _faded(r, floor), "pruned")


def the_apps_too(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    records = _standing(store, user_id, app_name) + store.scan(user_id, app_name, scopes=("app",))
    return _ended(store, records, lambda r: _faded(r, floor), "pruned")


def any_floor(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    return _ended(store, _standing(store, user_id, app_name), lambda r: _faded(r, floor), "pruned")


def in_a_loop(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    check_fraction("floor", floor)
    gone = []
    for record in store.owned(user_id, app_name):
        if record.invalidated_at is not None or record.importance >= 1.0:
            continue
        if record.decayed_confidence() < floor:
            record.invalidated_at = clock.now()
            record.history.append(f"pruned at {record.decayed_confidence():.2f}")
            store.put(record)
            gone.append(record)
    return gone


# --- 07-expire --------------------------------------------------------------------------------------


def _due(record: MemoryRecord) -> bool:
    return record.expires_at is not None and record.expires_at <= clock.now()


def a_moment_late(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: bool(r.expires_at and r.expires_at < clock.now()), "expired")


def too_early(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: r.expires_at is not None, "expired")


def the_wrong_way(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: bool(r.expires_at and r.expires_at > clock.now()), "expired")


def none_is_zero(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: (r.expires_at or 0.0) <= clock.now(), "expired")


def spares_pins(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: _due(r) and r.importance < 1.0, "expired")


def removes(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    due = [record for record in _standing(store, user_id, app_name) if _due(record)]
    for record in due:
        store.remove(record.memory_id, user_id, app_name)
    return due


def again_and_again(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    return _ended(store, store.owned(user_id, app_name), _due, "expired")


def sessions_left_out(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    records = store.scan(user_id, app_name, scopes=("user",), include_invalid=True)
    return _ended(store, records, lambda r: r.invalidated_at is None and _due(r), "expired")


def by_activity(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    standing = _standing(store, user_id, app_name)
    return _ended(store, standing, lambda r: not r.active(), "expired")


# --- 07-proof ---------------------------------------------------------------------------------------


def file_only(path: str | os.PathLike[str], text: str) -> list[str]:
    return [Path(path).name] if text.encode() in Path(path).read_bytes() else []


def without_journal(path: str | os.PathLike[str], text: str) -> list[str]:
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal")]
    return [file.name for file in files if file.exists() and text.encode() in file.read_bytes()]


def first_only(path: str | os.PathLike[str], text: str) -> list[str]:
    return by_listing(path, text)[:1]


def as_ascii(path: str | os.PathLike[str], text: str) -> list[str]:
    plain = text.encode("ascii", "backslashreplace").decode()
    return by_listing(path, plain)


def every_namesake(path: str | os.PathLike[str], text: str) -> list[str]:
    files = sorted(Path(path).parent.glob(f"{Path(path).name}*"))
    return [file.name for file in files if text.encode() in file.read_bytes()]


def gives_paths(path: str | os.PathLike[str], text: str) -> list[Path]:
    return [Path(path).parent / name for name in by_listing(path, text)]


def any_text(path: str | os.PathLike[str], text: str) -> list[str]:
    return by_listing(path, text) if text else []


def trusts_the_path(path: str | os.PathLike[str], text: str) -> list[str]:
    check_text("text", text)
    folder = Path(path).parent
    names = {f"{Path(path).name}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")}
    return [f.name for f in sorted(folder.iterdir()) if f.name in names and text.encode() in f.read_bytes()]


def by_listing(path: str | os.PathLike[str], text: str) -> list[str]:
    if not text.strip():
        raise ValueError("text is empty; pass what you look for")
    name = Path(path).name
    names = [name, f"{name}-wal", f"{name}-shm", f"{name}-journal"]
    there = {file.name: file.read_bytes() for file in Path(path).parent.iterdir() if file.is_file()}
    if name not in there:
        raise ValueError(f"path={path} is no file; check it")
    return [name for name in names if there.get(name, b"").count(text.encode("utf-8"))]


WRONG: dict[str, Wrong] = {
    "07-rests-only": [
        (touched, "naive deletion"),
        (as_published, "Inherited sources do not count"),
        (counts_entries, "one source: compare ids"),
        (has_one_source, "You counted sources"),
        (all_of_nothing, "of nothing is True"),
    ],
    "07-forget-source": [
        (naive, "You erased a fact that s2 had confirmed"),
        (tombstones, "which keeps every word"),
        (keeps_the_source, "still names s1 and quotes it"),
        (counts_inherited, "fish stays though nobody is left"),
        (leaves_the_stone, "a stone that nobody holds"),
        (active_only, "active memories only"),
        (one_session, "one session at most"),
        (everybodys, "unique within one user's data"),
        (without_app("owned"), "was asked without `app_name`"),
        (without_app("remove"), "reported as erased"),
        (without_app("revoke"), "in the default app, so the next import"),
        (forgets_to_revoke, "still kept, word for word"),
        (without_a_transaction, "The power went out"),
        (without_a_purge, "still stands in the file"),
    ],
    "07-replay": [
        (puts_copies, "Two copies"),
        (drops_tombstones, "left the tombstones out"),
        (backwards, "replayed backwards"),
        (sorts_by_date, "in the order given"),
        (one_source_for_all, "s2 went unheard"),
        (forgets_beside, "goes into the scratch store first"),
        (reads_the_default_app, "You lost `app_name`"),
        (in_the_default_app, "made for another owner"),
        (with_its_own_embedder, "embeds in its own way"),
    ],
    "07-prune": [
        (stored_confidence, "does not change with time"),
        (keeps_the_old, "the wrong way round"),
        (at_the_floor, "*below* the floor"),
        (pins_too, "pins are outside decay"),
        (deletes, "what was pruned and why"),
        (only_tells, "still active in the store"),
        (silently, "does not say that it was pruned"),
        (writes_decay, "decay twice"),
        (tombstones_too, "ended it once more"),
        (scans, "sees no sessions"),
        (the_apps_too, "the whole app reads"),
        (any_floor, "per cent"),
    ],
    "07-expire": [
        (a_moment_late, "first instant"),
        (too_early, "one more second"),
        (the_wrong_way, "the wrong way round"),
        (none_is_zero, "means no end"),
        (spares_pins, "outside the calendar"),
        (removes, "what was expired and why"),
        (again_and_again, "ended it once more"),
        (sessions_left_out, "sees no sessions"),
    ],
    "07-proof": [
        (file_only, "what was written lately"),
        (without_journal, "before the last change"),
        (first_only, "do not stop at the first"),
        (as_ascii, "SQLite stores UTF-8"),
        (every_namesake, "another database"),
        (gives_paths, "names, not paths"),
        (any_text, "stands in every file"),
        (trusts_the_path, "where nothing is"),
    ],
}

RIGHT: dict[str, list[Answer]] = {
    "07-rests-only": [with_a_loop],
    "07-forget-source": [in_two_lists],
    "07-replay": [closing_by_hand],
    "07-prune": [in_a_loop],
    "07-expire": [by_activity],
    "07-proof": [by_listing],
}
