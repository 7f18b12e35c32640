"""What lesson 05 measures on the labelled people: the statements of its prose, and the measuring itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from course.lessons.retrieval_measures import (
    STANDARD,
    best_mix,
    gain,
    gains_picture,
    kinds_table,
    measured,
    parts_table,
    per_question,
    share_curve,
    transfer_picture,
    weight_grid,
    weights_map,
    with_keywords,
)
from course.pictures.tuning import Bench, Mix, Setting, make_bench, metrics, rank
from course.scenarios import load_retrieval
from memlab import clock
from memlab.embedding import RecordedEmbedder, hash_embed
from solutions.retrieval import (
    blended_score,
    hybrid_relevance,
    keyword_scores,
    keywords,
    mean_reciprocal_rank,
    recall_at_k,
    top_k,
)

RELEVANCE = Mix(1.0, 0.0, 0.0)
FUNCTIONS: dict[str, Any] = {
    "blended_score": blended_score,
    "top_k": top_k,
    "recall_at_k": recall_at_k,
    "mean_reciprocal_rank": mean_reciprocal_rank,
}


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with clock.freeze("2026-08-06T20:11:27Z"):
        yield


def bench(part: Any) -> Bench:
    plain = make_bench(load_retrieval(part), {"hash": hash_embed, "MiniLM": RecordedEmbedder()}, **FUNCTIONS)
    return with_keywords(plain, keyword_scores, hybrid_relevance)


@pytest.fixture(scope="module")
def tune() -> Bench:
    return bench("tune")


@pytest.fixture(scope="module")
def held() -> Bench:
    return bench("held_out")


def recall(on: Bench, relevance: str, mix: Mix = RELEVANCE) -> float:
    return metrics(on, Setting(relevance, mix))[0]


# What the prose says


def test_meaning_beats_spelling_on_held_out_people_by_far(held: Bench) -> None:
    for mix in (RELEVANCE, STANDARD):
        assert recall(held, "MiniLM", mix) - recall(held, "hash", mix) > 0.25


@pytest.mark.parametrize("embedder", ["hash", "MiniLM"])
def test_on_the_tuning_part_relevance_alone_beats_the_standard_weights(tune: Bench, embedder: str) -> None:
    assert recall(tune, embedder) > recall(tune, embedder, STANDARD)


def test_the_gain_of_tuning_is_lost_on_new_people_for_hash_and_kept_for_minilm(
    tune: Bench, held: Bench
) -> None:
    carried = {}
    for name in ("hash", "MiniLM"):
        tuned = best_mix(measured(tune, name))
        assert gain(tune, Setting(name), Setting(name, tuned)).mean > 0
        carried[name] = gain(held, Setting(name), Setting(name, tuned)).mean
    assert carried["hash"] < 0 < carried["MiniLM"]


def test_over_relevance_alone_tuning_gains_nothing_that_chance_does_not_give(
    tune: Bench, held: Bench
) -> None:
    for name in ("hash", "MiniLM"):
        tuned = Setting(name, best_mix(measured(tune, name)))
        assert gain(held, Setting(name, RELEVANCE), tuned).low <= 0


def test_with_hash_the_hybrid_beats_both_parts_at_the_standard_weights_only(held: Bench) -> None:
    best_part = max(recall(held, "hash", STANDARD), recall(held, "BM25", STANDARD))
    assert recall(held, "hash + BM25", STANDARD) > best_part
    assert recall(held, "hash") < recall(held, "hash + BM25") < recall(held, "BM25")


def test_with_minilm_the_hybrid_is_worse_than_the_vector_alone(held: Bench) -> None:
    assert recall(held, "BM25") < recall(held, "MiniLM + BM25") < recall(held, "MiniLM")


def test_with_the_tuned_share_the_hybrid_draws_level_with_minilm(tune: Bench, held: Bench) -> None:
    def at(share: float, on: Bench) -> tuple[float, float]:
        fused = with_keywords(on, keyword_scores, partial(hybrid_relevance, share=share))
        return metrics(fused, Setting("MiniLM + BM25", RELEVANCE))

    best = max((0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0), key=lambda share: at(share, tune))
    assert 0 < best < 0.5
    assert at(best, held)[0] == pytest.approx(recall(held, "MiniLM"), abs=0.01)


def test_keywords_lower_more_questions_than_they_lift_for_minilm(tune: Bench) -> None:
    before, after = (per_question(tune, Setting(name, RELEVANCE)) for name in ("MiniLM", "MiniLM + BM25"))
    changes = [after[question][1] - before[question][1] for question in before]
    assert 0 < sum(change > 0 for change in changes) < sum(change < 0 for change in changes)


# The measuring


def test_the_grid_holds_each_mix_once_and_every_mix_sums_to_one() -> None:
    grid = weight_grid(10)
    assert len(grid) == len(set(grid)) == 66
    assert all(sum(vars(mix).values()) == pytest.approx(1) for mix in grid)


def test_the_mean_over_single_questions_is_the_metric(tune: Bench) -> None:
    for setting in (Setting("hash"), Setting("MiniLM", RELEVANCE, k=1), Setting("MiniLM", pins=False)):
        values = np.array(list(per_question(tune, setting).values()))
        assert values.mean(axis=0) == pytest.approx(metrics(tune, setting))


def test_a_setting_gains_nothing_over_itself(tune: Bench) -> None:
    same = gain(tune, Setting("hash"), Setting("hash"))
    assert (same.mean, same.low, same.high, set(same.by_person.values())) == (0, 0, 0, {0.0})


def test_a_gain_lies_in_its_band_and_is_the_same_on_every_run(held: Bench) -> None:
    first, second = (gain(held, Setting("hash", RELEVANCE), Setting("MiniLM", RELEVANCE)) for _ in range(2))
    assert first == second
    assert first.low < first.mean < first.high
    assert set(first.by_person) == {owner.name for owner in held.owners}


def test_keywords_leave_the_vectors_on_the_bench_as_they_are(tune: Bench) -> None:
    assert tune.embedders == ["hash", "MiniLM", "BM25", "hash + BM25", "MiniLM + BM25"]
    question = tune.owners[0].questions[0]
    best = rank(tune, question, Setting("BM25", RELEVANCE, pins=False))[0]
    assert best.score == pytest.approx(1.0)


# Tables and pictures


def test_the_kinds_table_counts_every_answerable_question(tune: Bench) -> None:
    people = load_retrieval("tune")
    rows = kinds_table(tune, people, {"hash": Setting("hash")}).rows
    answered = [asked for person in people for asked in person.questions if asked.relevant]
    assert sum(int(str(row[1])) for row in rows) == len(answered)
    assert {row[0] for row in rows} == {asked.kind for asked in answered}


def test_the_parts_table_shows_the_relevant_memory_wherever_it_stands(tune: Bench) -> None:
    for owner, row in tune.asked():
        table = parts_table(tune, owner.questions[row], keywords, ("hash", "BM25"), top=1)
        starred = [str(line[0]) for line in table.rows if str(line[0]).startswith("★")]
        assert len(starred) == owner.relevant[row].sum()


def test_the_pictures_say_the_figures_they_show(tune: Bench, held: Bench) -> None:
    reached = {mix: (mix.relevance, 0.5) for mix in [STANDARD, *weight_grid(4)]}
    assert "best 1.000 at (1, 0, 0)" in weights_map({"hash": reached}).alt
    halved = {mix: (value / 2, 0.5) for mix, (value, _) in reached.items()}
    assert "tuning part 1.000, held out 0.500" in transfer_picture({"hash": (reached, halved)}).alt
    assert "0.5 → 0.250/0.125" in share_curve({"hash": {0.5: (0.25, 0.125)}}).alt
    one = gain(held, Setting("hash"), Setting("hash", RELEVANCE))
    assert f"a {one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})" in gains_picture({"a": one}).alt
