"""Checks of notebook 10: a reply that cannot be read, whose memory it is, and what is yours on top of mem0.

They work on mem0's real client, with its stores in memory. What the learner's functions find there is written
as the notebook's `save` writes it.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

from course.acceptance import files_with
from course.check import Cases, Function, Misconception, Shown, call, exercise, refused
from memlab import clock
from memlab.embedding import hash_embed
from memlab.records import Candidate, MemoryRecord, Source

TODAY = "2026-08-06T12:00:00Z"


# --- for the demos ------------------------------------------------------------------------------------


def reports_of(name: str) -> list[str]:
    """What the logger of that name reports from now on; the list grows."""
    lines: list[str] = []
    handler = logging.Handler()
    setattr(handler, "emit", lambda line: lines.append(line.getMessage()))  # noqa: B010
    logging.getLogger(name).addHandler(handler)
    return lines


def leftovers(client: Any, user_id: str, word: str) -> list[str]:
    """What mem0 still has: how many memories it lists for the user, the files in which `word` stands, and the
    rows of the tables beside the vectors, history and messages."""
    listed = len(client.get_all(filters={"user_id": user_id})["results"])
    files = ", ".join(files_with(Path(client.config.history_db_path).parent, word)) or "✓ nowhere"
    counts = [
        client.db.connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        for table in ("history", "messages")
    ]
    return [str(listed), files, *map(str, counts)]


# --- mem0, in memory --------------------------------------------------------------------------------


@cache
def _settings() -> TemporaryDirectory[str]:
    """Where mem0 keeps its settings, should a check be the first to load it; gone with the process."""
    return TemporaryDirectory(ignore_cleanup_errors=True)


def _mem0() -> ModuleType:
    """The module mem0; without these two settings it writes into the home folder and calls home."""
    if "mem0" not in sys.modules:
        os.environ |= {"MEM0_DIR": _settings().name, "MEM0_TELEMETRY": "False"}
        for name in ("mem0.utils.spacy_models", "mem0.vector_stores.qdrant"):  # that each client lacks extras
            logging.getLogger(name).addFilter(lambda line: "not installed" not in line.getMessage())
    import mem0  # type: ignore[import-untyped]

    return mem0  # type: ignore[no-any-return]


class _Stage:
    """mem0's client on a store in memory, in which `records` stand, written in this order; and what to see "
    "there."""

    def __init__(self, *records: MemoryRecord) -> None:
        mem0 = _mem0()
        from qdrant_client import QdrantClient  # here: nobody should wait for it who only lists exercises

        index = {"client": QdrantClient(":memory:"), "collection_name": "check", "embedding_model_dims": 256}
        with warnings.catch_warnings(action="ignore"):  # that such a store has no indexes
            self.memory = mem0.Memory.from_config(
                {
                    "vector_store": {"provider": "qdrant", "config": index},
                    "llm": {"provider": "anthropic", "config": {"api_key": "offline"}},
                    "embedder": {
                        "provider": "openai",
                        "config": {"api_key": "offline", "embedding_dims": 256},
                    },
                    "history_db_path": ":memory:",
                }
            )
        self.memory.embedding_model = SimpleNamespace(embed=lambda text, _=None: hash_embed(text))
        for number, record in enumerate(records, 1):
            about: dict[str, object] = {
                "topic": record.topic,
                "subject": record.subject,
                "memory_id": record.memory_id,
            }
            about |= {"record": record.to_json(), "written": number}
            owner = {"user_id": record.user_id, "agent_id": record.app_name, "run_id": record.session_id}
            self.memory.add(record.content, infer=False, metadata=about, **owner)
        self.moments: list[tuple[list[str], list[str]]] = []

    def watch(self) -> _Stage:
        """Keep in `moments` what stands and what holds after each of the coming calls that write."""
        for name in ("add", "update", "delete"):
            setattr(self.memory, name, self._watched(getattr(self.memory, name)))
        return self

    def _watched(self, write: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = write(*args, **kwargs)
            self.moments.append((self.texts(), self.holding()))
            return result

        return call

    def records(self, user_id: str = "u_ada", app_name: str = "default") -> list[MemoryRecord]:
        """This user's memories as they stand in mem0 now, in the order of writing."""
        owner = {"user_id": user_id, "agent_id": app_name}
        rows = self.memory.get_all(filters=owner, top_k=1000, show_expired=True)["results"]
        if strange := [row["memory"] for row in rows if "record" not in (row["metadata"] or {})]:
            raise Misconception(
                "A memory stands in mem0 without its record: write with `save`, which sees to the metadata.",
                got=strange,
            )
        rows.sort(key=lambda row: row["metadata"]["written"])
        return [replace(MemoryRecord.from_json(r["metadata"]["record"]), content=r["memory"]) for r in rows]

    def texts(self) -> list[str]:
        """What Ada's memories say, tombstones too."""
        return [record.content for record in self.records()]

    def holding(self, *owner: str) -> list[str]:
        """What the memories say that hold."""
        return [record.content for record in self.records(*owner) if record.active()]

    def record(self, text: str) -> MemoryRecord:
        """Ada's memory that says this."""
        return next(record for record in self.records() if record.content == text)

    def sources(self, text: str) -> list[str]:
        """What a memory rests on: "s1", or "s1, inherited"."""
        sources = self.record(text).sources
        return sorted(source.source_id + ", inherited" * source.inherited for source in sources)

    def rests_on(self, text: str) -> list[object]:
        """A memory's confidence, and its sources."""
        return [self.record(text).confidence, *self.sources(text)]


def _seen(case: Cases, stage: _Stage, given: str, rows: list[tuple[Any, ...]]) -> None:
    """Rows on what stands in mem0 afterwards: instead of a call, each has a function that looks."""
    case.table(lambda look: look(stage), rows, told=lambda look: given)


@contextmanager
def _at_noon() -> Iterator[float]:
    with clock.freeze(TODAY):
        yield clock.now()


# --- A reply that cannot be read ----------------------------------------------------------------------

_ONE = '{"memory": [{"id": "0", "text": "Likes tea."}]}'
_WRAPPED = (
    "Models put their JSON into prose and fences. `remove_code_blocks` and `extract_json` take it out; mem0 "
    "reads this reply, so it is no failure."
)
_NO_TEXT = "The second memory has no text. Half a reply is a failed reply."
_NO_LIST = (
    "Under `memory` stands no list. `check_list` refuses it by name; a loop would run over what is there."
)

# fmt: off
READABLE = [
    ("the texts come back", _ONE, ["Likes tea."],
     'The reply holds one memory, under "memory"; its "text" is what is wanted.',
     ([{"id": "0", "text": "Likes tea."}], "Give back the texts, not the dicts around them.")),
    ("none is none", '{"memory": []}', [],
     "This model says that there is nothing to remember: that is an answer, the empty list."),
    ("a fence around it is no obstacle", f"```json\n{_ONE}\n```", ["Likes tea."], _WRAPPED),
    ("a sentence around it is no obstacle", f"Here you go:\n{_ONE}\nHope it helps!", ["Likes tea."],
     _WRAPPED),
    ("nor is a line break inside", '{"memory": [{"text": "Likes\ntea."}]}', ["Likes\ntea."],
     "A model wrote a line break into a text, which strict JSON does not allow and mem0 reads: "
     "`strict=False`."),
]
UNREADABLE = [
    ("a reply cut short raises", '{"memory": [{"id": "0", "text": "Likes te', refused("reply="),
     "The reply ends in the middle of a word. That is no empty list: raise ExtractionFailed, and let its "
     "message begin with `reply=`."),
    ("prose raises", "I'm sorry, I cannot help with that.", refused("reply="),
     "Not a brace in it: the model did not answer the question, and nobody knows whether there are facts."),
    ("an empty reply raises", "", refused("reply="),
     "mem0 takes an empty reply for no facts, and says nothing. A model that found none sends an empty "
     "*list*."),
    ("another key raises", '{"facts": [{"text": "Likes tea."}]}', refused("reply="),
     "There is a fact in this reply, under another name, and your answer loses it: `.get('memory', [])` "
     "turns a missing key into no facts."),
    ("a memory without a text raises", '{"memory": [{"text": "Likes tea."}, {"id": "1"}]}', refused("reply="),
     _NO_TEXT),
    ("an empty text is none", '{"memory": [{"text": "Likes tea."}, {"text": ""}]}', refused("reply="),
     'The second text is empty: `check_text` refuses it. mem0 would leave it out without a word.'),
    ("nor is a number one", '{"memory": [{"text": 5}]}', refused("reply="),
     "A text is a str: `check_text` refuses 5."),
    ("memories that are no list raise", '{"memory": {"text": "Likes tea."}}', refused("reply="), _NO_LIST),
    ("even when they are empty", '{"memory": {}}', refused("reply="), _NO_LIST),
]
# fmt: on


@exercise("10-read-memories")
def _(case: Cases, read_memories: Function) -> None:
    _mem0()  # before the answer imports its parts: plainly imported, it calls home

    @wraps(read_memories)
    def read(reply: str) -> object:
        try:
            return read_memories(reply)
        except ValueError as error:
            return Shown(f"{type(error).__name__}: {error}")

    case.table(read, READABLE)
    case.table(read_memories, UNREADABLE)


# --- Whose --------------------------------------------------------------------------------------------

_MINE = {"user_id": "u_ada", "agent_id": "default"}
_ONLY_TEXT = (
    "mem0 would take it for a condition, or for the *text* of this list: only plain text may name one."
)

# fmt: off
OWNER = [
    ("a user and an app", "u_ada", _MINE,
     "A filter is a dict with `user_id` and `agent_id`, which is mem0's name for the app.",
     ({"user_id": "u_ada"}, "The app is missing: another product's memories of Ada would come along."),
     ({"user_id": "u_ada", "app_name": "default"}, "mem0 knows no `app_name`; it says `agent_id`.")),
    ("columns beside them", call("u_ada", "bakery", topic="diet", subject="son"),
     {"user_id": "u_ada", "agent_id": "bakery", "topic": "diet", "subject": "son"},
     "What is in `equal` belongs into the same dict, as it is."),
    ("a star is nobody", "*", refused("user_id"), "To mem0 `'*'` is everybody: refuse it by name."),
    ("in the app too", call("u_ada", "*"), refused("app_name"), "A star for the app means all apps."),
    ("and in a column", call("u_ada", topic="*"), refused("topic"), "A star for a topic means all topics."),
    ("an empty id is refused", "", refused("user_id"), "An empty id names nobody."),
    ("None is refused", None, refused("user_id"), "None names nobody: `check_id` refuses it."),
    ("a condition is no id", {"ne": "u_bo"}, refused("user_id"),
     f"A dict asks for a whole range of users. {_ONLY_TEXT}"),
    ("a list of users is no id", call(["u_ada", "u_bo"]), refused("user_id"),
     f"That is two users. {_ONLY_TEXT}"),
    ("a column is plain text too", call("u_ada", topic={"ne": "diet"}), refused("topic"),
     f"All topics but one. {_ONLY_TEXT}"),
    ("AND is refused", call("u_ada", AND="u_bo"), refused("AND"),
     "mem0 merges an AND into the filter, where another id takes the place of Ada's."),
    ("OR is refused", call("u_ada", OR="x"), refused("OR"), "OR and NOT change whose memories these are."),
    ("and NOT", call("u_ada", NOT="x"), refused("NOT"), "NOT changes whose memories these are."),
    ("in small letters too", call("u_ada", **{"and": "x"}), refused("and"),
     "`and` is AND to some stores: any case."),
    ("and in the store's spelling", call("u_ada", **{"$not": "x"}), refused("$not"),
     "`$or`, `$and`, `$not` are the same words in the vector store's own spelling."),
    ("no column names the app again", call("u_ada", agent_id="bakery"), refused("agent_id"),
     "A column `agent_id` took the place of the app: Ada's memories of the bakery came back."),
    ("an id with a space is refused", "u ada", refused("user_id"),
     "mem0 refuses an id with a space inside, in words of its own; say it before, by name."),
    ("an app's too", call("u_ada", "my app"), refused("app_name"),
     "The app is an id as well: no space inside."),
    ("of any kind", "u\u00a0ada", refused("user_id"),
     "The space in it is one that does not break a line; mem0 refuses it too."),
    ("the ledger is no app", call("u_ada", "default#ledger"), refused("app_name"),
     "`default#ledger` is where the conversations are kept; as an app's name it would open them."),
    ("nor a user", "u_ada#ledger", refused("user_id"),
     "The mark is refused at the end of a user's id as well."),
    ("a topic may have a space", call("u_ada", topic="likes tea"), _MINE | {"topic": "likes tea"},
     "Only ids must not have spaces inside; a topic may."),
]
# fmt: on


@exercise("10-owner-filter")
def _(case: Cases, owner_filter: Function) -> None:
    @wraps(owner_filter)
    def answer(*args: Any, **kwargs: Any) -> object:
        try:
            return owner_filter(*args, **kwargs)
        except TypeError as error:  # the docstring leaves open which of the two it is
            raise ValueError(str(error)) from error

    case.table(answer, OWNER)


_ANOTHER_APP = "That is Ada's, but of another app: user and app must both be right."

# fmt: off
OWNED = [
    ("mem0's own id finds it", "mem0's id of 'Likes maps.'", "Likes maps.",
     "Ada may have what plain mem0 wrote for her."),
    ("so does the id of our record", "mem_tea", "Likes tea.",
     "mem_tea stands in the metadata, as `memory_id`: mem0's own `get` does not know it."),
    ("and mem0's id of our record", "mem0's id of 'Likes tea.'", "Likes tea.",
     "The same row has two ids, ours and mem0's; both must find it."),
    ("another user's is not there", "mem0's id of 'Likes wine.'", None,
     "Bo's memory must be None to Ada, as if there were none.",
     ("Likes wine.", "You gave Ada a memory of Bo's: `memory.get(id)` asks nobody whose it is.")),
    ("by our id neither", "mem_wine", None, "Bo's memory came back by the id of its record."),
    ("nor another app's", "mem_cake", None, _ANOTHER_APP),
    ("by either id", "mem0's id of 'Likes cake.'", None, _ANOTHER_APP),
    ("which its own app finds", call("mem_cake", app_name="bakery"), "Likes cake.",
     "In the bakery the memory is there."),
    ("by either id", call("mem0's id of 'Likes cake.'", app_name="bakery"), "Likes cake.",
     "In the bakery the memory is there."),
    ("an unknown id is nobody's", "5d1f0000-0000-4000-8000-000000000000", None,
     "No memory has this id: None, and no error."),
    ("a star owns nothing", call("mem0's id of 'Likes wine.'", user_id="*"), refused("user_id"),
     "With '*', everybody's memories were read."),
]
# fmt: on


@exercise("10-owned-row")
def _(case: Cases, owned_row: Function) -> None:
    memory = _Stage(
        MemoryRecord("Likes tea.", "u_ada", memory_id="mem_tea"),
        MemoryRecord("Likes wine.", "u_bo", memory_id="mem_wine"),
        MemoryRecord("Likes cake.", "u_ada", "bakery", memory_id="mem_cake"),
    ).memory
    memory.add("Likes maps.", infer=False, user_id="u_ada", agent_id="default")
    rows = memory.get_all(filters={"user_id": "*"}, top_k=10)["results"]
    ids = {f"mem0's id of {row['memory']!r}": row["id"] for row in rows}  # they differ from run to run
    stands = (
        "Ada: tea (mem_tea), maps (plain mem0) · Bo: wine (mem_wine) · Ada in the bakery: cake (mem_cake)"
    )

    def text(memory_id: str, user_id: str = "u_ada", **app: str) -> object:
        row = owned_row(memory, ids.get(memory_id, memory_id), user_id=user_id, **app)
        if row is not None and not (isinstance(row, dict) and "memory" in row):
            raise Misconception("Give back mem0's row, a dict with `memory` and `id`, or None.", got=row)
        return row and row["memory"]

    def told(memory_id: str, user_id: str = "u_ada", **app: str) -> str:
        return f"{stands}; {user_id} asks for {memory_id}{' in the bakery' * bool(app)}"

    case.table(text, OWNED, told)


# --- What is yours ------------------------------------------------------------------------------------

_VEGGIE, _FISH, _MEAT = "Follows a vegetarian diet.", "Eats fish again.", "Eats meat."
FISH = Candidate(_FISH, "diet", 0.95, "fish again", importance=0.8)


def _record(content: str, source: str = "", topic: str = "diet", **about: Any) -> MemoryRecord:
    """Ada's memory on that topic; source: of an implicit one of hers."""
    sources = [Source("user_implicit", source)] if source else []
    return MemoryRecord(content, **{"user_id": "u_ada"} | about, topic=topic, sources=sources)


def _vegetarian(**about: Any) -> MemoryRecord:
    return _record(_VEGGIE, "s1", created_at=clock.now() - 9, memory_id="mem_veg", **about)


def _swept() -> list[tuple[Any, ...]]:
    """Rows of the topic sweep: what stands in mem0, the candidate, and what must come back."""
    stands = [
        _record("Ate meat.", invalidated_at=clock.now(), created_at=clock.now() - 9),
        _record(_VEGGIE), _record("Prefers the aisle.", topic="travel"),
        _record("The son is vegan.", subject="son"), _record("Bo eats meat.", user_id="u_bo"),
        _record("On juice.", scope="session", session_id="t1"),
    ]  # fmt: skip
    # fmt: off
    return [
        ("what holds on the topic, however unlike", call(stands, FISH), [_VEGGIE],
         "One memory of Ada's holds on her own diet: the vegetarian.",
         (lambda got: "Bo eats meat." in got, "Bo's diet came back: whose memories did you ask for?"),
         (lambda got: "The son is vegan." in got,
          "What the son eats contradicts nothing that Ada eats: filter by subject as well."),
         (lambda got: "Ate meat." in got, "A tombstone came back: `holding` leaves these out."),
         (lambda got: "On juice." in got, "What is one session's came back: only user scope."),
         (lambda got: "Prefers the aisle." in got, "The aisle is no diet: filter by topic."),
         ([], "Nothing came back. No word of 'fish' is in the vegetarian memory: do not search by vectors, "
          "list by filter.")),
        ("after a crash, the newer of the two",
         call([_record("Lives in Rome.", topic="home"), _record("Lives in Paris.", topic="home")],
              Candidate("In Oslo.", "home", 0.9, "x")), ["Lives in Paris."],
         "A home is exclusive, so only the newest holds: `holding` knows."),
        ("however many there are, oldest first",
         call([_record(f"Note {n}.", topic="issue") for n in range(25)],
              Candidate("Note.", "issue", 0.9, "x")),
         [f"Note {n}." for n in range(25)],
         "They are all there, but not in the order in which they were written.",
         (lambda got: len(got) < 25,
          "mem0's `get_all` stops at 20 and `search` at k. `records` gives them all, in order of writing.")),
        ("another app's are not swept", call(stands, FISH, app_name="bakery"), [],
         "Nothing is held of Ada in the bakery: pass `app_name` on."),
    ]
    # fmt: on


@exercise("10-topic-sweep")
def _(case: Cases, topic_sweep: Function) -> None:
    def swept(stands: list[MemoryRecord], candidate: Candidate, **app: str) -> list[str]:
        came_back = topic_sweep(_Stage(*stands).memory, candidate, user_id="u_ada", **app)
        if not isinstance(came_back, list) or not all(isinstance(r, MemoryRecord) for r in came_back):
            raise Misconception("Give back a list of MemoryRecord.", got=came_back)
        return [record.content for record in came_back]

    def told(stands: list[MemoryRecord], candidate: Candidate, **app: str) -> str:
        texts = [f"{r.content} ({', '.join((r.user_id, r.topic, r.subject, r.scope))})" for r in stands[:6]]
        return f"{' · '.join(texts)}{' …' * (len(stands) > 6)}; sweep for {candidate.content!r} {app or ''}"

    with _at_noon():
        case.table(swept, _swept(), told)


# fmt: off
ONE_REPLACED = [
    ("the new one is written, and the old one still there", lambda now: sorted(now.texts()), [_FISH, _VEGGIE],
     "Both memories are gone.",
     ([_VEGGIE], "The new memory is not in mem0: `save` it."),
     ([_FISH], "The vegetarian is gone for good. Nothing is overwritten and nothing deleted: a tombstone "
      "stays, so that it can come back when the new source is revoked.")),
    ("the old one is a tombstone", lambda now: now.holding(), [_FISH],
     "The vegetarian still holds: set `invalidated_at`, and `save` it again.",
     ([], "You ended the new memory as well.")),
    ("which says what replaced it", lambda now: [now.record(text).superseded_by for text in (_VEGGIE, _FISH)],
     ["mem_fish", None],
     "`superseded_by` of the old memory must be the id of the new one, or nobody finds out what replaced "
     "it."),
    ("both note why",
     lambda now: [text for text in (_VEGGIE, _FISH) if "she said so" in " ".join(now.record(text).history)],
     [_VEGGIE, _FISH],
     "Both sides note the reason in their history: `record.note(…)`, before it is saved."),
    ("at every moment one of them held", lambda now: all(holding for _, holding in now.moments), True,
     "For a moment Ada had no diet at all, and a crash makes that moment for ever. mem0 has no transactions: "
     "write the new memory first, then end the old."),
]
TWO_REPLACED = [
    ("several are ended at once", lambda now: now.holding(), [_FISH],
     "Only one of the two displaced memories was ended."),
    ("their sources are inherited, as lineage", lambda now: now.sources(_FISH), ["s1, inherited", "s2"],
     "s2 says it itself: it stays its own source, and is not inherited a second time.",
     (lambda got: not [source for source in got if source.startswith("s1")],
      "s1 is lost: when it is revoked, nobody will look at the fish again."),
     (lambda got: "s1" in got, "s1 never said anything about fish. Inherit it with `inherited=True`, or what "
      "it lends becomes trust (the laundering of notebook 04).")),
    ("the old memory keeps its sources", lambda now: now.sources(_VEGGIE), ["s1"],
     "You marked the *old* memory's source as inherited. Make a copy: `replace(source, inherited=True)`."),
]
NONE_REPLACED = [
    ("with nothing to displace it is simply written", lambda now: now.holding(), [_FISH],
     "Without anything to displace, the new memory still has to be written."),
]
# fmt: on


@exercise("10-supersede")
def _(case: Cases, supersede: Function) -> None:
    with _at_noon():
        meat = _record(_MEAT, "s2", created_at=clock.now() - 5)
        for old, source, given, rows in (
            ([_vegetarian()], "s3", "[vegetarian, from s1], fish, from s3, 'she said so'", ONE_REPLACED),
            (
                [_vegetarian(), meat],
                "s2",
                "[vegetarian from s1, meat from s2], fish, from s2, …",
                TWO_REPLACED,
            ),
            ([], "s3", "[], fish, from s3, 'she said so'", NONE_REPLACED),
        ):
            stage = _Stage(*old).watch()
            new = _record(_FISH, memory_id="mem_fish")
            new.sources = [Source("user_explicit", source)]
            supersede(stage.memory, [replace(record) for record in old], new, "she said so")
            _seen(case, stage, f"supersede(memory, {given})", rows)


_ASKED = "`decide` was not asked with all that it needs: the candidate, what it affects, its source."
_ELSEWHERE = "It was decided on what another app holds: pass `app_name` on."
VEGAN = Candidate("The user follows a vegan diet.", "diet", 0.95, "diet: vegan")

# fmt: off
# what is decided, and what stands in mem0 then
NEW = ("something new is created", "CREATE"), [
    ("and written", lambda now: now.texts(), [_FISH],
     "Nothing was written. What is no NOOP is a new memory: `new_memory`, then `supersede`."),
    ("no surer than its source", lambda now: now.rests_on(_FISH), [0.9, "s3"],
     "Confidence starts at the smaller of the candidate's and the trust of its source, which the memory "
     "names: `new_memory` does both."),
]
WEAKER = ("a weaker source is rejected", "NOOP"), [
    ("before anything is written", lambda now: [1 for texts, _ in now.moments if VEGAN.content in texts], [],
     "The form's text stood in mem0: it was added first and judged afterwards. Decide before `add`, or a "
     "crash in between keeps what was refused."),
    ("what the user said still holds", lambda now: now.holding(), [_VEGGIE],
     "A form displaced what the user said."),
    ("the rejection is no support", lambda now: now.rests_on(_VEGGIE), [0.6, "s1"],
     "The form contradicts her, and the memory gained by it: a rejected contradiction adds no source and no "
     "confidence."),
    ("it leaves a line of history", lambda now: "t1" in " ".join(now.record(_VEGGIE).history), True,
     "Nobody will ever see that a form said otherwise: `take_note` writes it down, and `save` keeps it."),
]
AGAIN = ("the same again is no new memory", "NOOP"), [
    ("and is held once", lambda now: now.texts(), ["The tap drips.", "The heating is off."],
     "It is held twice: on a NOOP nothing is added."),
    ("which another source makes surer", lambda now: now.rests_on("The heating is off."), [0.65, "s1", "s2"],
     "An independent source that says the same adds itself and 0.05: `take_note`, and then `save`, or mem0 "
     "never hears of it."),
    ("and no other", lambda now: now.record("The tap drips.").history, [],
     "The tap was noted as well: the note belongs to the memory that the operation names, `target_id`."),
]
OTHERWISE = ("a contradiction is an update", "UPDATE"), [
    ("which replaces the old value", lambda now: now.holding(), [_FISH],
     "Neither is right: the fish must hold, alone.",
     (lambda got: len(got) > 1,
      "Both hold: what the new memory cannot stand beside, `rivals` finds and `supersede` ends.")),
    ("of this user only", lambda now: now.holding("u_bo"), [_MEAT], "Bo's diet went when Ada's changed."),
]
CRASHED = ("after a crash too", "UPDATE"), [
    ("what it had left is ended", lambda now: now.holding(), [_FISH],
     "A crash had left two values. You ended the one that `decide` named, and the other would be back when "
     "the fish goes: `rivals` finds both."),
]
IN_THE_BAKERY = ("another app decides for itself", "UPDATE"), [
    ("and is written for itself", lambda now: now.holding("u_ada", "bakery"), [_FISH],
     "In the bakery the fish must hold, alone: pass `app_name` on, to all that takes it."),
    ("and leaves the others as they are", lambda now: now.sources(_FISH), ["s9"],
     "What the bakery heard changed a memory of another app: pass `app_name` on."),
]
# fmt: on


@exercise("10-trust-gate")
def _(case: Cases, consolidate: Function) -> None:
    def told(
        stage: _Stage, given: str, candidate: Candidate, source: Source, wanted: Any, **app: str
    ) -> None:
        (name, action), rows = wanted
        operation = consolidate(stage.watch().memory, candidate, source, user_id="u_ada", **app)
        got = getattr(operation, "action", None)
        sentence = _ELSEWHERE if app else _ASKED
        sentence = "Give back the operation that `decide` gave." if got is None else sentence
        case.holds(name, got == action, sentence, given=given, expected=action, got=got or operation)
        _seen(case, stage, given, rows)

    heating = Candidate("The heating is off.", "issue", 0.95, "off again")
    with _at_noon():
        she, again = Source("user_explicit", "s3"), Source("user_implicit", "s2")
        form = Source("tool_output", "t1")
        issues = [_record("The tap drips.", "s1", "issue"), _record(heating.content, "s1", "issue")]
        left = _record(_MEAT, "s2", created_at=clock.now() - 5)
        bo = _record(_MEAT, "s1", user_id="u_bo")
        shop = [_record(_FISH, "s9"), _vegetarian(app_name="bakery")]
        told(_Stage(), "an empty store; fish at 0.95 from the user, s3", FISH, she, NEW)
        told(_Stage(_vegetarian()), "vegetarian, from the user; a form, t1, says vegan", VEGAN, form, WEAKER)
        told(_Stage(*issues), "tap and heating, 0.60 from s1; s2 says heating too", heating, again, AGAIN)
        told(_Stage(_vegetarian(), bo), "Ada: vegetarian · Bo: meat; Ada says fish", FISH, she, OTHERWISE)
        given = "vegetarian and meat, both without an end after a crash; Ada says fish"
        told(_Stage(_vegetarian(), left), given, FISH, she, CRASHED)
        given = "Ada: fish, from s9 · Ada in the bakery: vegetarian; there she says fish, app_name='bakery'"
        told(_Stage(*shop), given, FISH, she, IN_THE_BAKERY, app_name="bakery")
