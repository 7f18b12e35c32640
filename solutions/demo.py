"""The whole system in a terminal: the published run, or your own conversations.

    python -m solutions.demo                               the run of "Mini-project 5", Parts 7 and 8
    python -m solutions.demo --db my.db CONVERSATIONS.json [--ask QUESTION]…

CONVERSATIONS.json is a list, one object a conversation: "user_id" and "messages" (role and content, as in
chat APIs); as you like also "source_id", "source_type" (user_implicit unless you say otherwise), "at"
(ISO 8601 with an offset) and "app_name". `data/conversations/ada.json` is an example.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from memlab import clock
from memlab.fields import check_owner
from memlab.messages import read_messages
from memlab.records import MemoryRecord, Operation, Source, seed_ids
from memlab.store import MemoryStore
from solutions.consolidation import learn
from solutions.forgetting import Revocation, forget_source, regenerate
from solutions.injection import inject
from solutions.retrieval import retrieve

ADA = Path(__file__).parents[1] / "data" / "conversations" / "ada.json"
FROZEN_AT = "2026-08-06T20:11:27Z"
TITLES = {
    "s1": "",
    "s2": "  (the same fact, said differently)",
    "s3": "  (a genuine contradiction)",
}
QUERIES = (
    "any dietary restrictions I should know about?",
    "what seat should I book on the flight?",
    "what should we order for lunch?",
)
FIELDS = {"user_id", "app_name", "source_id", "source_type", "at", "messages"}
SYSTEM = "You are a travel concierge for Solaris Trips."


def main(arguments: list[str] | None = None) -> int:
    """Run the demo that the command line asks for; 0, or 2 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m solutions.demo", description=__doc__.split("\n")[0])
    parser.add_argument("conversations", nargs="?", type=Path, help="a JSON list of conversations")
    parser.add_argument("--db", default=":memory:", help="the store's file; made if it is missing")
    parser.add_argument("--ask", action="append", default=[], help="a question to answer from memory")
    options = parser.parse_args(arguments)
    if options.conversations is None and (options.ask or options.db != ":memory:"):
        parser.error("--db and --ask need CONVERSATIONS.json: the published run has its own")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know every letter
    try:
        if options.conversations is None:
            published_run()
        else:
            own_run(options.db, load_conversations(options.conversations), options.ask)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python flushes into it at exit
    except (OSError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


class Talk(NamedTuple):
    """One conversation of a file: whose it is, where it comes from, and what was said."""

    user_id: str
    app_name: str
    source: Source
    messages: list[dict[str, Any]]


def load_conversations(path: Path) -> list[Talk]:
    """The conversations in a JSON file, all of them checked.

    Raises OSError or ValueError that names the file, the entry and the way out.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON in UTF-8 ({error}); see {ADA.name} for an example") from None
    if not isinstance(entries, list):
        raise ValueError(f'{path} holds no list; write [{{"user_id": …, "messages": […]}}, …]')
    talks = []
    for number, entry in enumerate(entries, start=1):
        try:
            talks.append(_talk(entry, number))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, conversation {number} of {len(entries)}: {error}") from None
    return talks


def own_run(path: str, talks: list[Talk], questions: list[str]) -> None:
    """Learn the conversations into the store at `path`; print what was decided, believed and answered.

    Either all of them are learned or none. Those that were learned before are not learned twice.
    """
    with MemoryStore(path) as store:
        with store.transaction():
            learned = [_learn(store, talk) for talk in talks]
        for talk, operations in zip(talks, learned, strict=True):
            print(f"{talk.user_id}, {talk.source.source_id}")
            print_operations(operations)
        for user_id, app_name in dict.fromkeys((talk.user_id, talk.app_name) for talk in talks):
            print(f"\nWHAT IS KNOWN ABOUT {user_id}:")
            print_active(store.scan(user_id, app_name))
            for question in questions:
                print_query(store, question, user_id, app_name)


def published_run() -> None:
    """The published run, figure for figure, on a frozen clock; then regeneration."""
    seed_ids("demo")
    try:
        with clock.freeze(FROZEN_AT), MemoryStore() as store:
            _sessions(store)
            _reading(store)
            _revoking(store)
    finally:
        seed_ids(None)


def print_operations(operations: list[Operation]) -> None:
    """One line an operation, and its reason below."""
    for operation in operations:
        target = f"-> {operation.target_id}" if operation.target_id else ""
        print(f"    {operation.action:6} {target:19} {operation.content!r}")
        print(f"           reason: {operation.reason}")


def print_active(records: list[MemoryRecord]) -> None:
    """Each memory with its topic, confidence and sources."""
    for record in records:
        print(f"  {record.memory_id}  [{record.topic:8}] conf={record.confidence:.2f}  {record.content}")
        print(f"      sources: {[(source.source_type, source.source_id) for source in record.sources]}")


def print_query(store: MemoryStore, query: str, user_id: str, app_name: str = "default") -> None:
    """The query, and each hit with its blended score."""
    print(f"\nquery: {query!r}")
    for hit in retrieve(store, query, user_id=user_id, app_name=app_name, k=3):
        print(f"  {hit.score:.3f}  {hit.record.content}")


def _talk(entry: object, number: int) -> Talk:
    if not isinstance(entry, dict):
        raise ValueError('is no object; write {"user_id": …, "messages": […]}')
    if unknown := set(entry) - FIELDS:
        raise ValueError(f"{', '.join(sorted(unknown))} not known; use {', '.join(sorted(FIELDS))}")
    if missing := {"user_id", "messages"} - set(entry):
        raise ValueError(f"{' and '.join(sorted(missing))} missing; add it")
    read_messages(entry["messages"])
    check_owner(entry["user_id"], entry.get("app_name", "default"))
    source = Source(
        entry.get("source_type", "user_implicit"),
        entry.get("source_id", f"s{number}"),
        at=entry.get("at", clock.now()),
    )
    return Talk(entry["user_id"], entry.get("app_name", "default"), source, entry["messages"])


def _learn(store: MemoryStore, talk: Talk) -> list[Operation]:
    return learn(store, talk.messages, talk.source, user_id=talk.user_id, app_name=talk.app_name)


def _sessions(store: MemoryStore) -> None:
    for number, talk in enumerate(load_conversations(ADA), start=1):
        source = talk.source
        title = TITLES[source.source_id] or f"  (source: {source.source_type}, session {source.source_id})"
        print(f"SESSION {number}{title}")
        # The published figures are those of three sessions at one moment: nothing has faded yet.
        print_operations(_learn(store, talk._replace(source=replace(source, at=clock.now()))))
        print()
    print("STORE STATE -- ACTIVE:")
    print_active(sorted(store.scan("u_ada"), key=lambda record: record.topic))
    print("\nINVALIDATED (kept for lineage, never retrieved):")
    for record in store.owned("u_ada"):
        if not record.active():
            print(f"  {record.memory_id}  {record.content}")
            print("".join(f"      {line}\n" for line in record.history), end="")


def _reading(store: MemoryStore) -> None:
    print("\nRETRIEVAL")
    for query in QUERIES:
        print_query(store, query, "u_ada")
    print("\nisolation check -- a different user sees nothing:")
    print(f"  {retrieve(store, QUERIES[0], user_id='u_bo')}")
    print("\nCONTEXT FOR THE NEXT TURN")
    print(inject(SYSTEM, retrieve(store, QUERIES[1], user_id="u_ada")))


def _revoking(store: MemoryStore) -> None:
    print("\nRIGHT TO ERASURE: revoking source s1")
    _print_revocation(store, forget_source(store, "s1", "u_ada"))
    print("\nREGENERATION from the conversations that remain, s2 and s3")
    _print_regenerated(regenerate(store, "u_ada"))
    print("\nRIGHT TO ERASURE: revoking source s3, which had displaced the vegetarian")
    _print_revocation(store, forget_source(store, "s3", "u_ada"))
    print("\nREGENERATION from s2 alone: what s3 had displaced is revived")
    _print_regenerated(regenerate(store, "u_ada"))


def _print_revocation(store: MemoryStore, revocation: Revocation) -> None:
    for memory_id in revocation.erased:
        print(f"   {memory_id}")
    for memory_id in revocation.flagged:
        print(f"   {memory_id} (needs regeneration)")
    print("remaining active:")
    for record in store.scan("u_ada"):
        print(f"   {record.memory_id}  {record.content}")


def _print_regenerated(records: list[MemoryRecord]) -> None:
    for record in records:
        state = "active" if record.active() else "invalidated"
        sources = ", ".join(
            f"{source.source_id} (inherited)" if source.inherited else source.source_id
            for source in record.sources
        )
        print(f"   {record.memory_id}  {record.content}")
        print(f"       {state}, conf={record.confidence:.2f}, sources: {sources}")


if __name__ == "__main__":
    raise SystemExit(main())
