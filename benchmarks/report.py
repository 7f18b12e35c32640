"""What the figures say: ratios against the bars, a table, a picture, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from course.pictures.views import AMBER, BLUE, GREEN, GREY, ORANGE, new_figure

Figures = dict[str, Any]

PACKAGES = ("numpy", "chromadb", "mem0ai", "qdrant-client", "sqlite-vec", "anthropic")
STYLES = {
    "memlab": (BLUE, "o", "-"),
    "bare numpy": (GREY, "x", ":"),
    "sqlite-vec": (GREEN, "v", "--"),
    "Chroma": (ORANGE, "s", "--"),
    "published scan": (AMBER, "^", "-."),
    "mem0 on Chroma": ("#cc79a7", "D", "-."),
    "mem0 on Qdrant": ("#56b4e9", "P", "-."),
}


@dataclass(frozen=True)
class Bar:
    """One thing that must hold, and what was measured: `value` against `limit`, "at least" or "at most"."""

    what: str
    value: float
    sense: str
    limit: float
    unit: str = "×"

    @property
    def met(self) -> bool:
        """True when the value lies on the right side of the limit."""
        return self.value >= self.limit if self.sense == "at least" else self.value <= self.limit

    def __str__(self) -> str:
        verdict = "met    " if self.met else "NOT MET"
        return (
            f"{verdict}  {self.what}: {self.value:.3g} {self.unit} ({self.sense} {self.limit:g} {self.unit})"
        )


def machine() -> Figures:
    """What the figures depend on, and nothing that tells whose machine it is."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as there are cores"),
        "load_before": round(psutil.getloadavg()[0], 2),
        "versions": {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
        | {package: version(package) for package in PACKAGES},
    }


def _cpu() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or sys.platform


class Results:
    """The figures of one run, as `results.json` keeps them, and what follows from them.

    Raises KeyError for figures that lack a part of a run.
    """

    def __init__(self, figures: Figures) -> None:
        self.figures = figures

    def find(self, peer: str, memories: int, users: int = 1) -> Figures | None:
        """What was measured of one peer at one size, None if it was not."""
        rows = self.figures["by_size"] if users == 1 else self.figures["crowd"]
        wanted = (peer, memories, users)
        found = (row for row in rows if (row["peer"], row["memories"], row["users"]) == wanted)
        return next(found, None)

    def ratio(self, over: str, under: str, memories: int, moment: str = "warm") -> float | None:
        """The median of peer `over` divided by that of `under`, None if one of them was not measured."""
        above, below = self.find(over, memories), self.find(under, memories)
        return above[moment]["p50"] / below[moment]["p50"] if above and below else None

    def bars(self) -> list[Bar]:
        """What must hold, as far as it was measured."""
        found = [*self._recall_bars(), *self._other_bars()]
        return [Bar(what, value, *rest) for what, value, *rest in found if value is not None]

    def _recall_bars(self) -> Iterator[tuple[Any, ...]]:
        for size, floor in ((5_000, 5), (20_000, 3)):
            what = f"warm recall, {size:,} memories"
            yield f"{what}: Chroma over memlab", self.ratio("Chroma", "memlab", size), "at least", 10
            yield (
                f"{what}: memlab over bare numpy",
                self.ratio("memlab", "bare numpy", size),
                "at most",
                floor,
            )
        first = self.ratio("memlab", "Chroma", 20_000, "first")
        yield "first recall after opening, 20,000 memories: memlab over Chroma", first, "at most", 1
        scan = self.ratio("published scan", "memlab", 5_000)
        yield "warm recall, 5,000 memories: published scan over memlab", scan, "at least", 300

    def _other_bars(self) -> Iterator[tuple[Any, ...]]:
        alone, *crowd = (row for row in self.figures["crowd"] if row["peer"] == "memlab")
        for row in crowd:
            value = row["warm"]["p50"] / alone["warm"]["p50"]
            yield f"warm recall among {row['users']:,} users over alone", value, "at most", 1.2
        amended = self.figures["amended"]
        value = amended["after"]["p50"] / amended["warm"]["p50"]
        yield f"recall after one write over warm, {amended['memories']:,} memories", value, "at most", 2
        rates = {row["peer"]: row["messages_per_second"]["p50"] for row in self.figures["learning"]}
        for peer in (peer for peer in rates if peer.startswith("mem0")):
            for ours in ("memlab, loopback model", "memlab"):
                value = rates[ours] / rates[peer]
                yield f"learning: {ours} over {peer}", value, "at least", 10
        embedders = self.figures["embedders"]
        value = embedders["published"]["p50"] / embedders["memlab"]["p50"] * embedders["same_bits"]
        yield "hash_embed over the published one, same bits", value, "at least", 4
        for module in ("memlab", "memlab.store"):  # the second is what takes time: it loads numpy
            yield f"import {module}", self.figures["start_up"][module]["p50"], "at most", 0.2, "s"
        if self.figures.get("workbook"):
            yield "all solved notebooks", self.figures["workbook"]["seconds"], "at most", 240, "s"

    def text(self) -> str:
        """Table and bars for the terminal."""
        about = self.figures["machine"]
        lines = [f"{about['cpu']}, {about['cores']} cores, Python {about['versions']['python']}", ""]
        lines += [*self._recall_lines(), "", *self._learning_lines(), "", *map(str, self.bars())]
        return "\n".join(lines)

    def _recall_lines(self) -> Iterator[str]:
        heads = ("warm p50", "warm p95", "× memlab", "first p50", "grown", "on disk")
        yield f"{'recall, top 5':<34}" + "".join(f"{head:>12}" for head in heads)
        for row in self.figures["by_size"] + self.figures["crowd"]:
            whose = f"{row['memories']:,}" + (f" of 1 of {row['users']:,} users" if row["users"] > 1 else "")
            base = self.find("memlab", row["memories"], row["users"])
            ratio = row["warm"]["p50"] / base["warm"]["p50"] if base else 1.0
            cells = (
                f"{1e3 * row['warm']['p50']:.2f} ms", f"{1e3 * row['warm']['p95']:.2f} ms", f"{ratio:.2f}",
                f"{1e3 * row['first']['p50']:.0f} ms", f"{row['grown']['p50'] / 1e6:.0f} MB",
                f"{row['bytes']:,.0f} B",
            )  # fmt: skip
            yield f"{row['peer']:<16}{whose:<18}" + "".join(f"{cell:>12}" for cell in cells)

    def _learning_lines(self) -> Iterator[str]:
        yield "learning, messages per second"
        for row in self.figures["learning"]:
            yield f"{row['peer']:<34}{row['messages_per_second']['p50']:>12,.0f}"
        shares = self.figures["learning_by_module"].items()
        yield "of memlab's: " + ", ".join(f"{module} {share:.0%}" for module, share in shares)
        yield ""
        for module, taken in self.figures["start_up"].items():
            yield f"{'import ' + module:<34}{1e3 * taken['p50']:>9.0f} ms"

    def record(self) -> Figures:
        """The figures with the bars, for `results.json`."""
        return self.figures | {"bars": [asdict(bar) | {"met": bar.met} for bar in self.bars()]}

    def picture(self) -> Any:
        """Warm and first recall against the number of memories, as a matplotlib figure."""
        figure = new_figure(11.0, 4.6)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, moment, title in zip(
            panels, ("warm", "first"), ("warm", "first after opening"), strict=True
        ):
            for peer in STYLES:
                self._curve(axes, peer, moment)
            axes.set(
                xscale="log", yscale="log", xlabel="memories of the user", title=f"Recall, top 5: {title}"
            )
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("milliseconds, median; band: quartiles")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        return figure

    def _curve(self, axes: Any, peer: str, moment: str) -> None:
        colour, marker, line = STYLES[peer]
        rows = [row for row in self.figures["by_size"] if row["peer"] == peer]
        sizes = [row["memories"] for row in rows]
        low, middle, high = ([1e3 * row[moment][cut] for row in rows] for cut in ("p25", "p50", "p75"))
        axes.plot(sizes, middle, color=colour, marker=marker, linestyle=line, label=peer)
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
