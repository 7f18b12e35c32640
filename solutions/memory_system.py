"""The parts assembled: a memory that your own code writes, and one object that learns, recalls and forgets.

After "Mini-project 5: build a memory system" (the parts) and "Vector-database-backed memory" (the write
policy). Every call names the user, as authentication gave them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from memlab.fields import check_id, check_kind
from memlab.records import SCOPES, MemoryRecord, Operation, Source
from memlab.store import MemoryStore
from solutions.consolidation import Decider, Extractor, decide, displaced_by, is_exclusive, learn, supersede
from solutions.extraction import rule_extract
from solutions.forgetting import Revocation, forget_source, forget_user, regenerate
from solutions.given.policy_record import as_it_is, policy_record
from solutions.given.screening import Gate, hide_words, let_in, screened, withheld_from
from solutions.injection import inject, remember_session
from solutions.retrieval import Hit, Relevance, Weights, retrieve
from solutions.write_gate import SECRET, WITHHELD, ReviewQueue, gate, screen, withhold

# --- one memory, written on purpose ------------------------------------------------------------------


def remember(
    store: MemoryStore,
    text: str,
    *,
    user_id: str,
    app_name: str = "default",
    importance: float = 0.5,
    slot: str = "",
    ttl_days: float = 0,
    session_id: str | None = None,
    source: Source | None = None,
    admit: Callable[[MemoryRecord], MemoryRecord] = as_it_is,
) -> MemoryRecord:
    """Write one memory by your own code, such as a form, and give it back; what it replaces is a tombstone.

    importance: 0..1; 1.0 is a pin. slot: the name of a fact that has one value at a time, such as "address";
    without one, only what says the very same is replaced. ttl_days: days until it expires, 0 for never.
    session_id: the only session that sees it. source: where it comes from, by default the business's own
    policy. admit: gives the memory back as it may be written, or raises. Raises ValueError or TypeError,
    with nothing written, for what does not fit and for a value that rests on a stronger source.

    Example:
    >>> store = MemoryStore()
    >>> for home in ("Lives in Baner.", "Lives in Kothrud."):
    ...     _ = remember(store, home, user_id="u_ada", slot="address")
    >>> [record.content for record in store.scan("u_ada")]
    ['Lives in Kothrud.']
    """
    asked = policy_record(
        text, user_id, app_name, topic=topic_of(slot), importance=importance, ttl_days=ttl_days,
        session_id=session_id, source=source,
    )  # fmt: skip
    new = admit(asked)  # before the transaction: nothing is written while somebody decides
    with store.transaction():
        beside = store.scan(user_id, app_name, (new.scope,), session_id, topic=new.topic)
        supersede(store, displaced_by(new, beside), new, f"one value at a time on {new.topic}")
    return new


def topic_of(slot: str) -> str:
    """The topic of what stands in `slot`: "slot:<name>", or "general" for none.

    A slot that is an exclusive topic anyway is that topic: its value is what users speak of, too.

    Example:
    >>> topic_of("address"), topic_of("diet"), topic_of("")
    ('slot:address', 'diet', 'general')
    """
    if slot == "":
        return "general"
    check_id("slot", slot)
    return slot if is_exclusive(slot) else f"slot:{slot}"


# --- the gate in front of it -------------------------------------------------------------------------


def without_secrets(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies of the messages, with WITHHELD for each sentence that shows a secret, whoever said it.

    Raises TypeError or ValueError for malformed messages.

    Example:
    >>> without_secrets([{"role": "user", "content": "I'm Ada. My password is hunter2."}])
    [{'role': 'user', 'content': "I'm Ada. [withheld by the write gate]"}]
    """
    return withheld_from(messages, withhold)


def behind_gate(
    extract: Extractor, gate: Gate, queue: ReviewQueue, talk: list[dict[str, Any]], *, user_id: str
) -> Extractor:
    """`extract` with `gate` behind it; what is flagged waits in `queue`.

    talk: the conversation that will be kept. A secret that only shows in what was extracted is withheld
    from it, in place.
    """
    sift = partial(screen, queue=queue, user_id=user_id)
    hide = partial(hide_words, talk, mark=WITHHELD)
    return screened(extract, sift, gate, secret=SECRET, hide=hide)


def admitted(
    new: MemoryRecord, *, gate: Gate, queue: ReviewQueue, source: Source | None = None
) -> MemoryRecord:
    """`new` as `gate` lets it pass: perhaps with the need alone; what is flagged waits in `queue`.

    source: who vouches for what it promises; neither a user nor None does. Raises Refused, without the text.
    """
    sift = partial(screen, queue=queue, user_id=new.user_id)
    return let_in(new, sift, gate, vouched=source is not None and not source.source_type.startswith("user_"))


# --- all of it ---------------------------------------------------------------------------------------


class MemorySystem:
    """Long-term memory on a store. Every call names the user, as authentication gave them.

    extract: what proposes memories. decide: what becomes of each. weights, relevance: how they are ranked.
    gate: what may be kept at all, by default the write gate; what it flags waits in `review` for a member of
    staff. A secret that it recognises is kept nowhere: neither as a memory nor in the conversation. Raises
    TypeError for what is no store.

    Example:
    >>> memory = MemorySystem(MemoryStore())
    >>> said = [{"role": "user", "content": "Please call me Ada."}]
    >>> memory.learn(said, Source("user_explicit", "s1"), user_id="u_ada")[0].action
    'CREATE'
    >>> [hit.record.content for hit in memory.recall("what is my name?", user_id="u_ada")]
    ['The user goes by Ada.']
    >>> memory.recall("what is my name?", user_id="u_bo")
    []
    >>> print(memory.context("Be brief.", "what is my name?", user_id="u_ada").splitlines()[-2])
    - [confidence: high, source: user_explicit] The user goes by Ada.
    >>> memory.forget_user("u_ada")
    1
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        extract: Extractor = rule_extract,
        decide: Decider = decide,
        weights: Weights | None = None,
        relevance: Relevance = "vector",
        gate: Gate = gate,
    ) -> None:
        check_kind("store", store, MemoryStore)
        self.store, self.extract, self.decide = store, extract, decide
        self.weights, self.relevance = weights or Weights(), relevance
        self.gate, self.review = gate, ReviewQueue()

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What holds about this user now, whatever the session, oldest first."""
        return self.store.scan(user_id, app_name, ("user",))

    def close_session(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> MemoryRecord:
        """Put a session-scoped memory in place of the transcript; the session is the source's id."""
        talk = without_secrets(messages)
        extract = behind_gate(self.extract, self.gate, self.review, talk, user_id=user_id)
        return remember_session(self.store, talk, source, user_id=user_id, app_name=app_name, extract=extract)

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self.store.close()

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> list[Operation]:
        """Keep a conversation, without its secrets, and learn what the gate lets pass of it.

        What was decided, fact by fact.
        """
        talk = without_secrets(messages)
        extract = behind_gate(self.extract, self.gate, self.review, talk, user_id=user_id)
        return learn(
            self.store, talk, source, user_id=user_id, app_name=app_name, extract=extract, decide=self.decide
        )

    def remember(self, text: str, *, source: Source | None = None, **where_and_how: Any) -> MemoryRecord:
        """Write one memory by your own code, as the function `remember` does, if the gate lets it pass.

        Only a source that you name, and that is not the user, vouches for a promise. Raises Refused when the
        gate keeps it out, and what the function raises; nothing is written then.
        """
        admit = partial(admitted, gate=self.gate, queue=self.review, source=source)
        return remember(self.store, text, source=source, admit=admit, **where_and_how)

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> list[Hit]:
        """Pins, then the k best memories; those of a session too when `session_id` names it."""
        return retrieve(
            self.store, query, user_id=user_id, app_name=app_name, scopes=SCOPES, session_id=session_id, k=k,
            weights=self.weights, relevance=self.relevance,
        )  # fmt: skip

    def context(self, system: str, query: str, *, max_chars: int | None = None, **whose: Any) -> str:
        """The system prompt for the next turn, with what `recall(query, **whose)` brings back."""
        return inject(system, self.recall(query, **whose), max_chars=max_chars)

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
        """Revoke a source, and rebuild what it touched from the sources that remain, behind the gate."""
        revocation = forget_source(self.store, source_id, user_id, app_name)
        waits_already = ReviewQueue()  # for what is flagged again
        extract = behind_gate(self.extract, self.gate, waits_already, [], user_id=user_id)
        regenerate(self.store, user_id, app_name, extract=extract)
        return revocation

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, down to the bytes; the number of memories erased.

        What waits in `review` about them goes too.
        """
        erased = forget_user(self.store, user_id, app_name)
        self.review.forget(user_id)
        return erased
