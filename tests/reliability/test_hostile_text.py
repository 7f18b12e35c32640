"""Ten thousand hostile texts through every public function that takes text.

The functions are found, not listed: one that is added later is tried with the same texts, and a parameter
of a kind that `TEXT` and `NO_TEXT` do not know makes a test fail that says so. Each function gets the listed
texts, the floods and its share of ten thousand mixtures; those that meet a user's text first get them all.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anthropic
import pytest
from aids import assert_sound, assert_whole, everything
from hostile import FLOODS, LISTED, mixtures
from hypothesis import given, settings
from pipeline import said
from strategies import any_text, refusal

import memlab
import solutions
from memlab import clock
from memlab.embedding import RecordedEmbedder
from memlab.records import Candidate, MemoryRecord, Operation, Source, seed_ids
from memlab.store import MemoryStore, StoreError
from solutions.extraction import RULES, Extraction, Fact, Match
from solutions.given.model_decides import Decision
from solutions.given.proposals import Inspection, Proposal
from solutions.memory_system import MemorySystem
from solutions.retrieval import Hit
from solutions.write_gate import ReviewQueue

MIXTURES = mixtures(10_000)
SHARE = 200  # of the mixtures, one function in so many gets the same
LIMIT = 1.0  # second of processor time for one text; the slowest takes a third, on a busy machine

LEFT_OUT = {
    "memlab.engine.blocks": "holds numbers; the store alone calls it",
    "memlab.engine.database": "takes SQL; the store alone calls it",
    "memlab.engine.conversations": "a part of MemoryStore, tried there",
    "memlab.engine.vectors": "takes what an embedder gave; the store alone calls it",
    "solutions.forgetting.in_doubt": "regenerate alone calls it, and is tried",
    "solutions.given.regeneration": "regenerate alone calls it, and is tried",
    "solutions.given.screening": "MemorySystem calls it, and is tried",
    "solutions.given.json_in_prose": "read_reply alone calls it, and is tried",
    "solutions.given.readings.Match": "made of a rule's match; rule_extract is tried",
    "course.desk.doctor": "looks at the machine",
    "solutions.demo": "a command line",
    "benchmarks.systems": "a command line",
    "solutions.given.gate_patterns": "patterns, written by the author of the gate",
    "solutions.given.mem0_setup": "takes folders",
    "solutions.given.rules.any_of": "takes a pattern, written by the author of a rule",
    "solutions.given.rules.expand": "takes a pattern, written by the author of a rule",
    "solutions.given.rules.around": "takes a pattern, written by the author of a rule",
    "solutions.chroma_tools": "a call takes milliseconds: fewer texts, in test_hostile_stores.py",
    "solutions.given.chroma": "a call takes milliseconds: fewer texts, in test_hostile_stores.py",
    "solutions.chroma_store": "a call takes milliseconds: fewer texts, in test_hostile_stores.py",
    "solutions.policy_store": "a call takes milliseconds: fewer texts, in test_hostile_stores.py",
    "solutions.mem0_port": "a call takes milliseconds: fewer texts, in test_hostile_stores.py",
    "solutions.given.mem0_rows": "the port calls it, whose texts stand in test_hostile_stores.py",
}
"""Modules and functions that no text of a user or a model reaches, or not here; and why."""

NAMES_OF_FIELDS = ("name", "field", "wanted")
"""Parameters that say in an error what is meant; our own code fills them."""

PLAIN: dict[str, Any] = {
    "user_id": "u_ada", "app_name": "default", "memory_id": "mem_1", "source_id": "s1", "session_id": "s1",
    "topic": "diet", "subject": "user", "scope": "user", "source_type": "user_implicit", "action": "CREATE",
    "relevance": "vector", "goal": "command", "scopes": ("user",), "at": 0.0, "digits": "42",
    "reason": "not this customer's to say; flag for staff",
}  # fmt: skip
"""What a parameter is given while another is tried, by its name; any other text is "tea"."""

INSIDE = (
    "content",
    "excerpt",
    "source_id",
    "topic",
    "subject",
    "about",
    "reply",
    "facts",
    "messages",
    "text",
    "history",
)
"""Fields that a text may get into by way of a parameter of another name."""

numbers = count()


def source(text: str) -> Source:
    return Source("user_implicit", f"s{next(numbers)}", excerpt=text)


def record(text: str) -> MemoryRecord:
    return MemoryRecord(text, "u_ada", topic="note", sources=[source("")])


def candidate(text: str) -> Candidate:
    return Candidate(text, "diet", 0.9, text)


def fact(text: str) -> Fact:
    return Fact(content=text, topic="diet", confidence=0.9, excerpt=text)


def proposal(text: str) -> Proposal:
    return Proposal(text=text, about=text[:50], excerpt=text)


def hit(text: str) -> Hit:
    return Hit(0.5, record(text), 0.5, 0.5, 0.5)


def tool_call(text: str) -> anthropic.types.ToolUseBlock:
    return anthropic.types.ToolUseBlock(id="1", name="recall", input={"query": text}, type="tool_use")


def kinds(spelled: str, make: Callable[[str], Any]) -> dict[str, Callable[[str], Any]]:
    return dict.fromkeys(spelled.split(" / "), make)


TEXT: dict[str, Callable[[str], Any]] = {
    **kinds("str / str | None / object / str | bytes / str | os.PathLike[str]", lambda text: text),
    **kinds("Instant / clock.Instant / clock.Instant | None", lambda text: text),
    **kinds("SourceType / Scope / Action / Kind / Relevance / Literal", lambda text: text),
    **kinds("list[str] / Iterable[str] / Sequence[str] / Collection[str]", lambda text: [text, "tea"]),
    **kinds("Sequence[Sequence[str]] / Sequence[Collection[str]]", lambda text: [[text]]),
    **kinds("tuple[str, ...]", lambda text: (text,)),
    **kinds("dict[str, Any] / Mapping[str, Any] / Mapping[str, object]", lambda text: {text: [text]}),
    **kinds("list[dict[str, Any]] / list[dict[str, str]]", lambda text: said(text)),
    **kinds("list[T]", lambda text: [text]),
    **kinds("Source / Source | None", source),
    **kinds("list[Source]", lambda text: [Source("user_implicit", text)]),
    **kinds("MemoryRecord", record),
    **kinds("list[MemoryRecord] / Iterable[MemoryRecord]", lambda text: [record(text)]),
    **kinds("Candidate / Candidate | MemoryRecord", candidate),
    **kinds("Iterable[Statement]", lambda text: [(source(""), candidate(text))]),
    **kinds("Operation", lambda text: Operation("CREATE", None, text, text)),
    **kinds("Decision", lambda text: Decision(action="CREATE", content=text, reason=text)),
    **kinds("list[Fact]", lambda text: [fact(text)]),
    **kinds("Extraction", lambda text: Extraction(facts=[fact(text)])),
    **kinds("Match", lambda text: Match(RULES[0], text[-200:], text[-200:], text[:200])),
    **kinds("Hit", hit),
    **kinds("Sequence[Hit]", lambda text: [hit(text)]),
    **kinds("ToolUseBlock", tool_call),
    **kinds("Proposal", proposal),
    **kinds("Inspection", lambda text: Inspection(proposal(text), (text,))),
    **kinds("Item", proposal),
    **kinds("Iterable[Item]", lambda text: [proposal(text)]),
}
"""How a text gets into a parameter, by the parameter's annotation."""

CHECKED = (
    "Source",
    "Source | None",
    "list[Source]",
    "MemoryRecord",
    "list[MemoryRecord]",
    "Iterable[MemoryRecord]",
)
"""Kinds that let in no text which their own class refuses: that class gets all, these the listed texts."""

NO_TEXT: dict[str, Any] = {
    **dict.fromkeys(["float", "float | None"], 0.5),
    **dict.fromkeys(["int", "int | None"], 3),
    "bool": False,
    "bytes": b"",
    "list[float]": [],
    "Sequence[int]": range(20_000),
    "tuple[int, int]": (0, 5),
    "type[Any]": str,
    "MemoryRecord | None": None,
    "type[BaseModel]": Extraction,
    "Callable[[str], str]": str.lower,
    **dict.fromkeys(["Callable[[str], object]", "Shows"], str.isdigit),
    **dict.fromkeys(["Callable[[Inspection], object]", "Callable[[Proposal], object]"], bool),
    "type[Shape]": Extraction,
    "Recall": lambda query: [hit("tea")],
    **dict.fromkeys(
        [
            "Sequence[float]",
            "Array",
            "Matches",
            "Embedder",
            "Callable[[MemoryRecord], MemoryRecord]",
            "Extractor",
            "Decider",
            "Gate",
            "Judge",
            "Rule",
            "Sequence[Rule]",
            "Sequence[Guard]",
            "Weights",
            "Weights | None",
            "Check",
            "Usage",
            "re.Pattern[str]",
            "type[ReplyFailed]",
            "str | Path | None",
            "MemoryStore",
            "Anthropic",
            "ReviewQueue",
        ]
    ),
}
"""Kinds of parameters that no text gets into, and what they are given where they have no default."""


# --- which functions there are ------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One parameter that takes text, of one public function, class or method."""

    name: str
    function: Callable[..., Any]
    owner: str
    parameter: str

    def __str__(self) -> str:
        return f"{self.name.partition('.')[2]}({self.parameter})"

    def __call__(self, text: str, things: Mapping[str, Any]) -> None:
        """Call it with `text` in its parameter, and with something plain in all others that need it."""
        given: list[Any] = [things[self.owner]] if self.owner else []
        named: dict[str, Any] = {}
        for name, kind in kinds_of(self.function).items():
            if name == self.parameter:
                named[name] = TEXT[kind](text)
            elif inspect.signature(self.function).parameters[name].default is inspect.Parameter.empty:
                named[name] = PLAIN[name] if name in PLAIN else things.get(kind, NO_TEXT.get(kind))
                if named[name] is None and kind in TEXT:
                    named[name] = TEXT[kind]("tea")
        result = self.function(*given, **named)
        if isinstance(result, Iterator):
            list(result)


def kinds_of(function: Callable[..., Any]) -> dict[str, str]:
    """The annotation of each parameter but self and those with stars, in one spelling."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = getattr(parameter.annotation, "__forward_arg__", parameter.annotation)  # in a NamedTuple
        kind = getattr(kind, "__origin__", kind) if str(kind).startswith("typing.Annotated") else kind
        text = (
            kind.__name__ if type(kind) is type else re.sub(r"\btyping\.|\bsolutions\.\w+\.", "", str(kind))
        )
        starred = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if name not in ("self", "cls") and not starred:
            found[name] = "Literal" if text.startswith("Literal") else text
    return found


def public_functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """The name of every public function, class and method, the thing itself, and the class of a method."""
    for package in (memlab, solutions):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name not in LEFT_OUT and not found.ispkg:
                yield from _of_module(importlib.import_module(found.name))


def _of_module(module: Any) -> Iterator[tuple[str, Callable[..., Any], str]]:
    for name, thing in vars(module).items():
        path = f"{module.__name__}.{name}"
        if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__ or path in LEFT_OUT:
            continue
        if inspect.isfunction(thing):
            yield path, thing, ""
        elif (
            inspect.isclass(thing) and not issubclass(thing, Exception) and not hasattr(thing, "_is_protocol")
        ):
            yield path, thing, ""
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and (method == "__call__" or not method.startswith("_")):
                    yield f"{path}.{method}", function, path


CALLS = [
    Call(name, function, owner, parameter)
    for name, function, owner in public_functions()
    for parameter, kind in kinds_of(function).items()
    if kind in TEXT and parameter not in NAMES_OF_FIELDS
]

FIRST = (
    "memlab.embedding.hash_embed", "memlab.messages.read_messages", "memlab.fields.check_text",
    "memlab.fields.check_id", "solutions.given.own_words.without_memory", "solutions.extraction.rule_extract",
    "solutions.extraction.read_reply", "solutions.injection.escape", "solutions.write_gate.gate",
)  # fmt: skip
"""What meets the text of a user or a model before anything else does."""


def test_every_parameter_is_of_a_kind_that_is_known_to_take_text_or_not() -> None:
    unknown = [
        f"{name}({parameter}: {kind}): say in TEXT how a text gets into it, or put it into NO_TEXT"
        for name, function, _ in public_functions()
        for parameter, kind in kinds_of(function).items()
        if kind not in TEXT and kind not in NO_TEXT
    ]
    assert not unknown, "\n".join(unknown)
    assert {call.name for call in CALLS} >= set(FIRST)


# --- trying them --------------------------------------------------------------------------------------


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What functions take and methods belong to, by name. When all is over, the store must be intact."""
    monkeypatch.chdir(tmp_path)  # some texts pass as paths
    path = tmp_path / "memories.db"
    with MemoryStore(path) as store:
        store.put(MemoryRecord("Of another user.", "u_other"))
        before = everything(store, "u_other")
        yield {
            "MemoryStore": store,
            "ReviewQueue": ReviewQueue(),
            "Anthropic": SimpleNamespace(messages=SimpleNamespace(create=_nothing_found)),
            "memlab.records.MemoryRecord": record("tea"),
            "memlab.store.MemoryStore": store,
            "memlab.engine.recordings.RecordedEmbedder": RecordedEmbedder(),
            "solutions.memory_system.MemorySystem": MemorySystem(store),
            "solutions.write_gate.ReviewQueue": ReviewQueue(),
        }
        seed_ids(None)
        clock.unfreeze()
        assert everything(store, "u_other") == before
        assert_whole(store, ["u_ada", "u_other"])
    assert_sound(path)


def _nothing_found(**request: Any) -> Any:
    """A model's reply that says nothing, to a request that could have been sent."""
    json.dumps(request, ensure_ascii=False, default=str).encode()
    block = SimpleNamespace(type="text", text='{"facts": []}')
    return SimpleNamespace(content=[block], stop_reason="end_turn")


class TooSlow(BaseException):
    """One text took longer than LIMIT."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlow in a block that takes more processor time; a busy machine does not count."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def complaint(call: Call, text: str, things: Mapping[str, Any], tries: int = 3) -> str:
    """What is wrong with how `call` takes `text`; "" if it gives something, or names the field it refuses.

    What is slow is slow each time: a collector's or another thread's second is not the text's.
    """
    try:
        with limited(LIMIT):
            call(text, things)
    except TooSlow:
        return complaint(call, text, things, tries - 1) if tries > 1 else f"took more than {LIMIT} s"
    except StoreError:
        return ""  # names the file, which is the text
    except (ValueError, TypeError) as error:
        named = any(name in str(error) for name in (call.parameter, *INSIDE))
        kind = call.function.__name__ if isinstance(call.function, type) else ""
        return "" if named or kind in str(error) != "" else f"names no field: {error!r:.200}"
    except Exception as error:
        return f"{error!r:.200}"
    return ""


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[str(call) for call in CALLS])
def test_a_function_gives_something_for_any_text_or_names_the_field_that_it_refuses(
    number: int, things: dict[str, Any]
) -> None:
    call = CALLS[number]
    share = 1 if call.name in FIRST else SHARE
    texts = (*LISTED, *FLOODS, *MIXTURES[number % share :: share])
    for text in LISTED if kinds_of(call.function)[call.parameter] in CHECKED else texts:
        wrong = complaint(call, text, things)
        assert not wrong, f"{text[:60]!r} ({len(text)} characters): {wrong}"


@settings(max_examples=150)
@given(text=any_text)
def test_the_whole_way_of_any_text_ends_in_memories_that_stay_in_their_block_or_in_a_refusal(
    text: str,
) -> None:
    with MemoryStore() as store:
        memory = MemorySystem(store)
        talk = [{"role": "user", "content": f"I like tea. {text}"}]
        refusal(lambda: memory.learn(talk, Source("user_implicit", "s1"), user_id="u_ada"))
        refusal(lambda: memory.remember(text, user_id="u_ada"))
        prompt = memory.context("Be brief.", text, user_id="u_ada", k=99)
        shown = memory.recall(text, user_id="u_ada", k=99)
        lines = prompt.splitlines()
        assert [line for line in lines if line.startswith("- [")] == lines[4:-1]
        assert len(lines) == (len(shown) + 5 if shown else 1)
        assert_whole(store, ["u_ada"])
