"""Builds the solved notebooks: `python -m course.desk.build [--check | --tidy] [NAMES…]`.

    (no option)   write solutions/NN_name.ipynb for every notebook (or the NAMES given), executed
    --check       change nothing; fail if a solved notebook is not what its sources give
    --tidy        clear outputs and machine-made metadata from notebooks/NN_name.ipynb before you commit it,
                  and let runs go on at its `needs:` cells

**For the author of a lesson.** You edit `notebooks/NN_name.ipynb` by hand; nobody edits the solved one.

1. The notebook's metadata names the modules that hold the answers:
   `"memlab": {"answers": ["memlab.embedding"]}`.
2. An exercise is a run of cells: a markdown cell with the heading `### 01-cosine · title · ●○○ · 8 min`
   and the task, the stub, the check, the hints; later demos follow.
3. The stub is a code cell of its own, tagged `exercise`, with the metadata
   `"memlab": {"exercise": "01-cosine"}`. It holds one function or class, with the signature and the
   docstring of the answer, and its last line is `raise NotImplementedError("01-cosine")`. Imports stand
   in earlier cells. The answer is the object of the same name in an answer module; else say
   `"answer": "solutions.consolidation:similar_memories"`. `"with": ["_helper", "BASE"]` takes further
   objects of that module along. `"after": ["01-buckets"]` says that the answer calls another exercise.
4. The check is a code cell of one line, `check("01-cosine", cosine)`.
5. Below it, three folded hints: `<details><summary>A nudge</summary>` … `</details>`, then
   `<summary>The idea</summary>`, then `<summary>Where the answer stands</summary>`.
6. A later cell that needs the learner's answer is tagged `needs:01-cosine`: with the bare stub it may stop
   with NotImplementedError (or a NameError that follows from it). Every other cell must run either way.
   `--tidy` gives such cells, and no others, the tag `raises-exception`: a skipped exercise then stops neither
   *Run All Cells* nor *Restart Kernel and Run up to Selected Cell*. Solved notebooks do not have it.
7. The first cell holds `# 01 · Title`, **You will be able to**, **Time** · 60 min, of which 40 min are five
   exercises (the sum of their heads, and at least 15 min besides), and **You need**; the last sections
   are `## Recap`, `## Key point`, `## Check yourself` (three questions, answers in `<details>`) and
   `## What breaks next`.

`course.desk.lint` says what is missing, and `tests/test_lessons.py` tries every exercise alone.

In the solved notebook, signature and docstring stay as they are and each function's body stands between
`# BEGIN SOLUTION` and `# END SOLUTION`, which nbgrader and otter both cut out; what an answer takes along
stands below it, inside the same marks. Cells carry nbgrader's metadata: the exercise id is the grade_id, and
its check is worth one point. The stub stands in its cell's metadata, for `course.desk.update`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from course.lesson import (
    ROOT,
    Cell,
    Check,
    Definition,
    Exercise,
    LessonError,
    Notebook,
    answer,
    checks,
    exercises,
    extra_source,
    first_line,
    functions,
    place,
    read,
)

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
GO_ON = "raises-exception"
"""The tag at which Jupyter, when a cell stops, runs the next one all the same."""
TIMEOUT = 300
MACHINE = re.compile(
    rf"{re.escape(str(ROOT))}|(?:/home|/root|/tmp|[/\\]Users)[/\\]|ipykernel_\d+|\bat 0x[0-9a-f]{{6,}}"
)
WIDGET = "application/vnd.jupyter.widget-view+json"


def solve(notebook: Notebook, name: str, only: Sequence[str] | None = None, root: Path = ROOT) -> Notebook:
    """A copy of the learner's notebook with its stubs answered (or only those of the exercises `only`).

    No outputs, plain metadata, nbgrader's metadata on exercises and checks. `name` is the file's name.
    Raises LessonError.
    """
    solved = bare(notebook)
    for cell in solved.cells:
        _set_tag(cell, GO_ON, False)  # with the answers in, an error is an error
    for exercise in exercises(notebook, name, root):
        cell = solved.cells[exercise.index]
        if only is None or exercise.id in only:
            cell.metadata["memlab"]["stub"] = cell.source  # so `update` knows what learners changed
            cell.source = solution_source(exercise, root)
        cell.metadata["nbgrader"] = _grading(exercise)
    for check in checks(notebook):
        solved.cells[check.index].metadata["nbgrader"] = _grading(check)
    return solved


def solution_source(exercise: Exercise, root: Path = ROOT) -> str:
    """The answer as it stands in the solved notebook: exact source, between the marks all but its promise."""
    source, node = answer(exercise, root)
    lines = source.splitlines()
    before = len(lines)
    for function, last in reversed(_bodies(node, {function.name for function in functions(exercise.stub)})):
        _mark(lines, function, last)
    end = (node.end_lineno or before) + len(lines) - before
    text = "\n".join(lines[first_line(node) - 1 : end])
    extra = extra_source(exercise, root)
    if not extra:
        return text
    # Below the answer and inside its marks: they are part of it, and what reads the marks cuts out one piece.
    return "\n\n\n".join([text.removesuffix(END).rstrip(), *extra, END])


def tidy(notebook: Notebook) -> Notebook:
    """A copy of a learner's notebook as it is committed: bare, and runs go on at its `needs:` cells."""
    clean = bare(notebook)
    for cell in clean.cells:
        _set_tag(cell, GO_ON, needs(cell))
    return clean


def needs(cell: Cell) -> bool:
    """Whether the cell uses the learner's answer to an exercise: it has a tag such as `needs:01-cosine`."""
    return any(tag.startswith("needs:") for tag in cell.metadata.get("tags", []))


def bare(notebook: Notebook) -> Notebook:
    """A copy without outputs, execution counts and what differs from machine to machine."""
    clean = copy.deepcopy(notebook)
    clean.metadata = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
        | {key: value for key, value in clean.metadata.items() if key == "memlab"}
    )
    clean.nbformat, clean.nbformat_minor = 4, 5
    for cell in clean.cells:
        for key in ("execution", "collapsed", "scrolled", "ExecuteTime", "trusted"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return clean


def execute(notebook: Notebook, name: str, folder: Path) -> Notebook:
    """A copy of `notebook`, run top to bottom in a fresh kernel whose working directory is `folder`.

    Nothing of the caller's set-up reaches it: no API keys or addresses, no IPython profile, a fixed hash
    seed. Raises LessonError that names the cell and the error.
    """
    ran = copy.deepcopy(notebook)
    client = NotebookClient(
        ran,
        kernel_name="python3",
        timeout=TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory() as profile:
        try:
            client.execute(env=_environment(profile))
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise LessonError(_failure(ran, name, error)) from None
    for cell in ran.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)  # a live widget is dead in a file; its text stays
    ran.metadata = notebook.metadata
    return ran


def build(name: str, root: Path = ROOT) -> Path:
    """Write the solved, executed twin of notebooks/`name` and give back its path.

    Raises LessonError, with nothing written, for a notebook that breaks a rule or does not run.
    """
    from course.desk.lint import problems as broken_rules  # which reads our KERNEL

    notebook = read(root / "notebooks" / name)
    if broken := broken_rules(notebook, name, root):
        raise LessonError("\n".join([*broken, f"solutions/{name} was not written"]))
    ran = execute(solve(notebook, name, root=root), name, root / "notebooks")
    problems = list(output_problems(ran, name))
    if problems:
        raise LessonError("\n".join(problems))
    target = root / "solutions" / name
    write(ran, target)
    return target


def write(notebook: Notebook, path: Path) -> None:
    """Save in the one form that git sees: valid, sorted keys, one newline at the end."""
    nbformat.validate(notebook)
    text = nbformat.writes(notebook, version=4)  # type: ignore[no-untyped-call]
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="\n")


def differences(name: str, root: Path = ROOT) -> Iterator[str]:
    """What in solutions/`name` is not what notebooks/`name` and the answers give; outputs apart."""
    built = solve(read(root / "notebooks" / name), name, root=root)
    path = root / "solutions" / name
    cure = f"run: make notebooks (or python -m course.desk.build {name})"
    if not path.exists():
        yield f"solutions/{name} is missing; {cure}"
        return
    kept = read(path)
    if kept.metadata != built.metadata:
        yield f"solutions/{name}: the notebook's metadata differs; {cure}"
    if [cell.id for cell in built.cells] != [cell.get("id") for cell in kept.cells]:
        yield f"solutions/{name}: cells were added, removed or moved; {cure}"
        return
    for index, (new, old) in enumerate(zip(built.cells, bare(kept).cells, strict=True)):
        for part in ("cell_type", "source", "metadata"):
            if new[part] != old[part]:
                yield f"solutions/{place(name, new, index)}: {part} differs; {cure}"


def output_problems(notebook: Notebook, name: str) -> Iterator[str]:
    """What in the outputs of an executed notebook must not be shown to others."""
    for index, cell in enumerate(notebook.cells):
        where = f"solutions/{place(name, cell, index)}"
        if cell.cell_type != "code":
            continue
        if cell.execution_count is None and cell.source.strip():
            yield f"{where}: was not executed; run: make notebooks"
        for output in cell.outputs:
            yield from _output_problems(output, where)


def names(wanted: Sequence[str] = (), root: Path = ROOT) -> list[str]:
    """File names in notebooks/ that match one of `wanted` ("01", "01_embeddings", with or without .ipynb).

    All of them when nothing is wanted. Raises LessonError for one that matches none.
    """
    files = (root / "notebooks").glob("[0-9][0-9]_*.ipynb")
    # JupyterLab's Duplicate makes 03_extraction-Copy1.ipynb: a learner's own, not a lesson.
    known = sorted(path.name for path in files if "-Copy" not in path.name)
    for prefix in wanted:
        if not any(name.startswith(Path(prefix).stem) for name in known):
            raise LessonError(f"no notebook is called {prefix!r}; there are {', '.join(known) or 'none'}")
    return [name for name in known if not wanted or any(name.startswith(Path(p).stem) for p in wanted)]


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m course.desk.build", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAMES", help="notebooks, such as 01; default: all")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="only say what is out of date")
    mode.add_argument("--tidy", action="store_true", help="clear the learner notebooks' outputs")
    options = parser.parse_args(argv)
    try:
        chosen = names(options.names, root)
        if options.check:
            return _check_all(chosen, root)
        if options.tidy:
            return _tidy_all(chosen, root)
        return _build_all(chosen, root)
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1


def _check_all(chosen: list[str], root: Path) -> int:
    found = [line for name in chosen for line in differences(name, root)]
    for name in chosen:
        if (root / "solutions" / name).exists():
            found += output_problems(read(root / "solutions" / name), name)
    found += [
        f"solutions/{path.name} has no notebook behind it; delete it"
        for path in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb"))
        if not (root / "notebooks" / path.name).exists()
    ]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


def _tidy_all(chosen: list[str], root: Path) -> int:
    for name in chosen:
        path = root / "notebooks" / name
        write(tidy(read(path)), path)
    return 0


def _build_all(chosen: list[str], root: Path) -> int:
    if len(chosen) < 2:
        built = [build(name, root) for name in chosen]
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            built = list(pool.map(partial(build, root=root), chosen))
    for path in built:
        print(f"wrote {path.relative_to(root)}")
    return 0


def _set_tag(cell: Cell, tag: str, wanted: bool) -> None:
    tags = [other for other in cell.metadata.pop("tags", []) if other != tag] + [tag] * wanted
    if tags:
        cell.metadata["tags"] = tags


def _bodies(
    node: Definition, promised: set[str]
) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int | None]]:
    """The functions that the stub shows, each with its last line; a helper belongs to the one above it."""
    found: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int | None]] = []
    for function in functions(node):
        if function.name in promised or not found:
            found.append((function, function.end_lineno))
        else:
            found[-1] = (found[-1][0], function.end_lineno)
    return found


def _mark(lines: list[str], function: ast.FunctionDef | ast.AsyncFunctionDef, last: int | None) -> None:
    """Put the marks below the function's docstring and below line `last`, in the module's `lines`."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if not body or function.lineno == body[0].lineno:
        return  # a docstring only, or a stub on one line: nothing to hide
    first = function.body[0].end_lineno if body is not function.body else body[0].lineno - 1
    indent = " " * body[0].col_offset
    lines.insert(last or len(lines), indent + END)
    lines.insert(first or 0, indent + BEGIN)


def _grading(item: Exercise | Check) -> dict[str, Any]:
    shared = {"schema_version": 3, "task": False}
    if isinstance(item, Exercise):
        return shared | {"grade_id": item.id, "solution": True, "grade": False, "locked": False}
    return shared | {
        "grade_id": f"{item.id}-check",
        "solution": False,
        "grade": True,
        "locked": True,
        "points": 1,
    }


def _environment(profile: str) -> dict[str, str]:
    ours = ("ANTHROPIC_", "OPENAI_", "MEMLAB_", "MEM0_", "NBGRADER_", "PYTHONSTARTUP")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"PYTHONHASHSEED": "0", "IPYTHONDIR": profile}


def _failure(notebook: Notebook, name: str, error: Exception) -> str:
    """One line on the cell that stopped the run."""
    index, cell = _last_run(notebook)
    if isinstance(error, CellExecutionError):
        what = f"{error.ename}: {error.evalue}"
    else:
        what = f"it did not finish within {TIMEOUT} s, or its kernel died ({type(error).__name__})"
    return f"{place(name, cell, index)} stopped the run: {what}\ncorrect this cell or the answer it uses"


def _last_run(notebook: Notebook) -> tuple[int, Cell]:
    cells = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    failed = [pair for pair in cells if any(o.output_type == "error" for o in pair[1].outputs)]
    ran = [pair for pair in cells if pair[1].execution_count is not None]
    return (failed or ran or cells)[-1]


def _output_problems(output: Any, where: str) -> Iterator[str]:
    if output.output_type == "error":
        yield f"{where}: shows the error {output.ename}; catch it in the cell and print what matters"
        return
    if output.output_type == "stream" and output.name == "stderr":
        yield f"{where}: writes to stderr ({output.text.strip()[:60]!r}); a lesson shows no red text"
    shown = [str(text) for kind, text in output.get("data", {}).items() if not kind.startswith("image/")]
    for text in [output.get("text", ""), *shown]:
        if match := MACHINE.search(text):
            yield f"{where}: shows {match[0][:60]!r}, which no other machine has; print something else"


if __name__ == "__main__":
    sys.exit(main())
