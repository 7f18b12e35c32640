"""The embedding explorer of lesson 01: what two texts share, and that typing fails loudly."""

from __future__ import annotations

import time
from typing import Any

import pytest

from course.lessons.lesson_01 import bucket_picture
from course.pictures.explorer import Comparison, compare, explorer
from memlab.embedding import STOPWORDS, bucket, cosine, hash_embed, trigrams, words

DIETARY = "any dietary restrictions I should know about?"
VEGETARIAN = "The user follows a vegetarian diet."
FISH = "The user eats fish again."
PAIRS = [(DIETARY, VEGETARIAN), (DIETARY, FISH), (FISH, FISH), ("dog bites man", "man bites dog")]


def weights(text: str) -> dict[str, float]:
    total: dict[str, float] = {}
    for word in words(text):
        if word not in STOPWORDS:
            for feature, weight in [(word, 1.0), *((gram, 0.35) for gram in trigrams(word))]:
                total[feature] = total.get(feature, 0.0) + weight
    return total


def compared(above: str, below: str, dim: int = 256) -> Comparison:
    return compare(weights(above), weights(below), bucket, dim)


def controls(widget: Any) -> tuple[Any, Any, Any, Any, Any]:
    above, below, dim, total, view = widget.children[:5]
    return above, below, dim, total, view


@pytest.mark.parametrize("dim", [16, 64, 256, 4096])
@pytest.mark.parametrize(("above", "below"), PAIRS)
def test_its_parts_sum_to_the_cosine_of_the_embedder(above: str, below: str, dim: int) -> None:
    found = compared(above, below, dim)
    assert found.said + found.chance == pytest.approx(cosine(hash_embed(above, dim), hash_embed(below, dim)))


@pytest.mark.parametrize("dim", [16, 256, 4096])
@pytest.mark.parametrize(("above", "below"), PAIRS)
def test_it_says_what_the_picture_says(above: str, below: str, dim: int) -> None:
    alt = bucket_picture((above, weights(above)), (below, weights(below)), bucket, dim).alt
    assert compared(above, below, dim).title.split() == alt.split(" buckets: ")[1].removesuffix(".").split()


def test_a_similarity_that_nobody_said_is_all_collisions() -> None:
    found = compared(DIETARY, FISH)
    assert found.said == 0
    assert {meeting.kind for meeting in found.meetings} == {"collision"}


def test_more_buckets_take_the_accident_away() -> None:
    assert compared(DIETARY, FISH, 16).chance > compared(DIETARY, FISH, 256).chance > 0
    assert compared(DIETARY, FISH, 16384).chance == 0


def test_the_largest_part_stands_first() -> None:
    parts = [meeting.said + meeting.chance for meeting in compared(DIETARY, VEGETARIAN).meetings]
    assert parts == sorted(parts, reverse=True)


@pytest.mark.parametrize("empty", ["", "the user", "…"])
def test_a_text_without_words_is_like_nothing(empty: str) -> None:
    found = compared(empty, FISH)
    assert found.title == "cosine 0.000 = 0.000 said by both + 0.000 collisions"
    assert "zero vector" in found._repr_html_()


@pytest.mark.parametrize("dim", [0, -1, 2.5, True])
def test_a_number_of_buckets_that_is_none_is_refused(dim: Any) -> None:
    with pytest.raises(ValueError, match="dim="):
        compared(FISH, FISH, dim)


@pytest.mark.parametrize(("above", "below"), [*PAIRS, ("", ""), ("我吃素。", "🎂"), ("x" * 500, FISH)])
@pytest.mark.parametrize("dim", [16, 256, 16384])
def test_typing_and_moving_the_slider_compare_again(above: str, below: str, dim: int) -> None:
    box_a, box_b, slider, total, view = controls(explorer(weights, bucket, DIETARY, FISH))
    box_a.value, box_b.value, slider.value = above, below, dim
    found = compared(above, below, dim)
    assert found.title in total.value
    assert view.value == found._repr_html_()


def test_what_is_typed_cannot_add_markup() -> None:
    box_a, box_b, _, _, view = controls(explorer(lambda text: {text: 1.0}, bucket, "", ""))
    box_a.value = box_b.value = "<img src=x>"
    assert "<img" not in view.value
    assert "&lt;img" in view.value


def test_an_error_in_the_learners_function_reaches_whoever_typed() -> None:
    def broken(text: str) -> dict[str, float]:
        if "fish" in text:
            raise RuntimeError("no fish")
        return weights(text)

    box_a, *_ = controls(explorer(broken, bucket, "", ""))
    with pytest.raises(RuntimeError, match="no fish"):
        box_a.value = FISH


def test_every_control_has_a_label() -> None:
    *labelled, _, _ = controls(explorer(weights, bucket, DIETARY, FISH))
    assert all(control.description for control in labelled)


def test_a_redraw_takes_less_than_a_fifth_of_a_second() -> None:
    box_a, *_ = controls(explorer(weights, bucket, DIETARY, FISH))
    spent = []
    for text in (VEGETARIAN, FISH, DIETARY):
        start = time.perf_counter()
        box_a.value = text
        spent.append(time.perf_counter() - start)
    assert min(spent) < 0.2


def test_without_a_kernel_it_says_how_to_type() -> None:
    assert "run this notebook" in repr(explorer(weights, bucket, DIETARY, FISH))
