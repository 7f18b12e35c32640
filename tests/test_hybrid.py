"""Hybrid relevance: keywords weighed among one owner's memories, fused with the vector's similarity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import ADA, frozen

from course.lessons.lesson_05 import bm25
from memlab.embedding import RecordedEmbedder
from memlab.records import MemoryRecord
from memlab.store import MemoryStore
from solutions.retrieval import (
    KEYWORD_SHARE,
    Hit,
    Relevance,
    hybrid_relevance,
    keyword_scores,
    keywords,
    retrieve,
)

WORDS = st.sampled_from(["tea", "green", "peanut", "allergy", "the", "user", "window", "seat", "我", "叫"])
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)


def stored(*contents: str, user_id: str = ADA, store: MemoryStore | None = None) -> MemoryStore:
    store = store or MemoryStore()
    for content in contents:
        store.put(MemoryRecord(content, user_id, importance=0.5))
    return store


def ranked(store: MemoryStore, query: str, relevance: Relevance = "hybrid", k: int = 50) -> list[Hit]:
    return retrieve(store, query, user_id=ADA, k=k, relevance=relevance)


def scored(hits: list[Hit]) -> list[tuple[str, float, float]]:
    return [(hit.record.content, hit.relevance, hit.score) for hit in hits]


# BM25


@settings(deadline=None, derandomize=True, max_examples=150)
@given(TEXTS, st.lists(TEXTS, max_size=8))
def test_keyword_scores_are_those_of_the_plain_loop(query: str, texts: list[str]) -> None:
    assert keyword_scores(query, texts) == pytest.approx(bm25(query, texts))


@settings(deadline=None, derandomize=True, max_examples=80)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=8))
def test_a_text_scores_if_and_only_if_it_shares_a_keyword(query: str, texts: list[str]) -> None:
    shares = [bool(set(keywords(query)) & set(keywords(text))) for text in texts]
    assert (keyword_scores(query, texts) > 0).tolist() == shares


def test_what_an_apostrophe_leaves_is_no_keyword() -> None:
    assert keyword_scores("What's my job?", ["The user's mother isn't there."]).tolist() == [0.0]


def test_a_number_is_the_rarest_word_there_is() -> None:
    numbers = ["The order number is 43459551.", "The order number is 43459552."]
    right, wrong = keyword_scores("order 43459551", numbers)
    assert right > 3 * wrong


# The fusion


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 50)), max_size=12), st.floats(0, 3))
def test_the_fused_relevance_never_passes_one(pairs: list[tuple[float, float]], share: float) -> None:
    cosines, by_keyword = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    fused = hybrid_relevance(cosines, by_keyword, share=share)
    assert np.isfinite(fused).all()
    assert (np.abs(fused) <= 1 + 1e-9).all()


def test_without_a_keyword_in_common_the_order_of_the_cosines_stays() -> None:
    cosines = np.array([0.1, 0.7, 0.4])
    assert hybrid_relevance(cosines, np.zeros(3)) == pytest.approx(cosines / (1 + KEYWORD_SHARE))


# In retrieve


def test_vector_relevance_is_the_standard() -> None:
    with frozen():
        store = stored("The user likes green tea.", "The user's tea is green.", "The user drives.")
        plain = retrieve(store, "green tea?", user_id=ADA)
        assert scored(plain) == scored(ranked(store, "green tea?", "vector"))
        assert scored(plain) != scored(ranked(store, "green tea?"))


def test_a_hybrid_hit_carries_the_fused_relevance() -> None:
    contents = ["The user likes green tea.", "The user likes a window seat.", "The user drives."]
    with frozen():
        store = stored(*contents)
        cosines = {hit.record.content: hit.relevance for hit in ranked(store, "tea, please", "vector")}
        fused = {hit.record.content: hit.relevance for hit in ranked(store, "tea, please")}
    by_keyword = keyword_scores("tea, please", contents)
    expected = hybrid_relevance(np.array([cosines[content] for content in contents]), by_keyword)
    assert [fused[content] for content in contents] == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_question_in_chinese_finds_its_memory_by_keyword() -> None:
    store = stored("The user lives in Baner.", "你好，我是 Foy", "The user goes by Ada.")
    [hit] = ranked(store, "我叫什么", k=1)
    assert hit.record.content == "你好，我是 Foy"


def test_keywords_find_the_order_number_that_meaning_confuses() -> None:
    """To MiniLM both numbers are one sentence; the margin must come from the keywords."""
    store = MemoryStore(embedder=RecordedEmbedder())
    stored("The order number is 43459552.", "The order number is 43459551.", store=store)
    by_vector, by_both = (ranked(store, "The order number is 43459551.", how) for how in ("vector", "hybrid"))
    margins = [hits[0].relevance - hits[1].relevance for hits in (by_vector, by_both)]
    assert by_both[0].record.content == "The order number is 43459551."
    assert margins[0] < 0.02 < 0.1 < margins[1]


def test_an_owner_without_memories_gets_nothing() -> None:
    assert ranked(MemoryStore(), "tea") == []


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    TEXTS,
    st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6),
    st.lists(TEXTS.filter(str.strip), max_size=12),
)
def test_what_other_owners_store_changes_no_score(query: str, own: list[str], others: list[str]) -> None:
    with frozen():
        store = stored(*own)
        before = scored(ranked(store, query or "tea"))
        stored(*others, user_id="u_bo", store=store)
        stored(*others, user_id="u_third", store=store)
        assert scored(ranked(store, query or "tea")) == before
