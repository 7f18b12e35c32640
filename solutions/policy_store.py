"""A customer memory with explicit policies, on Chroma.

Design, weights and scoring are those of "Vector-database-backed memory", Steps 1 to 3. Mended: a slot is
never empty while it is replaced, pins expire, and memories are told apart by id, not by what they say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from chromadb.api import ClientAPI
from chromadb.api.models.Collection import Collection

from memlab import clock
from memlab.embedding import Embedder, hash_embed
from memlab.engine.vectors import identity_of
from memlab.fields import check_id, check_number, check_text, check_whole, one_of
from memlab.records import new_id
from solutions.chroma_tools import similarity, to_metadata, where_all
from solutions.given.chroma import NAME, NO_EMBEDDER, NO_VECTOR, Where, from_metadata, open_collection

Kind = Literal["fact", "preference", "episode"]

SAFETY = 5
"""The importance from which a memory is shown whatever the question is."""

NEVER = 0.0
FADES = 0.99  # what a day leaves of recency


@dataclass(frozen=True)
class Memory:
    """One thing remembered about a customer. Times are POSIX seconds; `expires_at` 0 means never.

    importance: 1 (trivia) to 5 (safety-critical). slot: the name of a fact that has one value at a time, or
    "". generation: which value of its slot this is. sources: what it was drawn from.
    """

    memory_id: str
    text: str
    kind: Kind
    importance: int
    created_at: float
    expires_at: float = NEVER
    slot: str = ""
    generation: int = 1
    sources: tuple[str, ...] = ()

    def live(self) -> bool:
        """True until the memory expires."""
        return self.expires_at == NEVER or clock.now() < self.expires_at


class PolicyStore:
    """One business's memories of its customers: write, read, forget and show, by rules that are code.

    Every business has collections of its own. `user_id` comes from authentication, never from what a customer
    typed. embedder: text -> vector, the same one for the whole life of a business's collections.

    Example:
    >>> from solutions.given.chroma import memory_client
    >>> store = PolicyStore(memory_client(), "crumb")
    >>> _ = store.remember("rohan", "Lives in Baner.", "fact", 4, slot="address")
    >>> _ = store.remember("rohan", "Lives in Kothrud.", "fact", 4, slot="address")
    >>> [memory.text for memory in store.what_do_you_remember("rohan")], store.forget_user("rohan")
    (['Lives in Kothrud.'], 1)
    """

    def __init__(self, client: ClientAPI, business: str, embedder: Embedder = hash_embed) -> None:
        if not isinstance(business, str) or not NAME.fullmatch(f"{business}-memories"):
            raise ValueError(f"business={business!r:.60} fits no collection's name; pass e.g. 'crumb'")
        self.client, self.business, self.embedder = client, business, embedder
        open_collection(client, f"{business}-memories", identity_of(embedder))
        open_collection(client, f"{business}-history", NO_EMBEDDER)

    @property
    def memories(self) -> Collection:
        """What holds. Asked for by name each time, since `purge` puts another collection in its place."""
        return open_collection(self.client, f"{self.business}-memories", identity_of(self.embedder))

    @property
    def history(self) -> Collection:
        """The log of what was replaced or summed up."""
        return open_collection(self.client, f"{self.business}-history", NO_EMBEDDER)

    def remember(
        self,
        user_id: str,
        text: str,
        kind: Kind,
        importance: int,
        slot: str = "",
        ttl_days: float = 0,
        sources: Iterable[str] = (),
    ) -> str:
        """Write one memory; see the function `remember`."""
        return remember(self, user_id, text, kind, importance, slot=slot, ttl_days=ttl_days, sources=sources)

    def recall(self, user_id: str, query: str, k: int = 3) -> list[str]:
        """Pins, then the k best; see the function `recall`."""
        return recall(self, user_id, query, k)

    def what_do_you_remember(self, user_id: str) -> list[Memory]:
        """All that holds about this user, oldest first: for the user to see, and all that recall draws on."""
        return [memory for memory in newest(self.rows(user_id)) if memory.live()]

    def what_was_replaced(self, user_id: str) -> list[str]:
        """The log: what was replaced or summed up, when and why, in the order in which it happened."""
        found = self.history.get(where={"user_id": check_id("user_id", user_id)})
        lines = zip(found["metadatas"] or [], found["documents"] or [], strict=True)
        return [f"{about['at']} {about['reason']}: {text}" for about, text in lines]

    def forget_user(self, user_id: str) -> int:
        """Erase all about this user, the log too; the number of memories erased.

        The rows are gone at once, their bytes after `purge(client)` of `solutions.given.chroma`.
        """
        mine: Any = {"user_id": check_id("user_id", user_id)}
        count = len(self.memories.get(where=mine, include=[])["ids"])
        self.memories.delete(where=mine)
        self.history.delete(where=mine)
        return count

    def sweep(self) -> int:
        """The nightly job: finish replacements that were cut short, and delete what has expired, of every
        user; the number of memories deleted."""
        gone = 0
        for user_id in sorted({str(about["user_id"]) for about in self.memories.get()["metadatas"] or []}):
            rows = self.rows(user_id)
            gone += self.retire(user_id, set(rows) - set(newest(rows)), "replaced")
            expired = [memory.memory_id for memory in newest(rows) if not memory.live()]
            if expired:
                self.memories.delete(expired, where={"user_id": user_id})
            gone += len(expired)
        return gone

    def consolidate(
        self, user_id: str, about: str, rewrite: Callable[[list[str]], str], *, alike: float = 0.5
    ) -> str | None:
        """Make one fact of the user's episodes whose cosine with the text `about` is `alike` or more.

        rewrite: their texts, oldest first -> the sentence in their place (in production a model writes it).
        The fact keeps the episodes' ids as its sources; pins stay as they are. The id of the fact, or None
        when there are fewer than two such episodes.
        """
        near = {memory_id for memory_id, score in self.similar(user_id, about) if score >= alike}
        live = self.what_do_you_remember(user_id)
        small = [m for m in live if m.memory_id in near and m.kind == "episode" and m.importance < SAFETY]
        if len(small) < 2:
            return None
        fact = remember(
            self, user_id, rewrite([memory.text for memory in small]), "fact",
            max(memory.importance for memory in small), sources=[memory.memory_id for memory in small],
        )  # fmt: skip
        self.retire(user_id, small, f"summed up in {fact}")
        return fact

    def rows(self, user_id: str, *conditions: Where) -> list[Memory]:
        """What is stored of this user, oldest first; what has expired or is just being replaced, too."""
        wanted: Any = where_all({"user_id": check_id("user_id", user_id)}, *conditions)
        found = self.memories.get(where=wanted, include=["documents", "metadatas"])
        rows = zip(found["ids"], found["documents"] or [], found["metadatas"] or [], strict=True)
        return sorted((_memory(*row) for row in rows), key=lambda memory: memory.created_at)

    def similar(self, user_id: str, query: str, most: int | None = None) -> list[tuple[str, float]]:
        """(memory id, cosine) of this user's memories, nearest first; all of them, or at most `most`."""
        check_text("query", query)
        wanted: Any = {"user_id": check_id("user_id", user_id)}
        size = self.memories.count() if most is None else most
        hits = self.memories.query([self.embedder(query)], n_results=max(1, size), where=wanted)
        distances = (hits["distances"] or [[]])[0]
        return [(name, similarity(far)) for name, far in zip(hits["ids"][0], distances, strict=True)]

    def retire(self, user_id: str, old: Iterable[Memory], reason: str) -> int:
        """Log these memories of the user, then delete them; how many they were."""
        going = list(old)
        for memory in going:
            line = {"user_id": user_id, "reason": reason, "at": clock.stamp(clock.now())}
            self.history.upsert([memory.memory_id], NO_VECTOR, [line], [memory.text])
            self.memories.delete([memory.memory_id], where={"user_id": user_id})
        return len(going)


def remember(
    store: PolicyStore,
    user_id: str,
    text: str,
    kind: Kind,
    importance: int,
    *,
    slot: str = "",
    ttl_days: float = 0,
    sources: Iterable[str] = (),
) -> str:
    """Write one memory of this user, and give back its id; a slot's value replaces the one before it.

    The new value is written first, as the next generation of its slot, then the old ones are retired: at no
    moment is there none. importance: 1 to 5. ttl_days: days until it expires, 0 for never.
    Raises ValueError or TypeError, before anything is written, for what does not fit.
    """
    check_memory(user_id, text, kind, importance, slot, ttl_days, sources)
    old = store.rows(user_id, {"slot": slot}) if slot else []
    now = clock.now()
    fields = {
        "user_id": user_id, "kind": kind, "importance": importance, "created_at": now, "slot": slot,
        "expires_at": now + ttl_days * clock.DAY if ttl_days else NEVER, "sources": list(sources),
        "generation": 1 + max((memory.generation for memory in old), default=0),
    }  # fmt: skip
    memory_id = new_id()
    store.memories.add([memory_id], [store.embedder(text)], [to_metadata(fields)], [text])
    store.retire(user_id, old, f"replaced by {memory_id}")
    return memory_id


def recall(store: PolicyStore, user_id: str, query: str, k: int = 3, *, overfetch: int = 10) -> list[str]:
    """The texts of this user's pins, oldest first, then of the k other memories that score best.

    A score is 0.5 · relevance + 0.2 · 0.99^days + 0.3 · importance / 5. Nothing that has expired or was
    replaced comes back, pinned or not. Of the others, `overfetch` at least are scored: the nearest by cosine.
    Raises ValueError for a k that is no whole number of 0 or more.
    """
    check_whole("k", k)
    live = store.what_do_you_remember(user_id)
    pins = [memory for memory in live if memory.importance >= SAFETY]
    others = {memory.memory_id: memory for memory in live if memory.importance < SAFETY}
    # Pins and what no longer holds must not use up the places of those that are to be ranked.
    spare = len(store.rows(user_id)) - len(others)
    near = store.similar(user_id, query, max(k, overfetch) + spare)
    scored = [(score(others[name], cosine), others[name]) for name, cosine in near if name in others]
    scored.sort(key=lambda pair: -pair[0])
    return [memory.text for memory in pins] + [memory.text for _, memory in scored[:k]]


def newest(memories: Iterable[Memory]) -> list[Memory]:
    """`memories` in their order, of each slot only the newest: while one is replaced, two are there.

    Example:
    >>> baner = Memory("m1", "Lives in Baner.", "fact", 4, 0.0, slot="address")
    >>> kothrud = Memory("m2", "Lives in Kothrud.", "fact", 4, 0.0, slot="address", generation=2)
    >>> [memory.text for memory in newest([kothrud, baner])]
    ['Lives in Kothrud.']
    """
    rivals = defaultdict(list)
    for memory in memories:
        rivals[memory.slot or memory.memory_id].append(memory)
    best = {max(group, key=lambda m: (m.generation, m.memory_id)).memory_id for group in rivals.values()}
    return [memory for group in rivals.values() for memory in group if memory.memory_id in best]


def score(memory: Memory, relevance: float) -> float:
    """The blended score of a memory whose cosine with the question is `relevance`.

    Example:
    >>> with clock.freeze(40 * clock.DAY):
    ...     round(score(Memory("m1", "Allergic to peanuts.", "fact", 5, 0.0), 0.383), 3)
    0.625
    """
    age_days = max(0.0, clock.now() - memory.created_at) / clock.DAY
    recency: float = FADES**age_days
    return 0.5 * relevance + 0.2 * recency + 0.3 * memory.importance / 5


def check_memory(
    user_id: str,
    text: str,
    kind: str,
    importance: int,
    slot: str = "",
    ttl_days: float = 0,
    sources: Iterable[str] = (),
) -> None:
    """Raise ValueError or TypeError that names the field unless all of these fit a memory."""
    check_id("user_id", user_id)
    check_text("text", text)
    one_of("kind", kind, get_args(Kind))
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= SAFETY:
        raise ValueError(f"importance={importance!r:.60} is not a whole number of 1 to 5; clamp it first")
    if slot != "":
        check_id("slot", slot)
    if check_number("ttl_days", ttl_days) < 0:
        raise ValueError(f"ttl_days={ttl_days!r} is below 0; pass days until it expires, or 0 for never")
    if isinstance(sources, str):  # its letters would be taken for ids
        raise TypeError(f"sources={sources!r:.60} is one id; pass a list of ids")


def _memory(memory_id: str, text: str, metadata: Mapping[str, Any]) -> Memory:
    fields = from_metadata(metadata)
    del fields["user_id"]
    return Memory(memory_id, text, **fields | {"sources": tuple(fields["sources"])})
