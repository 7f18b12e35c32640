"""What users said, kept for regeneration, and which sources they revoked: the other half of the store."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

from memlab import clock
from memlab.engine.database import Database
from memlab.fields import check_id, check_kind, check_owner
from memlab.messages import news, read_messages
from memlab.records import Conversation, Source

KEEP = (
    "INSERT INTO conversations (app_name, user_id, source_id, source_type, at, messages)"
    " VALUES (:app_name, :user_id, :source_id, :source_type, :at, :messages)"
    " ON CONFLICT (app_name, user_id, source_id) DO UPDATE SET messages = excluded.messages"
)
REVOKE = "INSERT OR IGNORE INTO revoked VALUES (:app_name, :user_id, :source_id, :at)"


def said_by(user_id: str, app_name: str, source_id: str | None = None) -> tuple[str, dict[str, str | None]]:
    """The condition for what a user said and what they revoked: from every source, or from one.

    Example:
    >>> said_by("u_ada", "concierge", "s1")[0]
    '(app_name = :app_name AND user_id = :user_id AND source_id = :source_id)'
    """
    check_owner(user_id, app_name)
    one = "" if source_id is None else " AND source_id = :source_id"
    sql = f"(app_name = :app_name AND user_id = :user_id{one})"
    return sql, {"app_name": app_name, "user_id": user_id, "source_id": source_id}


class Conversations:
    """The part of a store that keeps conversations and revocations; `_db` is the store's file."""

    _db: Database

    def transaction(self) -> AbstractContextManager[None]:
        """See MemoryStore."""
        return self._db.transaction()

    def put_conversation(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> None:
        """Keep what was said, under its source, for regeneration.

        Of a conversation that is kept already, what is new to it is added.
        Raises ValueError or TypeError for bad messages, ValueError for a source that this user has revoked.

        Example:
        >>> from memlab.store import MemoryStore
        >>> store = MemoryStore()
        >>> said = [{"role": "user", "content": "Call me Ada."}]
        >>> store.put_conversation(said, Source("user_implicit", "s1"), user_id="u_ada")
        >>> [(kept.source.source_id, len(kept.messages)) for kept in store.conversations("u_ada")]
        [('s1', 1)]
        """
        check_owner(user_id, app_name)
        check_kind("source", source, Source)
        source.validate()
        said = [{"role": role, "content": text} for role, text in read_messages(messages)]
        condition, values = said_by(user_id, app_name, source.source_id)
        with self.transaction():
            self._check_not_revoked([source], user_id, app_name)
            rows = self._db.rows(f"SELECT messages FROM conversations WHERE {condition}", values)
            before = json.loads(rows[0][0]) if rows else []
            messages = before + news(before, said)
            values |= {"messages": json.dumps(messages, ensure_ascii=False)}
            self._db.execute(KEEP, values | {"source_type": source.source_type, "at": source.at})

    def revoke(self, source_id: str, user_id: str, app_name: str = "default") -> None:
        """Delete the user's conversation of that source, and never take the source again."""
        condition, values = said_by(user_id, app_name, check_id("source_id", source_id))
        with self.transaction():
            self._db.execute(f"DELETE FROM conversations WHERE {condition}", values)
            self._db.execute(REVOKE, values | {"at": clock.now()})

    def conversations(
        self, user_id: str, app_name: str = "default", *, source_id: str | None = None
    ) -> list[Conversation]:
        """The user's kept conversations, in the order in which they were first learned; all, or the one
        of `source_id`."""
        if source_id is not None:
            check_id("source_id", source_id)
        condition, values = said_by(user_id, app_name, source_id)
        columns = "source_type, source_id, at, messages"
        rows = self._db.rows(f"SELECT {columns} FROM conversations WHERE {condition} ORDER BY seq", values)
        with self._db.reading():
            return [
                Conversation(Source(kind, source_id, at=at), json.loads(said))
                for kind, source_id, at, said in rows
            ]

    def revoked(self, user_id: str, app_name: str = "default") -> set[str]:
        """The ids of the sources that this user has revoked."""
        condition, values = said_by(user_id, app_name)
        rows = self._db.rows(f"SELECT source_id FROM revoked WHERE {condition}", values)
        return {source_id for (source_id,) in rows}

    def _check_not_revoked(self, sources: list[Source], user_id: str, app_name: str) -> None:
        revoked = self.revoked(user_id, app_name)
        for source in sources:
            if source.source_id in revoked:
                raise ValueError(
                    f"source_id={source.source_id!r} was revoked by its user and is not taken again; "
                    "learn new statements under a new source id"
                )
