"""`make mine`: a learner's notebooks, whatever state they are in, become a package that works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.acceptance import accept, load_factory
from course.desk.answers import Answer
from course.desk.engine import Engine, Outcome
from course.desk.hand_in import answered, course, tasks
from course.desk.mine import Gathered, gather, main
from course.desk.package import Piece, Splice, pieces, spliced, write
from course.lesson import ROOT, LessonError, read

STUBS = ROOT / "notebooks"
LIMIT = 6.0

# Answers of a learner's, each to be written into the cell of its exercise in a copy of the notebooks.

TRUST_OF = """%%time
CALLS = []


def note(name):
    CALLS.append(name)


def trust_of(record: MemoryRecord) -> float:
    note(f"trust_of {record.subject}")
    kinds = [s.source_type for s in record.sources if not s.inherited]
    return max([TRUST[kind] for kind in kinds], default=0.0)


print("a line of my own", trust_of)
!echo done
"""
OUTER = """
def _plain(text):  # the reference has one of this name, too
    return f"plain {text.lower()}"
"""
CONTRADICTED = """
def contradicted(candidate, affected):
    CALLS.append(_plain("Contradicted"))
    return [
        r for r in affected
        if r.subject == candidate.subject and r.topic == candidate.topic and is_exclusive(r.topic)
        and not same_fact(r.content, candidate.content)
    ]
    raise NotImplementedError("04-exclusive")
"""
RESTS = """
KINDS = {}
for number, kind in enumerate(["set"]):
    KINDS[kind] = [number][:0]
KINDS["set"].append(set)


def _plain(ids):  # and so has notebook 04
    return KINDS["set"][0](ids)


def rests_only_on(record, source_id):
    return _plain(s.source_id for s in record.own_sources()) == {source_id}
"""
TOP_K = """
def top_k(scores, k):
    order = sorted(range(len(scores)), key=lambda i: (-round(float(scores[i]), 6), i))
    return order[:max(0, k)]
"""


def cell_of(notebook: Any, exercise: str) -> Any:
    return next(c for c in notebook.cells if c.metadata.get("memlab", {}).get("exercise") == exercise)


def stub_of(notebook: Any, exercise: str) -> str:
    return str(cell_of(notebook, exercise).source)


def edit(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    notebook = read(folder / name)
    change(notebook)
    (folder / name).write_text(json.dumps(notebook), encoding="utf-8")


def fill(notebook: Any, **sources: str) -> None:
    for exercise, source in sources.items():
        cell_of(notebook, exercise.replace("_", "-").removeprefix("x")).source = source


def duplicate(notebook: Any, exercise: str, source: str) -> None:
    at = notebook.cells.index(cell_of(notebook, exercise))
    copy = nbformat.from_dict(dict(notebook.cells[at]) | {"id": "pasted", "source": source})  # type: ignore[no-untyped-call]
    notebook.cells.insert(at + 1, copy)


def unfinished(notebook: Any, exercise: str, body: str) -> str:
    """The stub with `body` in place of its last line."""
    lines = stub_of(notebook, exercise).splitlines()
    return "\n".join([*lines[:-1], f"    {body}"])


def change_04(notebook: Any) -> None:
    fill(notebook, x04_trust=TRUST_OF, x04_exclusive=CONTRADICTED)
    fill(notebook, x04_similar="def similar_memories(store, candidate:\n    return []")
    fill(notebook, x04_topic_sweep=unfinished(notebook, "04-topic-sweep", "import time; time.sleep(1000)"))
    fill(notebook, x04_supersede=unfinished(notebook, "04-supersede", "import os; os._exit(3)"))
    fill(notebook, x04_corroborate=unfinished(notebook, "04-corroborate", "return None"))
    notebook.cells.remove(cell_of(notebook, "04-decide"))
    duplicate(notebook, "04-fence", "def objection(*args, **kwargs):\n    return {}['no']")
    notebook.cells.insert(2, nbformat.v4.new_code_cell(OUTER))  # type: ignore[no-untyped-call]
    notebook.cells.insert(2, nbformat.v4.new_code_cell("%matplotlib inline\nimport os"))  # type: ignore[no-untyped-call]


def change_05(notebook: Any) -> None:
    fill(notebook, x05_top_k=TOP_K, x05_recall="recall = 'I renamed it'")
    cell_of(notebook, "05-top-k").metadata.clear()
    fill(notebook, x05_pins=f"@no_such_decorator\n{unfinished(notebook, '05-pins', 'return []')}")
    fill(notebook, x05_mrr="def mean_reciprocal_rank(a, b):\n    return " + "+".join(["1"] * 20_000))
    fill(notebook, x05_bm25=unfinished(notebook, "05-bm25", "while True: input()"))
    cell_of(notebook, "05-hybrid").metadata["tags"] = []


def change_07(notebook: Any) -> None:
    """What an update leaves where the course changed a stub: the stub, and the answer below it."""
    at = notebook.cells.index(cell_of(notebook, "07-rests-only"))
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(RESTS))  # type: ignore[no-untyped-call]


pytestmark = pytest.mark.xdist_group("mine")  # one process makes what all share


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    """Notebooks with every kind of trouble in them, gathered once."""
    folder = tmp_path_factory.mktemp("learner")
    for path in STUBS.glob("*.ipynb"):
        shutil.copy(path, folder)
    edit(folder, "04_consolidation.ipynb", change_04)
    edit(folder, "05_retrieval.ipynb", change_05)
    edit(folder, "07_forgetting.ipynb", change_07)
    (folder / "06_injection.ipynb").write_text('{"cells": 3', encoding="utf-8")
    (folder / "08_write_gate.ipynb").write_text("[]", encoding="utf-8")
    (folder / "09_chroma.ipynb").unlink()
    return gather(folder, folder / "mine", limit=LIMIT)


@pytest.fixture
def row(gathered: Gathered) -> Callable[[str], Answer]:
    return {answer.task.id: answer for answer in gathered.answers}.__getitem__


def run(folder: Path, code: str) -> str:
    """What a fresh Python prints that finds `folder` and the libraries, and nothing else."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = [{str(folder)!r}]\n{ALONE}\n{code}"],
        cwd=folder, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


ALONE = f"""
sys.path[:] = [entry for entry in sys.path if entry != {str(ROOT)!r}]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
"""
DAY = """
from memlab.records import Source
from memlab.store import MemoryStore
from mine import consolidation, forgetting
from mine.memory_system import MemorySystem
system = MemorySystem(MemoryStore("memory.db"))
for number, text in enumerate(["I'm a vegetarian.", "I've started eating fish again."]):
    system.learn([dict(role="user", content=text)], Source("user_explicit", f"s{number}"), user_id="u_ada")
print([hit.record.content for hit in system.recall("fish?", user_id="u_ada")])
print("fish" in system.context("Be brief.", "fish?", user_id="u_ada"))
system.forget_source("s1", "u_ada")
system.forget_user("u_ada")
print(system.memories("u_ada"))
print(sorted(set(consolidation.CALLS)))
print(consolidation._plain("A"), forgetting._plain("A"))
print([name for name in sys.modules if name.partition(".")[0] in ("solutions", "course")])
"""


@pytest.fixture(scope="module")
def project(gathered: Gathered, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the package and memlab in it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(gathered.path, folder / "mine")
    shutil.copytree(ROOT / "memlab", folder / "memlab", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_every_exercise_that_solutions_answer_has_a_row_and_those_of_memlab_are_counted(
    gathered: Gathered,
) -> None:
    everything = [task for name in course() for task in tasks(name)]
    apart = [task for task in everything if task.modules[0].startswith("memlab.")]
    assert [answer.task for answer in gathered.answers] == [task for task in everything if task not in apart]
    assert gathered.beside == (0, len(apart))
    assert f"Besides, 0 of {len(apart)} exercises that rebuild memlab are answered" in repr(gathered)


def test_right_answers_are_the_learners_own(gathered: Gathered) -> None:
    assert gathered.yours() == ["04-exclusive", "04-trust", "05-top-k", "07-rests-only"]


@pytest.mark.parametrize(
    ("exercise", "reason"),
    [
        ("03-supported", "still a stub"),
        ("04-similar", "is not Python"),
        ("04-topic-sweep", f"its check did not end within {LIMIT:g} s"),
        ("04-supersede", "it ended the process in which it was checked"),
        ("04-corroborate", "its check says: "),
        ("04-decide", "its cell is gone from 04_consolidation.ipynb"),
        ("04-fence", "KeyError"),
        ("05-blended", "still a stub"),
        ("05-pins", "no_such_decorator"),
        ("05-recall", "does not define recall_at_k"),
        ("05-mrr", "Recursion"),
        ("05-bm25", "EOFError"),
        ("06-inject", "06_injection.ipynb cannot be read"),
        ("08-luhn", "08_write_gate.ipynb cannot be read"),
        ("09-where", "09_chroma.ipynb is missing"),
    ],
)
def test_what_is_not_gathered_is_named_with_the_reason(
    row: Callable[[str], Answer], exercise: str, reason: str
) -> None:
    assert row(exercise).splice is None
    assert reason in row(exercise).reason


def test_a_syntax_error_is_named_with_its_cell_and_line(row: Callable[[str], Answer]) -> None:
    assert "04_consolidation.ipynb cell" in row("04-similar").reason
    assert "(04-similar-stub)" in row("04-similar").reason
    assert "line 1" in row("04-similar").reason


@pytest.mark.parametrize(
    ("exercise", "remark"),
    [
        ("04-fence", "2 cells of 04_consolidation.ipynb are 04-fence"),
        ("05-top-k", "has lost its mark"),
        ("07-rests-only", "beside its stub"),
        ("04-trust", ""),
    ],
)
def test_cells_that_are_not_as_the_course_had_them_are_remarked_on(
    row: Callable[[str], Answer], exercise: str, remark: str
) -> None:
    assert remark in row(exercise).remark
    assert bool(remark) == bool(row(exercise).remark)


def test_the_package_says_whose_each_answer_is(gathered: Gathered) -> None:
    lines = (gathered.path / "consolidation.py").read_text(encoding="utf-8").splitlines()
    assert "# 04-trust · yours" in lines
    assert "# 04-decide · the reference's: its cell is gone from 04_consolidation.ipynb" in lines


def test_alone_beside_memlab_it_learns_recalls_and_forgets_with_the_learners_parts(project: Path) -> None:
    assert run(project, DAY).splitlines() == [
        "['The user eats fish again.']", "True", "[]", "['plain contradicted', 'trust_of user']",
        "plain a {'A'}", "[]",
    ]  # fmt: skip


def test_it_imports_nothing_of_the_course_that_solutions_do_not_and_never_solutions(project: Path) -> None:
    pattern = re.compile(r"^\s*(?:from|import) +(solutions|course|benchmarks)\b", re.MULTILINE)
    for file in (project / "mine").rglob("*.py"):
        given = (ROOT / "solutions" / file.relative_to(project / "mine")).read_text(encoding="utf-8")
        named = pattern.findall(file.read_text(encoding="utf-8"))
        assert named == [name for name in pattern.findall(given) if name != "solutions"]


def test_a_name_that_is_defined_anew_wins_everywhere(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "own")
    with (tmp_path / "own" / "mine" / "retrieval.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef retrieve(*args, **kwargs):\n    return []\n")
    assert run(tmp_path / "own", DAY).splitlines()[:2] == ["[]", "False"]


def test_the_difference_to_the_solutions_is_what_is_the_learners(gathered: Gathered) -> None:
    readme = (gathered.path / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^    diff (.*?) solutions mine\b", readme, re.MULTILINE)
    flags = [flag.strip('"') for flag in re.findall(r'"[^"]*"|\S+', command)]
    done = subprocess.run(
        ["diff", *flags, str(ROOT / "solutions"), str(gathered.path)], capture_output=True, text=True
    )
    files = {Path(line.split()[-1]).name for line in done.stdout.splitlines() if line.startswith("diff ")}
    assert files == {"consolidation.py", "retrieval.py", "forgetting.py"}
    added = {line[2:] for line in done.stdout.splitlines() if line.startswith("> ")}
    assert {"def contradicted(candidate, affected):", '    CALLS.append(_plain("Contradicted"))'} <= added
    assert not [line for line in added if "time" in line or "echo" in line]


def test_the_count_stands_last_and_says_how_much_runs(gathered: Gathered) -> None:
    assert isinstance(gathered.share, tuple)
    ran, own = gathered.share
    assert 10 < own < 60 < ran
    last = repr(gathered).splitlines()[-1]
    assert last == f"mine/: 4 of {len(gathered.answers)} exercises are yours, {own} of {ran} lines that run."
    assert "the reference&#x27;s: 09_chroma.ipynb is missing" in gathered._repr_html_()


def test_the_package_passes_the_acceptance_suite(gathered: Gathered) -> None:
    report = accept(load_factory(gathered.path))
    assert report.passed, report


def test_the_package_is_not_part_of_the_repository() -> None:
    assert "mine/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


# --- What the learner edits -------------------------------------------------------------------------------


STUB_OF = "def {name}():\n    raise NotImplementedError('03-{name}')"


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A workbook of one exercise, so that gathering costs nothing."""
    for folder in ("notebooks", "solutions"):
        (tmp_path / folder).mkdir()
    answer = "def greet():\n    return 'hello'"
    (tmp_path / "solutions" / "greeting.py").write_text(f"{answer}\n", encoding="utf-8")
    for folder, source in (("notebooks", STUB_OF.format(name="greet")), ("solutions", answer)):
        marks = {"tags": ["exercise"], "memlab": {"exercise": "03-greet"}}
        notebook = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
            metadata={"memlab": {"answers": ["solutions.greeting"]}},
            cells=[
                nbformat.v4.new_markdown_cell("# 03 · Greetings"),  # type: ignore[no-untyped-call]
                nbformat.v4.new_code_cell(source, metadata=marks),  # type: ignore[no-untyped-call]
                nbformat.v4.new_code_cell('check("03-greet", greet)'),  # type: ignore[no-untyped-call]
            ],
        )
        (tmp_path / folder / "03_greeting.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return tmp_path


def test_a_file_that_the_learner_edited_is_kept_and_named(workbook: Path) -> None:
    first = gather(root=workbook)
    file = first.path / "greeting.py"
    edited = file.read_text(encoding="utf-8").replace("hello", "good morning")
    file.write_text(edited, encoding="utf-8")
    (first.path / "extra.py").write_text("mine = True\n", encoding="utf-8")
    again = gather(root=workbook)
    assert (first.kept, again.kept) == ((), ("greeting.py",))
    assert "mine/greeting.py: you have edited it, so it stays as it is" in repr(again)
    assert file.read_text(encoding="utf-8") == edited
    assert (first.path / "extra.py").exists()


def test_what_nobody_edited_is_written_anew_and_line_ends_are_no_edit(workbook: Path) -> None:
    file = gather(root=workbook).path / "greeting.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"  \r\n"))
    (workbook / "solutions" / "greeting.py").write_text("def greet():\n    return 'moin'\n", encoding="utf-8")
    assert gather(root=workbook).kept == ()
    assert file.read_bytes().endswith(b"def greet():\n    return 'moin'\n")


def test_a_folder_of_that_name_which_make_mine_did_not_write_keeps_every_file(workbook: Path) -> None:
    (workbook / "mine").mkdir()
    (workbook / "mine" / "greeting.py").write_bytes(b"\xff")
    assert gather(root=workbook).kept == ("greeting.py",)
    assert (workbook / "mine" / "greeting.py").read_bytes() == b"\xff"


def test_a_duplicate_with_more_answers_counts_and_the_other_is_named(workbook: Path) -> None:
    copy = read(workbook / "notebooks" / "03_greeting.ipynb")
    copy.cells[1].source = "from solutions.greeting import greet"
    (workbook / "notebooks" / "03_greeting-Copy1.ipynb").write_text(json.dumps(copy), encoding="utf-8")
    done = gather(root=workbook)
    assert "takes greet from solutions.greeting" in done.answers[0].reason
    assert "03_greeting.ipynb is not gathered: another file is the same notebook" in repr(done)


def test_without_the_solved_notebooks_the_cure_is_named(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    with pytest.raises(LessonError, match="make notebooks"):
        gather(root=tmp_path)


def test_the_command_says_what_it_did(workbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], root=workbook) == 0
    assert "mine/: 0 of 1 exercises are yours" in capsys.readouterr().out
    assert main(["--to", str(workbook / "solutions")], root=workbook) == 1
    assert "a name of letters of its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [(["--limit", "-1"], "above 0"), (["--to", "nowhere/x"], "a folder that exists")],
)
def test_bad_arguments_are_refused_with_the_way_out(
    arguments: list[str], way_out: str, workbook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments, root=workbook)
    assert way_out in capsys.readouterr().err


# --- Parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a):\n    raise NotImplementedError('04-similar')", False),
        ("def f(a):\n    b = ...\n    raise NotImplementedError('04-similar')", False),
        ("def f(a):\n    return a\n    raise NotImplementedError('04-similar')", True),
        ("def f(a):\n    raise NotImplementedError('another')", True),
        ("class C:\n    def f(self):\n        ...\n        raise NotImplementedError('04-similar')", False),
        ("class C:\n    def f(self):\n        return 1", True),
        ("# later", False),
        ("def f(:", True),
    ],
)
def test_an_exercise_is_answered_once_it_can_end_otherwise_than_its_stub(source: str, expected: bool) -> None:
    assert answered(tasks("04_consolidation.ipynb")[0], source) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("UNITS['a'] = 1", {"UNITS"}),
        ("for n in NAMES: UNITS[n] = LOG.append(n)", {"LOG", "UNITS"}),
        ("shown = UNITS['a'].upper()", set()),
        ("def f(): UNITS['a'] = 1", set()),
    ],
)
def test_what_a_statement_fills_is_what_it_changes_as_it_runs(source: str, expected: set[str]) -> None:
    [piece] = pieces(source, 0)
    assert piece.fills == expected


def test_a_helper_of_a_name_that_the_module_has_stands_above_its_answer_and_both_keep_their_meaning() -> None:
    module = "from os import sep\n\n\ndef _plain(x):\n    return sep\n\n\ndef f(x):\n    return 1\n\n\n"
    module += "def g(x):\n    return f'{_plain(x)}{x._plain}'"
    helpers = "def _plain(x):\n    return sep\n\nsep = 3  # mine\n\n# how\n"
    cell = pieces(f"{helpers}def f(x):\n    return _plain(x)", 1)
    splice = Splice("01-f", "f", (cell[2],), (cell[0], cell[1]))
    text, yours = spliced(module, [splice], {"f": "# 01-f · yours"})
    space: dict[str, Any] = {}
    exec(text.replace("{x._plain}", ""), space)
    assert (space["f"](0), space["g"](0)) == (3, os.sep)
    assert [text.splitlines()[line - 1] for line in sorted(yours)] == [
        "def _plain(x):", "    return sep", "", "", "sep = 3  # mine", "", "", "# how", "def f(x):",
        "    return _plain(x)",
    ]  # fmt: skip


def test_a_helper_that_is_the_modules_own_is_not_written_twice() -> None:
    module = "def _plain(x):\n    return x\n\n\ndef f(x):\n    return _plain(x)\n"
    cell = pieces("def _plain(x):\n    return x\n\ndef f(x):\n    return _plain(_plain(x))", 1)
    text, _ = spliced(module, [Splice("01-f", "f", (cell[1],), (cell[0],))], {"f": "# 01-f · yours"})
    assert text.count("def _plain") == 1
    assert "_given" not in text


def test_of_an_import_only_the_name_that_is_used_comes_along() -> None:
    [piece] = pieces("from collections import (\n    Counter,\n    deque as d,\n)", 0)
    assert piece.only("d") == Piece((0, 0), "from collections import deque as d", frozenset(), frozenset("d"),
                                    frozenset(), "collections")  # fmt: skip


def test_writing_names_only_what_differs_from_what_was_written(tmp_path: Path) -> None:
    files = {"a.py": "a\n", "given/b.py": "b\n"}
    assert write(tmp_path, files) == write(tmp_path, files) == []
    (tmp_path / "given" / "b.py").write_text("c\n")
    assert write(tmp_path, files) == write(tmp_path, files) == ["given/b.py"]


# --- The engine -------------------------------------------------------------------------------------------


STARTER = """
import subprocess, sys
program = f"import time; time.sleep(2); open({MARK!r}, 'w')"
subprocess.Popen([sys.executable, "-c", program])
"""


@pytest.mark.parametrize("forks", [True, False], ids=["forked", "fresh"])
def test_a_session_is_the_same_forked_or_fresh_and_leaves_nothing_behind(
    forks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    (tmp_path / "memlab.py").write_text("raise RuntimeError('this is not the course')")
    mark, engine = tmp_path / "alive", Engine(forks=forks)
    with engine.session(tmp_path, "01") as session:
        assert session.run(f"MARK = {str(mark)!r}\n{STARTER}", 20) == Outcome()
        assert (
            session.run("%%time\nimport memlab.embedding as e\n!echo hi\ne?\n%matplotlib inline", 20)
            == Outcome()
        )
        assert session.run("x = 1\nraise ValueError('no')", 20) == Outcome("ValueError", "no", 2)
        assert session.run("import os; os.environ['ANTHROPIC_API_KEY']", 20).error == "KeyError"
        assert session.run("import time; time.sleep(60)", 0.5).late
        assert session.run("cosine = e.cosine", 20) == Outcome()
        assert session.check("01-cosine", ["cosine"], 20).status == "missing"
        assert session.run("def cosine(a, b): return 0", 20) == Outcome()
        assert session.check("01-cosine", ["cosine"], 20).status == "failed"
        assert list(session.home.iterdir()) == []
    engine.close()
    time.sleep(2.5)
    assert not mark.exists()
