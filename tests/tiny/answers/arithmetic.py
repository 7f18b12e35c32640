"""Answers of the tiny lesson on which the lesson machinery is tested."""

STEP = 2


def _scaled(number: int, factor: int) -> int:
    return number * factor


def double(number: int) -> int:
    """Twice `number`.

    Raises TypeError for text.
    """
    if isinstance(number, str):
        raise TypeError(f"number={number!r} is text; pass an int")
    # a comment that belongs to the answer
    return _scaled(number, STEP)


def quadruple(number: int) -> int:
    """Four times `number`."""
    return double(double(number))


class Counter:
    """Counts upwards from 0."""

    def __init__(self) -> None:
        self.count = 0

    def step(self) -> int:
        """The next count."""
        self.count += 1
        return self.count
