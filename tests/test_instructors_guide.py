"""The instructor's guide names what is there: each notebook, its minutes, its cells, what its checks say."""

from __future__ import annotations

import ast
import re

import pytest

from course.desk.build import names
from course.desk.lint import STATED
from course.lesson import ROOT, exercises, read

GUIDE = (ROOT / "solutions" / "README.md").read_text(encoding="utf-8")
SECTIONS = {
    match["name"]: match
    for match in re.finditer(
        r"^## \[\w+\]\((?P<name>\w+\.ipynb)\) · (?P<all>\d+) min(?:, (?P<exercises>\d+) of them exercises)?\n"
        r"(?P<text>.*?)(?=^## |\Z)",
        GUIDE,
        re.MULTILINE | re.DOTALL,
    )
}


def said(lesson: str) -> str:
    """All that the checks of a lesson can say, with single spaces; what is filled in stands as ….

    What a lesson imports from beside it, such as the attacks of 02, counts as the lesson's.
    """
    folder = ROOT / "course" / "lessons"
    files = sorted(folder.glob(f"lesson_{lesson}*.py"))
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    sources = [n.module or "" for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    beside = {name.rpartition(".")[2] for name in sources if name.startswith("course.lessons.")}
    trees += [ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in sorted(beside)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return " ".join(" ".join(texts).split())


@pytest.mark.parametrize("name", names())
def test_every_notebook_has_its_section_with_its_minutes(name: str) -> None:
    stated = STATED.search(read(ROOT / "notebooks" / name).cells[0].source)
    assert stated is not None
    minutes = f"{stated['all']} min" + (
        f", {stated['exercises']} of them exercises" * bool(stated["exercises"])
    )
    head = f"## [{name.removesuffix('.ipynb')}]({name}) · {minutes}"
    section = SECTIONS.get(name)
    assert section is not None, f"solutions/README.md: write a section headed {head!r}"
    found = (section["all"], section["exercises"])
    assert found == (stated["all"], stated["exercises"]), f"solutions/README.md: correct the head to {head!r}"
    for part in ("**Say first.**", "**Run live.**", "**Where they stick.**", "**Discuss.**"):
        assert part in section["text"]
    assert len(re.findall(r"^- \*", section["text"], re.MULTILINE)) in (2, 3)


@pytest.mark.parametrize("name", names())
def test_what_the_guide_names_is_in_the_notebook_and_in_its_checks(name: str) -> None:
    notebook = read(ROOT / "notebooks" / name)
    known = {cell.id for cell in notebook.cells} | {e.id for e in exercises(notebook, name)}
    text = SECTIONS[name]["text"]
    assert set(re.findall(r"`(\d\d-[a-z0-9-]+)`", text)) <= known
    checks = said(name[:2])
    quoted = [" ".join(quote.split()) for quote in re.findall(r"“([^”]+)”", text)]
    assert quoted
    assert [quote for quote in quoted if quote not in checks] == []


def test_the_guide_has_no_section_for_a_notebook_that_is_gone() -> None:
    assert list(SECTIONS) == names()
    assert GUIDE.count(".ipynb) ·") == len(SECTIONS)


def test_the_commands_of_the_guide_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:^|`)make ([a-z]+)", GUIDE, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
