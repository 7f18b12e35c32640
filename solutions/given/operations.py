"""Around a decision: what must be right before it is carried out, the memory it names, and what of a
conversation is new at all."""

from __future__ import annotations

from typing import Any

from memlab.fields import check_kind
from memlab.messages import news, read_messages
from memlab.records import Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore


def check_parts(operation: object, candidate: object, source: object) -> None:
    """Raise TypeError for what is no operation, no candidate or no source."""
    check_kind("operation", operation, Operation)
    check_kind("candidate", candidate, Candidate)
    check_kind("source", source, Source)


def target_of(store: MemoryStore, operation: Operation, user_id: str, app_name: str) -> MemoryRecord | None:
    """The memory that `operation` names, None when it names none.

    Raises ValueError when that is no active memory of this user's own, and for an UPDATE of nothing.
    """
    if operation.target_id is None:
        if operation.action == "UPDATE":
            raise ValueError("target_id=None: an UPDATE names the memory that it replaces")
        return None
    target = store.get(operation.target_id, user_id, app_name)
    if target is None or target.scope != "user" or not target.active():
        raise ValueError(
            f"target_id={operation.target_id!r} is not an active memory of user {user_id!r}; "
            "use an id that affected_memories() returned"
        )
    return target


def unheard(
    store: MemoryStore,
    messages: list[dict[str, Any]],
    source_id: str,
    *,
    user_id: str,
    app_name: str = "default",
) -> list[dict[str, Any]]:
    """The messages that are new to the source: all, those that its kept conversation went on with, or none.

    A repeated statement counts as the newest; so what was said once must not be learned twice, after what
    came later. Turn by turn, pass the conversation so far rather than the last message.
    """
    said = [{"role": role, "content": text} for role, text in read_messages(messages)]
    kept = [c.messages for c in store.conversations(user_id, app_name, source_id=source_id)]
    return messages[len(messages) - len(news(kept[0], said)) :] if kept else messages


def nothing_learned(reason: str) -> Operation:
    """A NOOP that concerns no memory: what was said is not learned, for `reason`."""
    return Operation("NOOP", None, "(nothing learned)", reason)
