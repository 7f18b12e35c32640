"""Checks of the tiny lesson."""

from course.check import Cases, Function, exercise


@exercise("99-double")
def _(case: Cases, double: Function) -> None:
    case(
        "zero stays zero", double, 0, expect=0, otherwise="Twice nothing is nothing.",
        mistakes=[(2, "You added 2 in place of multiplying by it.")],
    )  # fmt: skip
    case(
        "three becomes six", double, 3, expect=6, otherwise="Twice 3 is 6.",
        mistakes=[(9, "You squared the number.")],
    )  # fmt: skip
    case.refuses(
        "text is refused", double, "a", error=TypeError, mentions="number", otherwise="Text is no number."
    )


@exercise("99-quadruple")
def _(case: Cases, quadruple: Function) -> None:
    case("three becomes twelve", quadruple, 3, expect=12, otherwise="Four times 3 is 12.")


@exercise("99-counter")
def _(case: Cases, counter_class: Function) -> None:
    counter = counter_class()
    case("the first step counts 1", counter.step, expect=1, otherwise="The first count is 1.")
