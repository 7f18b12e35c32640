"""Checks: one line under an exercise that says what is right, or names the misunderstanding.

**For the author of a lesson.** The checks of notebook 01 stand in `course/lessons/lesson_01.py`, a table for
each exercise. They get a `Cases` first and then what the learner handed to `check`, and never import the
answer; a plain, slow specification beside it is welcome.

    from course.check import Cases, Function, Misconception, call, exercise, refused

    # what holds, the call, what comes back, the sentence for who gets it wrong, and known mistakes
    COSINE = [
        ("equal vectors give 1", call([3.0, 4.0], [3.0, 4.0]), 1.0,
         "Two equal vectors point the same way, so their cosine is 1.",
         (25.0, "You forgot to divide by both lengths."),
         (lambda got: got < 0, "The sign is wrong: …")),
        ("unequal lengths are refused", call([1.0], [1.0, 0.0]), refused("length"),
         "Vectors of unequal length have no cosine."),
    ]

    @exercise("01-cosine")
    def _(case: Cases, cosine: Function) -> None:
        case.table(cosine, COSINE)
        mirrored = cosine([0.0, 1.0], [1.0, 0.0])       # anything goes: calls may stand on their own
        case.holds("order does not matter", mirrored == 0.0, "Swapping the vectors changed the answer.",
                   given="cosine([0, 1], [1, 0])", expected=0.0, got=mirrored)

- A row is one case. The function is called with (copies of) the row's values, and what it gives back is
  compared (floats within a tolerance, a list equals a tuple). On a difference the first mistake that
  explains it is shown, else the row's sentence. Where more has to happen than one call, hand `table` a
  function of your own that does it with the learner's, and gives back something short to compare.
- Order the rows from the smallest input to the largest: the first failure is the one that is shown.
- Their names are listed when all pass, so write them as what has been shown to hold.
- `raise Misconception(sentence, given=…, expected=…, got=…)` does what no case fits.
- In sentences, `code` and **bold** are rendered; everything else is shown as written.
- A cell's last (and only) line is `check("01-cosine", cosine)`; see `course.desk.build` for the notebook.
- tests/wrong_answers/lesson_01.py holds the answers that the check must tell apart:

    WRONG = {"01-cosine": [(" / lengths => ", "divide by both lengths"), (…, "…"), (…, "…")]}  # three or more
    RIGHT = {"01-cosine": [with_numpy]}                                                    # one or more

  A wrong answer is an edit of the reference, `"old => new"`, or where no edit makes it, a function. Each
  names a fragment of the sentence that must reject it. Where `check` takes several objects, the first is
  edited, or an entry is a tuple of them.
- tests/test_mutants.py makes every small edit of the reference by itself. What the check lets pass is a case
  that is missing, or stands in that file's SPARED with the reason why it is as good.
"""

from __future__ import annotations

import copy
import html
import importlib
import importlib.util
import math
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeGuard

Function = Callable[..., Any]
Status = Literal["passed", "failed", "not yet"]
Mistake = tuple[object, str]
"""A wrong result (or a function that recognises one), and the sentence that names the mistake."""
Row = tuple[Any, ...]
"""One case of a table: its name, the call, what must come back, the sentence, and known mistakes."""

_NOTHING = object()
_LONG = 300
_REGISTRY: dict[str, Function] = {}
_COLOURS = {"passed": "#0072b2", "failed": "#d55e00", "not yet": "#888888"}  # told apart by all eyes


class Misconception(Exception):
    """The answer is wrong, and `sentence` says which misunderstanding does that.

    given: the input, as text. expected, got: values or, for what has no short repr, text made by `shown`.
    """

    def __init__(
        self, sentence: str, *, given: str = "", expected: object = _NOTHING, got: object = _NOTHING
    ) -> None:
        super().__init__(sentence)
        self.sentence, self.given = sentence, given
        self.expected = "" if expected is _NOTHING else shown(expected)
        self.got = "" if got is _NOTHING else shown(got)


class Cases:
    """Runs one exercise's cases in order and keeps the names of those that passed."""

    def __init__(self) -> None:
        self.passed: list[str] = []

    def __call__(
        self,
        name: str,
        function: Function,
        *args: Any,
        expect: object,
        otherwise: str,
        mistakes: Iterable[Mistake] = (),
        given: str = "",
        within: float = 1e-9,
        **kwargs: Any,
    ) -> Any:
        """Call `function(*args, **kwargs)` and give back its result, which must equal `expect`.

        otherwise: the sentence shown when it does not, unless one of `mistakes` explains the result.
        given: the input in words, where the call itself would be no help. within: tolerance for floats.
        Raises Misconception.

        Example:
        >>> Cases()("the largest stands last", sorted, [2, 1], expect=[1, 2], otherwise="Sort upwards.")
        [1, 2]
        """
        given = given or _call_text(function, args, kwargs)
        got = _call(function, args, kwargs, given)
        if not same(got, expect, within):
            sentence = _explain(got, mistakes, within) or otherwise
            raise Misconception(sentence, given=given, **_difference(expect, got, within))
        self.passed.append(name)
        return got

    def table(self, function: Function, rows: Iterable[Row], told: Callable[..., str] | None = None) -> None:
        """Run each row: its name, the call (or one lone argument), what must come back, its sentence, and
        perhaps known mistakes. Raises Misconception.

        told: says a row's values in words, where the call itself would be no help.

        Example:
        >>> Cases().table(sorted, [("the largest stands last", [2, 1], [1, 2], "Sort upwards.")])
        """
        for name, asked, expect, sentence, *mistakes in rows:
            values = copy.deepcopy(asked if isinstance(asked, Call) else call(asked))
            given = told(*values.args, **values.kwargs) if told else ""
            if isinstance(expect, Refusal):
                self.refuses(
                    name, function, *values.args, otherwise=sentence, error=expect.error,
                    mentions=expect.mentions, given=given, **values.kwargs,
                )  # fmt: skip
            else:
                self(
                    name, function, *values.args, expect=expect, otherwise=sentence, mistakes=mistakes,
                    given=given, **values.kwargs,
                )  # fmt: skip

    def refuses(
        self,
        name: str,
        function: Function,
        *args: Any,
        otherwise: str,
        error: type[Exception] = ValueError,
        mentions: str = "",
        given: str = "",
        **kwargs: Any,
    ) -> None:
        """The call must raise `error`, with `mentions` (such as the field's name) in its message.

        Raises Misconception.

        Example:
        >>> Cases().refuses("text is refused", int, "one", otherwise="A word is no number.")
        """
        given = given or _call_text(function, args, kwargs)
        wanted = error.__name__ + (f" that mentions {mentions!r}" if mentions else "")
        try:
            got = function(*args, **kwargs)
        except NotImplementedError:
            raise
        except error as raised:
            if mentions.lower() not in str(raised).lower():
                got = Shown(f"{type(raised).__name__}: {raised}")
                raise Misconception(otherwise, given=given, expected=Shown(wanted), got=got) from None
        except Exception as raised:
            raise _Crash(raised, given, Shown(wanted)) from raised
        else:
            raise Misconception(otherwise, given=given, expected=Shown(wanted), got=got)
        self.passed.append(name)

    def holds(
        self,
        name: str,
        condition: object,
        sentence: str,
        *,
        given: str = "",
        expected: object = _NOTHING,
        got: object = _NOTHING,
    ) -> None:
        """`condition` must be true, else Misconception(sentence, …) is raised."""
        if not condition:
            raise Misconception(sentence, given=given, expected=expected, got=got)
        self.passed.append(name)


@dataclass(frozen=True)
class Call:
    """The values that a row calls the function with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Call:
    """The values of a row, written like the call."""
    return Call(args, kwargs)


@dataclass(frozen=True)
class Refusal:
    """A row's result when the call must raise `error`, with `mentions` in its message."""

    mentions: str
    error: type[Exception] = ValueError


def refused(mentions: str, error: type[Exception] = ValueError) -> Refusal:
    """What a row expects of a call that must raise; `mentions` is the field that the message names."""
    return Refusal(mentions, error)


@dataclass(frozen=True)
class CheckResult:
    """What `check` shows: a line of text in a terminal, a coloured note in a notebook.

    status is "passed", "failed" or "not yet"; message is the sentence, without the symbols around it.
    """

    exercise: str
    status: Status
    message: str = ""
    given: str = ""
    expected: str = ""
    got: str = ""

    def _evidence(self) -> list[tuple[str, str]]:
        lines = [("given", self.given), ("expected", self.expected), ("got", self.got)]
        return [(label, text) for label, text in lines if text]

    def __repr__(self) -> str:
        if self.status == "not yet":
            return f"{self.exercise}  not yet" + (f": {self.message}" if self.message else "")
        head = f"{'✓' if self.status == 'passed' else '✗'} {self.exercise}  {self.message}"
        return "\n".join([head, *(f"  {label:<8}  {text}" for label, text in self._evidence())])

    def _repr_html_(self) -> str:
        colour, name = _COLOURS[self.status], html.escape(self.exercise)
        style = f"border-left:4px solid {colour};padding:2px 10px;overflow-wrap:anywhere"
        if self.status == "not yet":
            note = f": {_rich(self.message)}" if self.message else ""
            return f'<div style="{style}">{name}&ensp;not yet{note}</div>'
        symbol, spoken = ("✓", "passed") if self.status == "passed" else ("✗", "not right yet")
        evidence = "".join(
            f"<br><em>{label}</em> <code>{html.escape(text)}</code>" for label, text in self._evidence()
        )
        head = f'<span role="img" aria-label="{spoken}">{symbol}</span> <strong>{name}</strong>'
        return f'<div style="{style}">{head} {_rich(self.message)}{evidence}</div>'


@dataclass(frozen=True)
class Shown:
    """Text to be shown as it stands in place of a value's repr, e.g. Shown("[vegetarian]")."""

    text: str

    def __repr__(self) -> str:
        return self.text


def exercise(exercise_id: str) -> Callable[[Function], Function]:
    """Register the decorated function as the check of `exercise_id`; see the top of this module.

    Raises ValueError for an id that is not like "01-cosine" or has a check already.
    """
    if not re.fullmatch(r"\d\d(-[a-z0-9]+)+", exercise_id):
        raise ValueError(
            f"exercise id {exercise_id!r} is not like '01-cosine'; begin with the lesson's number"
        )
    if exercise_id in _REGISTRY:
        raise ValueError(f"exercise id {exercise_id!r} has a check already; give this one another id")

    def register(function: Function) -> Function:
        _REGISTRY[exercise_id] = function
        return function

    return register


def registered(lesson: str) -> list[str]:
    """Ids of the exercises of `lesson` ("01") that have a check, in the order in which they stand."""
    module = f"course.lessons.lesson_{lesson}"
    # A dot would ask for a module inside another, which importlib would try to import.
    if lesson.isdecimal() and importlib.util.find_spec(module) is not None:
        importlib.import_module(module)
    return [known for known in _REGISTRY if known.startswith(f"{lesson}-")]


def check(exercise_id: str, *answers: object) -> CheckResult:
    """Try what the learner wrote and say on one line how it stands; it never raises.

    answers: the learner's function or class (or several, where the exercise says so). An answer that
    never returns is stopped with the kernel's interrupt button, and then counts as failed.
    Only while nbgrader is grading does a check that has not passed raise AssertionError, because nbgrader
    takes a cell that runs through as solved.

    Example:
    >>> check("01-no-such-exercise", len).status
    'failed'
    """
    result = _check(exercise_id, answers)
    if result.status != "passed" and os.environ.get("NBGRADER_EXECUTION"):
        raise AssertionError(repr(result))
    return result


def _check(exercise_id: str, answers: tuple[object, ...]) -> CheckResult:
    if not isinstance(exercise_id, str):
        return CheckResult(
            "check", "failed", "Its first argument is the exercise's id, as in the cell you were given."
        )
    known = registered(exercise_id[:2])
    if exercise_id not in known:
        advice = f"Lesson {exercise_id[:2]} has {', '.join(known) or 'no checks'}."
        said = f"There is no exercise of this name. {advice}"
        return CheckResult(shown(Shown(exercise_id)), "failed", _sendable(said))
    case = Cases()
    try:
        _REGISTRY[exercise_id](case, *answers)
    except NotImplementedError as error:
        return CheckResult(exercise_id, "not yet", _waits_for(exercise_id, error))
    except Misconception as wrong:
        return CheckResult(exercise_id, "failed", wrong.sentence, wrong.given, wrong.expected, wrong.got)
    except _Crash as crash:
        said = _accident(crash.error, answers)
        return CheckResult(exercise_id, "failed", said, crash.given, crash.expected)
    except KeyboardInterrupt:
        message = "It was still running when you interrupted it: what should have ended the loop?"
        return CheckResult(exercise_id, "failed", message)
    except (Exception, SystemExit) as error:
        return CheckResult(exercise_id, "failed", _accident(error, answers))
    count = f"{len(case.passed)} case{'s' * (len(case.passed) != 1)} passed"
    return CheckResult(exercise_id, "passed", f"{count}: {', '.join(case.passed)}.")


class _Crash(Exception):
    """The learner's code raised `error` on the input `given`, where perhaps another was wanted."""

    def __init__(self, error: Exception, given: str, expected: Shown | None = None) -> None:
        super().__init__(str(error))
        self.error, self.given = error, given
        self.expected = shown(expected) if expected else ""


def _call(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: str) -> Any:
    try:
        return function(*args, **kwargs)
    except (NotImplementedError, Misconception):
        raise
    except Exception as error:
        raise _Crash(error, given) from error


def _waits_for(exercise_id: str, error: NotImplementedError) -> str:
    other = str(error)
    return f"it calls {other}, which is still a stub" if other and other != exercise_id else ""


def _accident(error: BaseException, answers: tuple[object, ...]) -> str:
    """One sentence on an exception nobody planned: what it was, and on which of the learner's lines."""
    said = f": {shown(Shown(str(error)))}" if str(error) else ""
    what = f"`{type(error).__name__}{said}`"
    homes = {getattr(answer, "__module__", None) for answer in answers}
    frames = [
        traceback.extract_tb(tb, limit=1)[0]  # without a limit, endless recursion takes seconds to tell
        for tb in _links(error)
        if tb.tb_frame.f_globals.get("__name__") in homes
    ]
    if frames:
        return f"Your code raised {what} in line {frames[-1].lineno} of its cell: `{frames[-1].line or '…'}`"
    if isinstance(error, TypeError):
        return f"Your code does not fit what the stub promises (its arguments, or what it gives back): {what}"
    return f"Using your answer raised {what}. Does it give back what the docstring promises?"


def _links(error: BaseException) -> list[Any]:
    links, link = [], error.__traceback__
    while link is not None:
        links.append(link)
        link = link.tb_next
    return links


def shown(value: object) -> str:
    """The repr of a learner's value on one line, cut to a length one can read; it never raises.

    Example:
    >>> shown("a" * 1000)[-19:]
    '… (1002 characters)'
    """
    try:
        text = repr(value)
    except Exception as error:  # a learner's __repr__ may be the very thing that is broken
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    text = _sendable(" ".join(text.splitlines()))
    return text if len(text) <= _LONG else f"{text[: _LONG - 40]}… ({len(text)} characters)"


def _sendable(text: str) -> str:
    """The text with halves of surrogate pairs spelt out: a browser or a terminal is sent UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def same(got: object, expected: object, within: float = 1e-9) -> bool:
    """True when `got` is as good as `expected`: numbers within `within`, a list equal to a tuple.

    Truth values count as themselves only (1 is not True); numpy's numbers and arrays count as Python's.

    Example:
    >>> same((0.1 + 0.2, "a"), [0.3, "a"]), same(1, True)
    (True, False)
    """
    got, expected = _plain(got), _plain(expected)
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, Real) and isinstance(expected, Real):
        return math.isclose(got, expected, rel_tol=within, abs_tol=within)
    if _is_sequence(got) and _is_sequence(expected):
        return len(got) == len(expected) and _first_difference(got, expected, within) is None
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        keys = expected.keys()
        return got.keys() == keys and all(same(got[key], expected[key], within) for key in keys)
    return bool(got == expected)


def _plain(value: Any) -> Any:
    """numpy's scalars and arrays as Python values, without importing numpy."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def _is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _first_difference(got: Sequence[Any], expected: Sequence[Any], within: float) -> int | None:
    pairs = enumerate(zip(got, expected, strict=True))
    return next((at for at, (left, right) in pairs if not same(left, right, within)), None)


def _explain(got: object, mistakes: Iterable[Mistake], within: float) -> str:
    if got is ...:
        return "A scaffold line still says `...`, and that is what came back."
    for sign, sentence in mistakes:
        if _recognises(sign, got) if callable(sign) else same(got, sign, within):
            return sentence
    return ""


def _recognises(sign: Function, got: object) -> bool:
    try:
        return bool(sign(got))
    except Exception:  # the result is of a kind that this mistake does not produce
        return False


def _difference(expect: object, got: object, within: float) -> dict[str, object]:
    """expected and got; of long sequences, only the first place where they part."""
    left, right = _plain(expect), _plain(got)
    if not (_is_sequence(left) and _is_sequence(right)) or len(shown(left)) + len(shown(right)) < 160:
        return {"expected": expect, "got": got}
    if len(left) != len(right):
        return {"expected": Shown(f"{len(left)} values"), "got": Shown(f"{len(right)}: {shown(right)}")}
    at = _first_difference(right, left, within) or 0
    return {"expected": Shown(f"[{at}] = {shown(left[at])}"), "got": Shown(f"[{at}] = {shown(right[at])}")}


def _call_text(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    parts = [shown(arg) for arg in args] + [f"{key}={shown(value)}" for key, value in kwargs.items()]
    return f"{getattr(function, '__name__', 'answer')}({', '.join(parts)})"


def _rich(sentence: str) -> str:
    """A sentence as HTML: escaped first, then `code` and **bold**."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
