"""How a write gate does on labelled proposals: its measures in a table, and what it stores in a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.pictures.views import BLUE, ORANGE, Picture, Table, as_picture, new_figure

LABELS = ("harmless", "secret", "promise", "not theirs", "injection", "diagnosis", "assistant", "trivia")
Stores = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class LabelledProposal:
    """A proposal (as a dict) and what it is; only "harmless" may be stored as it stands."""

    id: str
    part: str
    label: str
    proposal: dict[str, Any]


def load_cases(path: Path, part: str | None = None) -> list[LabelledProposal]:
    """The labelled proposals in a JSON file, or those of one part: "tune" or "held_out"."""
    cases = [LabelledProposal(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    return [case for case in cases if part in (None, case.part)]


def precision_recall(stores: Stores, cases: Iterable[LabelledProposal]) -> tuple[float, float]:
    """Of what `stores` refuses, the share that deserves it; of what deserves it, the share that is refused.

    Example:
    >>> cases = [LabelledProposal("a", "tune", "harmless", {}), LabelledProposal("b", "tune", "secret", {})]
    >>> precision_recall(lambda proposal: False, cases)
    (0.5, 1.0)
    """
    bad = [(case.label != "harmless", not stores(case.proposal)) for case in cases]
    hits = sum(deserved and refused for deserved, refused in bad)
    return hits / max(1, sum(refused for _, refused in bad)), hits / max(1, sum(d for d, _ in bad))


def measures(gates: Mapping[str, Stores], cases: Sequence[LabelledProposal]) -> Table:
    """Precision and recall of each gate, secrets it stored, and harmless proposals it refused."""
    rows = []
    for name, stores in gates.items():
        precision, recall = precision_recall(stores, cases)
        secrets = [case for case in cases if case.label == "secret"]
        harmless = [case for case in cases if case.label == "harmless"]
        leaked = sum(stores(case.proposal) for case in secrets)
        alarms = sum(not stores(case.proposal) for case in harmless)
        rows.append([name, precision, recall, f"{leaked} of {len(secrets)}", f"{alarms} of {len(harmless)}"])
    return Table(["gate", "precision", "recall", "secrets stored", "harmless refused"], rows)


def stored_picture(gates: Mapping[str, Stores], cases: Sequence[LabelledProposal]) -> Picture:
    """For each label, the share that each gate stores: right would be all of the harmless, and no other."""
    figure = new_figure(9.0, 4.2)
    axes = figure.add_subplot()
    height, told = 0.8 / len(gates), []
    for nth, ((name, stores), (colour, hatch)) in enumerate(
        zip(gates.items(), ((ORANGE, "//"), (BLUE, "")), strict=False)
    ):
        shares = []
        for label in LABELS:
            stored = [stores(case.proposal) for case in cases if case.label == label]
            shares.append(sum(stored) / max(1, len(stored)))
        places = [place + (nth - (len(gates) - 1) / 2) * height for place in range(len(LABELS))]
        axes.barh(places, shares, height, color=colour, hatch=hatch, edgecolor="white", label=name)
        for place, share in zip(places, shares, strict=True):
            axes.text(share + 0.01, place, f"{share:.0%}", va="center", fontsize=9)
        told.append(
            f"{name}: "
            + ", ".join(f"{label} {share:.0%}" for label, share in zip(LABELS, shares, strict=True))
        )
    axes.set_yticks(range(len(LABELS)), LABELS, fontsize=10)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.set_xticks([])
    axes.set_xlabel("share that is stored")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=10)
    return as_picture(figure, f"Share stored of each label. {'; '.join(told)}")
