"""What a record accepts, what it refuses and how, and that JSON keeps all of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import HOSTILE_IDS, HOSTILE_TEXTS, any_text, fractions, records, refusal

from memlab import clock
from memlab.records import (
    Candidate,
    MemoryRecord,
    Operation,
    Source,
    decayed,
    held_at,
    seed_ids,
    starting_confidence,
)

MEGABYTE = "x" * 1_000_000


def memory(**values: Any) -> MemoryRecord:
    return MemoryRecord(**{"content": "The user goes by Ada.", "user_id": "u_ada"} | values)


def source(**values: Any) -> Source:
    return Source(**{"source_type": "user_explicit", "source_id": "s1"} | values)


def candidate(**values: Any) -> Candidate:
    return Candidate(**{"content": "A fact.", "topic": "diet", "confidence": 0.5, "excerpt": "said"} | values)


BAD_IDS = [
    None,
    "",
    " ",
    " u",
    "u ",
    "u\n",
    "\u3000u",
    "\0",
    "a\0b",
    "\ud800",
    "a\tb",
    "\x7f",
    7,
    b"u",
    ["u"],
    "x" * 201,
    MEGABYTE,
]
BAD_TEXTS = [None, "", " \n\t", "\u3000", "a\0", "\ud800", "\udfff!", b"text", 7, [], MEGABYTE]
BAD_NUMBERS = [
    None,
    "0.5",
    True,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    [],
    b"1",
    1 + 2j,
    np.bool_(True),
    MEGABYTE,
]
BAD_TIMES = [
    True,
    "yesterday",
    "2026-08-06T20:11:27",
    datetime(2026, 8, 6),
    math.nan,
    math.inf,
    1e12,
    10**400,
    [],
    MEGABYTE,
]
BAD_FLAGS = [None, 0, 1, "true", MEGABYTE]
BAD_EXTRAS = [
    None,
    [],
    "x",
    {"a": {1}},
    {"a": object()},
    {"a": "\ud800"},
    {"\udfff": 1},
    {(1, 2): 3},
    MEGABYTE,
]

REFUSED: dict[Callable[..., Any], dict[str, list[Any]]] = {
    memory: {
        "content": BAD_TEXTS,
        "user_id": BAD_IDS,
        "app_name": BAD_IDS,
        "topic": BAD_IDS,
        "subject": BAD_IDS,
        "memory_id": BAD_IDS,
        "scope": [None, "", "USER", "global", 1, ["user"], MEGABYTE],
        "importance": [*BAD_NUMBERS, -0.01, 1.01],
        "confidence": [*BAD_NUMBERS, -0.01, 1.01],
        "half_life_days": [*BAD_NUMBERS, 0, -1, -0.0],
        "created_at": [None, *BAD_TIMES],
        "updated_at": [None, *BAD_TIMES],
        "expires_at": BAD_TIMES,
        "invalidated_at": BAD_TIMES,
        "superseded_by": BAD_IDS[1:],
        "needs_regeneration": BAD_FLAGS,
        "sources": [None, (), "s1", [None], ["s1"], [{"source_id": "s1"}], [[]], [MEGABYTE]],
        "history": [None, (), "line", [1], [None], [""], ["\0"], ["\ud800"], [MEGABYTE]],
        "extra": BAD_EXTRAS,
    },
    source: {
        "source_type": [None, "", "user", "USER_EXPLICIT", 1, ["user_explicit"], MEGABYTE],
        "source_id": BAD_IDS,
        "excerpt": [None, "\0", "\ud800", b"said", 7, MEGABYTE],
        "at": [None, *BAD_TIMES],
        "inherited": BAD_FLAGS,
        "extra": BAD_EXTRAS,
    },
    candidate: {
        "content": BAD_TEXTS,
        "topic": BAD_IDS,
        "subject": BAD_IDS,
        "excerpt": [None, "\0", "\ud800", 7, MEGABYTE],
        "confidence": [*BAD_NUMBERS, -0.01, 1.01],
        "importance": [*BAD_NUMBERS, -0.01, 1.01],
        "half_life_days": [*BAD_NUMBERS, 0, -1],
    },
}


@pytest.mark.parametrize(
    ("make", "field", "value"),
    [
        (make, field, value)
        for make, bad in REFUSED.items()
        for field, values in bad.items()
        for value in values
    ],
    ids=lambda part: getattr(part, "__name__", repr(part)[:16]),
)
def test_a_bad_value_is_refused_by_field_value_and_cure_in_a_short_message(
    make: Callable[..., Any], field: str, value: object
) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{field}") as refused:
        make(**{field: value})
    message = str(refused.value)
    assert ";" in message
    assert len(message) < 500
    assert message.isprintable()


@pytest.mark.parametrize("scope", ["user", "app"])
def test_only_a_session_scoped_memory_names_a_session(scope: str) -> None:
    with pytest.raises(ValueError, match=rf"session_id='s1' does not fit scope='{scope}'"):
        memory(scope=scope, session_id="s1")
    with pytest.raises(ValueError, match="session_id=None does not fit scope='session'"):
        memory(scope="session")
    assert memory(scope="session", session_id="s1").session_id == "s1"


@pytest.mark.parametrize("session_id", [value for value in BAD_IDS if value is not None])
def test_a_session_id_is_an_id(session_id: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^session_id="):
        memory(scope="session", session_id=session_id)


def test_an_operation_is_known_and_gives_its_reason() -> None:
    assert Operation("NOOP", "mem_1", "A fact.", "said before").target_id == "mem_1"
    for bad in (
        ("DELETE", None, "c", "r"),
        ("NOOP", " ", "c", "r"),
        ("NOOP", None, "", "r"),
        ("NOOP", None, "c", " "),
    ):
        with pytest.raises(ValueError, match="="):
            Operation(*bad)


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_a_strange_id_is_kept_as_it_is(name: str) -> None:
    record = memory(user_id=name, app_name=name, topic=name, scope="session", session_id=name, memory_id=name)
    assert {record.user_id, record.app_name, record.topic, record.session_id, record.memory_id} == {name}


@pytest.mark.parametrize("value", HOSTILE_TEXTS, ids=lambda value: repr(value)[:20])
def test_a_hostile_text_is_kept_to_the_letter_or_refused(value: object) -> None:
    message = refusal(lambda: memory(content=value))
    if message is None:
        assert MemoryRecord.from_json(memory(content=value).to_json()).content == value
    else:
        assert message.startswith("content=")


@given(any_text)
def test_any_text_makes_a_record_that_survives_json_or_a_clear_error(text: str) -> None:
    message = refusal(lambda: memory(content=text, topic=text, history=[text]))
    if message is None:
        record = memory(content=text, topic=text, history=[text])
        assert MemoryRecord.from_json(record.to_json()) == record
    else:
        assert message.startswith(("content=", "topic=", "history="))


@given(records())
def test_a_record_survives_json_whole(record: MemoryRecord) -> None:
    text = record.to_json()
    again = MemoryRecord.from_json(text)
    assert again == record
    assert again.to_json() == text
    assert "embedding" not in json.loads(text)


def test_keys_of_a_newer_version_are_kept_in_the_record_and_in_its_sources() -> None:
    raw = json.loads(memory(sources=[source()]).to_json())
    raw |= {"mood": {"joy": [1, None]}, "extra": {"mine": 1}, "embedding": "compressed"}
    raw["sources"][0] |= {"channel": "phone", "extra": 2}
    record = MemoryRecord.from_json(json.dumps(raw))
    record.confidence = 0.7
    assert json.loads(record.to_json()) == raw | {"confidence": 0.7}
    assert record.embedding == []


def test_keys_of_a_newer_version_never_replace_known_ones() -> None:
    assert json.loads(memory(extra={"user_id": "u_bo"}).to_json())["user_id"] == "u_ada"


@pytest.mark.parametrize(
    "text",
    [
        None, 7, "", "{", "null", "[]", '"text"', "NaN", b"\xff", "[" * 100_000, '{"content": 1}', MEGABYTE,
        '{"content": "c"}', '{"content": "c", "user_id": "u", "sources": {}}', "1" * 5_000,
        '{"content": "c", "user_id": "u", "sources": [1]}',
        '{"content": "c", "user_id": "u", "sources": [{}]}',
        '{"content": "c", "user_id": "u", "confidence": NaN}',
        '{"content": "c", "user_id": "u", "x": "\\ud800"}',
        '{"content": "c", "user_id": "u", "x": ' + "[" * 5_000 + "]" * 5_000 + "}",
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_what_is_not_a_record_in_json_is_refused_shortly(text: Any) -> None:
    with pytest.raises(ValueError, match=r"; pass ") as refused:
        MemoryRecord.from_json(text)
    assert len(str(refused.value)) < 500


def test_a_deeply_nested_key_of_a_newer_version_is_kept() -> None:
    text = memory().to_json()[:-1] + ', "deep": ' + "[" * 200 + "]" * 200 + "}"
    assert MemoryRecord.from_json(text).to_json().count("[" * 200) == 1


@given(fractions, st.floats(0, 1e5), st.floats(1e-3, 1e5))
def test_confidence_halves_with_every_half_life_and_never_grows(
    start: float, days: float, half_life: float
) -> None:
    now = decayed(start, days, half_life)
    assert 0.0 <= now <= start
    assert decayed(start, days + half_life, half_life) == pytest.approx(now / 2, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("half_life", [0, -1, math.nan, math.inf, None, True])
def test_a_half_life_that_is_none_is_refused_in_the_formula_too(half_life: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^half_life_days="):
        decayed(0.5, 1, half_life)


def test_a_clock_that_was_set_back_makes_no_negative_age_and_no_extra_confidence() -> None:
    with clock.freeze(1_000_000):
        record = memory(confidence=0.8)
        clock.travel(days=-5)
        assert record.age_days() == 0.0
        assert record.decayed_confidence() == 0.8
        assert replace(record, invalidated_at=1_000_000.0).active() is False


@given(records(), st.floats(-1e10, 1e10))
def test_what_held_at_an_instant_began_before_it_and_ended_after_it(record: MemoryRecord, at: float) -> None:
    ends = [end for end in (record.invalidated_at, record.expires_at) if end is not None]
    assert held_at(record, at) == (record.created_at <= at and not any(end <= at for end in ends))


def test_a_new_memory_is_never_surer_than_its_source_is_trusted() -> None:
    assert starting_confidence(0.99, source(source_type="tool_output")) == 0.30
    assert starting_confidence(0.2, source(source_type="bootstrapped")) == 0.2
    with pytest.raises(ValueError, match=r"^claimed="):
        starting_confidence(math.nan, source())


def test_ids_are_new_each_time_and_repeat_only_from_a_seed() -> None:
    assert memory().memory_id != memory().memory_id
    try:
        seed_ids("demo")
        first = [memory().memory_id for _ in range(3)]
        seed_ids("demo")
        assert [memory().memory_id for _ in range(3)] == first
        assert len(set(first)) == 3
    finally:
        seed_ids(None)


def test_a_record_that_was_spoilt_later_is_found_out() -> None:
    record = memory(sources=[source()])
    record.sources[0].source_id = " "
    with pytest.raises(ValueError, match=r"^source_id="):
        record.validate()
