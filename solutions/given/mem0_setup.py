"""Loads mem0 so that it calls nobody, writes into one folder only, and lives by the workbook's clock."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from datetime import datetime, tzinfo
from pathlib import Path
from types import ModuleType

from memlab import clock

CHATTY = ("mem0.memory.main", "mem0.utils.spacy_models", "mem0.vector_stores.qdrant")


def load_mem0(folder: Path) -> ModuleType:
    """The module mem0, imported so that it reports to nobody and writes its settings into `folder`.

    Its clock is the workbook's, so that a memory expires when a lesson travels. Raises RuntimeError when
    mem0 was imported before with its telemetry on.
    """
    if "mem0" not in sys.modules:
        # Both are read once, at the import: without them mem0 writes to the home folder and calls home.
        os.environ |= {"MEM0_DIR": str(folder.resolve() / "mem0"), "MEM0_TELEMETRY": "False"}
        for name in CHATTY:
            logging.getLogger(name).addFilter(_is_news)
        warnings.filterwarnings("ignore", "Payload indexes have no effect in the local Qdrant")
    import mem0  # type: ignore[import-untyped]
    from mem0.configs import prompts  # type: ignore[import-untyped]
    from mem0.memory import main, storage, telemetry  # type: ignore[import-untyped]

    if telemetry.MEM0_TELEMETRY:
        raise RuntimeError("mem0 was imported with telemetry on; restart the kernel and build_memory first")
    for module in (main, storage, prompts):
        module.datetime = _OurTime
    folder.mkdir(parents=True, exist_ok=True)
    return mem0  # type: ignore[no-any-return]


def _is_news(line: logging.LogRecord) -> bool:
    """False for what mem0 says each time about keyword search and spaCy, neither of which is installed:
    a search is by vectors alone. All else that mem0 logs is shown."""
    return not re.search("keyword search|spaCy", line.getMessage())


class _Instants(type):
    """Makes every datetime an `_OurTime`, since mem0 asks what it reads whether it is a `datetime`."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, datetime)


class _OurTime(datetime, metaclass=_Instants):
    """`datetime` for mem0, whose now() is the workbook's: frozen, travelled or real."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.fromtimestamp(clock.now(), tz)
