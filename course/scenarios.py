"""The labelled people of data/retrieval.json: their memories, and what each question should find."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memlab import clock
from memlab.records import MemoryRecord
from memlab.store import MemoryStore

RETRIEVAL = Path(__file__).resolve().parents[1] / "data" / "retrieval.json"

Kind = Literal["same words", "paraphrase", "safety", "about someone else", "changed fact", "nothing relevant"]
Part = Literal["tune", "held_out"]


@dataclass(frozen=True)
class LabelledMemory:
    """One memory of a person; `superseded_by` is the id of the memory that replaced a tombstone."""

    id: str
    content: str
    topic: str
    subject: str
    age_days: float
    importance: float
    half_life_days: float
    superseded_by: str | None = None


@dataclass(frozen=True)
class Question:
    """A question, its kind, and the ids of all memories that should come back: () when none is fit."""

    text: str
    kind: Kind
    relevant: tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """One owner of memories; a whole person is either to tune on or held out."""

    user_id: str
    name: str
    about: str
    part: Part
    memories: tuple[LabelledMemory, ...]
    questions: tuple[Question, ...]

    def records(self) -> list[MemoryRecord]:
        """The memories as records that are `age_days` old now, tombstones too; their ids are the labels'.

        Example:
        >>> sunita = load_retrieval()[0]
        >>> [(r.memory_id, r.active()) for r in sunita.records() if r.topic == "address"]
        [('sunita/address-old', False), ('sunita/address', True)]
        """
        now = clock.now()
        since = {memory.id: now - memory.age_days * clock.DAY for memory in self.memories}
        return [self._record(memory, since) for memory in self.memories]

    def _record(self, memory: LabelledMemory, since: dict[str, float]) -> MemoryRecord:
        return MemoryRecord(
            content=memory.content,
            user_id=self.user_id,
            topic=memory.topic,
            subject=memory.subject,
            importance=memory.importance,
            half_life_days=memory.half_life_days,
            memory_id=memory.id,
            created_at=since[memory.id],
            updated_at=since[memory.id],
            invalidated_at=since[memory.superseded_by] if memory.superseded_by else None,
            superseded_by=memory.superseded_by,
        )


def load_retrieval(part: Part | None = None, path: Path = RETRIEVAL) -> list[Person]:
    """The labelled people, in the order of the file; with `part`, those to tune on or those held out.

    Raises ValueError for another part; FileNotFoundError when the data is not there.

    Example:
    >>> [person.name for person in load_retrieval("held_out")]
    ['Rohan', 'Mei', 'Diego', 'Amara']
    >>> load_retrieval()[0].questions[0].relevant
    ('sunita/hamper',)
    """
    if part not in (None, "tune", "held_out"):
        raise ValueError(f"part={part!r} is not known; pass 'tune', 'held_out', or None for all people")
    people = [_person(raw) for raw in json.loads(path.read_text(encoding="utf-8"))["people"]]
    return [person for person in people if part in (None, person.part)]


def fill(store: MemoryStore, people: list[Person]) -> None:
    """Put every person's memories into `store`, each under the person's own `user_id`.

    Example:
    >>> store = MemoryStore()
    >>> fill(store, load_retrieval())
    >>> [record.content for record in store.scan("u_rohan") if record.topic == "address"]
    ['Lives in Kothrud.']
    """
    with store.transaction():
        for person in people:
            for record in person.records():
                store.put(record)


def _person(raw: dict[str, Any]) -> Person:
    return Person(
        **raw
        | {
            "memories": tuple(LabelledMemory(**memory) for memory in raw["memories"]),
            "questions": tuple(
                Question(**question | {"relevant": tuple(question["relevant"])})
                for question in raw["questions"]
            ),
        }
    )
