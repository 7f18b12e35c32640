"""The one clock."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_text, refusal

from memlab import clock
from memlab.records import MemoryRecord

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _real_clock() -> Iterator[None]:
    yield
    clock.unfreeze()


def test_the_clock_runs_with_the_machine_until_it_is_frozen() -> None:
    assert abs(clock.now() - time.time()) < 5
    clock.freeze("2026-08-06T20:11:27Z")
    assert clock.now() == clock.now() == datetime(2026, 8, 6, 20, 11, 27, tzinfo=UTC).timestamp()
    clock.unfreeze()
    assert abs(clock.now() - time.time()) < 5


def test_travelling_moves_a_frozen_and_a_running_clock_alike() -> None:
    clock.freeze(0)
    clock.travel(days=2)
    clock.travel(days=-0.5)
    assert clock.now() == 1.5 * clock.DAY
    clock.unfreeze()
    clock.travel(days=365)
    assert abs(clock.now() - time.time() - 365 * clock.DAY) < 5


def test_freezing_forgets_an_earlier_journey() -> None:
    clock.travel(days=9)
    clock.freeze(100)
    assert clock.now() == 100


def test_a_block_puts_the_clock_back_also_after_an_error() -> None:
    clock.freeze(100)
    with pytest.raises(KeyError), clock.travel(days=1), clock.freeze(5):
        raise KeyError
    assert clock.now() == 100


@pytest.mark.parametrize("at", [datetime(2026, 8, 6), "2026-08-06T20:11:27", "2026-08-06"])
def test_a_time_without_a_zone_is_refused_with_the_cure(at: datetime | str) -> None:
    with pytest.raises(ValueError, match=r"due=.*has no time zone; add one, e\.g\. tzinfo=datetime\.UTC"):
        clock.timestamp(at, "due")


@pytest.mark.parametrize(
    "at",
    [
        None,
        True,
        [],
        b"0",
        "",
        "soon",
        "\ud800",
        "\0",
        math.nan,
        math.inf,
        -math.inf,
        1e12,
        10**400,
        "x" * 10**6,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_time_is_refused_by_name_and_leaves_the_clock_alone(at: object) -> None:
    clock.freeze(7)
    with pytest.raises((ValueError, TypeError), match=r"^at=") as refused:
        clock.freeze(at)  # type: ignore[arg-type]
    assert clock.now() == 7
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "days",
    [None, "1", True, math.nan, math.inf, 10**400, 1e9, datetime(2026, 8, 6, tzinfo=UTC)],
    ids=lambda value: repr(value)[:20],
)
def test_a_journey_that_leads_nowhere_is_refused(days: object) -> None:
    clock.freeze(7)
    with pytest.raises((ValueError, TypeError), match=r"^(days|now\(\))="):
        clock.travel(days=days)  # type: ignore[arg-type]
    assert clock.now() == 7


def test_the_last_day_of_the_calendar_is_refused_rather_than_printed_wrongly() -> None:
    with pytest.raises(ValueError, match="out of range"):
        clock.timestamp(datetime.max.replace(tzinfo=UTC))
    assert clock.stamp(clock.LATEST).startswith("5138")
    assert clock.stamp(clock.timestamp(datetime.min.replace(tzinfo=UTC))).endswith("00:00:00")


@given(any_text)
def test_any_text_is_a_time_or_a_clear_error(text: str) -> None:
    message = refusal(lambda: clock.timestamp(text))
    assert math.isfinite(clock.timestamp(text)) if message is None else message.startswith("at=")


@given(st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)), st.integers(-12 * 60, 14 * 60))
def test_one_instant_is_one_number_in_whatever_zone_it_is_written(when: datetime, minutes: int) -> None:
    utc = when.replace(tzinfo=UTC)
    elsewhere = utc.astimezone(timezone(timedelta(minutes=minutes)))
    assert clock.timestamp(elsewhere) == clock.timestamp(elsewhere.isoformat()) == clock.timestamp(utc)


def test_a_memory_holds_until_the_instant_at_which_it_expires() -> None:
    record = MemoryRecord("A trip.", "u_ada", expires_at=clock.timestamp("2026-08-13T00:00:00Z"))
    assert record.active(record.expires_at - 0.001)  # type: ignore[operator]
    assert not record.active(record.expires_at)


EXPIRY = """
from datetime import datetime, timezone, timedelta
from memlab import clock
from memlab.records import MemoryRecord
from memlab.store import MemoryStore
store = MemoryStore()
for day in (12, 13, 14):
    clock.freeze(0)
    store.put(MemoryRecord(f"Until {day}.", "u_ada", expires_at=f"2026-08-{day}T00:00:00Z"))
clock.freeze(datetime(2026, 8, 14, 1, tzinfo=timezone(timedelta(hours=8))))
held = [record.content for record in store.scan("u_ada")]
print(clock.now(), clock.stamp(clock.now()), held, len(store.search("until", "u_ada")))
"""


def test_what_has_expired_is_the_same_in_every_time_zone() -> None:
    """mem0ai/mem0 #6931: 14 August 01:00 at UTC+8 is still the 13th in UTC, so "Until 14." holds."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", EXPIRY],
            env=os.environ | {"TZ": zone, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles", "Pacific/Kiritimati")
    }
    assert len(printed) == 1
    assert "2026-08-13 17:00:00 ['Until 14.'] 1" in printed.pop()
