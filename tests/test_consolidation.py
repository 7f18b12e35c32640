"""Consolidation: repeats, contradictions, trust, and who may change what."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pipeline import ADA, Teller, dump, own_ids, said

from memlab import clock
from memlab.records import Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore
from solutions.consolidation import (
    affected_memories,
    apply,
    consolidate,
    contradicted,
    decide,
    is_exclusive,
    learn,
    same_fact,
    similar_memories,
    trust_of,
)
from solutions.given.operations import unheard

VEGETARIAN, FISH = "The user follows a vegetarian diet.", "The user eats fish again."


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def tell(store: MemoryStore) -> Teller:
    return Teller(store)


def candidate(content: str = FISH, topic: str = "diet", confidence: float = 0.9, **fields: Any) -> Candidate:
    return Candidate(content, topic, confidence, content, **fields)


# Faults of the published code


def test_trust_is_not_laundered_through_inherited_sources(tell: Teller) -> None:
    """tool_output → corrected by the user → the next tool_output must not win."""
    tell("t1", "I'm a vegetarian.", kind="tool_output")
    tell("u1", "I've started eating fish again.", kind="user_explicit")
    corrected = tell.record(FISH)
    [operation] = tell("t2", "I'm vegan.", kind="tool_output")
    assert [source.source_type for source in corrected.sources] == ["tool_output", "user_explicit"]
    assert operation == Operation(
        "NOOP",
        corrected.memory_id,
        "The user follows a vegan diet.",
        "lower-trust source than the existing memory",
    )
    assert tell.active() == [FISH]


def test_a_weak_source_that_agrees_does_not_make_a_memory_easier_to_overwrite(tell: Teller) -> None:
    tell("u1", "I'm a vegetarian.", kind="user_explicit")
    tell("t1", "I'm a vegetarian.", kind="tool_output")
    tell("t2", "I'm vegan.", kind="tool_output")
    assert tell.active() == [VEGETARIAN]


def test_a_rejected_contradiction_leaves_a_line_in_history_and_nothing_else(tell: Teller) -> None:
    tell("u1", "I'm a vegetarian.", kind="user_explicit")
    before = tell.record(VEGETARIAN)
    tell("t1", "I've started eating fish again.", kind="tool_output")
    after = tell.record(VEGETARIAN)
    assert len(after.history) == 1
    assert "kept against tool_output t1: lower-trust source" in after.history[0]
    assert replace(after, history=[]) == before


def test_one_source_corroborates_once(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    tell("s2", "I'm a vegetarian.", "As I said, I'm vegetarian!")
    tell("s2", "I'm a vegetarian.", "As I said, I'm vegetarian!", "I am a vegetarian.")
    record = tell.record(VEGETARIAN)
    assert (record.confidence, own_ids(record)) == (0.70, ["s1", "s2"])


def test_a_source_does_not_corroborate_what_it_stated_itself(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.", "Did I say that I'm a vegetarian? I am vegetarian.")
    assert tell.record(VEGETARIAN).confidence == 0.65


def test_corroboration_never_exceeds_certainty(tell: Teller) -> None:
    for number in range(12):
        tell(f"s{number}", "I'm a vegetarian.")
    assert tell.record(VEGETARIAN).confidence == 1.0


def test_an_inherited_source_may_corroborate_in_its_own_right(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    tell("s2", "I've started eating fish again.")
    tell("s1", "I'm a vegetarian.", "I've started eating fish again.")
    record = tell.record(FISH)
    assert record.confidence == 0.70
    assert [(s.source_id, s.inherited) for s in record.sources if not s.inherited] == [
        ("s2", False),
        ("s1", False),
    ]


def test_nothing_a_user_says_touches_what_the_app_shares(store: MemoryStore, tell: Teller) -> None:
    shared = MemoryRecord(
        VEGETARIAN, "operator", scope="app", topic="diet", sources=[Source("bootstrapped", "crm")]
    )
    store.put(shared)
    tell("s1", "I've started eating fish again.", kind="user_explicit")
    tell("s2", "I'm a vegetarian.", kind="user_explicit")
    assert store.scan("anyone", scopes=("app",)) == [shared]
    with pytest.raises(ValueError, match="not an active memory of user"):
        apply(
            store,
            Operation("UPDATE", shared.memory_id, FISH, "the model says so"),
            candidate(),
            Source("bootstrapped", "s3"),
            user_id=ADA,
        )
    assert store.scan("anyone", scopes=("app",)) == [shared]


def test_a_session_memory_is_neither_matched_nor_changed(store: MemoryStore, tell: Teller) -> None:
    note = MemoryRecord(VEGETARIAN, ADA, scope="session", session_id="s9", topic="diet")
    store.put(note)
    [operation] = tell("s1", "I've started eating fish again.")
    assert operation.action == "CREATE"
    assert store.get(note.memory_id, ADA, session_id="s9") == note


def test_superseding_is_one_transaction(
    store: MemoryStore, tell: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell("s1", "I'm a vegetarian.")
    before, put = store.owned(ADA), store.put

    def fails_on_the_new_one(record: MemoryRecord) -> None:
        if record.content == FISH:
            raise OSError("disk full")
        put(record)

    monkeypatch.setattr(store, "put", fails_on_the_new_one)
    with pytest.raises(OSError, match="disk full"):
        tell("s2", "I've started eating fish again.")
    assert store.owned(ADA) == before
    assert [talk.source.source_id for talk in store.conversations(ADA)] == ["s1"]


# Repeats


def test_the_same_fact_from_two_sources_is_one_memory(tell: Teller) -> None:
    """mem0ai/mem0 #1674"""
    first = tell.fact("s1", "The dog descends from the wolf.", "animals")
    second = tell.fact("s2", "the dog  descends from the WOLF", "animals")
    [record] = tell.store.scan(ADA)
    assert (first.action, second.action) == ("CREATE", "NOOP")
    assert second.target_id == record.memory_id
    assert own_ids(record) == ["s1", "s2"]


def test_a_recalled_memory_that_comes_back_in_the_prompt_is_not_learned_again(tell: Teller) -> None:
    """mem0ai/mem0 #4573"""
    from solutions.injection import inject
    from solutions.retrieval import retrieve

    tell("s0", "I'm a vegetarian.")
    for number in range(50):
        prompt = inject("Cook for me.", retrieve(tell.store, "diet?", user_id=ADA))
        tell(f"echo{number}", prompt)
    [record] = tell.store.owned(ADA)
    assert (record.confidence, own_ids(record)) == (0.65, ["s0"])


@pytest.mark.parametrize("time", range(3))
def test_learning_a_conversation_again_changes_nothing(tmp_path: Path, time: int) -> None:
    """Said once is said once: a replay must not come after what was said later."""
    path = tmp_path / "m.db"
    with MemoryStore(path) as store, clock.freeze(0):
        tell = Teller(store)
        sessions = {
            "s1": ["I'm a vegetarian.", "I've started eating fish again."],
            "s2": ["I'm vegan. I had steak for dinner."],
            "s3": ["I've started eating fish again."],
        }
        for source_id, texts in sessions.items():
            tell(source_id, *texts)
        before = dump(path)
        again = f"s{time + 1}"
        [operation] = tell(again, *sessions[again])
        assert (operation.action, operation.target_id) == ("NOOP", None)
        assert again in operation.reason
        assert dump(path) == before


def test_a_conversation_that_went_on_is_learned_from_where_it_stood(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    tell("s2", "I've started eating fish again.")
    operations = tell("s1", "I'm a vegetarian.", "Call me Ada.")
    assert [operation.content for operation in operations] == ["The user goes by Ada."]
    assert tell.active() == [FISH, "The user goes by Ada."]
    [talk, _] = tell.store.conversations(ADA)
    assert len(talk.messages) == 2


def test_a_shorter_copy_of_a_kept_conversation_adds_nothing(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.", "Call me Ada.")
    tell("s1", "I'm a vegetarian.")
    [talk] = tell.store.conversations(ADA)
    assert [message["content"] for message in talk.messages] == ["I'm a vegetarian.", "Call me Ada."]


@pytest.mark.parametrize("window", [2, 3, 4])
def test_a_window_of_the_last_turns_is_learned_from_its_new_end(tell: Teller, window: int) -> None:
    turns = ["I'm a vegetarian.", "Hello!", "I've started eating fish again.", "Bye!", "Call me Ada."]
    for end in range(1, len(turns) + 1):
        tell("s1", *turns[max(0, end - window) : end])
    [talk] = tell.store.conversations(ADA)
    assert [message["content"] for message in talk.messages] == turns
    assert tell.active() == [FISH, "The user goes by Ada."]
    assert len(tell.store.owned(ADA)) == 3


def test_other_messages_of_a_known_source_are_all_new(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    assert unheard(tell.store, said("Call me Ada."), "s1", user_id=ADA) == said("Call me Ada.")
    assert unheard(tell.store, said("I'm a vegetarian."), "s1", user_id="u_bo") == said("I'm a vegetarian.")


def test_an_empty_conversation_teaches_nothing_and_is_no_error(tell: Teller) -> None:
    assert tell("s1") == []
    assert tell("s1") == []


def test_another_digit_is_another_fact(tell: Teller) -> None:
    """buildingjoshbetter/TrueMemory #687"""
    tell("s1", "Deadline is 15 October.")
    [operation] = tell("s2", "Deadline is 16 October.")
    assert operation.action == "UPDATE"
    assert tell.active() == ["The deadline is 16 October."]


def test_two_similar_decisions_on_different_topics_are_two_memories(tell: Teller) -> None:
    """rtk-ai/icm PR 390"""
    tell.fact("s1", "We picked SQLite over Postgres.", "database")
    operation = tell.fact("s2", "We picked fastembed over OpenAI.", "embedder")
    assert operation.action == "CREATE"
    assert len(tell.active()) == 2


def test_similar_facts_on_an_open_topic_are_all_kept(tell: Teller) -> None:
    tell.fact("s1", "The user reported a failing export.", "issue")
    operation = tell.fact("s2", "The user reported a failing export of invoices.", "issue")
    assert (operation.action, operation.reason) == ("CREATE", "a further fact on this topic")
    assert len(tell.active()) == 2


def test_the_same_sentence_of_two_users_is_two_memories(store: MemoryStore) -> None:
    """XortexAI/XMem PR 199"""
    alice, bob = Teller(store, "alice"), Teller(store, "bob")
    alice("s1", "I'm a vegetarian.")
    [operation] = bob("s1", "I'm a vegetarian.")
    assert operation.action == "CREATE"
    assert alice.record(VEGETARIAN).memory_id != bob.record(VEGETARIAN).memory_id
    assert own_ids(alice.record(VEGETARIAN)) == ["s1"]


def test_identical_text_in_another_scope_is_not_merged(store: MemoryStore) -> None:
    """librefang/librefang #3531"""
    note = MemoryRecord(VEGETARIAN, "bob", scope="session", session_id="b1", topic="diet")
    store.put(note)
    Teller(store, "alice")("s1", "I'm a vegetarian.")
    assert Teller(store, "alice").active() == [VEGETARIAN]
    assert store.get(note.memory_id, "bob", session_id="b1") == note


def test_the_same_user_in_two_apps_is_two_owners(store: MemoryStore) -> None:
    first, second = Teller(store, app_name="concierge"), Teller(store, app_name="bakery")
    first("s1", "I'm a vegetarian.")
    second("s1", "I've started eating fish again.", kind="user_explicit")
    assert (first.active(), second.active()) == ([VEGETARIAN], [FISH])


# Contradictions


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("I love Chinese food.", "I hate Chinese food.", "The user dislikes Chinese food."),
        ("I hate Chinese food.", "I love Chinese food.", "The user likes Chinese food."),
        ("I work at Acme.", "I work at Initech.", "The user works at Initech."),
        ("I live in Paris.", "I've moved to Lyon.", "The user lives in Lyon."),
        ("I'm allergic to nuts.", "I'm not allergic to nuts.", "The user is not allergic to nuts."),
        (
            "I prefer the aisle seat.",
            "I prefer the window seat.",
            "The user prefers window seating on flights.",
        ),
        ("Call me Ada.", "Call me Countess.", "The user goes by Countess."),
    ],
)
def test_the_newer_of_two_that_exclude_each_other_stands_and_the_older_is_kept(
    tell: Teller, before: str, after: str, left: str
) -> None:
    """mem0ai/mem0 #4536"""
    [created] = tell("s1", before)
    [updated] = tell("s2", after)
    old, new = tell.record(created.content), tell.record(left)
    assert updated.action == "UPDATE"
    assert tell.active() == [left]
    assert (old.superseded_by, old.active()) == (new.memory_id, False)


def test_one_meal_disputes_a_diet_and_changes_nothing(tell: Teller) -> None:
    """mem0ai/mem0 #5576: weak evidence leaves a line in history."""
    tell("s1", "I'm a vegetarian.")
    before = tell.record(VEGETARIAN)
    [operation] = tell("s2", "I had steak for dinner.", kind="user_explicit")
    after = tell.record(VEGETARIAN)
    assert (operation.action, operation.target_id) == ("NOOP", before.memory_id)
    assert "disputed" in after.history[-1]
    assert replace(after, history=[]) == before


def test_one_meal_alone_is_no_diet(tell: Teller) -> None:
    [operation] = tell("s1", "I had steak for dinner.")
    assert (operation.action, operation.target_id) == ("NOOP", None)
    assert tell.active() == []


def test_the_sweep_finds_the_job_behind_forty_dogs(tell: Teller) -> None:
    """mem0ai/mem0 #5148"""
    tell("s1", "I'm a nurse.")
    for number in range(40):
        tell.fact("dogs", f"The user's dog number {number} is brown.", "dogs")
    operations = tell("s2", "I like dogs. My dogs bark, dogs are dogs. I quit nursing, I'm a baker.")
    assert operations[-1].action == "UPDATE"
    assert "The user works as a baker." in tell.active()
    assert "The user works as a nurse." not in tell.active()


def test_a_chain_of_changes_leaves_only_the_last(tell: Teller) -> None:
    """getzep/graphiti #139: green tea, stopped, coffee."""
    for number, drink in enumerate(["drinks green tea", "no longer drinks green tea", "drinks coffee"]):
        # "diet" stands in for any topic with one value at a time
        tell.fact(f"s{number}", f"The user {drink}.", "diet")
    assert tell.active() == ["The user drinks coffee."]
    chain = tell.store.owned(ADA)
    assert [r.superseded_by for r in chain] == [chain[1].memory_id, chain[2].memory_id, None]


def test_statements_about_different_subjects_do_not_exclude_each_other(tell: Teller) -> None:
    """getzep/graphiti #1728"""
    tell.fact("s1", "A uses B.", "employer", subject="a")
    tell.fact("s2", "B uses C.", "employer", subject="b")
    tell("s3", "I'm a vegetarian. My wife is vegan.")
    assert len(tell.active()) == 4


def test_a_claim_taken_back_is_superseded_and_the_assistant_adds_no_source(store: MemoryStore) -> None:
    """QuixiAI/Hexis #65"""
    tell = Teller(store)
    tell("s1", "I'm allergic to nuts.")
    start = tell.record("The user is allergic to nuts.").confidence
    messages = [
        *said("I'm not allergic to nuts."),
        {"role": "assistant", "content": "So you are not allergic to nuts. I'm allergic to nuts myself."},
    ]
    learn(store, messages, Source("user_implicit", "s2"), user_id=ADA)
    record = tell.record("The user is not allergic to nuts.")
    assert tell.active() == [record.content]
    assert record.confidence <= start
    assert own_ids(record) == ["s2"]


def test_a_memory_that_expired_is_not_contradicted(store: MemoryStore, tell: Teller) -> None:
    with clock.freeze(0):
        store.put(MemoryRecord(VEGETARIAN, ADA, topic="diet", expires_at=clock.DAY))
        clock.travel(days=1)
        [operation] = tell("s1", "I've started eating fish again.")
    assert operation.action == "CREATE"


# The parts


def test_affected_memories_are_neighbours_first_then_the_rest_of_the_topic(tell: Teller) -> None:
    tell.fact("s1", VEGETARIAN, "diet")
    tell.fact("s2", "The user eats fish.", "menu")
    tell.fact("s3", "The user's wife eats meat.", "diet", subject="wife")
    found = affected_memories(tell.store, candidate(), user_id=ADA, threshold=0.5)
    assert [record.content for record in found] == ["The user eats fish.", VEGETARIAN]


def test_text_without_a_word_is_similar_to_nothing(tell: Teller) -> None:
    tell.fact("s1", "!!!", "noise")
    assert similar_memories(tell.store, candidate("???", "noise"), user_id=ADA, threshold=0.0) == []


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.5", None])
def test_a_threshold_that_is_no_fraction_is_refused(store: MemoryStore, threshold: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="threshold="):
        affected_memories(store, candidate(), user_id=ADA, threshold=threshold)


def test_topics_exclude_as_a_whole_or_each_thing_for_itself() -> None:
    assert is_exclusive("diet")
    assert is_exclusive("taste:tea")
    assert not is_exclusive("taste")
    assert not is_exclusive("diet:breakfast")
    assert not is_exclusive("issue")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("The user is Zoë.", "the user is  Zoe\u0308", True),
        ("Ｔｈｅ user.", "The user", True),
        ("Version 1.5", "Version 1.6", False),
        ("The user is allergic to nuts.", "The user is not allergic to nuts.", False),
    ],
)
def test_the_same_fact_is_the_same_words(a: str, b: str, same: bool) -> None:
    assert same_fact(a, b) is same


def test_trust_is_that_of_the_strongest_source_of_its_own() -> None:
    sources = [
        Source("bootstrapped", "crm", inherited=True),
        Source("tool_output", "t1"),
        Source("user_implicit", "s1"),
    ]
    assert trust_of(MemoryRecord(FISH, ADA, sources=sources)) == 0.65
    assert trust_of(MemoryRecord(FISH, ADA)) == 0.0


def test_deciding_writes_nothing(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    before = tell.store.owned(ADA)
    operation = decide(candidate(), before, Source("user_implicit", "s2"))
    assert operation.action == "UPDATE"
    assert tell.store.owned(ADA) == before
    assert contradicted(candidate(), before) == before


@pytest.mark.parametrize("action", ["CREATE", "UPDATE"])
def test_no_operation_lets_a_weaker_source_displace_a_stronger_one(tell: Teller, action: Any) -> None:
    """A model that decides is fenced by code."""
    tell("s1", "I'm a vegetarian.", kind="user_explicit")
    before = tell.record(VEGETARIAN)
    target = before.memory_id if action == "UPDATE" else None
    operation = Operation(action, target, FISH, "the model says so")
    with pytest.raises(ValueError, match="weaker source never displaces"):
        apply(tell.store, operation, candidate(), Source("tool_output", "t1"), user_id=ADA)
    assert tell.store.owned(ADA) == [before]


def test_an_operation_that_creates_a_rival_supersedes_what_it_contradicts(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    apply(
        tell.store,
        Operation("CREATE", None, FISH, "the model saw no contradiction"),
        candidate(),
        Source("user_implicit", "s2"),
        user_id=ADA,
    )
    assert tell.active() == [FISH]
    assert tell.record(VEGETARIAN).superseded_by == tell.record(FISH).memory_id


@pytest.mark.parametrize("action", ["UPDATE", "NOOP"])
def test_an_id_that_the_model_made_up_is_refused(tell: Teller, action: Any) -> None:
    """mem0ai/mem0 #3931"""
    tell("s1", "I'm a vegetarian.")
    Teller(tell.store, "u_bo")("s1", "I'm a vegetarian.")
    before = tell.store.owned(ADA), tell.store.owned("u_bo")
    others = tell.store.owned("u_bo")[0].memory_id
    for target in ("12", "' OR 1=1 --", others):
        with pytest.raises(ValueError, match="target_id="):
            apply(
                tell.store,
                Operation(action, target, FISH, "made up"),
                candidate(),
                Source("user_implicit", "s2"),
                user_id=ADA,
            )
    assert (tell.store.owned(ADA), tell.store.owned("u_bo")) == before


def test_an_update_without_a_target_is_refused(tell: Teller) -> None:
    operation = Operation("UPDATE", None, FISH, "why not")
    with pytest.raises(ValueError, match="target_id=None"):
        apply(tell.store, operation, candidate(), Source("user_implicit", "s2"), user_id=ADA)


def test_a_tombstone_cannot_be_updated(tell: Teller) -> None:
    tell("s1", "I'm a vegetarian.")
    tell("s2", "I've started eating fish again.")
    operation = Operation("UPDATE", tell.record(VEGETARIAN).memory_id, "The user is vegan.", "again")
    with pytest.raises(ValueError, match="not an active memory"):
        apply(tell.store, operation, candidate(), Source("user_implicit", "s3"), user_id=ADA)


# Failing, and being failed


def test_an_extractor_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """run-llama/llama_index #21103: no reply of a model deletes anything."""
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        Teller(store)("s1", "I'm a vegetarian.")
        before = dump(path)

        def fails(messages: list[dict[str, Any]]) -> list[Candidate]:
            raise ValueError("no JSON in the reply")

        with pytest.raises(ValueError, match="no JSON"):
            Teller(store, extract=fails)("s2", "I've started eating fish again.")
        with pytest.raises(TypeError, match="candidates="):
            Teller(store, extract=lambda messages: [candidate(), None])("s2", "Fish!")  # type: ignore[list-item]
        assert dump(path) == before


def test_a_short_reply_deletes_nothing(tell: Teller) -> None:
    """run-llama/llama_index #21103"""
    tell("s1", "I'm a vegetarian. Call me Ada.")
    Teller(tell.store, extract=lambda messages: [candidate("The user has a cat.", "pets")])(
        "s2", "I have a cat."
    )
    assert len(tell.active()) == 3


SOURCE = Source("user_implicit", "s9")
BAD_CALLS: dict[str, Any] = {
    "no messages": lambda s: learn(s, None, SOURCE, user_id=ADA),  # type: ignore[arg-type]
    "text for messages": lambda s: learn(s, "I'm vegan", SOURCE, user_id=ADA),  # type: ignore[arg-type]
    "None for content": lambda s: learn(s, [{"role": "user", "content": None}], SOURCE, user_id=ADA),
    "unknown role": lambda s: learn(s, [{"role": "Ada", "content": "hi"}], SOURCE, user_id=ADA),
    "NUL": lambda s: learn(s, said("I'm vegan.\0"), SOURCE, user_id=ADA),
    "half a surrogate pair": lambda s: learn(s, said("I'm vegan. \ud83d"), SOURCE, user_id=ADA),
    "a megabyte": lambda s: learn(s, said("I'm vegan. " * 100_000), SOURCE, user_id=ADA),
    "no source": lambda s: learn(s, said("I'm vegan."), None, user_id=ADA),  # type: ignore[arg-type]
    "a source id for a source": lambda s: learn(s, said("I'm vegan."), "s9", user_id=ADA),  # type: ignore[arg-type]
    "no user": lambda s: learn(s, said("I'm vegan."), SOURCE, user_id=None),  # type: ignore[arg-type]
    "an empty user": lambda s: learn(s, said("I'm vegan."), SOURCE, user_id=""),
    "a blank user": lambda s: learn(s, said("I'm vegan."), SOURCE, user_id="  "),
    "space around a user": lambda s: learn(s, said("I'm vegan."), SOURCE, user_id=" u_ada"),
    "an empty app": lambda s: learn(s, said("I'm vegan."), SOURCE, user_id=ADA, app_name=""),
    "no candidate": lambda s: consolidate(s, None, SOURCE, user_id=ADA),  # type: ignore[arg-type]
    "a dict for a candidate": lambda s: consolidate(s, {}, SOURCE, user_id=ADA),  # type: ignore[arg-type]
    "a candidate of no source": lambda s: consolidate(s, candidate(), None, user_id=ADA),  # type: ignore[arg-type]
    "no operation": lambda s: apply(s, None, candidate(), SOURCE, user_id=ADA),  # type: ignore[arg-type]
    "decide without a source": lambda s: decide(candidate(), [], None),  # type: ignore[arg-type]
    "decide without a candidate": lambda s: decide(None, [], SOURCE),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", BAD_CALLS.values(), ids=BAD_CALLS)
def test_bad_input_is_named_and_nothing_is_written(tmp_path: Path, call: Any) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        Teller(store)("s1", "I'm a vegetarian.")
        before = dump(path)
        with pytest.raises((ValueError, TypeError), match=r"\w+.*=|missing") as error:
            call(store)
        assert len(str(error.value)) < 1000
        assert dump(path) == before


@pytest.mark.parametrize("hostile", ["x' OR '1'='1", "u_%", "u_a_a", "U_ADA", 'a"; DROP TABLE memories; --'])
def test_sql_in_an_id_is_only_a_name(store: MemoryStore, hostile: str) -> None:
    Teller(store)("s1", "I'm a vegetarian.")
    other = Teller(store, hostile)
    assert other("s1", "I've started eating fish again.", kind="user_explicit")[0].action == "CREATE"
    assert other.active() == [FISH]
    assert Teller(store).active() == [VEGETARIAN]


# Two at once


def _learn_in_a_process(path: Path, worker: int, start: Any) -> None:
    texts = ["I'm a vegetarian.", "I've started eating fish again.", "I'm vegan."]
    with MemoryStore(path) as store:
        tell = Teller(store)
        start.wait()
        for number in range(15):
            tell(f"w{worker}-{number}", texts[(number + worker) % 3])


def test_two_processes_that_contradict_each_other_leave_one_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    MemoryStore(path).close()
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    workers = [context.Process(target=_learn_in_a_process, args=(path, n, start)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with MemoryStore(path) as store:
        [survivor] = store.scan(ADA)
        assert survivor.topic == "diet"
        assert len(store.conversations(ADA)) == 30
        ids = {record.memory_id for record in store.owned(ADA)}
        assert all(r.superseded_by in ids for r in store.owned(ADA) if r is not survivor and not r.active())
