"""Gathers a learner's own memory system as the package mine/: `python -m course.desk.mine`, or `make mine`.

mine/ has the modules of `solutions`. Where an exercise is answered, and the answer passes its check in a
process of its own, the definition there is the learner's, to the letter; with it come the helpers that it
uses, and what it defines anew wins everywhere in the package. All else is the reference's, and marked so.
Nothing in a notebook can stop the gathering. A file of mine/ that was edited since is named and left alone.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from course.desk.answers import Answer, found_in, module_of
from course.desk.engine import Ended, Session, shared
from course.desk.hand_in import course, sorted_out, tasks
from course.desk.package import spliced, write
from course.lesson import ROOT, LessonError

LIMIT = 20.0
"""Seconds that the check of one answer may take."""
README = (Path(__file__).with_name("mine_readme.md")).read_text(encoding="utf-8")

DAY = """
import json, sys
from memlab.records import Source
from memlab.store import MemoryStore
from {package}.memory_system import MemorySystem
ran = set()
def trace(frame, event, argument):
    file = frame.f_code.co_filename
    if not file.startswith({place!r}) or frame.f_code.co_name == "<module>":
        return None
    def line(frame, event, argument):
        if event == "line":
            ran.add((file, frame.f_lineno))
        return line
    return line
memory = MemorySystem(MemoryStore())
sys.settrace(trace)
for number, text in enumerate(["I'm a vegetarian. Please call me Ada.", "I've started eating fish again."]):
    said = [dict(role="user", content=text)]
    memory.learn(said, Source("user_explicit", str(number)), user_id="u")
memory.context("Be brief.", "any dietary restrictions?", user_id="u")
memory.forget_source("1", "u")
memory.forget_user("u")
sys.settrace(None)
json.dump(sorted(ran), open({report!r}, "w"))
"""
"""What a memory system does in a day: the lines that run in it are what a learner's share is measured on."""


@dataclass(frozen=True)
class Gathered:
    """The package that was written, and the fate of each exercise.

    kept: files that the learner edited, and that stay. beside: how many exercises that rebuild `memlab` are
    answered, and of how many. share: lines that run, and how many are the learner's; or why nothing runs.
    """

    path: Path
    answers: tuple[Answer, ...]
    kept: tuple[str, ...]
    beside: tuple[int, int]
    share: tuple[int, int] | str
    passed_over: tuple[str, ...] = ()

    def yours(self) -> list[str]:
        """The ids of the exercises that are the learner's own."""
        return [answer.task.id for answer in self.answers if answer.splice is not None]

    def lines(self) -> list[tuple[str, str]]:
        """Exercises and what became of them: those of one notebook and one fate together."""
        groups = groupby(self.answers, lambda answer: (answer.task.notebook, answer.fate))
        return [(", ".join(answer.task.id for answer in same), fate) for (_, fate), same in groups]

    def notes(self) -> list[str]:
        """What else there is to know, the count last."""
        name, (done, of) = self.path.name, self.beside
        said = [f"{file} is not gathered: another file is the same notebook" for file in self.passed_over]
        said += [f"{name}/{file}: you have edited it, so it stays as it is" for file in self.kept]
        if of:
            said.append(
                f"Besides, {done} of {of} exercises that rebuild memlab are answered; memlab stays as given."
            )
        ours = "" if isinstance(self.share, str) else f", {self.share[1]} of {self.share[0]} lines that run"
        said += [f"{name}/ does not run: {self.share}"] if isinstance(self.share, str) else []
        return [*said, f"{name}/: {len(self.yours())} of {len(self.answers)} exercises are yours{ours}."]

    def __repr__(self) -> str:
        return "\n".join([*(f"  {ids}\n      {fate}" for ids, fate in self.lines()), *self.notes()])

    def _repr_html_(self) -> str:
        cell = '<td style="text-align:left">'
        rows = "".join(
            f"<tr>{cell}{html.escape(ids)}</td>{cell}{html.escape(fate)}</td></tr>"
            for ids, fate in self.lines()
        )
        head = '<th style="text-align:left">exercises</th><th style="text-align:left">in the package</th>'
        said = "<br>".join(map(html.escape, self.notes()))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{said}</p>"


def gather(
    notebooks: Path | None = None, path: Path | None = None, *, limit: float = LIMIT, root: Path = ROOT
) -> Gathered:
    """Write the package `path` (mine/) from the learner's `notebooks`; what stands in it, and why.

    path: its folder; a ".py" at the end is dropped. limit: seconds for the check of one answer. Raises
    LessonError when there is nothing to gather from.
    """
    notebooks, path = notebooks or root / "notebooks", (path or root / "mine").resolve().with_suffix("")
    if not path.name.isidentifier() or path.name in ("solutions", "course", "memlab"):
        raise LessonError(f"--to {path.name}: a package needs a name of letters of its own, such as mine")
    workshop = Workshop(root, path.name, limit)
    if not workshop.tasks:
        raise LessonError(
            "there are no solved notebooks in solutions/; bring them back, or run: make notebooks"
        )
    files = sorted_out(sorted(notebooks.glob("*.*")), root)
    everything = [
        a for name in course(root) for a in found_in(name, files.get(name, [])[:1], notebooks, root)
    ]
    answers = workshop.judged([a for a in everything if a.module.startswith("solutions.")])
    beside = [a for a in everything if not a.module.startswith("solutions.")]
    texts = workshop.texts(answers)
    kept = write(path, texts | {"README.md": README.replace("PACKAGE", path.name)})
    return Gathered(
        path, tuple(answers), tuple(kept), (sum(a.splice is not None for a in beside), len(beside)),
        workshop.share(answers), tuple(f.name for same in files.values() for f in same[1:]),
    )  # fmt: skip


# --- The package ------------------------------------------------------------------------------------------


class Workshop:
    """The modules of `solutions` with a learner's answers in them, tried and counted."""

    def __init__(self, root: Path, package: str, limit: float) -> None:
        self.root, self.package, self.limit = root, package, limit
        self.tasks = [task for name in course(root) for task in tasks(name, root)]
        self.modules = {task.id: module_of(task, root) for task in self.tasks}

    def texts(self, answers: Iterable[Answer]) -> dict[str, str]:
        """Every file of the package, by its path in it."""
        return {file: text for file, (text, _) in self._made(answers).items()}

    def _made(self, answers: Iterable[Answer]) -> dict[str, tuple[str, frozenset[int]]]:
        """Every file, and the lines of it that are the learner's."""
        by_module = {
            m: list(same) for m, same in groupby(sorted(answers, key=lambda a: a.module), lambda a: a.module)
        }
        made = {}
        for path in sorted((self.root / "solutions").rglob("*.py")):
            file = path.relative_to(self.root / "solutions")
            own = by_module.get(".".join(("solutions", *file.with_suffix("").parts)), [])
            marks = {a.task.answer: f"# {a.task.id} · {a.fate}" for a in own}
            splices = [answer.splice for answer in own if answer.splice is not None]
            text, yours = spliced(path.read_text(encoding="utf-8"), splices, marks)
            renamed = re.sub(
                r"^(\s*(?:from|import)\s+)solutions\b", rf"\g<1>{self.package}", text, flags=re.MULTILINE
            )
            made[file.as_posix()] = renamed, yours
        return made

    def judged(self, answers: Sequence[Answer]) -> list[Answer]:
        """The answers without those whose check fails in the package.

        All are tried together first, which takes least. What fails there is tried alone, beside the
        reference's, so that nobody pays for another answer's fault.
        """
        suspects = self._faults(answers, hasty=True)
        if not suspects:
            return list(answers)
        alone = [answer for answer in answers if answer.splice is not None and answer.task.id in suspects]
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda answer: self._faults([answer]).get(answer.task.id, ""), alone))
        kept = _without(answers, dict(zip([answer.task.id for answer in alone], found, strict=True)))
        while faults := self._faults(kept):
            kept = _without(kept, {id_: f"beside your other answers, {said}" for id_, said in faults.items()})
        return kept

    def _faults(self, answers: Sequence[Answer], hasty: bool = False) -> dict[str, str]:
        """What is wrong with which answer, by exercise, when just these stand in the package.

        hasty: after an answer that never ends, those of its notebook that follow are suspect.
        """
        ids = [answer.task.id for answer in answers if answer.splice is not None]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ThreadPoolExecutor(2) as pool:
            write(Path(folder, self.package), self.texts(answers))
            groups = [list(same) for _, same in groupby(ids, lambda id_: id_[:2])]
            faults: dict[str, str] = {}
            for found in pool.map(lambda group: self._tried_all(group, Path(folder), hasty), groups):
                faults |= found
        return faults

    def _tried_all(self, waiting: list[str], folder: Path, hasty: bool) -> dict[str, str]:
        """The faults among exercises of one notebook; a session that ends is followed by another."""
        faults: dict[str, str] = {}
        while waiting:
            with shared().session(folder, waiting[0][:2]) as session:
                session.run(f"import sys; sys.path.insert(0, {str(folder)!r})", self.limit)
                lasts = True
                while waiting and lasts:
                    id_ = waiting.pop(0)
                    faults[id_], lasts = self._tried(session, id_)
            if hasty and not lasts:
                faults |= dict.fromkeys(waiting, "not tried")
                break
        return {id_: fault for id_, fault in faults.items() if fault}

    def _tried(self, session: Session, id_: str) -> tuple[str, bool]:
        """What is wrong with one exercise in the package, and whether the session lasts."""
        task = next(task for task in self.tasks if task.id == id_)
        others = {t.names[0]: t for t in self.tasks if t.notebook == task.notebook}
        homes = [(self.modules[others[n].id], others[n].answer, n) for n in task.names]
        load = [f"from {m.replace('solutions', self.package, 1)} import {a} as {n}" for m, a, n in homes]
        try:
            outcome = session.run("\n".join(load), self.limit)
            if outcome.error and not outcome.late:
                return f"its cell raises {outcome.fault}", True
            if not outcome.late:
                outcome = session.check(id_, task.names, self.limit)
        except Ended as ended:
            left = "it ended the process in which it was checked"
            return self._late if ended.status == "timed out" else left, False
        if outcome.late:
            return self._late, False
        said = re.sub(r" in line \d+ of its cell", " in its cell", outcome.message or outcome.status)
        return "" if outcome.status == "passed" else f"its check says: {said}", True

    @property
    def _late(self) -> str:
        return f"its check did not end within {self.limit:g} s"

    def share(self, answers: Sequence[Answer]) -> tuple[int, int] | str:
        """How many lines run in a day of the package's system, and how many of them are the learner's."""
        made = self._made(answers)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            here = Path(folder).resolve()
            write(here / self.package, {file: text for file, (text, _) in made.items()})
            report = here / "ran.json"
            try:
                with shared().session(here) as session:
                    session.run(f"import sys; sys.path.insert(0, {str(here)!r})", self.limit)
                    day = DAY.format(package=self.package, place=str(here / self.package), report=str(report))
                    outcome = session.run(day, self.limit)
            except Ended as ended:
                return ended.sentence
            if outcome.error:
                return outcome.fault
            ran = [
                (Path(f).relative_to(here / self.package).as_posix(), n)
                for f, n in json.loads(report.read_text())
            ]
        return len(ran), sum(line in made[file][1] for file, line in ran)


def _without(answers: Iterable[Answer], faults: Mapping[str, str]) -> list[Answer]:
    return [replace(a, splice=None, reason=f) if (f := faults.get(a.task.id)) else a for a in answers]


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command line; gives back the exit status."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m course.desk.mine", description=about)
    parser.add_argument("--notebooks", type=Path, help="the folder of your notebooks; default: notebooks/")
    parser.add_argument("--to", type=Path, help="the package to write; default: mine/")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the check of one answer")
    options = parser.parse_args(argv)
    if options.limit <= 0:
        parser.error(f"--limit {options.limit:g}: give the seconds that a check may take, above 0")
    if options.to and not options.to.parent.is_dir():
        parser.error(f"--to {options.to}: name a package in a folder that exists")
    try:
        said = repr(gather(options.notebooks, options.to, limit=options.limit, root=root))
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        said.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(sys.stdout.encoding or "utf-8")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
