"""Chroma's model from this disk: used if it is there, and never fetched."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2 as Model

from course.minilm import FILES, LocalMiniLM


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "DOWNLOAD_PATH", tmp_path)
    folder = tmp_path / ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME
    folder.mkdir()
    return folder


def test_without_the_model_on_disk_nothing_is_fetched_and_the_way_out_is_named(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(FileNotFoundError, match="RecordedEmbedder"):
        LocalMiniLM()


@pytest.mark.parametrize("missing", FILES)
def test_a_half_copied_model_is_refused_since_chroma_would_fetch_the_rest(cache: Path, missing: str) -> None:
    for file in set(FILES) - {missing}:
        (cache / file).touch()
    with pytest.raises(FileNotFoundError, match=missing):
        LocalMiniLM()


def test_a_model_that_chroma_finds_complete_is_found_complete_here_too(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in FILES:
        (cache / file).touch()
    monkeypatch.setattr(Model, "_download", lambda *_, **__: pytest.fail("Chroma would download"))
    LocalMiniLM()._model._download_model_if_not_exists()


def test_only_text_is_embedded(cache: Path) -> None:
    for file in FILES:
        (cache / file).touch()
    with pytest.raises(TypeError, match="text=None"):
        LocalMiniLM()(None)  # type: ignore[arg-type]
