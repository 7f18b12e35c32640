"""What holds after any sequence of learning, recalling and forgetting by several users, apps and sessions."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pipeline import frozen, said

from memlab import clock
from memlab.records import MemoryRecord, Operation, Source, SourceType
from memlab.store import MemoryStore
from solutions.consolidation import is_exclusive, learn
from solutions.forgetting import expire, forget_source, forget_user, prune, regenerate
from solutions.injection import inject, remember_session
from solutions.retrieval import retrieve

OWNERS = [("u_ada", "concierge"), ("u_ada", "bakery"), ("U_ADA", "concierge"), ("u_%", "concierge")]
SESSIONS = ("s1", "S1", "s2")
KINDS: tuple[SourceType, ...] = ("tool_output", "user_implicit", "user_explicit")
UTTERANCES = (
    "I'm a vegetarian.", "I've started eating fish again.", "I'm vegan.", "I had steak for dinner.",
    "I love tea.", "I hate tea.", "My export keeps failing.", "My wife is vegan.", "I'm allergic to nuts.",
    "I'm not allergic to nuts.", "I prefer the aisle seat.", "Deadline is 15 October.", "Hello!",
)  # fmt: skip

owners = st.sampled_from(OWNERS)
sources = st.sampled_from(SESSIONS)
talks = st.lists(st.sampled_from(UTTERANCES), min_size=1, max_size=3)


def secret(owner: tuple[str, str]) -> str:
    """An employer that only this owner ever names."""
    return f"Firm{OWNERS.index(owner)}"


class Pipeline(RuleBasedStateMachine):
    """Random operations; the invariants are checked after each."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = frozen()
        self.store = MemoryStore()
        self.shared: list[MemoryRecord] = []

    def teardown(self) -> None:
        self.store.close()
        self.clock.__exit__()

    @initialize()
    def share(self) -> None:
        for app_name in ("concierge", "bakery"):
            crm = [Source("bootstrapped", "s1")]
            record = MemoryRecord(
                "The user follows a vegetarian diet.", "operator", app_name, "app", topic="diet", sources=crm
            )
            self.store.put(record)
            self.shared.append(record)

    @rule(owner=owners, source_id=sources, kind=st.sampled_from(KINDS), texts=talks)
    def learn(self, owner: tuple[str, str], source_id: str, kind: SourceType, texts: list[str]) -> None:
        talk = said(*texts, f"I work at {secret(owner)}.")
        self._learn(owner, talk, Source(kind, source_id))
        before = self._all_of(owner)
        [again] = self._learn(owner, talk, Source(kind, source_id))
        assert (again.action, again.target_id) == ("NOOP", None)
        assert self._all_of(owner) == before, "learning twice is not the same as once"

    @rule(owner=owners, source_id=sources, texts=talks)
    def close_session(self, owner: tuple[str, str], source_id: str, texts: list[str]) -> None:
        if source_id in self.store.revoked(*owner):
            return
        talk = said(*texts, f"I work at {secret(owner)}.")
        source = Source("user_implicit", source_id)
        remember_session(self.store, talk, source, user_id=owner[0], app_name=owner[1])

    @rule(owner=owners, source_id=sources, rebuild=st.booleans())
    def revoke(self, owner: tuple[str, str], source_id: str, rebuild: bool) -> None:
        forget_source(self.store, source_id, *owner)
        assert all(s.source_id != source_id for r in self.store.owned(*owner) for s in r.sources)
        if rebuild:
            self.regenerate(owner)

    @rule(owner=owners)
    def regenerate(self, owner: tuple[str, str]) -> None:
        regenerate(self.store, *owner)
        before = self._all_of(owner)
        assert not any(record.needs_regeneration for record in before[0])
        assert regenerate(self.store, *owner) == []
        assert self._all_of(owner) == before, "regenerating twice is not the same as once"

    @rule(owner=owners, content=st.sampled_from(["On hold.", "In a hurry."]), days=st.integers(1, 60))
    def put_brief(self, owner: tuple[str, str], content: str, days: int) -> None:
        user_id, app_name = owner
        end = clock.now() + days * clock.DAY
        self.store.put(MemoryRecord(f"{content} {secret(owner)}", user_id, app_name, expires_at=end))

    @rule(owner=owners)
    def expire(self, owner: tuple[str, str]) -> None:
        expire(self.store, user_id=owner[0], app_name=owner[1])
        assert expire(self.store, user_id=owner[0], app_name=owner[1]) == []

    @rule(owner=owners, floor=st.sampled_from([0.1, 0.3, 0.6]))
    def prune(self, owner: tuple[str, str], floor: float) -> None:
        prune(self.store, floor, user_id=owner[0], app_name=owner[1])
        assert prune(self.store, floor, user_id=owner[0], app_name=owner[1]) == []

    @rule(owner=owners)
    @precondition(lambda self: self.store.owned(*OWNERS[0]))
    def erase(self, owner: tuple[str, str]) -> None:
        expected = len(self.store.owned(*owner))
        assert forget_user(self.store, *owner) == expected
        assert self._all_of(owner) == ([], [], set())

    @rule(days=st.sampled_from([-30, 1, 30, 400]))
    def travel(self, days: int) -> None:
        clock.travel(days=days)

    @invariant()
    def no_read_path_crosses_owners(self) -> None:
        for owner in OWNERS:
            user_id, app_name = owner
            others = {secret(other) for other in OWNERS} - {secret(owner)}
            for session_id in (None, "s1", "S1"):
                options: dict[str, Any] = {"scopes": ("user", "session", "app"), "session_id": session_id}
                hits = retrieve(self.store, "firm tea", user_id=user_id, app_name=app_name, k=99, **options)
                read = [hit.record for hit in hits]
                read += self.store.scan(user_id, app_name, **options, include_invalid=True)
                for record in read:
                    assert record.app_name == app_name
                    assert record.scope == "app" or record.user_id == user_id
                    assert record.session_id in (None, session_id)
                words = set(inject("", hits).replace(".", " ").split())
                assert not words & others
            assert all((r.user_id, r.app_name) == owner for r in self.store.owned(*owner))
            assert not any(name in str(self.store.conversations(*owner)) for name in others)

    @invariant()
    def every_chain_ends_in_a_memory_of_the_same_owner(self) -> None:
        for owner in OWNERS:
            owned = {record.memory_id: record for record in self.store.owned(*owner)}
            for record in owned.values():
                seen = set()
                while record.superseded_by is not None:
                    assert record.invalidated_at is not None
                    assert record.memory_id not in seen, "a chain runs in a circle"
                    seen.add(record.memory_id)
                    assert record.superseded_by in owned, "a chain has lost its end"
                    record = owned[record.superseded_by]

    @invariant()
    def one_value_at_a_time_on_an_exclusive_topic(self) -> None:
        for owner in OWNERS:
            held = [
                (record.subject, record.topic)
                for record in self.store.scan(*owner, ("user",))
                if is_exclusive(record.topic)
            ]
            assert len(held) == len(set(held))

    @invariant()
    def what_the_app_shares_never_changes(self) -> None:
        shared = [r for app in ("concierge", "bakery") for r in self.store.scan("x", app, ("app",))]
        assert shared == self.shared

    def _learn(self, owner: tuple[str, str], talk: list[dict[str, Any]], source: Source) -> list[Operation]:
        return learn(self.store, talk, source, user_id=owner[0], app_name=owner[1])

    def _all_of(self, owner: tuple[str, str]) -> tuple[list[MemoryRecord], list[Any], set[str]]:
        return self.store.owned(*owner), self.store.conversations(*owner), self.store.revoked(*owner)


TestPipeline = Pipeline.TestCase
TestPipeline.settings = settings(deadline=None, derandomize=True, max_examples=15, stateful_step_count=20)
