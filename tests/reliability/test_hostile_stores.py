"""Hostile texts through the stores whose every call takes milliseconds, so that not all mixtures fit.

`test_hostile_text.py` tries ten thousand on what is fast; here a parameter gets the listed texts, and the
first to meet a user's text also some floods and a share of the mixtures. What was accepted is compared, so
that a store which loses, changes or hands to another owner what it took cannot pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from chromadb.api import ClientAPI
from hostile import FLOODS, LISTED, mixtures
from pipeline import said

from benchmarks.systems import mem0_client
from course.model_server import ModelServer, mem0_model
from course.pictures.lineage import belief
from course.pictures.time_slider import decay_curves
from course.pictures.views import (
    as_picture,
    changes_table,
    dialogue,
    lineage_picture,
    new_figure,
    operations_table,
    score_bars,
    store_table,
)
from memlab.records import MemoryRecord, Operation, Source
from memlab.store import StoreError
from solutions.chroma_store import ChromaMemoryStore, meets, visible_where
from solutions.chroma_tools import similarity, to_metadata, topic_sweep, where_all
from solutions.extraction import ExtractionFailed, rule_extract
from solutions.given.chroma import (
    NO_EMBEDDER,
    find_collection,
    folder_client,
    folder_holding,
    from_metadata,
    memory_client,
    open_collection,
)
from solutions.given.mem0_rows import conversations, rows
from solutions.mem0_port import Mem0Adapter, owner_filter, read_memories, records
from solutions.policy_store import PolicyStore
from solutions.retrieval import Hit, Weights

pytestmark = [
    # pytest puts the filter aside that load_mem0 sets once for a whole process.
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
]

FEW = (*FLOODS[::24], *mixtures(100))  # a flood takes Chroma ten times as long as a mixture
TEXTS = (*LISTED, *FEW)


def refused(call: Callable[[], object], *fields: str) -> bool:
    """True if `call` refuses with an error that names one of `fields`; any other error is a bug."""
    try:
        call()
    except (ValueError, TypeError, StoreError) as refusal:
        complaint = repr(refusal)
    else:
        return False
    assert any(field in complaint for field in fields), f"names none of {fields}: {complaint:.200}"
    return True


@pytest.fixture
def client() -> ClientAPI:
    return memory_client()


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[ClientAPI]:
    """A client on a folder, for what goes through to the files; each write waits for the disk."""
    opened: Any = folder_client(tmp_path / "chroma")  # Any: Chroma's own type does not mention close()
    with closing(opened):
        yield opened


# --- the policy store ---------------------------------------------------------------------------------


def crumb(client: ClientAPI) -> PolicyStore:
    """A store with one memory of somebody else, who must keep it and get no other."""
    store = PolicyStore(client, "crumb")
    store.remember("u_other", "Likes rye.", "fact", 3)
    return store


def texts_of(store: PolicyStore, user_id: str = "u_ada") -> list[str]:
    return [memory.text for memory in store.what_do_you_remember(user_id)]


@pytest.fixture
def policies(client: ClientAPI) -> Iterator[PolicyStore]:
    store = crumb(client)
    yield store
    assert texts_of(store, "u_other") == ["Likes rye."]


def test_the_policy_store_holds_each_text_that_it_accepts_as_it_was(on_disk: ClientAPI) -> None:
    store = crumb(on_disk)
    tried = TEXTS[::2]
    kept = [t for t in tried if not refused(lambda t=t: store.remember("u_ada", t, "fact", 3), "text")]
    assert len(kept) > len(tried) // 2
    assert sorted(texts_of(store)) == sorted(kept)
    assert texts_of(store, "u_other") == ["Likes rye."]


def test_a_user_of_the_policy_store_with_a_hostile_id_owns_what_is_theirs_and_no_more(
    policies: PolicyStore,
) -> None:
    owners = [
        text
        for text in LISTED
        if not refused(lambda t=text: policies.remember(t, f"Of {t!r}.", "fact", 3), "user_id")
    ]
    for text in owners:
        assert texts_of(policies, text) == [f"Of {text!r}."]
    for text in owners[::4]:
        assert (policies.forget_user(text), policies.recall(text, "rye")) == (1, [])
    assert len(policies.memories.get()["ids"]) == len(owners) - len(owners[::4]) + 1


def test_a_slot_of_the_policy_store_with_a_hostile_name_has_one_value(policies: PolicyStore) -> None:
    slots = []
    for text in LISTED[::2]:
        for value in ("old", "new"):
            if not refused(
                lambda t=text, v=value: policies.remember("u_ada", f"{v} {t!r}", "fact", 3, slot=t), "slot"
            ):
                slots.append((text, value))
    held = texts_of(policies)
    expected = [f"{value} {text!r}" for text, value in slots if value == "new" or text == ""]
    assert sorted(held) == sorted(expected)


def test_whatever_is_asked_the_policy_store_answers_from_the_users_own_memories(
    policies: PolicyStore,
) -> None:
    policies.remember("u_ada", "Allergic to nuts.", "fact", 5)
    for text in TEXTS:
        answers: list[str] = []
        if not refused(lambda t=text, a=answers: a.extend(policies.recall("u_ada", t)), "query"):
            assert answers == ["Allergic to nuts."]


@pytest.mark.parametrize("field", ["kind", "sources", "business"])
def test_the_policy_store_names_the_other_fields_that_it_refuses(policies: PolicyStore, field: str) -> None:
    def call(text: str) -> object:
        if field == "business":
            return PolicyStore(policies.client, text)
        given: dict[str, Any] = {"kind": text} if field == "kind" else {"kind": "fact", "sources": [text]}
        return policies.remember("u_ada", "Likes tea.", importance=3, **given)

    accepted = [text for text in LISTED if not refused(lambda t=text: call(t), field)]
    held = policies.what_do_you_remember("u_ada")
    if field == "sources":
        assert sorted(memory.sources for memory in held) == sorted((text,) for text in accepted)
    else:
        assert held == []


def test_a_rewrite_that_gives_a_hostile_text_leaves_the_episodes_or_a_fact(policies: PolicyStore) -> None:
    for text in LISTED[::6]:
        for _ in range(2):
            policies.remember("u_ada", "Hamper was late.", "episode", 2)
        bad = refused(lambda t=text: policies.consolidate("u_ada", "hamper late", lambda _: t), "text")
        assert texts_of(policies) == (["Hamper was late."] * 2 if bad else [text])
        policies.forget_user("u_ada")


# --- MemoryStore's contract, on Chroma ----------------------------------------------------------------

FIELDS = (
    "content",
    "user_id",
    "app_name",
    "memory_id",
    "topic",
    "subject",
    "session_id",
    "source_id",
    "extra",
)


def record(field: str, text: str) -> MemoryRecord:
    """A memory with `text` in one of its fields."""
    if field == "source_id":
        return MemoryRecord("Likes tea.", "u_ada", sources=[Source("user_implicit", text)])
    given: dict[str, Any] = {"content": "Likes tea.", "user_id": "u_ada"}
    given |= {"extra": {text: text}} if field == "extra" else {field: text}
    return MemoryRecord(**given, scope="session" if field == "session_id" else "user")


@pytest.fixture
def memories(client: ClientAPI) -> Iterator[ChromaMemoryStore]:
    store = ChromaMemoryStore(client)
    store.put(OTHERS)
    yield store
    assert store.owned("u_other") == [OTHERS]
    assert not [row for row in store._rows("ledger", None) if row.id.startswith("intent-")]


OTHERS = MemoryRecord("Likes rye.", "u_other", memory_id="mem_other")


def test_the_chroma_store_holds_each_text_that_it_accepts_as_it_was_after_opening_it_again(
    on_disk: ClientAPI, tmp_path: Path
) -> None:
    store, kept = ChromaMemoryStore(on_disk), list[MemoryRecord]()
    store.put(OTHERS)
    for text in TEXTS[::2]:
        made: list[MemoryRecord] = []
        if not refused(lambda t=text, m=made: m.append(record("content", t)), "content"):
            store.put(made[0])
            kept += made
    assert len(kept) > len(TEXTS) // 4
    again = ChromaMemoryStore(on_disk)
    assert (again.owned("u_ada"), again.owned("u_other")) == (kept, [OTHERS])
    assert again.erase_user("u_ada") == len(kept)
    assert again.owned("u_other") == [OTHERS]
    assert folder_holding(tmp_path / "chroma", "DROP TABLE memories") == []


@pytest.mark.parametrize("field", FIELDS[1:])
def test_the_chroma_store_holds_each_record_with_a_hostile_field_and_gives_it_to_its_owner(
    memories: ChromaMemoryStore, field: str
) -> None:
    kept = []
    for text in LISTED[:: 2 if field.endswith("id") else 4]:
        made: list[MemoryRecord] = []
        if not refused(
            lambda t=text, m=made: (m.append(record(field, t)), memories.put(m[0])), field, "memory_id"
        ):
            kept += made
    assert kept
    for new in kept:
        who = {"user_id": new.user_id, "app_name": new.app_name}
        assert memories.get(new.memory_id, **who, session_id=new.session_id) == new
        mine = [r for r in kept if (r.user_id, r.app_name) == (new.user_id, new.app_name)]
        if len(mine) == 1 or new is kept[0]:
            assert memories.owned(**who) == mine


READS: dict[str, Callable[[ChromaMemoryStore, str], object]] = {
    "memory_id": lambda store, text: store.get(text, "u_ada"),
    "user_id": lambda store, text: store.owned(text),
    "app_name": lambda store, text: store.scan("u_ada", text),
    "scopes": lambda store, text: store.scan("u_ada", scopes=[text]),
    "session_id": lambda store, text: store.scan("u_ada", scopes=["session"], session_id=text),
    "topic": lambda store, text: store.scan("u_ada", topic=text),
    "as_of": lambda store, text: store.scan("u_ada", as_of=text),  # type: ignore[arg-type]
    "source_id": lambda store, text: store.conversations("u_ada", source_id=text),
    "remove": lambda store, text: store.remove(text, "u_ada"),
}


@pytest.mark.parametrize("field", READS)
def test_whatever_the_chroma_store_is_asked_for_by_text_it_gives_nothing_of_somebody_else(
    memories: ChromaMemoryStore, field: str
) -> None:
    for text in (*LISTED, *FEW[::4]):
        given: list[object] = []
        if not refused(
            lambda t=text, g=given: g.append(READS[field](memories, t)), field, "memory_id", "scope"
        ):
            assert not given[0], f"{text[:60]!r} found {given[0]!r}"


def test_whatever_the_chroma_store_is_searched_for_it_finds_the_users_own(
    memories: ChromaMemoryStore,
) -> None:
    mine = record("content", "Likes tea.")
    memories.put(mine)
    for text in TEXTS:
        found: list[Any] = []
        if not refused(lambda t=text, f=found: f.append(memories.search(t, "u_ada")), "query"):
            assert found[0].records([0]) == [mine]
            assert len(found[0].seq) == 1


def test_the_chroma_store_keeps_what_was_said_as_it_was_said_until_its_source_is_revoked(
    memories: ChromaMemoryStore,
) -> None:
    kept = []
    for number, text in enumerate((*LISTED[::2], *FEW[::8])):
        source = Source("user_implicit", f"s{number}")
        if not refused(
            lambda t=text, s=source: memories.put_conversation(said(t), s, user_id="u_ada"),
            "content", "messages", "text",
        ):  # fmt: skip
            kept.append([text])
    held = memories.conversations("u_ada")
    assert [[m["content"] for m in talk.messages] for talk in held] == kept
    revoked = [
        text for text in LISTED[::3] if not refused(lambda t=text: memories.revoke(t, "u_ada"), "source_id")
    ]
    assert memories.revoked("u_ada") == set(revoked)
    assert len(memories.conversations("u_ada")) == len(held)


def test_a_transaction_of_the_chroma_store_lands_hostile_rows_together_with_their_intent(
    memories: ChromaMemoryStore,
) -> None:
    accepted = []
    for text in LISTED:
        made: list[MemoryRecord] = []
        if not refused(lambda t=text, m=made: m.append(record("content", t)), "content"):
            accepted += made
    with memories.transaction():
        for new in accepted:
            memories.put(new)
    assert memories.owned("u_ada") == accepted


# --- Chroma's own doors -------------------------------------------------------------------------------


def test_a_collection_has_the_name_that_it_was_given_or_none_is_made(client: ClientAPI) -> None:
    for text in LISTED:
        made: list[Any] = []
        if not refused(
            lambda t=text, m=made: m.append(open_collection(client, t, NO_EMBEDDER)), "name", "collection"
        ):
            assert made[0].name == text
            assert find_collection(client, text) is not None
        refused(lambda t=text: ChromaMemoryStore(client, collection=t), "name", "collection")


def test_metadata_with_any_text_comes_back_from_chroma_as_it_was(client: ClientAPI) -> None:
    kept, stored = list[dict[str, Any]](), list[Any]()
    for text in (*LISTED, *mixtures(60)):
        for fields in ({"slot": text}, {"sources": [text, {text: text}]}, {"slot": f"json:{text}"}):
            if not refused(lambda f=fields: stored.append(to_metadata(f)), "slot", "sources"):
                kept.append(fields)
    rows, names = open_collection(client, "rows", NO_EMBEDDER), [f"{n:05}" for n in range(len(kept))]
    rows.add(names, [[1.0]] * len(kept), stored, ["x"] * len(kept))
    held = rows.get(include=["metadatas"])
    found = dict(zip(held["ids"], held["metadatas"] or [], strict=True))
    assert [from_metadata(found[name]) for name in names] == kept


def test_the_sweep_of_a_hostile_topic_finds_that_topic_alone(client: ClientAPI) -> None:
    rows = open_collection(client, "rows", NO_EMBEDDER)
    for number, text in enumerate(LISTED):
        if not refused(lambda t=text: topic_sweep(rows, "u_ada", t), "topic"):
            rows.add([str(number)], [[1.0]], [{"user_id": "u_ada", "topic": text}], [f"{number}"])
            assert [name for name, _ in topic_sweep(rows, "u_ada", text)] == [f"{number}"]
        refused(lambda t=text: topic_sweep(rows, t, "diet"), "user_id")


def test_no_text_is_a_measure_and_no_filter_of_one_owner_lets_in_another() -> None:
    theirs = {"user_id": "u_other", "app_name": "default", "scope": "user", "session_id": ""}
    for text in TEXTS:
        assert refused(lambda t=text: similarity(0.5, t), "space")
        made: list[dict[str, Any]] = []
        if not refused(
            lambda t=text, m=made: m.append(visible_where(t, "default", ["user", "session"], t)),
            "user_id", "session_id",
        ):  # fmt: skip
            assert not meets(theirs, made[0])
            assert meets(theirs | {"user_id": text}, where_all(made[0]))


# --- mem0, with its own client ------------------------------------------------------------------------

on_mem0 = pytest.mark.xdist_group("mem0")  # one process makes what all share
numbers = count()


@pytest.fixture(scope="module")
def mem0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mem0Adapter]:
    """One client for all tests; each text has a user of its own, since mem0 reads all that a user has."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MEMLAB_MODEL"):
            patch.delenv(name, raising=False)
        built = mem0_client(tmp_path_factory.mktemp("mem0"))
    with closing(Mem0Adapter(built, extract=rule_extract)) as adapter:
        adapter.remember("Likes rye.", user_id="u_other")
        yield adapter
        assert [record.content for record in adapter.memories("u_other")] == ["Likes rye."]


def somebody() -> str:
    return f"u_{next(numbers)}"


def held(mem0: Mem0Adapter, user_id: str) -> list[str]:
    return [record.content for record in records(mem0.memory, user_id)]


@on_mem0
def test_mem0_holds_each_text_that_the_adapter_accepts_as_it_was(mem0: Mem0Adapter) -> None:
    accepted = 0
    for text in (*LISTED[::2], *FLOODS[::24], *mixtures(30)):
        user_id = somebody()
        bad = refused(lambda t=text, u=user_id: mem0.remember(t, user_id=u), "text", "content")
        assert held(mem0, user_id) == ([] if bad else [text])
        accepted += not bad
    assert accepted > 20


@on_mem0
def test_mem0_learns_what_stands_before_a_hostile_text_and_keeps_all_that_was_said(mem0: Mem0Adapter) -> None:
    for text in LISTED[::6]:
        user_id, talk = somebody(), said(f"I'm a vegetarian. {text}")
        source = Source("user_explicit", "s1")
        if refused(lambda u=user_id, t=talk, s=source: mem0.learn(t, s, user_id=u), "content", "text"):
            assert rows(mem0.memory, {"user_id": user_id}) == []
        else:
            [kept] = conversations(mem0.memory, owner_filter(user_id))
            assert len(kept.messages) == 1


@on_mem0
def test_whatever_is_asked_mem0_answers_from_the_users_own_memories(mem0: Mem0Adapter) -> None:
    user_id = somebody()
    mem0.remember("Likes tea.", user_id=user_id)
    for text in LISTED[::2]:
        found = mem0.recall(text, user_id=user_id)
        assert [hit.record.content for hit in found] == ["Likes tea."]
    assert mem0.recall("half \udc00 a pair", user_id=user_id)[0].record.user_id == user_id


NAMED: dict[str, tuple[str, ...]] = {
    "user_id": ("user_id",),
    "app_name": ("app_name",),
    "session_id": ("session_id",),
    "slot": ("slot", "topic", "text"),  # the write gate looks at the slot with the text
    "source": ("source_id",),
}
"""What `remember` may be given besides the text, and how an error may call it."""


@on_mem0
@pytest.mark.parametrize("field", NAMED)
def test_the_adapter_writes_one_memory_for_its_owner_or_names_the_field(
    mem0: Mem0Adapter, field: str
) -> None:
    for text in LISTED[::6]:
        owner = {"user_id": somebody()}

        def write(text: str = text, owner: dict[str, str] = owner) -> None:
            given: Any = Source("user_explicit", text) if field == "source" else text
            if field == "user_id":
                owner["user_id"] = f"{text}{owner['user_id']}" if text.strip() and text != "*" else text
                given = owner["user_id"]
            if field == "app_name":
                owner["app_name"] = text
            mem0.remember("Likes tea.", **(owner | {field: given}))

        if not refused(write, *NAMED[field]):
            assert [record.content for record in records(mem0.memory, **owner)] == ["Likes tea."]


@on_mem0
def test_no_hostile_id_reads_changes_or_erases_a_memory_of_mem0(mem0: Mem0Adapter) -> None:
    user_id = somebody()
    mem0.remember("Likes tea.", user_id=user_id)
    for text in LISTED[::4]:
        assert refused(lambda t=text: mem0.get(t, user_id=user_id), "memory_id")
        assert refused(lambda t=text: mem0.update(t, "Likes gin.", user_id=user_id), "memory_id")
        assert refused(lambda t=text: mem0.delete(t, user_id=user_id), "memory_id")
    for text in LISTED[::40]:  # each of them writes all that mem0 holds anew
        refused(lambda t=text: mem0.forget_source(t, user_id), "source_id")
        refused(lambda t=text: mem0.forget_user(t), "user_id")
    assert held(mem0, user_id) == ["Likes tea."]


@on_mem0
def test_a_correction_with_a_hostile_text_is_the_memory_or_leaves_it(mem0: Mem0Adapter) -> None:
    user_id = somebody()
    mem0.remember("Likes tea.", user_id=user_id)
    [record], expected = records(mem0.memory, user_id), "Likes tea."
    for text in LISTED[::6]:
        if not refused(lambda t=text: mem0.update(record.memory_id, t, user_id=user_id), "text", "content"):
            expected = text
        assert held(mem0, user_id) == [expected]


def test_mem0_is_asked_for_one_owner_by_any_text_or_the_field_is_named() -> None:
    for text in TEXTS:
        made: list[dict[str, str]] = []
        if not refused(lambda t=text, m=made: m.append(owner_filter(t, topic=t)), "user_id", "topic"):
            assert made == [{"user_id": text, "agent_id": "default", "topic": text}]
        refused(lambda t=text: owner_filter("u_ada", t), "app_name")


def test_a_reply_to_mem0_is_read_as_it_stands_or_the_extraction_fails() -> None:
    for text in TEXTS:
        with pytest.raises(ExtractionFailed, match="reply="):
            read_memories(text)
        try:
            found = read_memories(json.dumps({"memory": [{"text": text}]}))
        except ExtractionFailed as failed:
            complaint = str(failed)
        else:
            complaint = "" if found == [text] else f"{text!r} became {found!r}"
        assert not complaint or "reply=" in complaint


# --- the model on this machine ------------------------------------------------------------------------


def test_the_loopback_model_answers_any_body_on_any_path_with_json_that_can_be_sent() -> None:
    with ModelServer(mem0_model(rule_extract)) as server:
        for text in (*LISTED, *FLOODS, *mixtures(300)):
            prompt = f"## Existing Memories\n[]\n\n## New Messages\nuser: {text}\n\n## Observation Date\n"
            asked = [{"messages": [{"role": "user", "content": t}]} for t in (text, prompt)]
            bodies = [text.encode(errors="surrogatepass"), *(json.dumps(a).encode() for a in asked)]
            for body in bodies:
                for path in ("/v1/messages", "/v1/embeddings"):
                    status, reply = server.answer(path, body)
                    assert status in (200, 400)
                    assert json.dumps(reply).encode()
            assert server.answer(f"/v2/{text}", b"{}")[0] == 404
            status, reply = server.answer("/v1/embeddings", json.dumps({"input": text}).encode())
            assert (status, len(reply["data"])) == (200, 1)


# --- what the lessons draw ----------------------------------------------------------------------------

OURS = {
    "table", "thead", "tbody", "tr", "th", "td", "mark", "span", "strong", "br",
    "svg", "title", "rect", "text", "line", "path",
}  # fmt: skip
"""The elements that the tables and drawings are made of."""


def test_a_text_that_is_shown_becomes_no_markup() -> None:
    for text in (*LISTED, *mixtures(60)):
        made: list[MemoryRecord] = []
        if refused(lambda t=text, m=made: m.append(record("content", t)), "content"):
            continue
        shown = [
            dialogue(said(text), [text]),
            store_table(made),
            changes_table([], made),
            operations_table([Operation("CREATE", None, text, text)]),
        ]
        pages = [table._repr_html_() for table in shown] + [belief(made)._repr_svg_()]
        for page in pages:
            assert set(re.findall(r"<[/!?]?\s*([^\s>/]*)", page)) <= OURS


@pytest.mark.parametrize("text", ["a $\\bad$ b", "costs $5 to $6"])
def test_a_picture_shows_a_text_between_dollars_as_it_stands(text: str) -> None:
    tea = record("content", text)
    pictures = [
        score_bars({text: [Hit(0.5, tea, 0.5, 0.5, 0.5)]}, Weights()),
        lineage_picture([tea]),
        decay_curves([tea], floor=0.1),
    ]
    assert all(text in picture.alt for picture in pictures)


def test_a_picture_draws_the_powers_on_a_log_axis_as_formulas() -> None:
    figure = new_figure(3.0, 2.0)
    axes = figure.add_subplot()
    axes.plot([1, 1_000], [1, 2], label="$5")
    axes.set(xscale="log", title="$5")
    as_picture(figure, "a line")
    assert all(label.get_parse_math() for label in axes.xaxis.get_ticklabels(which="both"))
    assert not axes.title.get_parse_math()
