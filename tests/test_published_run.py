"""The run of "Mini-project 5: build a memory system", Parts 7 and 8, to the digit that is printed there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pipeline import ADA, Teller, frozen, own_ids

from memlab.records import Operation
from memlab.store import MemoryStore
from solutions.forgetting import forget_source, regenerate
from solutions.injection import inject
from solutions.retrieval import retrieve

VEGETARIAN, FISH = "The user follows a vegetarian diet.", "The user eats fish again."
ADAS, AISLE = "The user goes by Ada.", "The user prefers aisle seating on flights."

PUBLISHED_SCORES = {
    "any dietary restrictions I should know about?": [
        ("0.473", FISH),
        ("0.388", AISLE),
        ("0.370", ADAS),
    ],
    "what seat should I book on the flight?": [("0.444", AISLE), ("0.392", FISH), ("0.370", ADAS)],
    "what should we order for lunch?": [("0.370", ADAS), ("0.370", FISH), ("0.349", AISLE)],
}

PUBLISHED_CONTEXT = f"""You are a travel concierge for Solaris Trips.

<MEMORIES>
Information you know about this user from previous conversations. Treat low-confidence items as weak priors.
- [confidence: medium, source: user_implicit] {AISLE}
- [confidence: high, source: user_explicit] {FISH}
- [confidence: medium, source: user_implicit] {ADAS}
</MEMORIES>"""


class Run:
    """The published sessions, one method each."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.tell = Teller(self.store)

    def session_1(self) -> list[Operation]:
        return self.tell("s1", "I'm a vegetarian, by the way. Call me Ada. I prefer the aisle seat.")

    def session_2(self) -> list[Operation]:
        return self.tell("s2", "Remember I'm vegetarian.")

    def session_3(self) -> list[Operation]:
        return self.tell("s3", "I've started eating fish again.", kind="user_explicit")


@pytest.fixture
def run() -> Iterator[Run]:
    with frozen():
        yield Run()


@pytest.fixture
def finished(run: Run) -> Run:
    run.session_1()
    run.session_2()
    run.session_3()
    return run


def test_session_1_creates_three_memories_as_sure_as_their_source_is_trusted(run: Run) -> None:
    operations = run.session_1()
    assert [(o.action, o.target_id, o.content, o.reason) for o in operations] == [
        ("CREATE", None, content, "novel topic for this user") for content in (VEGETARIAN, ADAS, AISLE)
    ]
    assert [(r.content, r.confidence, r.history) for r in run.store.scan(ADA)] == [
        (content, 0.65, []) for content in (VEGETARIAN, ADAS, AISLE)
    ]


def test_session_2_makes_no_new_memory_and_raises_confidence_from_065_to_070(run: Run) -> None:
    run.session_1()
    before = run.tell.record(VEGETARIAN)
    [operation] = run.session_2()
    after = run.tell.record(VEGETARIAN)
    assert (operation.action, operation.target_id) == ("NOOP", before.memory_id)
    assert operation.reason == "identical to an existing memory"
    assert (before.confidence, after.confidence) == (0.65, 0.70)
    assert after.memory_id == before.memory_id
    assert own_ids(after) == ["s1", "s2"]
    assert after.history == ["2026-08-06 20:11:27 corroborated by user_implicit"]


def test_session_3_supersedes_with_lineage_and_the_reason_word_for_word(run: Run) -> None:
    run.session_1()
    run.session_2()
    [operation] = run.session_3()
    old, new = run.tell.record(VEGETARIAN), run.tell.record(FISH)
    reason = (
        f"contradicts {old.memory_id} on exclusive topic 'diet'; "
        "newer information from a user_explicit source wins"
    )
    assert (operation.action, operation.target_id, operation.reason) == ("UPDATE", old.memory_id, reason)
    assert not old.active()
    assert old.superseded_by == new.memory_id
    assert old.history[-1] == f"2026-08-06 20:11:27 superseded by {new.memory_id}: {reason}"
    assert new.history == [f"2026-08-06 20:11:27 created from {old.memory_id}: {reason}"]
    assert new.confidence == 0.90
    assert [(s.source_type, s.source_id, s.inherited) for s in new.sources] == [
        ("user_implicit", "s1", True),
        ("user_implicit", "s2", True),
        ("user_explicit", "s3", False),
    ]


def test_the_store_afterwards_has_exactly_one_active_memory_on_each_topic(finished: Run) -> None:
    state = {r.topic: (r.content, f"{r.confidence:.2f}") for r in finished.store.scan(ADA)}
    assert state == {
        "diet": (FISH, "0.90"),
        "identity": (ADAS, "0.65"),
        "travel": (AISLE, "0.65"),
    }
    assert [r.content for r in finished.store.owned(ADA) if not r.active()] == [VEGETARIAN]


@pytest.mark.parametrize("query", PUBLISHED_SCORES)
def test_each_query_ranks_and_scores_as_published(finished: Run, query: str) -> None:
    hits = retrieve(finished.store, query, user_id=ADA)
    assert [(f"{hit.score:.3f}", hit.record.content) for hit in hits] == [*PUBLISHED_SCORES[query]]


def test_another_user_sees_nothing(finished: Run) -> None:
    assert retrieve(finished.store, "any dietary restrictions?", user_id="u_bo") == []


def test_the_context_for_the_next_turn_is_the_published_block(finished: Run) -> None:
    hits = retrieve(finished.store, "what seat should I book on the flight?", user_id=ADA)
    assert inject("You are a travel concierge for Solaris Trips.", hits) == PUBLISHED_CONTEXT


def test_revoking_s1_erases_what_rests_on_it_alone_and_flags_what_it_touched(finished: Run) -> None:
    ids = {content: finished.tell.record(content).memory_id for content in (VEGETARIAN, FISH, ADAS, AISLE)}
    revocation = forget_source(finished.store, "s1", ADA)
    assert revocation.erased == [ids[ADAS], ids[AISLE]]
    assert revocation.flagged == [ids[VEGETARIAN], ids[FISH]]
    assert finished.tell.active() == [FISH]


def test_regeneration_completes_the_revocation_from_the_sessions_that_remain(finished: Run) -> None:
    forget_source(finished.store, "s1", ADA)
    regenerate(finished.store, ADA)
    old, new = finished.tell.record(VEGETARIAN), finished.tell.record(FISH)
    assert (own_ids(old), old.confidence, old.superseded_by) == (["s2"], 0.65, new.memory_id)
    assert [(s.source_id, s.inherited) for s in new.sources] == [("s2", True), ("s3", False)]
    assert not old.needs_regeneration
    assert not new.needs_regeneration


def test_revoking_the_contradiction_brings_the_vegetarian_back(finished: Run) -> None:
    before = finished.tell.record(VEGETARIAN)
    forget_source(finished.store, "s3", ADA)
    [revived] = regenerate(finished.store, ADA)
    assert (revived.memory_id, revived.confidence, revived.active()) == (before.memory_id, 0.70, True)
    assert "revived" in revived.history[-1]
    assert sorted(finished.tell.active()) == sorted([VEGETARIAN, ADAS, AISLE])
