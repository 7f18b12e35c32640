"""Checks of notebook 10: a reply that cannot be read, whose memory it is, and what is yours on top of mem0.

They work on mem0's real client, with its stores in memory. What the learner's functions find there is written
as the notebook's `save` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

from course.check import Cases, Function, Misconception, Shown, exercise
from memlab import clock
from memlab.embedding import hash_embed
from memlab.records import Candidate, MemoryRecord, Source, SourceType
from solutions.given.mem0_setup import load_mem0

TODAY = "2026-08-06T12:00:00Z"


# --- mem0, in memory --------------------------------------------------------------------------------


@cache
def _settings() -> TemporaryDirectory[str]:
    """Where mem0 keeps its settings, should a check be the first to load it; gone with the process."""
    return TemporaryDirectory(ignore_cleanup_errors=True)


def _mem0() -> ModuleType:
    return load_mem0(Path(_settings().name))


def _client(*held: MemoryRecord) -> Any:
    """mem0's client, in which the memories `held` stand, written in this order."""
    mem0 = _mem0()
    from qdrant_client import QdrantClient  # here, since nobody should wait for it who only lists exercises

    index = {"client": QdrantClient(":memory:"), "collection_name": "check", "embedding_model_dims": 256}
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": index},
            "llm": {"provider": "anthropic", "config": {"api_key": "offline"}},
            "embedder": {"provider": "openai", "config": {"api_key": "offline", "embedding_dims": 256}},
            "history_db_path": ":memory:",
        }
    )
    memory.embedding_model = SimpleNamespace(embed=lambda text, _=None: hash_embed(text))
    for number, record in enumerate(held, 1):
        _write(memory, record, number)
    return memory


def _write(memory: Any, record: MemoryRecord, number: int) -> None:
    about = {
        "topic": record.topic,
        "subject": record.subject,
        "memory_id": record.memory_id,
        "record": record.to_json(),
        "written": number,
    }
    owner = {"user_id": record.user_id, "agent_id": record.app_name, "run_id": record.session_id}
    memory.add(record.content, infer=False, metadata=about, **owner)


def _records(memory: Any, user_id: str = "u_ada") -> list[MemoryRecord]:
    """This user's memories as they stand in mem0 now, in the order of writing."""
    found = memory.get_all(filters={"user_id": user_id}, top_k=1000, show_expired=True)["results"]
    if strange := [row["memory"] for row in found if "record" not in (row["metadata"] or {})]:
        raise Misconception(
            "A memory stands in mem0 without its record: write with `save`, which sees to the metadata.",
            got=strange,
        )
    found.sort(key=lambda row: row["metadata"]["written"])
    return [replace(MemoryRecord.from_json(r["metadata"]["record"]), content=r["memory"]) for r in found]


def _active(memory: Any, user_id: str = "u_ada") -> list[str]:
    return [record.content for record in _records(memory, user_id) if record.active()]


def _watched(memory: Any, look: Callable[[], list[str]]) -> list[list[str]]:
    """What `look` sees after each of the coming calls that write; the list grows as they are made."""
    seen: list[list[str]] = []

    def watch(write: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = write(*args, **kwargs)
            seen.append(look())
            return result

        return call

    for name in ("add", "update", "delete"):
        setattr(memory, name, watch(getattr(memory, name)))
    return seen


@contextmanager
def _at_noon() -> Iterator[float]:
    with clock.freeze(TODAY):
        yield clock.now()


# --- A reply that cannot be read ----------------------------------------------------------------------


@exercise("10-read-memories")
def _(case: Cases, read_memories: Function) -> None:
    _mem0()  # before the answer imports its parts: plainly imported, it calls home
    one = '{"memory": [{"id": "0", "text": "Likes tea."}]}'

    def read(reply: str) -> object:
        try:
            return read_memories(reply)
        except ValueError as refused:
            return Shown(f"{type(refused).__name__}: {refused}")

    case(
        "the texts come back",
        read,
        one,
        given=f"read_memories({one!r})",
        expect=["Likes tea."],
        otherwise='The reply holds one memory, under "memory"; its "text" is what is wanted.',
        mistakes=[([{"id": "0", "text": "Likes tea."}], "Give back the texts, not the dicts around them.")],
    )
    case(
        "none is none",
        read,
        '{"memory": []}',
        given="read_memories('{\"memory\": []}')",
        expect=[],
        otherwise="This model says that there is nothing to remember: that is an answer, the empty list.",
    )
    for name, reply in (
        ("a fence around it", f"```json\n{one}\n```"),
        ("a sentence around it", f"Here you go:\n{one}\nHope it helps!"),
    ):
        case(
            f"{name} is no obstacle",
            read,
            reply,
            given=f"read_memories({reply!r})",
            expect=["Likes tea."],
            otherwise="Models put their JSON into prose and fences. `remove_code_blocks` and `extract_json` "
            "take it out; mem0 reads this reply, so it is no failure.",
        )
    for name, reply, otherwise in _UNREADABLE:
        case.refuses(name, read_memories, reply, otherwise=otherwise, mentions="reply")


_UNREADABLE = [
    (
        "a reply cut short raises",
        '{"memory": [{"id": "0", "text": "Likes te',
        "The reply ends in the middle of a word. That is no empty list: raise ExtractionFailed, and let its "
        "message begin with `reply=`.",
    ),
    (
        "prose raises",
        "I'm sorry, I cannot help with that.",
        "Not a brace in it: the model did not answer the question, and nobody knows whether there are facts.",
    ),
    (
        "an empty reply raises",
        "",
        "mem0 takes an empty reply for no facts, and says nothing. A model that found none sends an empty "
        "*list*.",
    ),
    (
        "another key raises",
        '{"facts": [{"text": "Likes tea."}]}',
        "There is a fact in this reply, under another name, and your answer loses it: `.get('memory', [])` "
        "turns a missing key into no facts.",
    ),
    (
        "a memory without a text raises",
        '{"memory": [{"id": "0", "text": "Likes tea."}, {"id": "1"}]}',
        "The second memory has no text. Half a reply is a failed reply.",
    ),
    (
        "memories that are no list raise",
        '{"memory": {"text": "Likes tea."}}',
        "Under `memory` stands a dict. `check_list` refuses it by name; a loop would run over its keys.",
    ),
]


# --- Whose --------------------------------------------------------------------------------------------


@exercise("10-owner-filter")
def _(case: Cases, owner_filter: Function) -> None:
    mine = {"user_id": "u_ada", "agent_id": "default"}
    case(
        "a user and an app",
        owner_filter,
        "u_ada",
        expect=mine,
        otherwise="A filter is a dict with `user_id` and `agent_id`, which is mem0's name for the app.",
        mistakes=[
            ({"user_id": "u_ada"}, "The app is missing: another product's memories of Ada would come along."),
            ({"user_id": "u_ada", "app_name": "default"}, "mem0 knows no `app_name`; it says `agent_id`."),
        ],
    )
    case(
        "columns beside them",
        owner_filter,
        "u_ada",
        "bakery",
        topic="diet",
        subject="son",
        expect={"user_id": "u_ada", "agent_id": "bakery", "topic": "diet", "subject": "son"},
        otherwise="What is in `equal` belongs into the same dict, as it is.",
    )
    _refuses_by_name(
        case,
        owner_filter,
        [
            ("a star is nobody", ("*",), {}, "user_id", "To mem0 `'*'` is everybody: refuse it by name."),
            ("in the app too", ("u_ada", "*"), {}, "app_name", "A star for the app means all apps."),
            ("and in a column", ("u_ada",), {"topic": "*"}, "topic", "A star for a topic means all topics."),
            ("an empty id is refused", ("",), {}, "user_id", "An empty id names nobody."),
            ("None is refused", (None,), {}, "user_id", "None names nobody: `check_id` refuses it."),
            (
                "a condition is no id",
                ({"ne": "u_bo"},),
                {},
                "user_id",
                "A dict asks for a whole range of users: only text may name one.",
            ),
            (
                "a list of users is no id",
                (["u_ada", "u_bo"],),
                {},
                "user_id",
                "mem0 would look for the *text* of this list: only text may name a user.",
            ),
            (
                "AND is refused",
                ("u_ada",),
                {"AND": [{"user_id": "u_bo"}]},
                "AND",
                "mem0 merges an AND into the filter, where Bo's id takes the place of Ada's.",
            ),
            ("OR is refused", ("u_ada",), {"OR": "x"}, "OR", "OR and NOT change whose memories these are."),
            (
                "in small letters too",
                ("u_ada",),
                {"$not": "x"},
                "$not",
                "`$or`, `$and`, `$not` are the same words in the vector store's own spelling.",
            ),
            (
                "an id with a space is refused",
                ("u ada",),
                {},
                "user_id",
                "mem0 refuses an id with a space inside, in words of its own; say it before, by name.",
            ),
            (
                "the ledger is no app",
                ("u_ada", "default#ledger"),
                {},
                "app_name",
                "`default#ledger` is where the conversations are kept; as an app's name it would open them.",
            ),
        ],
    )  # fmt: skip
    topic = owner_filter("u_ada", topic="likes tea")
    case.holds(
        "a topic may have a space",
        topic == mine | {"topic": "likes tea"},
        "Only ids must not have spaces inside; a topic may.",
        given="owner_filter('u_ada', topic='likes tea')",
        expected=mine | {"topic": "likes tea"},
        got=topic,
    )


def _refuses_by_name(
    case: Cases, function: Function, calls: list[tuple[str, tuple[Any, ...], dict[str, Any], str, str]]
) -> None:
    """Each call must raise ValueError or TypeError with the field's name in it."""
    for name, args, kwargs, field, otherwise in calls:
        parts = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
        given = f"{function.__name__}({', '.join(parts)})"
        wanted = Shown(f"ValueError or TypeError that mentions {field!r}")
        try:
            got: object = function(*args, **kwargs)
        except (ValueError, TypeError) as error:
            got = Shown(f"{type(error).__name__}: {error}")
            case.holds(name, field in str(error), otherwise, given=given, expected=wanted, got=got)
        else:
            raise Misconception(otherwise, given=given, expected=wanted, got=got)


@exercise("10-owned-row")
def _(case: Cases, owned_row: Function) -> None:
    tea = MemoryRecord("Likes tea.", "u_ada", memory_id="mem_tea")
    wine = MemoryRecord("Likes wine.", "u_bo", memory_id="mem_wine")
    shop = MemoryRecord("Likes cake.", "u_ada", "bakery", memory_id="mem_cake")
    memory = _client(tea, wine, shop)
    plain = memory.add("Likes maps.", infer=False, user_id="u_ada", agent_id="default")["results"][0]["id"]
    by_mem0 = {
        row["memory"]: row["id"] for row in memory.get_all(filters={"user_id": "*"}, top_k=10)["results"]
    }
    given = "Ada: tea (mem_tea), maps (plain mem0) · Bo: wine (mem_wine) · Ada in the bakery: cake (mem_cake)"

    def text(memory_id: str, user_id: str = "u_ada", app_name: str = "default") -> Any:
        row = owned_row(memory, memory_id, user_id=user_id, app_name=app_name)
        if row is not None and not (isinstance(row, dict) and "memory" in row):
            raise Misconception("Give back mem0's row, a dict with `memory` and `id`, or None.", got=row)
        return row and row["memory"]

    def asks(name: str, memory_id: str, expect: object, otherwise: str, *mistakes: Any, **owner: str) -> None:
        who = "".join(f", {key}={value!r}" for key, value in owner.items())
        case(
            name, lambda: text(memory_id, **owner), expect=expect, otherwise=otherwise, mistakes=mistakes,
            given=f"{given}; Ada asks for {_named(memory_id, by_mem0)}{who}",
        )  # fmt: skip

    asks("mem0's own id finds it", plain, "Likes maps.", "Ada may have what plain mem0 wrote for her.")
    asks(
        "so does the id of our record",
        "mem_tea",
        "Likes tea.",
        "mem_tea stands in the metadata, as `memory_id`: mem0's own `get` does not know it.",
    )
    asks(
        "and mem0's id of our record",
        by_mem0["Likes tea."],
        "Likes tea.",
        "The same row has two ids, ours and mem0's; both must find it.",
    )
    asks(
        "another user's is not there",
        by_mem0["Likes wine."],
        None,
        "Bo's memory must be None to Ada, as if there were none.",
        ("Likes wine.", "You gave Ada a memory of Bo's: `memory.get(id)` asks nobody whose it is."),
    )
    asks("by our id neither", "mem_wine", None, "Bo's memory came back by the id of its record.")
    for name, memory_id in (("nor another app's", "mem_cake"), ("by either id", by_mem0["Likes cake."])):
        asks(
            name,
            memory_id,
            None,
            "That is Ada's, but of another app: user and app must both be right.",
        )
    asks(
        "which its own app finds",
        "mem_cake",
        "Likes cake.",
        "In the bakery the memory is there.",
        app_name="bakery",
    )
    unknown = "5d1f0000-0000-4000-8000-000000000000"
    asks("an unknown id is nobody's", unknown, None, "No memory has this id: None, and no error.")
    _refuses_by_name(
        case,
        lambda user_id: owned_row(memory, by_mem0["Likes wine."], user_id=user_id),
        [("a star owns nothing", ("*",), {}, "user_id", "With '*', everybody's memories were read.")],
    )  # fmt: skip


def _named(memory_id: str, by_mem0: dict[str, str]) -> str:
    """An id as the learner can read it; mem0's differ from run to run."""
    texts = {name: text for text, name in by_mem0.items()}
    return f"mem0's id of {texts[memory_id]!r}" if memory_id in texts else repr(memory_id)


# --- What is yours ------------------------------------------------------------------------------------


def _told(kind: SourceType, source_id: str) -> list[Source]:
    return [Source(kind, source_id)]


@exercise("10-topic-sweep")
def _(case: Cases, topic_sweep: Function) -> None:
    with _at_noon() as now:
        fish = Candidate("The user eats fish again.", "diet", 0.9, "fish again")
        veggie = MemoryRecord("Follows a vegetarian diet.", "u_ada", topic="diet")
        aisle = MemoryRecord("Prefers the aisle.", "u_ada", topic="travel")
        son = MemoryRecord("The son is vegan.", "u_ada", topic="diet", subject="son")
        bo = MemoryRecord("Bo eats meat.", "u_bo", topic="diet")
        gone = MemoryRecord("Ate meat.", "u_ada", topic="diet", invalidated_at=now, created_at=now - 9)
        trip = MemoryRecord("On a juice diet.", "u_ada", scope="session", session_id="t1", topic="diet")
        memory = _client(gone, veggie, aisle, son, bo, trip)
        given = (
            "Ada: meat (a tombstone), vegetarian, aisle (travel), the son is vegan, juice (session t1) · "
            "Bo: meat; sweep for 'The user eats fish again.'"
        )
        case(
            "what holds on the topic, however unlike",
            lambda: [record.content for record in _listed(topic_sweep(memory, fish, user_id="u_ada"))],
            expect=[veggie.content],
            given=given,
            otherwise="One memory of Ada's holds on her own diet: the vegetarian.",
            mistakes=[
                (lambda got: bo.content in got, "Bo's diet came back: whose memories did you ask for?"),
                (lambda got: son.content in got, "What the son eats contradicts nothing that Ada eats: "
                 "filter by subject as well."),
                (lambda got: gone.content in got, "A tombstone came back: `holding` leaves these out."),
                (lambda got: trip.content in got, "What is one session's came back: only user scope."),
                (lambda got: aisle.content in got, "The aisle is no diet: filter by topic."),
                ([], "Nothing came back. No word of 'fish' is in the vegetarian memory: do not search by "
                 "vectors, list by filter."),
            ],
        )  # fmt: skip
        first = MemoryRecord("Lives in Rome.", "u_ada", topic="home")
        second = MemoryRecord("Lives in Paris.", "u_ada", topic="home")
        case(
            "after a crash, the newer of the two",
            lambda: [
                record.content
                for record in _listed(
                    topic_sweep(
                        _client(first, second), Candidate("In Oslo.", "home", 0.9, "x"), user_id="u_ada"
                    )
                )
            ],
            expect=[second.content],
            given="Rome, then Paris, both without an end: the machine stopped in between",
            otherwise="A home is exclusive, so only the newest holds: `holding` knows.",
        )
        notes = [MemoryRecord(f"Note {number}.", "u_ada", topic="issue") for number in range(25)]
        got = [
            record.content
            for record in topic_sweep(_client(*notes), Candidate("Note.", "issue", 0.9, "x"), user_id="u_ada")
        ]
        case.holds(
            "however many there are, oldest first",
            got == [note.content for note in notes],
            "mem0's `get_all` stops at 20 and `search` at k. `records` gives them all, in order of writing."
            if len(got) < 25
            else "They are all there, but not in the order in which they were written.",
            given="25 memories on one topic",
            expected=Shown("Note 0. to Note 24."),
            got=Shown(f"{len(got)}: {', '.join(got)}"),
        )
        case(
            "another app's are not swept",
            lambda: _listed(topic_sweep(memory, fish, user_id="u_ada", app_name="bakery")),
            expect=[],
            given="the same, for app_name='bakery'",
            otherwise="Nothing is held of Ada in the bakery: pass `app_name` on.",
        )


def _listed(found: Any) -> list[MemoryRecord]:
    if not isinstance(found, list) or not all(isinstance(record, MemoryRecord) for record in found):
        raise Misconception("Give back a list of MemoryRecord.", got=found)
    return found


@exercise("10-supersede")
def _(case: Cases, supersede: Function) -> None:
    with _at_noon() as now:
        old, new = _vegetarian(now), _fish()
        memory = _client(old)
        moments = _watched(memory, lambda: _active(memory))
        supersede(memory, [replace(old)], new, "she said so")
        given = "supersede(memory, [vegetarian, from s1], fish, from s3, 'she said so')"
        after = {record.content: record for record in _records(memory)}
        case.holds(
            "the new memory is written",
            _FISH in after,
            "The new memory is not in mem0: `save` it." if _VEGGIE in after else "Both memories are gone.",
            given=given,
            got=list(after),
        )
        case.holds(
            "the old one is still there",
            _VEGGIE in after,
            "The vegetarian is gone for good. Nothing is overwritten and nothing deleted: a tombstone stays, "
            "so that it can come back when the new source is revoked.",
            given=given,
            got=list(after),
        )
        _tombstone(case, after, now, new, given)
        case.holds(
            "at every moment one of them held",
            all(moments),
            "For a moment Ada had no diet at all, and a crash makes that moment for ever. mem0 has no "
            "transactions: write the new memory first, then end the old.",
            given=given,
            expected=Shown("vegetarian and fish, then fish"),
            got=Shown(" → ".join(" and ".join(moment) or "nothing" for moment in moments)),
        )
        _lineage(case, supersede, now)
        memory = _client()
        supersede(memory, [], _fish(), "new")
        case.holds(
            "with nothing to displace it is simply written",
            _active(memory) == [_FISH],
            "Without anything to displace, the new memory still has to be written.",
            given="supersede(memory, [], fish, 'new')",
            expected=[_FISH],
            got=_active(memory),
        )


_VEGGIE, _FISH, _MEAT = "Follows a vegetarian diet.", "Eats fish again.", "Eats meat."


def _vegetarian(now: float) -> MemoryRecord:
    sources = _told("user_implicit", "s1")
    return MemoryRecord(
        _VEGGIE, "u_ada", topic="diet", sources=sources, created_at=now - 9, memory_id="mem_veg"
    )


def _fish(*sources: Source) -> MemoryRecord:
    own = list(sources) or _told("user_explicit", "s3")
    return MemoryRecord(_FISH, "u_ada", topic="diet", sources=own, memory_id="mem_fish")


def _tombstone(
    case: Cases, after: dict[str, MemoryRecord], now: float, new: MemoryRecord, given: str
) -> None:
    old, written = after[_VEGGIE], after[_FISH]
    case.holds(
        "the old one is a tombstone",
        old.invalidated_at is not None and not old.active(),
        "The vegetarian still holds: set `invalidated_at`, and `save` it again.",
        given=given,
        expected=Shown("invalidated_at=now"),
        got=Shown(f"invalidated_at={old.invalidated_at}"),
    )
    case.holds(
        "which says what replaced it",
        old.superseded_by == new.memory_id,
        "`superseded_by` must be the id of the new memory, or nobody finds out what replaced the old one.",
        given=given,
        expected=new.memory_id,
        got=old.superseded_by,
    )
    case.holds(
        "the new one holds",
        written.active() and written.superseded_by is None,
        "You ended the new memory as well.",
        given=given,
        got=Shown(f"invalidated_at={written.invalidated_at}, superseded_by={written.superseded_by}"),
    )
    for record in (old, written):
        case.holds(
            f"{'the old' if record is old else 'the new'} one notes why",
            any("she said so" in line for line in record.history),
            "Both sides note the reason in their history: `record.note(…)`, before it is saved.",
            given=given,
            expected=Shown("a line with 'she said so'"),
            got=record.history,
        )


def _lineage(case: Cases, supersede: Function, now: float) -> None:
    veggie = _vegetarian(now)
    meat = replace(
        veggie, content=_MEAT, sources=_told("user_explicit", "s2"), memory_id="mem_meat", created_at=now - 5
    )
    memory = _client(veggie, meat)
    new = _fish(Source("user_explicit", "s2"))
    supersede(memory, [replace(veggie), replace(meat)], new, "two at once")
    given = "vegetarian from s1 and meat from s2, displaced by fish, which rests on s2 itself"
    after = {record.content: record for record in _records(memory)}
    held = sorted(content for content, record in after.items() if record.active())
    case.holds(
        "several are ended at once",
        held == [_FISH],
        "Only one of the two displaced memories was ended.",
        given=given,
        expected=[_FISH],
        got=held,
    )
    sources = after[_FISH].sources
    inherited = [source.source_id for source in sources if source.inherited]
    case.holds(
        "their sources are inherited",
        "s1" in [source.source_id for source in sources],
        "s1 is lost: when it is revoked, nobody will look at the fish again.",
        given=given,
        expected=Shown("s1, inherited, and s2, its own"),
        got=sources,
    )
    case.holds(
        "as lineage, not as support",
        "s1" in inherited,
        "s1 never said anything about fish. Inherit it with `inherited=True`, or what it lends becomes trust "
        "(the laundering of notebook 04).",
        given=given,
        expected=Shown("s1 with inherited=True"),
        got=sources,
    )
    own = [source.source_id for source in sources if not source.inherited]
    case.holds(
        "a source of its own stays its own",
        own == ["s2"] and inherited.count("s2") == 0,
        "s2 says it itself: it stays its own source, and is not inherited a second time.",
        given=given,
        expected=Shown("s2, its own, once"),
        got=sources,
    )
    untouched = [source.inherited for source in after[_VEGGIE].sources]
    case.holds(
        "the old memory keeps its sources",
        untouched == [False],
        "You marked the *old* memory's source as inherited. Make a copy: `replace(source, inherited=True)`.",
        given=given,
        expected=_told("user_implicit", "s1"),
        got=after[_VEGGIE].sources,
    )


@exercise("10-trust-gate")
def _(case: Cases, consolidate: Function) -> None:
    with _at_noon() as now:
        fish = Candidate(_FISH, "diet", 0.95, "fish again", importance=0.8)
        memory = _client()
        operation = consolidate(memory, fish, Source("user_explicit", "s3"), user_id="u_ada")
        _decided(case, "something new is created", "CREATE", operation, "an empty store; fish from the user")
        _written(case, _records(memory))
        _rejects(case, consolidate, now)
        _hears_again(case, consolidate, now)
        _replaces(case, consolidate, now)


def _decided(case: Cases, name: str, wanted: str, operation: Any, given: str) -> None:
    action = getattr(operation, "action", None)
    sentence = "Give back the operation that `decide` gave."
    if action is not None:
        sentence = (
            "`decide` was not asked with all that it needs: the candidate, what it affects, its source."
        )
    case.holds(name, action == wanted, sentence, given=given, expected=wanted, got=action or operation)


def _written(case: Cases, held: list[MemoryRecord]) -> None:
    given = "consolidate(memory, fish at 0.95, Source('user_explicit', 's3'), user_id='u_ada')"
    case.holds(
        "and written",
        [record.content for record in held] == [_FISH],
        "Nothing was written. What is no NOOP is a new memory: `new_memory`, then `supersede`.",
        given=given,
        expected=[_FISH],
        got=[record.content for record in held],
    )
    [record] = held
    case.holds(
        "no surer than its source",
        abs(record.confidence - 0.9) < 1e-6 and [s.source_id for s in record.sources] == ["s3"],
        "Confidence starts at the smaller of the candidate's and the trust of its source, which the memory "
        "names: `new_memory` does both.",
        given=given,
        expected=Shown("confidence 0.90, from s3"),
        got=Shown(f"confidence {record.confidence:.2f}, from {[s.source_id for s in record.sources]}"),
    )


def _rejects(case: Cases, consolidate: Function, now: float) -> None:
    veggie = _vegetarian(now)
    memory = _client(veggie)
    calls = _watched(memory, lambda: [record.content for record in _records(memory)])
    form = Candidate("The user follows a vegan diet.", "diet", 0.95, "diet: vegan")
    operation = consolidate(memory, form, Source("tool_output", "t1"), user_id="u_ada")
    given = "vegetarian, from the user; a form says vegan"
    _decided(case, "a weaker source is rejected", "NOOP", operation, given)
    case.holds(
        "before anything is written",
        not any(form.content in moment for moment in calls),
        "The form's text stood in mem0: it was added first and judged afterwards. Decide before `add`, or a "
        "crash in between keeps what was refused.",
        given=given,
        expected=Shown("vegan never stands in mem0"),
        got=Shown(" → ".join(" and ".join(moment) for moment in calls)),
    )
    [left] = _records(memory)
    case.holds(
        "what the user said still holds",
        left.active() and left.content == _VEGGIE,
        "A form displaced what the user said.",
        given=given,
        got=left,
    )
    case.holds(
        "the rejection is no support",
        left.confidence == veggie.confidence and [s.source_id for s in left.sources] == ["s1"],
        "The form contradicts her, and the memory gained by it: a rejected contradiction adds no source and "
        "no confidence.",
        given=given,
        expected=Shown(f"confidence {veggie.confidence:.2f}, from s1"),
        got=Shown(f"confidence {left.confidence:.2f}, from {[s.source_id for s in left.sources]}"),
    )
    case.holds(
        "it leaves a line of history",
        any("t1" in line for line in left.history),
        "Nobody will ever see that a form said otherwise: `take_note` writes it down, and `save` keeps it.",
        given=given,
        expected=Shown("a line of history with t1"),
        got=left.history,
    )


def _hears_again(case: Cases, consolidate: Function, now: float) -> None:
    memory = _client(_vegetarian(now), MemoryRecord("Prefers the aisle.", "u_ada", topic="travel"))
    again = Candidate(_VEGGIE, "diet", 0.95, "still a vegetarian")
    operation = consolidate(memory, again, Source("user_implicit", "s2"), user_id="u_ada")
    given = "vegetarian, 0.60 from s1, and the aisle; s2 says vegetarian too"
    _decided(case, "the same again is no new memory", "NOOP", operation, given)
    held = {record.content: record for record in _records(memory)}
    case.holds(
        "and is held once",
        len(_records(memory)) == 2,
        "It is held twice: on a NOOP nothing is added.",
        given=given,
        got=[record.content for record in _records(memory)],
    )
    veggie = held[_VEGGIE]
    case.holds(
        "which another source makes surer",
        abs(veggie.confidence - 0.65) < 1e-6 and [s.source_id for s in veggie.sources] == ["s1", "s2"],
        "An independent source that says the same adds itself and 0.05: `take_note`, and then `save`, or "
        "mem0 never hears of it.",
        given=given,
        expected=Shown("confidence 0.65, from s1 and s2"),
        got=Shown(f"confidence {veggie.confidence:.2f}, from {[s.source_id for s in veggie.sources]}"),
    )
    aisle = held["Prefers the aisle."]
    case.holds(
        "and no other",
        not aisle.sources and not aisle.history,
        "The aisle was noted as well: the note belongs to the memory that the operation names, `target_id`.",
        given=given,
        got=aisle,
    )


def _replaces(case: Cases, consolidate: Function, now: float) -> None:
    meat = MemoryRecord(_MEAT, "u_bo", topic="diet", sources=_told("user_implicit", "s1"))
    memory = _client(_vegetarian(now), meat)
    fish = Candidate(_FISH, "diet", 0.95, "fish again")
    operation = consolidate(memory, fish, Source("user_explicit", "s3"), user_id="u_ada")
    given = "Ada: vegetarian · Bo: meat; Ada says fish"
    _decided(case, "a contradiction is an update", "UPDATE", operation, given)
    case.holds(
        "which replaces the old value",
        _active(memory) == [_FISH],
        "Both hold: what the new memory cannot stand beside, `rivals` finds and `supersede` ends."
        if len(_active(memory)) > 1
        else "Neither is right: the fish must hold, alone.",
        given=given,
        expected=[_FISH],
        got=_active(memory),
    )
    case.holds(
        "of this user only",
        _active(memory, "u_bo") == [_MEAT],
        "Bo's diet went when Ada's changed.",
        given=given,
        expected=[_MEAT],
        got=_active(memory, "u_bo"),
    )
    crashed = _client(_vegetarian(now), replace(_vegetarian(now), content=_MEAT, memory_id="mem_meat"))
    consolidate(crashed, fish, Source("user_explicit", "s3"), user_id="u_ada")
    case.holds(
        "and what a crash had left",
        _active(crashed) == [_FISH],
        "A crash had left two values. You ended the one that `decide` named, and the other would be back "
        "when the fish goes: `rivals` finds both.",
        given="vegetarian and meat, both without an end after a crash; Ada says fish",
        expected=[_FISH],
        got=_active(crashed),
    )
