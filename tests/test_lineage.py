"""The picture of a belief's lineage: complete, in order, safe, and readable without eyes."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from course.pictures.lineage import belief
from memlab import clock
from memlab.records import MemoryRecord, Source, lineage
from memlab.store import MemoryStore
from solutions.consolidation import learn


def chain_of(*said: str) -> list[MemoryRecord]:
    with MemoryStore() as store:
        for day, words in enumerate(said):
            with clock.freeze(day * clock.DAY):
                source = Source("user_implicit", f"s{day + 1}")
                learn(store, [{"role": "user", "content": words}], source, user_id="u_ada")
        [current] = store.scan("u_ada", topic="diet")
        return lineage(store.owned("u_ada"), current.memory_id)


def drawn(chain: list[MemoryRecord]) -> str:
    root = ElementTree.fromstring(belief(chain).svg)
    return "\n".join(node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text"))


def test_each_memory_is_named_with_its_sources_and_why_it_was_replaced() -> None:
    text = drawn(chain_of("I'm vegetarian.", "I'm vegan.", "I've started eating fish again."))
    assert text.index("vegetarian diet") < text.index("vegan diet") < text.index("eats fish again")
    assert text.count("superseded by") == 2
    assert "(s1)" in text
    assert "user_implicit s3" in text


def test_the_spoken_version_says_the_same() -> None:
    picture = belief(chain_of("I'm vegetarian.", "I'm vegan."))
    assert repr(picture) == picture.alt
    assert "↓ superseded by" in picture.alt
    assert picture.svg.count("<title>") == 1


def test_markup_in_a_memory_stays_text() -> None:
    record = MemoryRecord("<script>alert(1)</script> & co", "u_ada", sources=[Source("user_implicit", "<b>")])
    assert "<script>alert(1)</script> & co" in drawn([record])
    assert "<script>" not in belief([record]).svg


def test_a_long_memory_is_wrapped_and_a_tombstone_without_history_is_drawn() -> None:
    old = MemoryRecord("word " * 60, "u_ada", invalidated_at=2e9, superseded_by="mem_2")
    text = drawn([old, MemoryRecord("short", "u_ada", memory_id="mem_2")])
    assert max(map(len, text.splitlines())) < 100
    assert "no reason was noted" in text


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(ValueError, match="chain="):
        belief([])
