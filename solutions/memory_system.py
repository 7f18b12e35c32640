"""The parts assembled: one object that learns, recalls, writes the prompt, and forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from memlab import clock
from memlab.messages import read_messages
from memlab.records import (
    SCOPES,
    TRUST,
    Candidate,
    MemoryRecord,
    Operation,
    Source,
    check_id,
    check_kind,
    check_list,
    check_number,
    check_text,
    one_of,
)
from memlab.store import DEFAULT_SCOPES, MemoryStore
from solutions.consolidation import Extractor, is_exclusive, learn, same_fact, supersede, trust_of
from solutions.extraction import rule_extract
from solutions.forgetting import Revocation, forget_source, forget_user, regenerate
from solutions.given.own_words import find_words
from solutions.injection import inject, remember_session
from solutions.retrieval import Hit, Weights, retrieve
from solutions.write_gate import SECRET, WITHHELD, ReviewQueue, Verdict, gate, screen, withhold

Gate = Callable[..., Verdict]
"""From a candidate, and verified=True when it is vouched for, to a verdict."""


class Refused(ValueError):
    """The write gate keeps a text out. The message says why, and does not quote it: it may be a secret."""


class MemorySystem:
    """Long-term memory on a store. Every call names the user, as authentication gave them.

    extract: what proposes memories. gate: what decides about each proposal, by default the write gate; what
    it flags waits in `review` for a member of staff. A secret that it recognises is kept nowhere: neither as
    a memory nor in the conversation. Raises TypeError for what is no store.

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
        weights: Weights | None = None,
        gate: Gate = gate,
    ) -> None:
        check_kind("store", store, MemoryStore)
        self.store = store
        self.extract = extract
        self.weights = weights or Weights()
        self.gate = gate
        self.review = ReviewQueue()

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> list[Operation]:
        """Keep a conversation and learn what the user said in it; what was decided, fact by fact."""
        talk = without_secrets(messages)
        extract = self._screened(talk, user_id, self.review)
        return learn(self.store, talk, source, user_id=user_id, app_name=app_name, extract=extract)

    def remember(
        self,
        text: str,
        *,
        user_id: str,
        app_name: str = "default",
        importance: float = 0.5,
        slot: str = "",
        ttl_days: float = 0,
        session_id: str | None = None,
        source: Source | None = None,
    ) -> MemoryRecord:
        """Write one memory by your own code, such as a form, and give it back.

        importance: 0..1; 1.0 is a pin. slot: the name of a fact that has one value at a time, such as
        "address"; the old value becomes a tombstone in the same transaction. ttl_days: days until it expires,
        0 for never. session_id: the only session that sees it. source: where it comes from, by default the
        business's own policy; only a source that you name, and that is not the user, vouches for a promise.
        Raises Refused when the gate keeps it out, and ValueError or TypeError, before anything is written,
        for what does not fit and for a value that rests on a stronger source than `source`.

        Example:
        >>> memory = MemorySystem(MemoryStore())
        >>> for home in ("Lives in Baner.", "Lives in Kothrud."):
        ...     _ = memory.remember(home, user_id="u_ada", slot="address")
        >>> [record.content for record in memory.memories("u_ada")]
        ['Lives in Kothrud.']
        """
        new = _record(text, user_id, app_name, importance, slot, ttl_days, session_id, source)
        [told] = new.sources
        asked = Candidate(new.content, new.topic, new.confidence, told.excerpt, new.importance)
        vouched = source is not None and not source.source_type.startswith("user_")
        kept = self._admitted(asked, user_id, vouched=vouched)
        new = replace(new, content=kept.content, sources=[replace(told, excerpt=kept.excerpt)])
        self._write(new, f"one value at a time on '{new.topic}'")
        return new

    def close_session(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> MemoryRecord:
        """Put a session-scoped memory in place of the transcript; the session is the source's id."""
        talk = without_secrets(messages)
        extract = self._screened(talk, user_id, self.review)
        return remember_session(self.store, talk, source, user_id=user_id, app_name=app_name, extract=extract)

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
        scopes = SCOPES if session_id is not None else DEFAULT_SCOPES
        return retrieve(
            self.store, query, user_id=user_id, app_name=app_name, scopes=scopes, session_id=session_id, k=k,
            weights=self.weights,
        )  # fmt: skip

    def context(
        self,
        system: str,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
        max_chars: int | None = None,
    ) -> str:
        """The system prompt for the next turn, with the memories that `query` brings back."""
        hits = self.recall(query, user_id=user_id, app_name=app_name, session_id=session_id, k=k)
        return inject(system, hits, max_chars=max_chars)

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What holds about this user now, whatever the session, oldest first."""
        return self.store.scan(user_id, app_name, ("user",))

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
        """Revoke a source and rebuild what it touched from the sources that remain."""
        revocation = forget_source(self.store, source_id, user_id, app_name)
        extract = self._screened([], user_id, ReviewQueue())  # what is flagged again waits already
        regenerate(self.store, user_id, app_name, extract=extract)
        return revocation

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, down to the bytes; the number of memories erased.

        What waits in `review` about them goes too.
        """
        erased = forget_user(self.store, user_id, app_name)
        self.review.forget(user_id)
        return erased

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self.store.close()

    def _screened(self, talk: list[dict[str, Any]], user_id: str, queue: ReviewQueue) -> Extractor:
        """The extractor with the gate behind it. A secret that only shows in what was extracted is withheld
        from `talk` too, before that is kept."""

        def judge(candidate: Candidate) -> Verdict:
            verdict = self.gate(candidate)
            if verdict.reason == SECRET:
                _withhold_words(talk, candidate.excerpt)
            return verdict

        def extract(messages: list[dict[str, Any]]) -> list[Candidate]:
            proposed = check_list("candidates", self.extract(messages), Candidate)
            return screen(proposed, queue, user_id=user_id, judge=judge)

        return extract

    def _admitted(self, asked: Candidate, user_id: str, *, vouched: bool) -> Candidate:
        """`asked` as the gate lets it pass: perhaps with the need alone. Raises Refused."""
        judge = partial(self.gate, verified=vouched)
        kept = screen([asked], self.review, user_id=user_id, judge=judge)
        if not kept:
            reason = judge(asked).reason
            raise Refused(f"text: the write gate keeps it out ({reason}); leave that out of it")
        return kept[0]

    def _write(self, new: MemoryRecord, reason: str) -> None:
        """Keep `new` in place of what it displaces, in one transaction."""
        with self.store.transaction():
            beside = self.store.scan(new.user_id, new.app_name, (new.scope,), new.session_id, topic=new.topic)
            supersede(self.store, displaced_by(new, beside), new, reason)


def displaced_by(new: MemoryRecord, beside: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Those of `beside` that cannot hold next to `new`: on an exclusive topic or in a slot all of the same
    subject and session, elsewhere what says the very same.

    Raises ValueError when one of them rests on a stronger source.

    Example:
    >>> rome, paris = (MemoryRecord(f"Lives in {city}.", "u_ada", topic="home") for city in ("Rome", "Paris"))
    >>> [record.content for record in displaced_by(paris, [rome])]
    ['Lives in Rome.']
    """
    place = (new.scope, new.session_id, new.topic, new.subject)
    rivals = [r for r in beside if r.active() and (r.scope, r.session_id, r.topic, r.subject) == place]
    displaced = [r for r in rivals if is_exclusive(new.topic) or same_fact(r.content, new.content)]
    for record in displaced:
        if trust_of(record) > trust_of(new):
            raise ValueError(
                f"source={new.sources[-1].source_type!r} is weaker than what {record.memory_id} rests on; "
                "write from a stronger source, or revoke the source of the old value first"
            )
    return displaced


def without_secrets(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies of the messages, with WITHHELD for each sentence that shows a secret, whoever said it.

    Raises TypeError or ValueError for malformed messages.

    Example:
    >>> without_secrets([{"role": "user", "content": "I'm Ada. My password is hunter2."}])
    [{'role': 'user', 'content': "I'm Ada. [withheld by the write gate]"}]
    """
    talk = []
    for message, (role, text) in zip(messages, read_messages(messages), strict=True):
        shown = withhold(text)
        talk.append(dict(message) if shown == text else {"role": role, "content": shown})
    return talk


def _withhold_words(talk: list[dict[str, Any]], words: str) -> None:
    """Withhold, in place, the messages in which `words` stand; all of them when none shows the words."""
    texts = [text for _, text in read_messages(talk)]
    found = [message for message, text in zip(talk, texts, strict=True) if find_words(words, text)]
    for message in found or talk:
        message["content"] = WITHHELD


def _record(
    text: str,
    user_id: str,
    app_name: str,
    importance: float,
    slot: str,
    ttl_days: float,
    session_id: str | None,
    source: Source | None,
) -> MemoryRecord:
    check_text("text", text)
    source = Source("bootstrapped", "policy") if source is None else source
    check_kind("source", source, Source)
    one_of("source_type", source.source_type, tuple(TRUST))
    if check_number("ttl_days", ttl_days) < 0:
        raise ValueError(f"ttl_days={ttl_days!r} is below 0; pass days until it expires, or 0 for never")
    if slot != "":
        check_id("slot", slot)
    return MemoryRecord(
        text, user_id, app_name,
        scope="user" if session_id is None else "session", session_id=session_id,
        topic=_topic_of(slot), importance=importance, confidence=TRUST[source.source_type],
        sources=[replace(source, excerpt=source.excerpt or text, inherited=False)],
        created_at=source.at, updated_at=source.at,
        expires_at=clock.now() + ttl_days * clock.DAY if ttl_days else None,
    )  # fmt: skip


def _topic_of(slot: str) -> str:
    """A slot that is an exclusive topic anyway is that topic: its value is what users speak of, too."""
    return "general" if slot == "" else slot if is_exclusive(slot) else f"slot:{slot}"
