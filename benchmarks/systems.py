"""The finished systems, each made by one function, so that one suite can try them all.

python -m benchmarks.systems      the comparison: one row an ability, one column a system
"""

from __future__ import annotations

import argparse
import logging
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

from course.acceptance import Extractor, Factory, System, compare
from course.model_server import mem0_model
from memlab.store import MemoryStore
from solutions.extraction import rule_extract
from solutions.memory_system import MemorySystem


def sqlite_system(folder: Path, extract: Extractor | None = None) -> MemorySystem:
    """The memory system on one SQLite file in `folder`."""
    return MemorySystem(MemoryStore(folder / "memory.db"), extract=extract or rule_extract)


def chroma_system(folder: Path, extract: Extractor | None = None) -> MemorySystem:
    """The same system on Chroma, whose data live in `folder`."""
    from solutions.chroma_store import ChromaMemoryStore  # here: the other systems need not wait for Chroma
    from solutions.given.chroma import folder_client

    class OnChroma(MemorySystem):
        """Closes its client too, which nobody else uses."""

        def close(self) -> None:
            super().close()
            cast(Any, client).close()  # which Chroma's own type does not mention

    client = folder_client(folder)
    return OnChroma(ChromaMemoryStore(client), extract=extract or rule_extract)


def mem0_alone(folder: Path, extract: Extractor | None = None) -> System:
    """mem0 as it comes, on a loopback model that answers with what `extract` finds, whatever keys are set."""
    from solutions.mem0_client import build_memory
    from solutions.mem0_port import PlainMem0

    return PlainMem0(build_memory(folder, model=mem0_model(extract or rule_extract)))


def mem0_system(folder: Path, extract: Extractor | None = None) -> System:
    """mem0 with the adapter of notebook 10 around it."""
    from solutions.mem0_client import build_memory
    from solutions.mem0_port import Mem0Adapter

    return Mem0Adapter(build_memory(folder), extract=extract or rule_extract)


SYSTEMS: dict[str, Factory] = {
    "SQLite": sqlite_system,
    "Chroma": chroma_system,
    "mem0 as it comes": mem0_alone,
    "mem0 + adapter": mem0_system,
}
"""The columns of the comparison."""


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison of all systems."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systems", description="Compare the systems.")
    parser.add_argument("--markdown", action="store_true", help="as a page such as the README has it")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # for the README, whatever the terminal is set to
    logging.getLogger("mem0").setLevel(logging.CRITICAL)  # the suite makes extraction fail on purpose
    comparison = compare(SYSTEMS)
    print(comparison.markdown() if options.markdown else comparison)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
