"""What a learner is told by a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course.check import (
    Cases,
    CheckResult,
    Function,
    Misconception,
    Shown,
    check,
    exercise,
    registered,
    same,
    shown,
)


@exercise("98-mean")
def _(case: Cases, mean: Function) -> None:
    case(
        "a single number", mean, [4.0], expect=4.0, otherwise="The mean of one number is that number.",
        mistakes=[(lambda got: got < 0, "The `sign` is **wrong**."), (1.0, "You counted; <b>add</b> first.")],
    )  # fmt: skip
    case("two numbers", mean, [1.0, 2.0], expect=1.5, otherwise="Divide by how many there are.")
    case.refuses("an empty list is refused", mean, [], mentions="numbers", otherwise="Nothing has no mean.")


def mean(numbers: list[float]) -> float:
    if not numbers:
        raise ValueError("numbers=[] is empty")
    return sum(numbers) / len(numbers)


def broken(numbers: list[float]) -> float:
    totals: dict[str, float] = {}
    return totals["sum"]


def raiser(error: BaseException) -> Callable[[Any], Any]:
    def answer(_: Any) -> Any:
        raise error

    return answer


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_right_answer_is_told_what_it_has_shown() -> None:
    result = check("98-mean", mean)
    assert result.status == "passed"
    assert (
        repr(result) == "✓ 98-mean  3 cases passed: a single number, two numbers, an empty list is refused."
    )


def test_a_stub_is_not_yet_on_one_line() -> None:
    assert repr(check("98-mean", raiser(NotImplementedError("98-mean")))) == "98-mean  not yet"


def test_an_answer_that_calls_another_stub_is_told_which() -> None:
    result = check("98-mean", raiser(NotImplementedError("98-sum")))
    assert repr(result) == "98-mean  not yet: it calls 98-sum, which is still a stub"


def test_a_wrong_answer_is_told_its_misconception_with_the_smallest_input() -> None:
    result = check("98-mean", lambda numbers: sum(numbers))
    assert result == CheckResult(
        "98-mean", "failed", "Divide by how many there are.", "<lambda>([1.0, 2.0])", "1.5", "3.0"
    )


def test_a_recognised_mistake_is_named_before_the_general_sentence() -> None:
    assert check("98-mean", lambda numbers: -numbers[0]).message == "The `sign` is **wrong**."
    assert check("98-mean", len).message == "You counted; <b>add</b> first."


def test_a_result_no_mistake_can_read_gets_the_general_sentence() -> None:
    assert check("98-mean", lambda numbers: "four").message == "The mean of one number is that number."


def test_a_scaffold_line_that_was_left_is_named() -> None:
    assert "still says `...`" in check("98-mean", lambda numbers: ...).message


def test_an_exception_in_the_learners_code_is_a_sentence_with_its_line() -> None:
    result = check("98-mean", broken)
    line = broken.__code__.co_firstlineno + 2
    assert result.message == (
        f"Your code raised `KeyError: 'sum'` in line {line} of its cell: `return totals[\"sum\"]`"
    )
    assert result.given == "broken([4.0])"


def test_an_answer_with_other_arguments_is_told_so() -> None:
    assert "does not fit what the stub promises" in check("98-mean", lambda: 0).message


@pytest.mark.parametrize(
    "error", [ValueError("x"), RecursionError("deep"), SystemExit(1), KeyboardInterrupt()]
)
def test_nothing_the_answer_raises_escapes(error: BaseException) -> None:
    assert check("98-mean", raiser(error)).status == "failed"


@pytest.mark.parametrize("answer", [None, 3, Unprintable(), lambda _: Unprintable(), lambda _: None])
def test_nothing_that_is_handed_in_makes_a_check_raise(answer: Any) -> None:
    result = check("98-mean", answer)
    assert result.status == "failed"
    assert repr(result)
    assert result._repr_html_()


def test_a_refusal_must_be_of_the_right_kind_and_name_the_field() -> None:
    def wordless(numbers: list[float]) -> float:
        if not numbers:
            raise ValueError("empty")
        return mean(numbers)

    result = check("98-mean", wordless)
    assert (result.expected, result.got) == ("ValueError that mentions 'numbers'", "ValueError: empty")
    careless = check("98-mean", lambda numbers: sum(numbers) / max(len(numbers), 1))
    assert (careless.message, careless.got) == ("Nothing has no mean.", "0.0")
    assert "ZeroDivisionError" in check("98-mean", lambda numbers: sum(numbers) / len(numbers)).message


def test_an_answer_that_refuses_with_the_wrong_error_is_told_the_right_one() -> None:
    def asserts(numbers: list[float]) -> float:
        assert numbers, "no numbers"
        return mean(numbers)

    result = check("98-mean", asserts)
    assert "`AssertionError: no numbers" in result.message
    assert result.expected == "ValueError that mentions 'numbers'"


def test_an_endless_recursion_is_told_on_the_learners_line() -> None:
    def again(numbers: list[float]) -> float:
        return again(numbers)

    message = check("98-mean", again).message
    assert "`RecursionError" in message
    assert "`return again(numbers)`" in message


def test_a_stub_inside_a_refusal_is_still_not_yet() -> None:
    with pytest.raises(NotImplementedError):
        Cases().refuses("x", raiser(NotImplementedError("98-x")), 1, error=Exception, otherwise="…")


def test_html_shows_sentences_formatted_and_values_escaped() -> None:
    page = check("98-mean", lambda numbers: f"<script>{len(numbers)}</script>")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<code>sign</code> is <strong>wrong</strong>" in check("98-mean", lambda n: -n[0])._repr_html_()
    assert "&lt;b&gt;add&lt;/b&gt;" in check("98-mean", len)._repr_html_()


@pytest.mark.parametrize(("answer", "words"), [(mean, ("✓", "passed")), (len, ("✗", "not right yet"))])
def test_html_says_in_words_what_it_shows_in_colour(answer: Any, words: tuple[str, str]) -> None:
    assert all(word in check("98-mean", answer)._repr_html_() for word in words)


def test_an_unknown_exercise_is_answered_with_those_there_are() -> None:
    assert check("98-maen", mean).message == "There is no exercise of this name. Lesson 98 has 98-mean."


def test_swapped_arguments_are_answered_not_raised() -> None:
    swapped: Any = mean
    assert "first argument is the exercise's id" in check(swapped, "98-mean").message


def test_while_nbgrader_grades_a_check_that_has_not_passed_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert check("98-mean", mean).status == "passed"
    with pytest.raises(AssertionError, match="98-mean"):
        check("98-mean", len)


def test_an_exercise_has_one_check_and_an_id_that_names_its_lesson() -> None:
    with pytest.raises(ValueError, match=r"98-mean.*has a check already"):
        exercise("98-mean")
    with pytest.raises(ValueError, match="'mean' is not like '01-cosine'"):
        exercise("mean")
    assert registered("98") == ["98-mean"]


@pytest.mark.parametrize(
    ("got", "expected", "answer"),
    [
        (0.1 + 0.2, 0.3, True),
        (0.3001, 0.3, False),
        ((1, 2), [1, 2], True),
        ([1], [1, 2], False),
        ("ab", ["a", "b"], False),
        (1, True, False),
        (np.True_, True, True),
        (np.float64(2), 2, True),
        (np.array([[1.0, 2.0]]), [[1, 2]], True),
        ({"a": 0.1 + 0.2}, {"a": 0.3}, True),
        ({"a": 1}, {"b": 1}, False),
        (float("nan"), float("nan"), False),
        (None, 0.0, False),
    ],
)
def test_comparison_forgives_rounding_and_containers_and_nothing_else(
    got: object, expected: object, answer: bool
) -> None:
    assert same(got, expected) is answer


def test_long_sequences_show_only_where_they_part() -> None:
    wrong = [0.0] * 255 + [0.5]
    with pytest.raises(Misconception) as caught:
        Cases()("x", lambda: wrong, expect=[0.0] * 256, otherwise="…")
    assert (caught.value.expected, caught.value.got) == ("[255] = 0.0", "[255] = 0.5")
    with pytest.raises(Misconception) as caught:
        Cases()("x", lambda: wrong[1:], expect=[0.0] * 256, otherwise="…")
    assert caught.value.expected == "256 values"


def test_values_are_shown_on_one_readable_line() -> None:
    assert "\n" not in shown(np.zeros((3, 3)))
    assert len(shown("a" * 10_000)) < 320
    assert shown(Shown("[vegetarian]")) == "[vegetarian]"


def test_a_condition_that_holds_is_counted_and_one_that_does_not_is_shown() -> None:
    case = Cases()
    case.holds("order is free", True, "…")
    assert case.passed == ["order is free"]
    with pytest.raises(Misconception) as caught:
        case.holds("order is free", False, "Order matters.", given="f(1, 2)", expected=1, got=2)
    assert (caught.value.given, caught.value.expected, caught.value.got) == ("f(1, 2)", "1", "2")
