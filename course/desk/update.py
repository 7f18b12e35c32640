"""Brings in the newest course and keeps your work: `python -m course.desk.update [--from FOLDER]`.

    (no option)     in a git clone: fetch the course's newest version and carry your notebooks over to it
    --from FOLDER   without git, or to start afresh: run it in the new copy of the course, and name the folder
                    that you worked in until now; nothing in that folder changes

Nothing of yours is lost. A file that both you and the course have changed is first copied to `backup/`. In a
notebook, cell by cell, yours stands where the course did not change the cell: your answers, your notes and
the cells that you added. Where both changed it, the course's new cell stands and yours right below it.
Close the notebooks first: JupyterLab would save the old ones over the new.
"""

from __future__ import annotations

import argparse
import copy
import shutil
import subprocess
import sys
import uuid
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import nbformat

from course.desk.build import write
from course.desk.engine import sentence
from course.desk.hand_in import Task, claim, recognised, sorted_out, tasks_in
from course.lesson import ROOT, Cell, Notebook, read

UNPACK = (
    "unpack the new course into a folder beside this one, and there run: make update FROM=path/to/this/folder"
)
TAKEN_HOME = ("mine", "my_memory.py")
"""What `make mine` wrote, in this edition and the one before."""

DIFF = ("diff", "--name-only", "--no-renames", "-z")
"""Both names of a file that the course renamed: git must be free to remove the old one."""


class UpdateError(Exception):
    """The update did not begin, or was taken back; the message names the cause and the way out."""


# One notebook


def carry(mine: Notebook, given: Mapping[str, str], new: Notebook) -> tuple[Notebook, list[str]]:
    """The course's notebook `new` with everything of `mine` in it, and the ids of cells that both changed.

    given: the source of each cell as the course gave it to the learner, by cell id.
    """
    kept: dict[str, Cell] = {}
    below: dict[str, list[Cell]] = defaultdict(list)
    both: list[str] = []
    known, anchor = {cell.source for cell in new.cells}, ""
    ids, wanted = {cell.get("id") for cell in mine.cells}, tasks_in(new, "")
    for cell in mine.cells:
        twin = _twin(cell, [other for other in new.cells if other.id not in kept], ids, wanted)
        anchor = twin.id if twin is not None else anchor
        before = given.get(twin.id if twin is not None else cell.get("id", ""))
        if twin is not None and twin.source in (cell.source, before):
            kept[twin.id] = _in_place_of(twin, cell)
        elif cell.source.strip() and cell.source != before and cell.source not in known:
            below[anchor].append(_added(cell))
            both += [] if twin is None else [twin.id]
    carried = copy.deepcopy(new)
    cells = [*below[""]]
    for cell in carried.cells:
        cells += [kept.get(cell.id, cell), *below[cell.id]]
    carried.cells = cells
    return carried, both


def _twin(cell: Cell, free: Sequence[Cell], ids: Container[str], wanted: Sequence[Task]) -> Cell | None:
    """The course's cell of which `cell` is the learner's version: by id, else by exercise, else by source.

    ids: those of the learner's cells. A copy of a cell never takes the place of that cell itself.
    """
    if (same := next((other for other in free if other.id == cell.get("id")), None)) is not None:
        return same
    lost = [other for other in free if other.id not in ids]
    claims = {task.cell_id: how for task in wanted if (how := claim(task, cell)) is not None}
    known = [other for other in lost if other.id in claims] if cell.cell_type == "code" else []
    if known:
        return min(known, key=lambda other: claims[other.id])
    return next((other for other in lost if other.source == cell.source), None)


def _in_place_of(twin: Cell, cell: Cell) -> Cell:
    """The learner's cell, its outputs too, under the course's id and tags."""
    own = copy.deepcopy(cell)
    own["id"], own["metadata"] = twin.id, copy.deepcopy(twin.metadata)
    return own


def _added(cell: Cell) -> Cell:
    """The learner's cell as one that the course knows nothing of."""
    own = copy.deepcopy(cell)
    own["id"] = uuid.uuid4().hex[:8]
    own["metadata"] = nbformat.from_dict({})  # type: ignore[no-untyped-call]
    return own


# A git clone


def update(root: Path = ROOT) -> list[str]:
    """Bring the clone at `root` to its newest version; what happened, as sentences. Raises UpdateError."""
    _ready(root)
    if _git(root, "merge-base", "HEAD", "@{upstream}") == _git(root, "rev-parse", "@{upstream}"):
        return ["The course is up to date."]
    changed = _paths(root, *DIFF, "HEAD")
    tracked = _paths(root, "ls-tree", "-r", "--name-only", "-z", "HEAD")
    new = _paths(root, *DIFF, "HEAD", "@{upstream}")
    both = sorted(path for path in new if path in changed or (path not in tracked and (root / path).exists()))
    backup = put_aside([path for path in both if (root / path).is_file()], root)
    given = {path: _given_by_git(path, root) for path in both if path in tracked and _is_lesson(path)}
    try:
        _clear(both, tracked, root)
        _git(root, "merge", "--ff-only", "--quiet", "@{upstream}")
    except UpdateError:
        _bring_back(backup, root)
        raise
    return ["The course is at its newest version.", *_carry_all(both, given, backup, root)]


def _ready(root: Path) -> None:
    """Fetch; refuse a folder that cannot simply go forward. Changes no file."""
    try:
        inside = Path(_git(root, "rev-parse", "--show-toplevel")).resolve() == root.resolve()
    except (UpdateError, FileNotFoundError):
        inside = False
    if not inside:
        raise UpdateError(f"{root} is not a git clone of the course; {UNPACK}")
    try:
        _git(root, "fetch", "--quiet")
        _git(root, "rev-parse", "@{upstream}")
    except UpdateError as error:
        raise UpdateError(f"{error}; without git: {UNPACK}") from None
    ahead = _git(root, "rev-list", "--count", "@{upstream}..HEAD")
    behind = _git(root, "rev-list", "--count", "HEAD..@{upstream}")
    if ahead != "0" and behind != "0":
        raise UpdateError(
            f"{root} has {ahead} commits of your own, which only you can merge: git merge; or {UNPACK}"
        )


def _git(root: Path, *arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8")
    if run.returncode:
        raise UpdateError(f"git {arguments[0]} says: {run.stderr.strip() or run.stdout.strip()}")
    return run.stdout.strip("\n")


def _paths(root: Path, *arguments: str) -> set[str]:
    return set(filter(None, _git(root, *arguments).split("\0")))


def _is_lesson(path: str) -> bool:
    return path.startswith("notebooks/") and path.endswith(".ipynb")


def _given_by_git(path: str, root: Path) -> dict[str, str]:
    notebook = nbformat.reads(_git(root, "show", f"HEAD:{path}"), as_version=4)  # type: ignore[no-untyped-call]
    return {cell.id: cell.source for cell in notebook.cells}


def _clear(paths: Iterable[str], tracked: set[str], root: Path) -> None:
    """Take back the learner's changes to `paths`, of which a copy is kept, so that git can go forward."""
    for path in paths:
        _git(root, "reset", "--quiet", "HEAD", "--", path)
        if path in tracked:
            _git(root, "checkout", "--quiet", "HEAD", "--", path)
        elif (root / path).is_file():
            (root / path).unlink()


def _bring_back(backup: Path, root: Path) -> None:
    for file in backup.rglob("*"):
        if file.is_file():
            (root / file.relative_to(backup)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, root / file.relative_to(backup))


def _carry_all(
    paths: Iterable[str], given: Mapping[str, Mapping[str, str]], backup: Path, root: Path
) -> Iterator[str]:
    for path in paths:
        kept = backup / path
        if not kept.exists() or not (root / path).exists():
            if kept.exists():
                yield _moved(path, kept, given.get(path, {}), root)
            continue
        if _is_lesson(path):
            yield _carried(kept, given.get(path, {}), root / path)
        else:
            yield f"{path}: the course's new version stands; yours is {kept.relative_to(root)}"


def _moved(path: str, mine: Path, given: Mapping[str, str], root: Path) -> str:
    """What became of a file that the course has no more: a notebook may have another name now."""
    where = mine.relative_to(root)
    name = recognised(mine, root) if _is_lesson(path) else None
    target = root / "notebooks" / (name or "")
    if name is None or not target.exists() or _has_work(target, root):
        return f"{path}: the course has it no more; yours is {where}"
    return f"{path} is now notebooks/{name}. {_carried(mine, given, target)}"


# A folder


def bring(old: Path, root: Path = ROOT) -> list[str]:
    """Carry the work in the older workbook at `old` to the one at `root`; what happened, as sentences.

    Raises UpdateError.
    """
    if not (old / "notebooks").is_dir() or old.resolve() == root.resolve():
        raise UpdateError(
            f"--from {old}: name the folder of your older copy of the course, the one with notebooks/"
        )
    said = []
    for file, name in _named(sorted((old / "notebooks").glob("*.ipynb")), root):
        target = root / "notebooks" / name
        if name != file.name:
            said.append(f"notebooks/{file.name} is now notebooks/{name}")
        if target.exists() and _has_work(target, root):
            said.append(f"notebooks/{name}: left alone, since you have worked in it here already")
        elif target.exists():
            said += _carried_from(old, file, target)
        else:
            shutil.copy2(file, target)
            said.append(f"notebooks/{file.name}: copied; the course has none of this name")
    return said + [f"{name}: copied" for name in TAKEN_HOME if _copied(old / name, root / name)]


def _copied(old: Path, new: Path) -> bool:
    """Copy what the learner took home, unless there is one here."""
    if not old.exists() or new.exists():
        return False
    if old.is_dir():
        shutil.copytree(old, new)
    else:
        shutil.copy2(old, new)
    return True


def _named(files: Sequence[Path], root: Path) -> list[tuple[Path, str]]:
    """Each file and its name here: the course's, where it holds that notebook and no other is called so."""
    names = {file: file.name for file in files}
    for name, same in sorted_out(files, root).items():
        if not any(file.name == name for file in files):
            names[same[0]] = name
    return list(names.items())


def _carried_from(old: Path, mine: Path, target: Path) -> Iterator[str]:
    """Carry one notebook; without the old solved one, a cell that the course changed stands there twice."""
    given: dict[str, str] = {}
    try:
        given = _given_in(old, mine.name)
    except Exception as error:  # a file may be broken in any way
        solved = old / "solutions" / mine.name
        yield f"{solved} cannot be read ({sentence(error)}): all that differs counts as your work"
    yield _carried(mine, given, target)


def _has_work(notebook: Path, root: Path) -> bool:
    given = _given_in(root, notebook.name)
    try:
        here = {
            cell.id: cell.source for cell in read(notebook).cells if cell.id in given or cell.source.strip()
        }
    except Exception:  # what cannot be read is no longer the course's: it is left alone, and said to be
        return True
    return bool(given) and here != given


def _given_in(old: Path, name: str) -> dict[str, str]:
    """The cells as that version of the course gave them: its solved notebook knows, since nobody edits it."""
    solved = old / "solutions" / name
    cells = read(solved).cells if solved.exists() else []
    return {cell.id: cell.metadata.get("memlab", {}).get("stub", cell.source) for cell in cells}


def _carried(mine: Path, given: Mapping[str, str], target: Path) -> str:
    """Write the learner's notebook into the course's at `target`, and say what stands there now."""
    name = f"notebooks/{target.name}"
    try:
        notebook, both = carry(read(mine), given, read(target))
        nbformat.validate(notebook)
    except Exception as error:  # a file may be broken in any way; the next notebook's work must still come in
        said = sentence(error)
        return (
            f"{name}: the course's new version stands, since yours cannot be read ({said}); yours is {mine}"
        )
    write(notebook, target)
    if not both:
        return f"{name}: your work is in it"
    return (
        f"{name}: your work is in it; the course changed {', '.join(both)} too: yours stands right below each"
    )


def put_aside(paths: Sequence[str], root: Path) -> Path:
    """Copy the files `paths` of the workbook into a new folder below backup/, and give back that folder."""
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    folder = root / "backup" / f"{stamp}-{uuid.uuid4().hex[:4]}"
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, folder / path)
    return folder


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line; gives back the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course.desk.update", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--from", dest="old", type=Path, metavar="FOLDER", help="the folder you worked in before"
    )
    options = parser.parse_args(argv)
    try:
        said = bring(options.old, root) if options.old else update(root)
    except UpdateError as error:
        print(error, file=sys.stderr)
        return 1
    print(*said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
