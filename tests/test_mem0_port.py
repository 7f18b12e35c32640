"""mem0 2.x as it comes, with its real client; and what the adapter makes of it. On Chroma and on Qdrant."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from offline import Offline
from pipeline import frozen, own_ids, said

from benchmarks.systems import PlainMem0, mem0_client
from course import acceptance
from course.acceptance import NotOffered, accept
from course.model_server import ModelServer, mem0_model
from memlab import clock
from memlab.embedding import cosine, hash_embed
from memlab.records import Candidate, MemoryRecord, Source, SourceType
from memlab.store import MemoryStore
from solutions import mem0_port
from solutions.extraction import ExtractionFailed, rule_extract
from solutions.given.mem0_rows import conversations, cosine_of, rows
from solutions.given.mem0_setup import load_mem0
from solutions.mem0_port import (
    Mem0Adapter,
    affected_memories,
    build_memory,
    consolidate,
    holding,
    loud,
    owned_row,
    owner_filter,
    read_memories,
    records,
    supersede,
    topic_sweep,
)
from solutions.memory_system import MemorySystem

# pytest puts the filter aside that load_mem0 sets once for a whole process.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.xdist_group("mem0"),  # one process makes what all share
]

STORES = ["chroma", "qdrant"]
VEGETARIAN, FISH = "The user follows a vegetarian diet.", "The user eats fish again."
numbers = count(1)


@pytest.fixture(autouse=True)
def _offline_and_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MEMLAB_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with frozen():
        yield


@pytest.fixture(scope="module", params=STORES)
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One client for all tests of this file; each test has users of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ANTHROPIC_API_KEY", raising=False)
        patch.delenv("ANTHROPIC_BASE_URL", raising=False)
        built = mem0_client(tmp_path_factory.mktemp(request.param), store=request.param)
    with closing(built):
        yield built


@pytest.fixture
def ada() -> str:
    return f"u_ada{next(numbers)}"


@pytest.fixture
def bo() -> str:
    return f"u_bo{next(numbers)}"


def texts(found: dict[str, Any]) -> list[str]:
    return sorted(row["memory"] for row in found["results"])


def bytes_below(folder: Path, word: str) -> list[str]:
    """The files below `folder` in which `word` stands."""
    return [file.name for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


def folder_of(memory: Any) -> Path:
    return Path(memory.config.history_db_path).parent


class Told:
    """An adapter, and a short way to tell it things as one user."""

    def __init__(self, memory: Any, user_id: str) -> None:
        self.adapter, self.user_id = Mem0Adapter(memory, extract=rule_extract), user_id

    def __call__(self, source_id: str, text: str, kind: SourceType = "user_explicit") -> list[str]:
        done = self.adapter.learn(said(text), Source(kind, source_id), user_id=self.user_id)
        return [operation.action for operation in done]

    def held(self) -> list[str]:
        return [record.content for record in self.adapter.memories(self.user_id)]

    def record(self, content: str) -> MemoryRecord:
        [found] = [r for r in records(self.adapter.memory, self.user_id) if r.content == content]
        return found


# mem0 as it comes


def test_mem0_only_adds_so_both_sides_of_a_contradiction_live(memory: Any, ada: str) -> None:
    for text in ("I'm a vegetarian.", "I've started eating fish again."):
        added = memory.add(said(text), user_id=ada)["results"]
        assert [row["event"] for row in added] == ["ADD"]
    assert texts(memory.get_all(filters={"user_id": ada})) == [FISH, VEGETARIAN]


def test_the_published_calls_fail_and_their_present_form_works(memory: Any, ada: str) -> None:
    """mem0ai/mem0 #7288; agentscope-ai/agentscope PR 1520; pipecat-ai/pipecat PR 4626."""
    memory.add(said("I'm a vegetarian."), user_id=ada)
    memory.add(said("I have an aisle seat every time, I prefer aisle seats."), user_id=ada)
    with pytest.raises(ValueError, match=r"user_id.*not supported in search"):
        memory.search("dietary restrictions", user_id=ada, limit=5)
    with pytest.raises(ValueError, match=r"user_id.*not supported in get_all"):
        memory.get_all(user_id=ada)
    both = memory.search("dietary restrictions", filters={"user_id": ada}, limit=1)
    assert list(both) == ["results"]  # what a loop over the return value goes through
    assert len(both["results"]) == 2  # limit is ignored without a word
    best = memory.search("vegetarian diet", filters={"user_id": ada}, top_k=1)["results"]
    assert [row["memory"] for row in best] == [VEGETARIAN]


def test_duplicates_are_told_by_their_exact_bytes(memory: Any, ada: str) -> None:
    replies = iter(["Likes tea.", "Likes tea.", "likes tea."])

    def reply(*_: object, **__: object) -> str:
        return json.dumps({"memory": [{"id": "0", "text": next(replies), "attributed_to": "user"}]})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory.llm, "generate_response", reply)
        for _ in range(3):
            memory.add(said("I like tea."), user_id=ada)
    assert texts(memory.get_all(filters={"user_id": ada})) == ["Likes tea.", "likes tea."]


def test_twenty_memories_come_back_unless_more_are_asked_for(memory: Any, ada: str) -> None:
    for number in range(21):
        memory.add(f"Fact {number}.", user_id=ada, agent_id="default", infer=False)
    assert len(memory.get_all(filters={"user_id": ada})["results"]) == 20
    assert len(rows(memory, owner_filter(ada))) == 21


def test_a_score_on_chroma_is_of_the_distance_and_no_threshold_filters_it(memory: Any, ada: str) -> None:
    contents = ["The user likes tea.", "Quarterly tax returns.", "🎂🎂"]
    for content in contents:
        memory.add(content, user_id=ada, infer=False)
    found = memory.search("tea?", filters={"user_id": ada}, explain=True, threshold=0.0)["results"]
    for row in found:
        expected = cosine(hash_embed("tea?"), hash_embed(row["memory"]))
        assert cosine_of(memory, row) == pytest.approx(expected, abs=1e-6)
        if memory.config.vector_store.provider == "chroma" and row["memory"] != "🎂🎂":
            assert row["score"] == pytest.approx(1 / (1 + 2 - 2 * expected), abs=1e-6)
    kept = memory.search("tea?", filters={"user_id": ada})["results"]  # with mem0's threshold of 0.1
    assert len(kept) == (3 if memory.config.vector_store.provider == "chroma" else 1)


def test_mem0_expires_by_the_workbooks_clock_and_by_whole_days(memory: Any, ada: str) -> None:
    day = clock.stamp(clock.now() + clock.DAY)[:10]
    memory.add("Has a voucher.", user_id=ada, infer=False, expiration_date=day)
    for days, left in ((1.1, 1), (2, 0)):
        with clock.travel(days=days):
            assert len(memory.get_all(filters={"user_id": ada})["results"]) == left
    assert memory.get_all(filters={"user_id": ada})["results"][0]["created_at"][:10] == "2026-08-06"


def test_the_star_and_an_and_reach_other_users_in_plain_mem0(memory: Any, ada: str, bo: str) -> None:
    memory.add("Ada's secret.", user_id=ada, infer=False)
    memory.add("Bo's secret.", user_id=bo, infer=False)
    assert {"Ada's secret.", "Bo's secret."} <= set(
        texts(memory.search("secret", filters={"user_id": "*"}, top_k=99))
    )
    overridden = {"user_id": bo, "AND": [{"user_id": ada}]}
    assert texts(memory.search("secret", filters=overridden)) == ["Ada's secret."]


def test_calls_by_id_ask_nobody_whose_memory_it_is(memory: Any, ada: str) -> None:
    """The user's own id in metadata is safe since mem0 2.x: mem0ai/mem0 #6277, #6655, #6342."""
    [added] = memory.add("Ada's secret.", user_id=ada, infer=False)["results"]
    memory.update(added["id"], metadata={"user_id": "u_mallory", "mood": "fine"})
    got = memory.get(added["id"])
    assert (got["user_id"], got["metadata"]) == (ada, {"mood": "fine"})
    memory.delete(added["id"])
    assert memory.get(added["id"]) is None


# Its client: offline, quiet, loud where it matters


THINKING = [
    {"type": "thinking", "thinking": "She likes tea.", "signature": "x"},
    {"type": "text", "text": '{"memory": [{"id": "0", "text": "Likes tea.", "attributed_to": "user"}]}'},
]


def test_the_text_behind_a_thought_is_found_and_at_most_one_sampling_parameter_sent(tmp_path: Path) -> None:
    """mem0ai/mem0 PR 6481, PR 6211, PR 4471."""
    requests = []

    def thinking(request: dict[str, Any]) -> list[dict[str, Any]]:
        requests.append(request)
        return THINKING

    with closing(mem0_client(tmp_path, thinking)) as memory:
        memory.add(said("I like tea."), user_id="u_ada")
        assert texts(memory.get_all(filters={"user_id": "u_ada"})) == ["Likes tea."]
        memory.llm.config.enable_sampling_parameters = None  # as mem0 comes
        with pytest.raises(Exception, match=r"unexpected keyword argument 'temperature'"):
            memory.add(said("I like tea."), user_id="u_ada")
    [request] = requests
    assert len({"temperature", "top_p", "top_k"} & set(request)) <= 1


WRONG = [
    "",
    "I see no facts.",
    '{"memory": [{"id": "0", "text": "Likes',
    '{"none": []}',
    '{"memory": ["tea"]}',
    "[]",
]


@pytest.mark.parametrize("reply", WRONG)
def test_a_reply_that_cannot_be_read_raises_where_mem0_reports_no_facts(tmp_path: Path, reply: str) -> None:
    with closing(mem0_client(tmp_path, lambda request: reply)) as memory:
        if reply != '{"memory": ["tea"]}':  # the one that mem0 stumbles over by itself
            assert memory.add(said("I like tea."), user_id="u_ada") == {"results": []}
        with pytest.raises(Exception, match="LLM extraction failed") as failure:
            loud(memory).add(said("I live in Rome."), user_id="u_ada")
        assert isinstance(failure.value.__cause__, ExtractionFailed)
        assert "I live in Rome." not in str(memory.db.get_last_messages("user_id=u_ada"))
        with pytest.raises(ExtractionFailed):
            Mem0Adapter(memory).learn(said("I like tea."), Source("user_explicit", "s1"), user_id="u_ada")
        assert rows(memory, {"user_id": "u_ada"}) == []


@pytest.mark.parametrize(
    "around", ["{}", "Here you go:\n```json\n{}\n```\nhope it helps", "<think>tea?</think>{}"]
)
def test_what_mem0_can_read_is_no_failure(around: str) -> None:
    reply = around.replace("{}", '{"memory": [{"text": "Likes tea."}]}')
    assert read_memories(reply) == ["Likes tea."]
    assert read_memories('{"memory": []}') == []


def test_a_model_that_fails_is_not_taken_for_one_that_finds_nothing(tmp_path: Path) -> None:
    def broken(messages: list[dict[str, Any]]) -> list[Candidate]:
        raise ValueError("out of order")

    memory = mem0_client(tmp_path, mem0_model(broken))
    with closing(memory), pytest.raises(Exception, match="out of order"):
        memory.add(said("I like tea."), user_id="u_ada")


def test_the_adapters_own_extractor_is_the_model_that_mem0_is_configured_with(tmp_path: Path) -> None:
    with closing(Mem0Adapter(mem0_client(tmp_path))) as adapter:
        adapter.learn(said("I'm a vegetarian."), Source("user_explicit", "s1"), user_id="u_ada")
        [record] = adapter.memories("u_ada")
    assert (record.content, record.topic, record.sources[0].excerpt) == (
        VEGETARIAN,
        "diet",
        "I'm a vegetarian.",
    )


def test_without_a_server_a_key_makes_the_model_live_and_leaves_the_embeddings_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    monkeypatch.setenv("MEMLAB_MODEL", "claude-opus-5-5")
    with ModelServer(lambda request: '{"memory": []}') as server:
        with closing(build_memory(tmp_path / "live", embeddings=server)) as memory:
            assert memory.llm.client.base_url.host == "api.anthropic.com"
            assert (memory.llm.client.api_key, memory.llm.config.model) == ("a-key", "claude-opus-5-5")
            assert str(memory.embedding_model.client.base_url).startswith(server.url)
        with closing(build_memory(tmp_path / "local", server=server)) as memory:
            assert (memory.llm.client.base_url.host, memory.llm.client.api_key) == ("127.0.0.1", "offline")
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        with ModelServer(lambda request: '{"memory": []}') as elsewhere:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.url)
            with closing(build_memory(tmp_path / "elsewhere", embeddings=server)) as memory:
                memory.add(said("I like tea."), user_id="u_ada")
            assert ["messages" in request for request in elsewhere.requests] == [True]


def test_an_address_that_is_missing_is_named_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"server=None.*ANTHROPIC_API_KEY.*ANTHROPIC_BASE_URL"):
        build_memory(tmp_path / "new")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    with pytest.raises(ValueError, match=r"embeddings=None.*they need an address too"):
        build_memory(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_server_stays_open_for_who_started_it(tmp_path: Path) -> None:
    with ModelServer(lambda request: "") as server:
        build_memory(tmp_path, server=server).close()
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), 1).close()


ALL_OF_IT = """
import sys
from pathlib import Path
from benchmarks.systems import mem0_client
from memlab.records import Source
from solutions.mem0_port import Mem0Adapter
for store in ("chroma", "qdrant"):
    adapter = Mem0Adapter(mem0_client(Path(sys.argv[1]) / store, store=store))
    adapter.memory.add([{"role": "user", "content": "I'm a vegetarian."}], user_id="u_ada")
    said = [{"role": "user", "content": "Call me Ada."}]
    adapter.learn(said, Source("user_explicit", "s1"), user_id="u_ada")
    print(len(adapter.recall("name?", user_id="u_ada")), adapter.forget_user("u_ada"))
    adapter.close()
"""


def test_mem0_calls_nobody_says_nothing_and_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """mem0ai/mem0 #3729, #2285."""
    offline = Offline(tmp_path / "offline")
    settings = offline.environment(MEM0_TELEMETRY="True")  # what the learner's own may say
    root = Path(mem0_port.__file__).parents[1]
    command = [sys.executable, "-c", ALL_OF_IT, str(tmp_path / "memories")]
    ran = subprocess.run(command, env=settings, cwd=root, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("1 2\n1 2\n", "")
    assert list(offline.problems()) == []


def test_mem0_imported_with_its_telemetry_on_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_mem0(tmp_path)
    from mem0.memory import telemetry  # type: ignore[import-untyped]

    monkeypatch.setattr(telemetry, "MEM0_TELEMETRY", True)
    with pytest.raises(RuntimeError, match="restart the kernel"):
        mem0_client(tmp_path)


@pytest.mark.parametrize("store", STORES)
def test_closing_stops_what_was_started_and_the_folder_opens_again(tmp_path: Path, store: Any) -> None:
    for written in (0, 1):
        with closing(mem0_client(tmp_path, store=store)) as memory:
            port = memory.embedding_model.client.base_url.port
            assert len(rows(memory, {"user_id": "u_ada"})) == written
            memory.add("Likes tea.", user_id="u_ada", infer=False)
        memory.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1)


def test_an_unknown_store_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"store='pinecone'.*chroma, qdrant"):
        build_memory(tmp_path / "new", store="pinecone")  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_only_what_mem0_says_each_time_is_silenced(
    memory: Any, ada: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        memory.add("Likes tea.", user_id=ada, infer=False, metadata={"user_id": "u_bo"})
    assert [record.getMessage() for record in caplog.records] == [
        "add(): ignoring metadata['user_id'] - identity fields cannot be set through metadata"
    ]


# The adapter: whose


REFUSED = [
    ({"user_id": "*"}, "user_id='\\*'"),
    ({"user_id": "u_ada", "app_name": "*"}, "app_name='\\*'"),
    ({"user_id": "u_ada", "topic": "*"}, "topic='\\*'"),
    ({"user_id": "u_ada", "AND": "x"}, "AND="),
    ({"user_id": "u_ada", "$or": "x"}, r"\$or="),
    ({"user_id": "u_ada", "agent_id": "bakery"}, "agent_id="),
    ({"user_id": "u_ada", "topic": {"ne": "x"}}, "topic="),
    ({"user_id": "u ada"}, "user_id='u ada'"),
    ({"user_id": ""}, "user_id=''"),
    ({"user_id": "u_ada", "app_name": "default#ledger"}, "app_name="),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_filter_that_could_reach_anyone_else_is_refused_by_its_field(
    asked: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        owner_filter(**asked)


def test_every_way_into_the_adapter_refuses_everybody(memory: Any, ada: str) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")
    adapter, star = told.adapter, {"user_id": "*"}
    for call in (
        lambda: adapter.recall("diet", **star),
        lambda: adapter.context("Be brief.", "diet", **star),
        lambda: adapter.memories(**star),
        lambda: adapter.remember("Likes tea.", **star),
        lambda: adapter.learn(said("Call me Bo."), Source("user_explicit", "s9"), **star),
        lambda: adapter.get("x", **star),
        lambda: adapter.forget_source("s1", **star),
        lambda: adapter.forget_user(**star),
    ):
        with pytest.raises(ValueError, match=r"user_id='\*'"):
            call()
    assert told.held() == [VEGETARIAN]


def test_an_id_works_for_its_owner_alone(memory: Any, ada: str, bo: str) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")
    [record] = told.adapter.memories(ada)
    [row] = rows(memory, owner_filter(ada))
    for memory_id in (record.memory_id, row["id"]):  # ours, and mem0's
        assert told.adapter.get(memory_id, user_id=ada) == record
        for owner in ({"user_id": bo}, {"user_id": ada, "app_name": "bakery"}):
            assert owned_row(memory, memory_id, **owner) is None
            with pytest.raises(ValueError, match="memory_id="):
                told.adapter.delete(memory_id, **owner)
            with pytest.raises(ValueError, match="memory_id="):
                told.adapter.update(memory_id, "Eats everything.", **owner)
    told.adapter.update(record.memory_id, "The user is a vegan.", user_id=ada)
    assert told.held() == ["The user is a vegan."]
    told.adapter.delete(record.memory_id, user_id=ada)
    assert told.held() == []


def test_what_two_sources_say_can_be_corrected_and_the_gate_stands_before_it(memory: Any, ada: str) -> None:
    told = Told(memory, ada)
    for source_id in ("s1", "s2"):
        told(source_id, "I'm a vegetarian.")
    [record] = told.adapter.memories(ada)
    assert len(record.sources) == 2
    told.adapter.update(record.memory_id, "The user is a vegan.", user_id=ada)
    with pytest.raises(ValueError, match="write gate"):
        told.adapter.update(record.memory_id, "The db password is hunter2.", user_id=ada)
    [corrected] = told.adapter.memories(ada)
    assert (corrected.content, corrected.memory_id) == ("The user is a vegan.", record.memory_id)
    assert [(s.source_type, s.inherited) for s in corrected.sources] == [
        ("user_explicit", True),
        ("user_explicit", True),
        ("user_explicit", False),
    ]


def test_a_correction_outlives_the_revocation_of_what_agreed_with_it_and_of_what_it_corrected(
    memory: Any, ada: str
) -> None:
    told, pescatarian = Told(memory, ada), "The user follows a pescatarian diet."
    told("s1", "I'm a vegetarian.")
    [record] = told.adapter.memories(ada)
    told.adapter.update(record.memory_id, pescatarian, user_id=ada)
    again = Candidate(pescatarian, "diet", 0.9, "pescatarian")
    consolidate(memory, again, Source("user_explicit", "s5"), user_id=ada)
    told.adapter.forget_source("s5", ada)
    assert told.held() == [pescatarian]
    told.adapter.forget_source("s1", ada)
    assert [(r.memory_id, r.content) for r in told.adapter.memories(ada)] == [(record.memory_id, pescatarian)]
    assert VEGETARIAN not in str([row["metadata"] for row in rows(memory, owner_filter(ada))])
    assert VEGETARIAN not in str(memory.history(rows(memory, owner_filter(ada))[0]["id"]))


def test_a_session_of_mem0_leaks_and_a_session_of_the_adapter_does_not(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    adapter.remember("Holds seat 12A.", user_id=ada, session_id="t1")
    assert texts(memory.search("seat", filters={"user_id": ada})) == ["Holds seat 12A."]
    assert adapter.recall("seat", user_id=ada) == adapter.memories(ada) == []
    assert [h.record.content for h in adapter.recall("seat", user_id=ada, session_id="t1")] == [
        "Holds seat 12A."
    ]
    for text in ("Where is my seat?", "And my luggage?"):
        adapter.close_session(said(text), Source("user_explicit", "t1"), user_id=ada)
    seen = [hit.record.content for hit in adapter.recall("seat", user_id=ada, session_id="t1")]
    assert [text for text in seen if "Earlier" in text] == [
        'Earlier in this conversation: The user last said: "And my luggage?"'
    ]


# The adapter: what contradicts what


def test_the_sweep_finds_what_no_vector_does(memory: Any, ada: str, bo: str) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")
    Told(memory, bo)("s1", "I'm a vegetarian.")
    fish = Candidate(FISH, "diet", 0.9, "")
    assert [r.content for r in topic_sweep(memory, fish, user_id=ada)] == [VEGETARIAN]
    assert [r.user_id for r in affected_memories(memory, fish, user_id=ada)] == [ada]
    for other in (Candidate(FISH, "travel", 0.9, ""), Candidate(FISH, "diet", 0.9, "", subject="son")):
        assert topic_sweep(memory, other, user_id=ada) == []


def test_a_contradiction_supersedes_and_mem0_itself_hides_the_tombstone(memory: Any, ada: str) -> None:
    told = Told(memory, ada)
    assert told("s1", "I'm a vegetarian.") == ["CREATE"]
    assert told("s2", "I've started eating fish again.") == ["UPDATE"]
    assert told.held() == [FISH]
    assert texts(memory.get_all(filters={"user_id": ada, "agent_id": "default"})) == [FISH]
    old, new = told.record(VEGETARIAN), told.record(FISH)
    assert old.superseded_by == new.memory_id
    assert [(source.source_id, source.inherited) for source in new.sources] == [("s1", True), ("s2", False)]


def test_a_weaker_source_leaves_a_line_of_history_and_nothing_else(memory: Any, ada: str) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")
    before = told.record(VEGETARIAN)
    assert told("t1", "I've started eating fish again.", kind="tool_output") == ["NOOP"]
    after = told.record(VEGETARIAN)
    assert told.held() == [VEGETARIAN]
    assert (after.sources, after.confidence) == (before.sources, before.confidence)
    assert [line[20:] for line in after.history] == [
        "kept against tool_output t1: lower-trust source than the existing memory"
    ]


def test_trust_is_not_laundered_and_retelling_is_no_corroboration(memory: Any, ada: str) -> None:
    told = Told(memory, ada)
    told("t1", "I'm a vegetarian.", kind="tool_output")
    told("s1", "I've started eating fish again.")
    assert told("t2", "I'm a vegetarian.", kind="tool_output") == ["NOOP"]
    assert told.held() == [FISH]
    told("s1", "I've started eating fish again.")
    assert own_ids(told.record(FISH)) == ["s1"]
    told("s2", "I've started eating fish again.")
    assert (own_ids(told.record(FISH)), told.record(FISH).confidence) == (["s1", "s2"], 0.95)


STORY: list[tuple[str, SourceType, str]] = [
    ("s1", "user_implicit", "I'm a vegetarian, by the way. Please call me Ada. I prefer aisle seats."),
    ("s2", "user_implicit", "As I said, I'm a vegetarian."),
    ("t1", "tool_output", "I've started eating fish again."),
    ("s3", "user_explicit", "Actually, I've started eating fish again."),
    ("s4", "user_explicit", "I'm allergic to peanuts. My son is allergic to eggs."),
]


def test_the_adapter_holds_and_recalls_what_the_system_on_sqlite_does(memory: Any, ada: str) -> None:
    sqlite, adapter = MemorySystem(MemoryStore()), Mem0Adapter(memory, extract=rule_extract)
    systems: list[MemorySystem] = [sqlite, adapter]
    for system in systems:
        for source_id, kind, text in STORY:
            system.learn(said(text), Source(kind, source_id), user_id=ada)
        system.remember("Tell her of every delay.", user_id=ada, importance=1.0)
    query = "any dietary restrictions I should know about?"
    for step in (lambda system: None, lambda system: system.forget_source("s3", ada)):
        for system in systems:
            step(system)
        held = [[(r.content, r.confidence, own_ids(r)) for r in system.memories(ada)] for system in systems]
        assert sorted(held[1]) == sorted(held[0])
        hits = [
            [(h.record.content, h.score) for h in system.recall(query, user_id=ada)] for system in systems
        ]
        assert dict(hits[1]) == pytest.approx(dict(hits[0]), abs=1e-6)
        assert [text for text, _ in hits[1][:2]] == [text for text, _ in hits[0][:2]]


def test_killed_between_the_new_and_the_old_the_newer_holds_and_the_next_write_tidies_up(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory, "update", killed)
        with pytest.raises(KeyboardInterrupt):
            told("s2", "I've started eating fish again.")
    assert told.record(VEGETARIAN).active()
    assert told.held() == [hit.record.content for hit in told.adapter.recall("food", user_id=ada)] == [FISH]
    assert told("s2", "I've started eating fish again.") == ["NOOP"]  # learned again, nothing is new
    assert told("s3", "I'm vegan now.") == ["UPDATE"]
    active = [record.content for record in records(memory, ada) if record.active()]
    assert active == told.held()
    assert len(active) == 1


def test_killed_before_anything_is_written_the_old_value_stands(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = Mem0Adapter(memory)
    adapter.remember("Lives in Baner.", user_id=ada, slot="address")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            adapter.remember("Lives in Kothrud.", user_id=ada, slot="address")
    assert [record.content for record in adapter.memories(ada)] == ["Lives in Baner."]


def test_a_weaker_source_does_not_displace_a_slot(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    adapter.remember("Lives in Baner.", user_id=ada, slot="address")
    with pytest.raises(ValueError, match="weaker"):
        adapter.remember("Lives in Pune.", user_id=ada, slot="address", source=Source("tool_output", "t1"))
    assert [record.content for record in adapter.memories(ada)] == ["Lives in Baner."]


def test_what_says_the_same_in_one_place_holds_once() -> None:
    old, new = (MemoryRecord("Lives in Rome.", "u_ada", topic="home") for _ in range(2))
    other = MemoryRecord("Lives in Oslo.", "u_ada", topic="home", subject="son")
    assert holding([old, other, new]) == [other, new]


def test_supersede_writes_the_new_before_it_ends_the_old(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, calls = Told(memory, ada), list[str]()
    told("s1", "I'm a vegetarian.")
    for name in ("add", "update"):
        monkeypatch.setattr(memory, name, lambda *_, name=name, **__: calls.append(name))
    supersede(memory, [told.record(VEGETARIAN)], MemoryRecord(FISH, ada, topic="diet"), "newer")
    assert calls == ["add", "update"]


def test_what_plain_mem0_wrote_is_recalled_too(memory: Any, ada: str) -> None:
    plain, adapter = PlainMem0(memory), Mem0Adapter(memory, extract=rule_extract)
    plain.learn(said("I'm a vegetarian."), Source("user_explicit", "s1"), user_id=ada)
    [record] = adapter.memories(ada)
    assert (record.content, own_ids(record), record.user_id) == (VEGETARIAN, ["s1"], ada)
    adapter.learn(said("I'm a vegetarian."), Source("user_explicit", "s2"), user_id=ada)
    [record] = adapter.memories(ada)
    assert own_ids(record) == ["s1", "s2"]
    assert adapter.recall("diet", user_id=ada)[0].record == record


def test_what_no_record_can_hold_is_passed_over_and_erased_with_the_rest(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    for text in (" ", "a\0b", "Likes tea."):
        memory.add(text, user_id=ada, agent_id="default", infer=False)
    assert [record.content for record in adapter.memories(ada)] == ["Likes tea."]
    assert [hit.record.content for hit in adapter.recall("tea", user_id=ada)] == ["Likes tea."]
    adapter.forget_source("s1", ada)
    assert len(rows(memory, owner_filter(ada))) == 3
    adapter.forget_user(ada)
    assert rows(memory, {"user_id": ada}) == []


def test_a_query_may_be_blank_or_long_and_a_sessions_id_may_hold_a_space(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    adapter.remember("Allergic to nuts.", user_id=ada, importance=1.0)
    adapter.remember("Holds seat 12A.", user_id=ada, session_id="t 1")
    for query in ("", "  ", "seat " * 4000):
        assert "Allergic to nuts." in adapter.context("Be brief.", query, user_id=ada)
    seen = adapter.recall("seat", user_id=ada, session_id="t 1")
    assert [hit.record.session_id for hit in seen] == [None, "t 1"]
    with pytest.raises(TypeError, match="query"):
        adapter.recall(None, user_id=ada)  # type: ignore[arg-type]


def test_a_reply_with_a_topic_that_mem0_cannot_ask_for_is_refused_before_anything_is_written(
    memory: Any, ada: str
) -> None:
    fine, star = Candidate("Likes tea.", "taste", 0.9, ""), Candidate("Likes gin.", "*", 0.9, "")
    adapter = Mem0Adapter(memory, extract=lambda messages: [fine, star])
    with pytest.raises(ValueError, match=r"topic='\*'"):
        adapter.learn(said("Tea and gin."), Source("user_explicit", "s1"), user_id=ada)
    assert rows(memory, {"user_id": ada}) == []


# The adapter: forgetting


def test_revoking_a_source_revives_what_it_displaced_and_leaves_no_byte_of_it(tmp_path: Path) -> None:
    with closing(mem0_client(tmp_path)) as memory:
        told = Told(memory, "u_ada")
        told("s1", "I'm a vegetarian.")
        told("t1", "I live in Quarkhausen.", kind="tool_output")
        told("s3", "I've started eating fish again. I live in Sauerkrautgasse.")
        assert told.held() == [FISH, "The user lives in Sauerkrautgasse."]
        revocation = told.adapter.forget_source("s3", "u_ada")
        assert (len(revocation.erased), len(revocation.flagged)) == (2, 2)
        assert sorted(told.held()) == [VEGETARIAN, "The user lives in Quarkhausen."]
        assert told("s3", "I've started eating fish again.") == ["NOOP"]
        assert VEGETARIAN in told.held()
        again = Source("user_explicit", "s3")
        with pytest.raises(ValueError, match="was revoked"):
            told.adapter.remember("Likes tea.", user_id="u_ada", source=again)
        with pytest.raises(ValueError, match="was revoked"):
            told.adapter.close_session(said("Likes tea."), again, user_id="u_ada")
        assert told.adapter.forget_source("s3", "u_ada").erased == []
    assert bytes_below(tmp_path, "Sauerkraut") == bytes_below(tmp_path, "fish again") == []
    assert bytes_below(tmp_path, "Quarkhausen")  # where the rest is, so that the search proves something


def test_a_revocation_that_was_killed_is_completed_by_the_next(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(memory, ada)
    told("s1", "I'm a vegetarian.")
    told("s2", "I've started eating fish again.")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mem0_port, "erase", killed)
        with pytest.raises(KeyboardInterrupt):
            told.adapter.forget_source("s2", ada)
    assert len(told.held()) == 1  # one value at every moment
    told.adapter.forget_source("s2", ada)
    assert told.held() == [VEGETARIAN]
    assert [record.content for record in records(memory, ada)] == [VEGETARIAN]


def test_a_revocation_that_was_killed_is_completed_by_that_of_another_source(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(memory, ada)
    for source_id in ("s1", "s2", "s3"):
        told(source_id, "I'm a vegetarian.")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory, "delete", killed)  # "s2" is noted as revoked, and nothing else is done
        with pytest.raises(KeyboardInterrupt):
            told.adapter.forget_source("s2", ada)
    told.adapter.forget_source("s1", ada)
    assert own_ids(told.record(VEGETARIAN)) == ["s3"]
    assert [c.source.source_id for c in conversations(memory, owner_filter(ada))] == ["s3"]


@pytest.mark.parametrize("forget", ["forget_source", "forget_user"])
def test_killed_inside_mem0s_delete_no_text_is_left_in_its_history(
    memory: Any, ada: str, monkeypatch: pytest.MonkeyPatch, forget: str
) -> None:
    told, place = Told(memory, ada), f"Quarkhausen{next(numbers)}"
    told("s1", f"I live in {place}.")
    wanted = ("s1", ada) if forget == "forget_source" else (ada,)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory.db, "add_history", killed)  # the vector is deleted by then
        for _ in range(2):  # at the first row that goes, then at the next
            with pytest.raises(KeyboardInterrupt):
                getattr(told.adapter, forget)(*wanted)
    getattr(told.adapter, forget)(*wanted)
    assert told.held() == []
    assert bytes_below(folder_of(memory), place) == []


def test_killed_before_the_last_step_of_a_rewriting_nobody_loses_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chromadb.api.models.Collection import Collection

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with closing(mem0_client(tmp_path)) as memory:
        Mem0Adapter(memory).remember("Likes tea.", user_id="u_bo")
        Mem0Adapter(memory).remember("Likes rum.", user_id="u_ada")
        with monkeypatch.context() as patch:
            patch.setattr(Collection, "modify", killed)
            with pytest.raises(KeyboardInterrupt):
                Mem0Adapter(memory).forget_user("u_ada")
    with closing(mem0_client(tmp_path)) as memory:
        adapter = Mem0Adapter(memory)
        assert [record.content for record in adapter.memories("u_bo")] == ["Likes tea."]
        adapter.forget_user("u_ada")
        assert [record.content for record in adapter.memories("u_bo")] == ["Likes tea."]
    assert bytes_below(tmp_path, "Likes rum") == []


@pytest.mark.parametrize("store", STORES)
def test_what_delete_all_leaves_is_gone_after_the_adapters_forget_user(tmp_path: Path, store: Any) -> None:
    """mem0ai/mem0 #6512, #3928, #3746: no byte of hers, and Bo's untouched."""
    with closing(mem0_client(tmp_path, store=store)) as memory:
        memory.add(said("I'm a vegetarian. Ask in Quarkhausen."), user_id="u_ada")
        memory.add(said("Call me Bo."), user_id="u_bo")
        memory.delete_all(user_id="u_ada")
        assert memory.get_all(filters={"user_id": "u_ada"})["results"] == []
        left = memory.db.connection.execute("SELECT old_memory FROM history WHERE is_deleted").fetchall()
        assert left == [(VEGETARIAN,)]
        assert "Quarkhausen" in str(memory.db.get_last_messages("user_id=u_ada"))
        assert bytes_below(tmp_path, "vegetarian")
        adapter = Mem0Adapter(memory, extract=rule_extract)
        adapter.learn(said("I live in Zwetschgendorf."), Source("user_explicit", "s1"), user_id="u_ada")
        [kept] = rows(memory, owner_filter("u_ada"))
        memory._upsert_entity(
            "Zwetschgendorf", "PROPER", kept["id"], {"user_id": "u_ada", "agent_id": "default"}
        )
        memory._entity_store = None  # as after a restart
        assert adapter.forget_user("u_ada") == 1
        assert rows(memory, {"user_id": "u_ada"}) == []
        assert texts(memory.get_all(filters={"user_id": "u_bo"})) == ["The user goes by Bo."]
        assert memory.search("Bo", filters={"user_id": "u_bo"})["results"]
    for word in ("vegetarian", "Quarkhausen", "Zwetschgendorf", "u_ada"):
        assert bytes_below(tmp_path, word) == []
    assert bytes_below(tmp_path, "goes by Bo")


def test_one_app_forgets_a_user_and_the_others_do_not(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    adapter.remember("Likes tea.", user_id=ada)
    adapter.remember("Wants no eggs.", user_id=ada, app_name="bakery")
    memory.add(said("I'm a vegetarian."), user_id=ada)  # by plain mem0, for no app
    assert adapter.forget_user(ada) == 2
    assert [r.content for r in adapter.memories(ada, "bakery")] == ["Wants no eggs."]
    assert texts(memory.get_all(filters={"user_id": ada})) == ["Wants no eggs."]


def test_ids_that_mem0_escapes_in_its_messages_are_found_there(memory: Any) -> None:
    strange = f"u=ada&b%{next(numbers)}"
    memory.add(said("I'm a vegetarian."), user_id=strange)
    assert memory.db.connection.execute(
        "SELECT count(*) FROM messages WHERE content LIKE '%veg%'"
    ).fetchone() != (0,)
    Mem0Adapter(memory).forget_user(strange)
    scopes = [scope for (scope,) in memory.db.connection.execute("SELECT session_scope FROM messages")]
    assert not [scope for scope in scopes if "26b" in scope]


def test_a_secret_is_neither_remembered_nor_kept_in_the_conversation(tmp_path: Path) -> None:
    with closing(mem0_client(tmp_path)) as memory:
        Told(memory, "u_ada")("s1", "Call me Ada. The db password is hunter2.")
        with pytest.raises(ValueError, match="write gate"):
            Mem0Adapter(memory).remember("The db password is hunter2.", user_id="u_ada")
    assert bytes_below(tmp_path, "hunter2") == []


def test_forgetting_a_user_empties_what_waits_for_review(memory: Any, ada: str) -> None:
    adapter = Mem0Adapter(memory)
    with pytest.raises(ValueError, match="write gate"):
        adapter.remember("Free delivery for life.", user_id=ada)
    assert len(adapter.review.waiting()) == 1
    adapter.forget_user(ada)
    assert adapter.review.waiting() == []


# In the table


def test_the_adapter_passes_the_rows_that_its_store_takes_part_in_on_qdrant_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On Chroma all rows are tried, by `python -m benchmarks.systems`; the tests above try both stores."""
    rows_of_the_store = ("retrieval", "revocation", "expiry", "erasure", "isolation")
    monkeypatch.setattr(acceptance, "ABILITIES", rows_of_the_store)
    report = accept(lambda folder, extract: Mem0Adapter(mem0_client(folder, store="qdrant"), extract=extract))
    assert report.passed, report
    assert [result.ability for result in report.results] == list(rows_of_the_store)


def test_plain_mem0_says_what_it_does_not_offer(memory: Any, ada: str) -> None:
    plain = PlainMem0(memory)
    for call in (
        lambda: plain.remember("Allergic to nuts.", user_id=ada, importance=1.0),
        lambda: plain.remember("Lives in Rome.", user_id=ada, slot="address"),
        lambda: plain.forget_source("s1", ada),
        lambda: plain.context("Be brief.", "diet", user_id=ada),
    ):
        with pytest.raises(NotOffered, match="mem0"):
            call()
    plain.remember("Likes tea.", user_id=ada, source=Source("user_explicit", "s1"))
    assert [hit.record.content for hit in plain.recall("tea", user_id=ada)] == ["Likes tea."]
    assert (plain.forget_user(ada), plain.memories(ada)) == (1, [])
