"""`make mine`: a learner's notebooks, whatever state they are in, become one file that works."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

from course.acceptance import accept, load_factory
from course.desk import mine
from course.desk.mine import BEGINNING, LINE, Edited, Gathered, Row, gather, is_stub, main, tasks
from course.desk.trial import Trial, try_out
from course.desk.weave import Statement, names_of, rename
from course.lesson import ROOT, LessonError, read
from memlab.records import Source
from memlab.store import MemoryStore

STUBS = ROOT / "notebooks"
LIMIT = 6.0

# Answers of a learner's, each to be written into the cell of its exercise in a copy of the notebooks.

TRUST_OF = """
CALLS = []


def note(name):
    CALLS.append(name)


def trust_of(record: MemoryRecord) -> float:
    note(f"trust_of {record.subject}")
    kinds = [s.source_type for s in record.sources if not s.inherited]
    return max([TRUST[kind] for kind in kinds], default=0.0)


print("a line of my own", trust_of)
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
    return gather(folder, folder / "my_memory.py", limit=LIMIT)


@pytest.fixture
def row(gathered: Gathered) -> Callable[[str], Row]:
    return {row.exercise: row for row in gathered.rows}.__getitem__


def load(path: Path, name: str) -> ModuleType:
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def module(gathered: Gathered) -> Iterator[ModuleType]:
    yield load(gathered.path, "learners_memory")
    del sys.modules["learners_memory"]


def test_every_exercise_from_03_on_has_a_row(gathered: Gathered) -> None:
    assert [row.exercise for row in gathered.rows] == [task.id for task in tasks()]
    assert gathered.rows[0].exercise.startswith("03-")


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
    row: Callable[[str], Row], exercise: str, reason: str
) -> None:
    assert row(exercise).status == "reference"
    assert reason in row(exercise).reason


def test_a_syntax_error_is_named_with_its_cell_and_line(row: Callable[[str], Row]) -> None:
    assert "04_consolidation.ipynb cell" in row("04-similar").reason
    assert "(04-similar-stub)" in row("04-similar").reason
    assert "line 1" in row("04-similar").reason


@pytest.mark.parametrize(
    ("exercise", "remark"),
    [
        ("04-fence", "2 cells of 04_consolidation.ipynb are 04-fence"),
        ("05-top-k", "has lost its mark"),
        ("05-hybrid", "has lost the tag 'exercise'"),
        ("07-rests-only", "in a cell of its own, beside the stub; move it into the stub's"),
        ("04-trust", ""),
    ],
)
def test_cells_that_are_not_as_the_course_had_them_are_remarked_on(
    row: Callable[[str], Row], exercise: str, remark: str
) -> None:
    assert remark in row(exercise).remark
    assert bool(remark) == bool(row(exercise).remark)


def test_the_file_says_whose_each_answer_is(gathered: Gathered) -> None:
    lines = gathered.path.read_text(encoding="utf-8").splitlines()
    assert "# 04-trust · yours" in lines
    assert "# 04-decide · from the reference: its cell is gone from 04_consolidation.ipynb" in lines
    assert max(map(len, lines)) < 130


def test_the_learners_functions_are_really_used_by_each_other(module: ModuleType) -> None:
    system = module.MemorySystem(MemoryStore())
    for number, text in enumerate(["I'm a vegetarian.", "I've started eating fish again."]):
        said = [{"role": "user", "content": text}]
        system.learn(said, Source("user_explicit", f"s{number}"), user_id="u_ada")
    assert [record.content for record in system.memories("u_ada")] == ["The user eats fish again."]
    assert {"trust_of user", "plain contradicted"} <= set(module.CALLS)


def test_a_table_is_filled_once_and_by_the_statements_that_fill_it(gathered: Gathered) -> None:
    text = gathered.path.read_text(encoding="utf-8")
    assert text.count("for number, kind in enumerate") == text.count(".append(set)") == 1


def test_a_name_that_two_notebooks_use_keeps_two_meanings(module: ModuleType) -> None:
    assert module.contradicted.__globals__ is module.rests_only_on.__globals__ is vars(module)
    helpers = {name: value for name, value in vars(module).items() if name.startswith("_plain")}
    assert [helper("A") for helper in helpers.values()] == ["plain a", {"A"}]


def test_the_gathered_file_passes_the_acceptance_suite(gathered: Gathered) -> None:
    report = accept(load_factory(gathered.path))
    assert report.passed, report


def test_what_is_printed_groups_the_exercises_and_gives_the_reasons(gathered: Gathered) -> None:
    text = repr(gathered)
    assert text.startswith(f"4 of {len(gathered.rows)} exercises are yours.")
    assert "from the reference: 09_chroma.ipynb is missing" in text
    assert "&lt;" not in text
    assert "<td" in gathered._repr_html_()


# --- The file, and what is the learner's own in it ---------------------------------------------------


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workbook of one exercise, so that gathering costs nothing."""
    monkeypatch.setattr(mine, "USERS", ())
    for folder in ("notebooks", "solutions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "solutions" / "greeting.py").write_text(
        "def greet():\n    return 'hello'\n", encoding="utf-8"
    )
    stub = "def greet():\n    raise NotImplementedError('03-greet')"
    for folder, source in (("notebooks", stub), ("solutions", "def greet():\n    return 'hello'")):
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


def test_what_stands_below_the_line_is_kept_byte_for_byte(course: Path) -> None:
    path = gather(root=course).path
    own = LINE + "\r\n\r\nNAME = 'Ä'  \n\n\n\tnot even Python"
    path.write_bytes(path.read_bytes().decode().replace(BEGINNING, own).encode())
    gather(root=course)
    assert path.read_bytes().decode().endswith(own)
    assert path.read_bytes().decode().count(LINE) == 1


def test_a_function_below_the_line_wins(course: Path) -> None:
    path = gather(root=course).path
    path.write_text(
        path.read_text(encoding="utf-8") + "\n\ndef greet():\n    return 'moin'\n", encoding="utf-8"
    )
    assert load(gather(root=course).path, "greeting_of_my_own").greet() == "moin"


def test_an_edit_above_the_line_is_refused_and_nothing_is_written(course: Path) -> None:
    path = gather(root=course).path
    edited = path.read_text(encoding="utf-8").replace("'hello'", "'good morning'")
    path.write_text(edited, encoding="utf-8")
    with pytest.raises(Edited, match=r"edited above its line.*FORCE=1"):
        gather(root=course)
    assert path.read_text(encoding="utf-8") == edited


def test_a_file_of_another_origin_is_refused(course: Path) -> None:
    (course / "my_memory.py").write_text("print('mine')\n", encoding="utf-8")
    with pytest.raises(Edited, match="not written by make mine"):
        gather(root=course)


def test_force_saves_an_edited_file_first_and_never_over_another(course: Path) -> None:
    path = gather(root=course).path
    for number, name in enumerate(["my_memory.py.bak", "my_memory.py.bak1"]):
        edited = path.read_text(encoding="utf-8").replace("'hello'", f"'hello {number}'") + "# my own\n"
        path.write_text(edited, encoding="utf-8")
        done = gather(root=course, force=True)
        assert done.saved is not None
        assert done.saved.name == name
        assert done.saved.read_text(encoding="utf-8") == edited
        assert "'hello'" in path.read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8").endswith("# my own\n" * (number + 1))


def test_force_saves_nothing_when_nothing_was_edited(course: Path) -> None:
    gather(root=course)
    assert gather(root=course, force=True).saved is None


def test_other_line_ends_and_trailing_blanks_are_no_edit(course: Path) -> None:
    path = gather(root=course).path
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    gather(root=course)
    assert b"\r\n" not in path.read_bytes().partition(LINE.encode())[0]


def test_a_file_that_is_no_text_is_named(course: Path) -> None:
    (course / "my_memory.py").write_bytes(b"\xff\xfe")
    with pytest.raises(LessonError, match=r"my_memory.py cannot be read.*rename it"):
        gather(root=course)


def test_without_the_solved_notebooks_the_cure_is_named(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    with pytest.raises(LessonError, match="make notebooks"):
        tasks(tmp_path)


def test_the_command_says_what_it_did_and_what_it_refused(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], root=course) == 0
    assert "0 of 1 exercises are yours" in capsys.readouterr().out
    (course / "my_memory.py").write_text("x = 1\n", encoding="utf-8")
    assert main([], root=course) == 1
    assert "FORCE=1" in capsys.readouterr().err
    assert main(["--force"], root=course) == 0
    assert "saved as my_memory.py.bak" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [(["--limit", "-1"], "above 0"), (["--to", "nowhere/x.py"], "a folder that exists")],
)
def test_bad_arguments_are_refused_with_the_way_out(
    arguments: list[str], way_out: str, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments, root=course)
    assert way_out in capsys.readouterr().err


def test_writing_spares_other_files_and_links(course: Path) -> None:
    (course / "real.py.new").write_text("my own\n", encoding="utf-8")
    (course / "my_memory.py").symlink_to(course / "real.py")
    gather(root=course)
    assert (course / "my_memory.py").is_symlink()
    assert "def greet" in (course / "real.py").read_text(encoding="utf-8")
    assert (course / "real.py.new").read_text(encoding="utf-8") == "my own\n"


def test_the_gathered_file_is_not_part_of_the_repository() -> None:
    assert "my_memory.py" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


# --- Parts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a):\n    raise NotImplementedError('03-x')", True),
        ("def f(a):\n    b = ...\n    raise NotImplementedError('03-x')", True),
        ("def f(a):\n    return a\n    raise NotImplementedError('03-x')", False),
        ("def f(a):\n    raise NotImplementedError('another')", False),
        ("class C:\n    def f(self):\n        ...\n        raise NotImplementedError('03-x')", True),
        ("class C:\n    def f(self):\n        return 1", False),
    ],
)
def test_a_stub_is_what_can_only_end_as_one(source: str, expected: bool) -> None:
    assert is_stub([Statement(source, 1)], "03-x") is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(RULES):\n    return RULES", []),
        ("def f():\n    RULES = 1\n    return lambda: RULES", []),
        ("def f():\n    return [RULES for RULES in ()]", []),
        ("def f():\n    [RULES for RULES in ()]\n    return RULES", ["RULES"]),
        ("def f():\n    global RULES\n    RULES = 1", ["RULES"]),
        ("def f(a=RULES): pass", ["RULES"]),
        ("def f(a: RULES): pass", ["RULES"]),
        ("class C:\n    RULES = 1\n    def f(self):\n        return RULES", ["RULES"]),
        ("def f():\n    try: pass\n    except OSError as RULES: print(RULES)", []),
        ("def f(x):\n    match x:\n        case {'a': RULES}: return RULES", []),
        ("def f():\n    if (RULES := 1): return RULES", []),
        ("def f():\n    import RULES\n    return RULES", []),
    ],
)
def test_a_name_is_the_modules_only_where_nothing_nearer_binds_it(source: str, expected: list[str]) -> None:
    assert [n.id for n in names_of([Statement(source, 1)]) if n.id == "RULES"] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("RULES = (a,)  # RULES", "RULES_08 = (a,)  # RULES"),
        ("def f():\n    'RULES'\n    return 'ü', RULES", "def f():\n    'RULES'\n    return 'ü', RULES_08"),
        ("async def RULES(): pass", "async def RULES_08(): pass"),
        ("def f(x): return x.RULES(RULES=RULES)", "def f(x): return x.RULES(RULES=RULES_08)"),
    ],
)
def test_renaming_leaves_everything_else_as_it_was(source: str, expected: str) -> None:
    assert rename(source, {"RULES": "RULES_08"}) == expected


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    return f"""\n{RULES}\n {"ü"}{RULES!r:>{RULES}}"""',
        "def f():\n    global RULES\n    RULES = 3\n    return RULES",
    ],
)
def test_renaming_reaches_names_wherever_python_hides_them(source: str) -> None:
    new = rename(source, {"RULES": "OTHER"})
    space: dict[str, Any] = {"OTHER": 7}
    exec(new, space)
    space["f"]()
    assert "RULES" not in space


STARTER = """
import subprocess, sys
program = f"import time; time.sleep(2); open({MARK!r}, 'w')"
subprocess.Popen([sys.executable, "-c", program])
"""


def test_an_answer_that_starts_processes_leaves_none_behind(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    assert try_out([Trial("starter", before=f"MARK = {str(mark)!r}\n{STARTER}")]) == [""]
    time.sleep(2.5)
    assert not mark.exists()
