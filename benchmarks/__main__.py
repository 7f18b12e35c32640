"""python -m benchmarks [--quick] [--notebooks] [--out FOLDER]

Measures memlab and its peers in one run, prints ratios and bars, and keeps the figures with the machine, the
versions and the spread in results.json, and the picture in recall.png. The whole run takes ten to fifteen
minutes, --quick two minutes; --notebooks adds the time in which the solved notebooks run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measure
from benchmarks.report import Results, machine


def run(plan: measure.Plan, *, notebooks: bool = False) -> Results:
    """All measurements of `plan`."""
    return Results(
        {
            "machine": machine(),
            "embedders": measure.embedders(plan),
            "start_up": measure.start_up(plan),
            "learning": measure.learning(plan),
            "learning_by_module": measure.learning_by_module(plan),
            "amended": measure.amended(plan),
            "by_size": measure.by_size(plan),
            "crowd": measure.in_a_crowd(plan),
            "workbook": measure.workbook() if notebooks else None,
        }
    )


def save(results: Results, folder: Path) -> None:
    """Write results.json and recall.png into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results.record(), indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    results.picture().savefig(folder / "recall.png", dpi=110)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep; 1 if a vector of `hash_embed` differs from the published one in any bit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure memlab and its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, peers and rounds")
    parser.add_argument("--notebooks", action="store_true", help="also run the solved notebooks")
    parser.add_argument("--out", type=Path, default=Path("artefacts/bench"), help="where the results go")
    options = parser.parse_args(arguments)
    results = run(measure.QUICK if options.quick else measure.FULL, notebooks=options.notebooks)
    save(results, options.out)
    print(results.text())
    print(f"\nresults.json and recall.png are in {options.out}")
    return 0 if results.figures["embedders"]["same_bits"] else 1


if __name__ == "__main__":
    sys.exit(main())
