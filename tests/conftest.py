"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Lab, run_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab, started as `make lab` starts it, on a copy of the workbook."""
    with run_lab(tmp_path_factory.mktemp("workbook")) as running:
        yield running
