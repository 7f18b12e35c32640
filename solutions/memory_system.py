"""The parts assembled: one object that learns, recalls, writes the prompt, and forgets."""

from __future__ import annotations

from typing import Any

from memlab.records import SCOPES, MemoryRecord, Operation, Source, check_kind
from memlab.store import DEFAULT_SCOPES, MemoryStore
from solutions.consolidation import Extractor, learn
from solutions.extraction import rule_extract
from solutions.forgetting import Revocation, forget_source, forget_user, regenerate
from solutions.injection import inject, remember_session
from solutions.retrieval import Hit, Weights, retrieve


class MemorySystem:
    """Long-term memory on a store. Every call names the user, as authentication gave them.

    Raises TypeError for what is no store.

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
        self, store: MemoryStore, *, extract: Extractor = rule_extract, weights: Weights | None = None
    ) -> None:
        check_kind("store", store, MemoryStore)
        self.store = store
        self.extract = extract
        self.weights = weights or Weights()

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> list[Operation]:
        """Keep a conversation and learn what the user said in it; what was decided, fact by fact."""
        return learn(self.store, messages, source, user_id=user_id, app_name=app_name, extract=self.extract)

    def close_session(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> MemoryRecord:
        """Put a session-scoped memory in place of the transcript; the session is the source's id."""
        return remember_session(
            self.store, messages, source, user_id=user_id, app_name=app_name, extract=self.extract
        )

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

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> Revocation:
        """Revoke a source and rebuild what it touched from the sources that remain."""
        revocation = forget_source(self.store, source_id, user_id, app_name)
        regenerate(self.store, user_id, app_name, extract=self.extract)
        return revocation

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, down to the bytes; the number of memories erased."""
        return forget_user(self.store, user_id, app_name)
