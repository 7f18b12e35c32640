"""The other end of `lesson_runner.run`: cells in, outcomes out. It imports little, since it starts often."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from course.check import CheckResult


def outcome(index: int, result: ExecutionResult) -> dict[str, Any]:
    """The fields of one `lesson_runner.Outcome`."""
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        return {"index": index, "error": type(error).__name__, "message": str(error)}
    if isinstance(result.result, CheckResult):
        return {"index": index, "status": result.result.status, "message": repr(result.result)}
    return {"index": index}


if __name__ == "__main__":
    given, answer = (Path(argument) for argument in sys.argv[1:])
    sys.path[0] = ""  # as in a kernel: the notebook's folder, not this file's
    shell = InteractiveShell.instance()
    cells = json.loads(given.read_text(encoding="utf-8"))
    outcomes = [outcome(index, shell.run_cell(source)) for index, source in cells]
    answer.write_text(json.dumps(outcomes), encoding="utf-8")
