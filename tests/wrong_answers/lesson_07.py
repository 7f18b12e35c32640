"""Answers to lesson 07 that its checks must tell apart, and right ones that look different."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.fields import check_fraction
from memlab.records import TRUST, Candidate, MemoryRecord, Source
from memlab.store import MemoryStore
from solutions.consolidation import Extractor, consolidate, same_fact
from solutions.extraction import rule_extract
from solutions.forgetting import Revocation, detach, in_doubt, replay, tombstone, witnessed
from solutions.given import regeneration as parts

Answer = Callable[..., Any]


# Right answers, written differently


def with_a_loop(record: MemoryRecord, source_id: str) -> bool:
    stated = False
    for source in record.sources:
        if source.inherited:
            continue
        if source.source_id != source_id:
            return False
        stated = True
    return stated


def one_by_one(source_id: str, left: list[MemoryRecord], erased: list[MemoryRecord]) -> list[MemoryRecord]:
    after = {record.memory_id: record.superseded_by for record in erased}
    freed = [record for record in left if record.superseded_by in after]
    for record in freed:
        record.superseded_by = parts.chain_end(record.superseded_by, after)
        record.needs_regeneration = True
    over = [record.memory_id for record in parts.over_for_good(left)]
    changed = []
    for record in left:
        rest = [source for source in record.sources if source.source_id != source_id]
        if len(rest) == len(record.sources) and not any(record is other for other in freed):
            continue
        own = [source for source in rest if not source.inherited]
        if len(own) < len(record.own_sources()):
            trust = max((TRUST[source.source_type] for source in own), default=0.0)
            record.confidence = max(0.0, min(round(record.confidence - 0.05, 6), trust))
        record.sources = rest
        record.history.append(f"{clock.stamp(clock.now())} {source_id} was revoked")
        record.needs_regeneration = record.memory_id not in over
        changed.append(record)
    return changed


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


def closing_by_hand(
    statements: Iterable[tuple[Source, Candidate]],
    *,
    user_id: str,
    app_name: str = "default",
    beside: Iterable[MemoryRecord] = (),
    embedder: Embedder = hash_embed,
) -> list[MemoryRecord]:
    scratch = MemoryStore(":memory:", embedder)
    for record in beside:
        scratch.put(record)
    for source, candidate in statements:
        consolidate(scratch, candidate, source, user_id=user_id, app_name=app_name)
    memories = scratch.scan(user_id, app_name, scopes=("user",), include_invalid=True)
    scratch.close()
    return memories


def group_by_group(
    owned: list[MemoryRecord], over: list[MemoryRecord], said: list[tuple[Source, Candidate]]
) -> tuple[list[MemoryRecord], list[tuple[Source, Candidate]]]:
    groups = [parts.about(record) for record in owned if record.needs_regeneration]
    for _, candidate in said:
        members = [r for r in owned if (r.subject, r.topic) == (candidate.subject, candidate.topic)]
        if not any(record.scope == "user" and record.active() for record in members):
            groups.append(parts.about(candidate))
    stored = [record for record in owned if parts.about(record) in groups]
    stored = [record for record in stored if record.scope == "user" and record not in over]
    return stored, [(source, candidate) for source, candidate in said if parts.about(candidate) in groups]


def extracting_first(
    store: MemoryStore, user_id: str, app_name: str = "default", *, extract: Extractor = rule_extract
) -> list[MemoryRecord]:
    said = []
    for talk in store.conversations(user_id, app_name):
        for candidate in extract(talk.messages):
            said.append((replace(talk.source, excerpt=candidate.excerpt), candidate))
    with store.transaction():
        owned = store.owned(user_id, app_name)
        over = parts.over_for_good(owned)
        heard = parts.without(said, witnessed(over), same_fact)
        stored, heard = in_doubt(owned, over, heard)
        statements = list(parts.in_order(heard, parts.without(witnessed(stored), heard, same_fact)))
        rebuilt = replay(
            statements, beside=parts.put_by_hand(stored), embedder=store.embedder, user_id=user_id,
            app_name=app_name,
        )  # fmt: skip
        changed, gone = parts.reconciled(owned, stored, rebuilt, same_fact)
        _ = [store.remove(record.memory_id, user_id, app_name) for record in gone]
        for record in changed:
            store.put(record)
    return changed


def in_a_loop(store: MemoryStore, floor: float = 0.2, *, user_id: str, app_name: str = "default") -> Any:
    check_fraction("floor", floor)
    gone = []
    with store.transaction():
        for record in store.owned(user_id, app_name):
            if record.invalidated_at is not None or record.importance >= 1.0:
                continue
            if record.decayed_confidence() < floor:
                record.invalidated_at = clock.now()
                record.history.append(f"Pruned at {record.decayed_confidence():.2f}")
                store.put(record)
                gone.append(record)
    return gone


def by_activity(store: MemoryStore, *, user_id: str, app_name: str = "default") -> Any:
    with store.transaction():
        standing = [r for r in store.owned(user_id, app_name) if r.invalidated_at is None]
        ended = [record for record in standing if not record.active()]
        for record in ended:
            tombstone(store, record, "expired")
    return ended


def by_listing(path: str | os.PathLike[str], text: str) -> list[str]:
    if not text.strip():
        raise ValueError("text is empty; pass what you look for")
    name = Path(path).name
    names = [name, f"{name}-wal", f"{name}-shm", f"{name}-journal"]
    there = {file.name: file.read_bytes() for file in Path(path).parent.iterdir() if file.is_file()}
    if name not in there:
        raise ValueError(f"path={path} is no file; check it")
    return [name for name in names if there.get(name, b"").count(text.encode("utf-8"))]


RIGHT: dict[str, list[Answer]] = {
    "07-rests-only": [with_a_loop],
    "07-detach": [one_by_one],
    "07-forget-source": [in_two_lists],
    "07-replay": [closing_by_hand],
    "07-in-doubt": [group_by_group],
    "07-regenerate": [extracting_first],
    "07-prune": [in_a_loop],
    "07-expire": [by_activity],
    "07-proof": [by_listing],
}

# Wrong answers

IDS = "{source.source_id for source in record.own_sources()} == {source_id} => "
RESTS = "for record in owned if rests_only_on(record, source_id)] => for record in owned if "
LEFT = "if not rests_only_on(record, source_id)] => if not "
OWNED = "store.owned(user_id, app_name) => "
CONSOLIDATE = "consolidate(scratch, candidate, source, user_id=user_id, app_name=app_name) => "
CHAIN = "chain_end(record.superseded_by, next_of) => "
TAKEN_OUT = "record.sources = [source for source in record.sources if source.source_id != source_id] => "
MERGED = "in_order(said, without(witnessed(stored), said, same_fact)) => "
EXPIRED = 'tombstone(store, record, f"expired at {clock.stamp(record.expires_at)}") => '
FILES = 'files = [Path(f"{os.fspath(path)}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")] => '
UNCUT = ("with store.transaction(): => if True:", "The power went out")


def both(condition: str) -> str:
    """forget_source with another condition for what is erased."""
    return f"{RESTS}{condition}] ;; {LEFT}({condition})]"


# fmt: off
WRONG: dict[str, list[tuple[str, str]]] = {
    "07-rests-only": [
        (f"{IDS}source_id in {{s.source_id for s in record.sources}}", "naive deletion"),
        ("record.own_sources() => record.sources", "Inherited sources do not count"),
        (f"{IDS}[s.source_id for s in record.own_sources()] == [source_id]", "one source: compare ids"),
        (f"{IDS}len({{s.source_id for s in record.own_sources()}}) == 1", "You counted sources"),
        (f"{IDS}all(s.source_id == source_id for s in record.own_sources())", "of nothing is True"),
    ],
    "07-detach": [
        ("return touched => return left", "name has nothing to do"),
        (f"{TAKEN_OUT}pass", "still names u1"),
        ("if stated: => if False:", "`CORROBORATION`"),
        ("record.needs_regeneration = record.memory_id not in over => pass", "Nobody will rebuild"),
        ("min(record.confidence - CORROBORATION, trust_of(record)) => record.confidence - CORROBORATION",
         "a search, trusted 0.30"),
        ("if stated: => if True:", "s1 never said fish"),
        ("for source in record.sources): => for source in record.own_sources()):", "`own_sources()` only"),
        (f"{TAKEN_OUT}record.sources.remove(next(s for s in record.sources if s.source_id == source_id))",
         "twice, with two excerpts"),
        ("max(0.0, round(rest, 6)) => round(rest, 6)", "stop at 0"),
        ("freed = record.superseded_by in next_of => freed = False", "You looked at sources only"),
        (f"record.superseded_by = {CHAIN}pass", "still points to fish"),
        (f"{CHAIN}None", "come back beside vegan"),
        (f"{CHAIN}next_of[record.superseded_by]", "fish and tofu both go"),
        ("record.memory_id not in over => True", "`over_for_good(left)`"),
        ('record.note(f"source {source_id} revoked") => pass', "does not say why"),
    ],
    "07-forget-source": [
        (both("any(s.source_id == source_id for s in record.sources)"), "You erased a fact"),
        ("store.remove(record.memory_id, user_id, app_name) => pass", "which keeps every word"),
        ("detach(source_id, left, erased) => detach(source_id, owned, erased)", "so it is not left"),
        ("store.put(record) => pass", "still names s1 and quotes it"),
        (both("{s.source_id for s in record.sources} == {source_id}"), "fish stays though nobody is left"),
        ("detach(source_id, left, erased) => detach(source_id, left, [])", "a stone that nobody holds"),
        (both("record.active() and rests_only_on(record, source_id)"), "active memories only"),
        (" if record.needs_regeneration] => ]", "holds those with"),
        (f"{OWNED}store.scan(user_id, app_name, ('user', 'session'), source_id, include_invalid=True)",
         "one session at most"),
        ("    with store.transaction(): =>     for r in store.owned('bo'):\n"
         "        store.remove(r.memory_id, 'bo')\n    with store.transaction():", "within one user's data"),
        ("store.revoke(source_id, user_id, app_name) => pass", "word for word"),
        (f"{OWNED}store.owned(user_id)", "was asked without `app_name`"),
        ("store.remove(record.memory_id, user_id, app_name) => store.remove(record.memory_id, user_id)",
         "reported as erased"),
        ("store.revoke(source_id, user_id, app_name) => store.revoke(source_id, user_id)",
         "in the default app, so the next import"),
        UNCUT,
        ("store.purge() => pass", "still stands in the file"),
    ],
    "07-replay": [
        (f"{CONSOLIDATE}scratch.put(MemoryRecord(candidate.content, user_id, confidence=0.65, "
         "sources=[source]))", "Two copies"),
        ("scratch.owned(user_id, app_name) => scratch.scan(user_id, app_name)", "left the tombstones out"),
        ("in statements: => in list(statements)[::-1]:", "replayed backwards"),
        ("in statements: => in sorted(statements, key=lambda s: s[0].at):", "in the order given"),
        ("candidate, source, user_id => candidate, statements[0][0], user_id", "s2 went unheard"),
        ("scratch.put(record) => pass", "goes into the scratch store first"),
        ("scratch.owned(user_id, app_name) => scratch.owned(user_id)", "You lost `app_name`"),
        (", app_name=app_name) => ) ;; scratch.owned(user_id, app_name) => scratch.owned(user_id)",
         "made for another owner"),
        ("MemoryStore(embedder=embedder) => MemoryStore()", "similarity then decides"),
    ],
    "07-in-doubt": [
        (" if record.needs_regeneration} => }", "name is not flagged"),
        (" - held => ", "Take `held` away"),
        (" | {about(record) for record in owned if record.needs_regeneration} => ", "left it as it is"),
        ("for statement in said if about(statement[1]) in groups => for statement in said if about("
         "statement[1]) in unheld", "Only the memory"),
        ("if about(record) in groups and => if record.needs_regeneration and", "its rival is"),
        ("if about(record) in groups and => if groups and", "the name is not"),
        ("shared = => about = lambda fact: fact.topic\n    shared =", "The wife's diet"),
        ("groups = unheld | => groups =", "a diet was said"),
        ("if about(statement[1]) in groups => if groups", "out of the statements"),
        (" if record.active()} => }", "ask `record.active()`"),
        (" and record.memory_id not in ended => ", "among those that are `over`"),
        (' if record.scope == "user"] => ]', "Only session s9"),
        ("stored = [record for record in shared => stored = [record for record in owned",
         "it would be removed"),
    ],
    "07-regenerate": [
        ("store.put(record) => pass", "veg still lies there"),
        ("for record in changed: => for record in rebuilt:", "beside the stored memory"),
        (f"{MERGED}without(witnessed(stored), said, same_fact)", "You threw the stored memory away"),
        ("without(witnessed(stored), said, same_fact) => []", "a record testifies for itself"),
        (f"{MERGED}said + without(witnessed(stored), said, same_fact)", "Merge both"),
        ("store.remove(record.memory_id, user_id, app_name) => pass", "it is `gone`"),
        ("beside=put_by_hand(stored) => beside=()", "goes `beside`"),
        ("in_doubt(owned, over, without(said, witnessed(over), same_fact)) => owned, said",
         "rebuild the groups that are `in_doubt`"),
        ("over = over_for_good(owned) => over = []", "you brought it back"),
        ("without(said, witnessed(over), same_fact) => said", "beside its own tombstone"),
        ("reconciled(owned, stored => reconciled(stored, stored", "its flag must go"),
        ("store.conversations(user_id, app_name) => store.conversations(user_id)", "Whatever takes"),
        ("(replace(talk.source, excerpt=candidate.excerpt), candidate) => (talk.source, candidate)",
         "Which words said so"),
        ("embedder=store.embedder => embedder=hash_embed", "hand `store.embedder` on"),
        UNCUT,
    ],
    "07-prune": [
        ("r.decayed_confidence() < floor => r.confidence < floor", "does not change with time"),
        ("< floor] => > floor]", "the wrong way round"),
        ("< floor] => <= floor]", "*below* the floor"),
        ("not r.pinned and => ", "pins are outside decay"),
        ("tombstone(store, record, why) => store.remove(record.memory_id, user_id)", "was pruned and why"),
        ("tombstone(store, record, why) => pass", "still active in the store"),
        ("tombstone(store, record, why) => tombstone(store, record, 'ended')", "does not say that it was"),
        ("tombstone(store, record, why) => record.confidence = record.decayed_confidence()\n"
         "            tombstone(store, record, why)", "decay twice"),
        (" if r.invalidated_at is None] => ]", "veg ended when"),
        (f"{OWNED}store.scan(user_id, app_name, scopes=('user',))", "sees no sessions"),
        (f"{OWNED}store.owned(user_id, app_name) + store.scan(user_id, app_name, scopes=('app',))",
         "the whole app reads"),
        (f"{OWNED}store.owned(user_id)", "Pass `app_name`"),
        ('check_fraction("floor", floor) => pass', "per cent"),
        ("floor: float = 0.2 => floor: float = 0.3", "floor is 0.2"),
        UNCUT,
    ],
    "07-expire": [
        ("<= clock.now() => < clock.now()", "first instant"),
        ("record.expires_at <= clock.now() => True", "You ended later"),
        ("<= clock.now() => > clock.now()", "the wrong way round"),
        (f" or record.expires_at is None: => : ;; record.expires_at <= => (record.expires_at or 0) <= ;; "
         f"{EXPIRED}tombstone(store, record, 'expired')", "means no end"),
        ("expires_at is None: => expires_at is None or record.pinned:", "outside the calendar"),
        (f"{EXPIRED}store.remove(record.memory_id, user_id)", "what was expired and why"),
        (f"{EXPIRED}pass", "still active in the store"),
        ("record.invalidated_at is not None or => ", "It ended when it was replaced"),
        (f"{OWNED}store.scan(user_id, app_name)", "leaves out what has expired"),
        (f"{OWNED}store.scan(user_id, app_name, ('user',), include_invalid=True)", "sees no sessions"),
        (f"{OWNED}store.owned(user_id)", "Pass `app_name`"),
        UNCUT,
    ],
    "07-proof": [
        ('("", "-wal", "-shm", "-journal") => ("",)', "what was written lately"),
        ('"-shm", => ', "a file like the others"),
        (', "-journal") => )', "before the last change"),
        ("file.read_bytes()] => file.read_bytes()][:1]", "do not stop at the first"),
        ('Path(f"{os.fspath(path)}{suffix}") for => Path(path).with_suffix(".db" + suffix) if suffix '
         'else Path(path) for', "behind the whole name"),
        ('text.encode() => text.encode("ascii", "backslashreplace")', "SQLite stores UTF-8"),
        ('text.encode() => text.encode("ascii", "ignore")', "leave no letter out"),
        ("text.encode() in file.read_bytes() => text in file.read_text(errors='ignore')", "as *text*"),
        (f"{FILES}files = sorted(Path(path).parent.glob(Path(path).name + '*'))", "another database"),
        ("[file.name for => [file for", "names, not paths"),
        ('check_text("text", text) => pass', "stands in every file"),
        ("if not os.path.isfile(path): => if False:", "where nothing is"),
    ],
}
# fmt: on

SPARED = {
    "07-detach": {
        "round(rest, 6)) => round(rest, 7))": "how many digits are kept is nobody's business",
        "round(rest, 6)) => round(rest, 12))": "how many digits are kept is nobody's business",
    },
    "07-prune": {
        "check_fraction('floor', floor) => check_fraction('floorX', floor)": "only the message changes",
    },
    "07-proof": {
        "check_text('text', text) => check_text('textX', text)": "only the message changes",
    },
}
