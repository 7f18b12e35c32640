"""The benchmark harness: its peers find the same, its ratios are right, its records are complete."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import embedding, measure
from benchmarks.measure import Plan, summary
from benchmarks.peers import PEERS
from benchmarks.remote import Remote
from benchmarks.report import Bar, Results
from benchmarks.workload import Workload, questions, session, user
from memlab.embedding import hash_embed

TINY = Plan(
    sizes={30: ("bare numpy",)},
    crowd=(3, 20),
    crowd_peers=("memlab",),
    amended=20,
    learners=("memlab",),
    firsts=2,
    rounds=2,
    budget=0.0,
    conversations=2,
    passes=1,
)
SPREAD = {"n", "p25", "p50", "p75", "p95"}


def measured(**medians: float) -> dict[str, Any]:
    return {name: dict.fromkeys(("p25", "p50", "p75", "p95"), value) for name, value in medians.items()}


def row(peer: str, memories: int, warm: float, first: float = 1.0, users: int = 1) -> dict[str, Any]:
    about = {"peer": peer, "memories": memories, "users": users, "bytes": 1.0}
    return about | measured(warm=warm, first=first, grown=1e6)


def figures(**changes: Any) -> dict[str, Any]:
    """A run in which each ratio is easily told: memlab takes 2 at 5,000 and 4 at 20,000."""
    return {
        "machine": {"cpu": "a processor", "cores": 2, "versions": {"python": "3.11"}},
        "by_size": [
            row("memlab", 5_000, 2.0), row("bare numpy", 5_000, 1.0), row("Chroma", 5_000, 30.0),
            row("published scan", 5_000, 800.0), row("memlab", 20_000, 4.0, first=9.0),
            row("bare numpy", 20_000, 1.0), row("Chroma", 20_000, 60.0, first=10.0),
        ],
        "crowd": [row("memlab", 200, 1.0), row("memlab", 200, 1.1, users=1_000)],
        "amended": {"memories": 20_000} | measured(after=3.0, warm=2.0),
        "learning": [
            {"peer": peer} | measured(messages_per_second=rate)
            for peer, rate in (("memlab", 600.0), ("memlab, loopback model", 150.0), ("mem0 on Chroma", 30.0))
        ],
        "learning_by_module": {"records": 0.6, "database": 0.4},
        "embedders": {"same_bits": True} | measured(published=50.0, memlab=10.0),
        "start_up": measured(**{"memlab": 0.0, "memlab.store": 0.1}),
        "workbook": None,
    } | changes  # fmt: skip


def bar(results: Results, *words: str) -> Bar:
    found = [bar for bar in results.bars() if all(word in bar.what for word in words)]
    assert len(found) == 1, found
    return found[0]


pytestmark = pytest.mark.xdist_group("benchmarks")  # one process makes what all share


@pytest.fixture(scope="module")
def results() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "TEXTS", 20)
        return command.run(TINY)


@pytest.mark.parametrize("name", [name for name in PEERS if "loopback" not in name])
def test_every_peer_finds_what_the_first_user_said_and_nothing_of_the_others(
    name: str, tmp_path: Path
) -> None:
    work, peer = Workload(12, users=3), PEERS[name](tmp_path)
    peer.prepare()
    peer.fill(work)
    peer.open()
    wanted = work.texts[6]
    found = peer.recall(wanted, hash_embed(wanted))
    peer.close()
    assert work.owners[6] == user()
    assert len(found) == 5
    assert wanted in found[:1] + found * (name in ("memlab", "published scan"))  # these two blend
    assert set(found) <= {
        text for text, owner in zip(work.texts, work.owners, strict=True) if owner == user()
    }


@pytest.mark.parametrize("name", ["memlab", "memlab, loopback model"])
def test_the_loopback_model_makes_the_workbook_learn_what_its_rules_learn(name: str, tmp_path: Path) -> None:
    peer = PEERS[name](tmp_path)
    peer.prepare()
    peer.open()
    assert [peer.learn(number) for number in range(2)] == [4, 4]
    learned = [record.content for record in peer.store.scan(user(0))]  # type: ignore[attr-defined]
    peer.close()
    assert learned == [
        "The user likes green tea.", "The user is allergic to peanuts.", "The user lives in Pune."
    ]  # fmt: skip


def test_the_workload_is_the_same_every_time_and_no_two_memories_are_alike() -> None:
    one, two = Workload(50, users=2), Workload(50, users=2)
    assert one.texts == two.texts
    assert one.numbers == two.numbers
    assert (one.vectors == two.vectors).all()
    assert len(set(one.texts)) == len(one) == 100
    assert one.owners.count(user(1)) == 50
    assert questions() == questions()
    assert session(3) == session(3) != session(4)


def test_a_run_measures_every_case_of_its_plan_with_its_spread(results: Results) -> None:
    found = results.figures
    assert [(row["peer"], row["memories"]) for row in found["by_size"]] == [("bare numpy", 30)]
    assert [(row["peer"], row["users"]) for row in found["crowd"]] == [("memlab", 1), ("memlab", 3)]
    for row in found["by_size"] + found["crowd"]:
        assert row["first"].keys() == row["warm"].keys() == row["grown"].keys() == SPREAD
        assert row["first"]["n"] == TINY.firsts
        assert row["warm"]["n"] == TINY.rounds
        assert row["bytes"] > 0
    assert found["learning"][0]["messages_per_second"]["n"] == TINY.rounds
    assert found["amended"]["after"]["n"] == found["amended"]["warm"]["n"] == 20 * TINY.rounds
    assert found["embedders"]["same_bits"]
    assert {"records", "database", "consolidation"} <= found["learning_by_module"].keys()
    assert sum(found["learning_by_module"].values()) <= 1.0


def test_the_record_names_machine_and_versions_but_nobody_and_no_path(
    results: Results, tmp_path: Path
) -> None:
    command.save(results, tmp_path)
    text = (tmp_path / "results.json").read_text(encoding="utf-8")
    kept = json.loads(text)
    assert kept["machine"]["cpu"]
    assert kept["machine"]["cores"] >= 1
    assert {"python", "sqlite", "numpy", "chromadb", "mem0ai", "sqlite-vec"} <= kept["machine"][
        "versions"
    ].keys()
    assert {"what", "value", "limit", "met"} <= kept["bars"][0].keys()
    assert str(measure.ROOT) not in text
    assert platform.node() not in text
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")


def test_ratios_are_those_of_the_medians() -> None:
    results = Results(figures())
    assert results.ratio("Chroma", "memlab", 20_000) == 15.0
    assert results.ratio("memlab", "Chroma", 20_000, "first") == 0.9
    assert results.ratio("sqlite-vec", "memlab", 20_000) is None
    assert [bar(results, "5,000", peer).value for peer in ("Chroma", "numpy", "scan")] == [15.0, 2.0, 400.0]
    assert bar(results, "1,000 users").value == 1.1
    assert bar(results, "one write").value == 1.5
    assert bar(results, "learning: memlab over").value == 20.0
    assert bar(results, "hash_embed").value == 5.0


def test_a_bar_is_met_on_the_right_side_only() -> None:
    results = Results(figures())
    assert not bar(results, "20,000", "numpy").met  # 4 times the bare product, where 3 is the most
    assert bar(results, "5,000", "numpy").met
    assert str(bar(results, "20,000", "numpy")).startswith("NOT MET")
    assert (
        "NOT MET  warm recall, 20,000 memories: memlab over bare numpy: 4 × (at most 3 ×)" in results.text()
    )


def test_what_was_not_measured_has_no_bar() -> None:
    results = Results(figures(by_size=[row("memlab", 5_000, 2.0), row("Chroma", 5_000, 30.0)]))
    assert not [bar for bar in results.bars() if "20,000 memories: " in bar.what and "write" not in bar.what]
    assert not [bar for bar in results.bars() if "notebooks" in bar.what]
    ran = Results(figures(workbook={"seconds": 200.0, "notebooks": {}}))
    assert bar(ran, "notebooks").met


def test_an_embedder_with_other_bits_meets_no_bar_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Results(figures(embedders={"same_bits": False} | measured(published=50.0, memlab=10.0)))
    assert not bar(wrong, "hash_embed").met
    monkeypatch.setattr(command, "run", lambda plan, notebooks: wrong)
    assert command.main(["--quick", "--out", str(tmp_path)]) == 1
    assert "NOT MET  hash_embed" in capsys.readouterr().out
    monkeypatch.setattr(command, "run", lambda plan, notebooks: Results(figures()))
    assert command.main(["--out", str(tmp_path)]) == 0


def test_what_goes_wrong_in_a_peers_process_is_raised_here_with_its_name(tmp_path: Path) -> None:
    remote = Remote("bare numpy", tmp_path)
    with pytest.raises(RuntimeError, match=r"bare numpy: FileNotFoundError: .*vectors\.npy"):
        remote.ask("first")
    with pytest.raises(RuntimeError, match="bare numpy: TypeError: peer='bare numpy' is not measured so"):
        remote.ask("amended", 1)
    remote.end()


def test_a_summary_holds_the_quartiles_also_of_one_value() -> None:
    assert summary([4.0]) == {"n": 1, "p25": 4.0, "p50": 4.0, "p75": 4.0, "p95": 4.0}
    assert summary([float(n) for n in range(101)]) == {
        "n": 101, "p25": 25.0, "p50": 50.0, "p75": 75.0, "p95": 95.0
    }  # fmt: skip


def test_the_quick_plan_measures_less_and_still_judges_the_recall() -> None:
    assert measure.QUICK.sizes.keys() < measure.FULL.sizes.keys() == {1_000, 5_000, 20_000, 100_000}
    assert measure.FULL.crowd == (1_000, 200)
    assert set(measure.FULL.learners) >= {"memlab", "mem0 on Chroma", "mem0 on Qdrant"}
    measured_peers = {peer for peers in measure.FULL.sizes.values() for peer in peers}
    assert measured_peers == PEERS.keys() - {"memlab, loopback model"}


def test_the_readme_tells_the_figures_that_are_kept() -> None:
    kept = Results(json.loads((measure.ROOT / "benchmarks/results.json").read_text(encoding="utf-8")))
    told = " ".join((measure.ROOT / "README.md").read_text(encoding="utf-8").split())
    missed = [bar for bar in kept.bars() if not bar.met]
    by_rules, by_model = (
        sorted(bar.value for bar in missed if bar.what.startswith(f"learning: {ours} over"))
        for ours in ("memlab", "memlab, loopback model")
    )
    shares = kept.figures["learning_by_module"]
    assert len(missed) == len(by_rules) + len(by_model) + 1 == 5
    for figure in (
        f"{kept.ratio('Chroma', 'memlab', 5_000):.0f} times as fast as Chroma's",
        f"{kept.ratio('published scan', 'memlab', 5_000):.0f} times as fast as the published scan",
        f"{kept.ratio('memlab', 'bare numpy', 5_000):.0f} times as long as the bare matrix product",
        f"{bar(kept, '1,000 users').value:.1f} times what it takes alone",
        f"{by_rules[0]:.1f} to {by_rules[1]:.1f} times as fast as mem0's",
        f"{by_model[0]:.1f} to {by_model[1]:.1f} times when both ask a model",
        f"importing the store took {bar(kept, 'memlab.store').value:.2f} s",
    ):
        assert figure in told
    assert (kept.ratio("memlab", "bare numpy", 100_000) or 1.0) < 1.0
    assert [round(1 / shares[module]) for module in ("database", "records", "store", "extraction")] == [
        5,
        5,
        7,
        7,
    ]
