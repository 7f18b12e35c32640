"""The MiniLM model that Chroma uses, where it is already on this disk: any text, still no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memlab.embedding import RecordedEmbedder

FILES = (
    "config.json",
    "model.onnx",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "vocab.txt",
)
"""What Chroma looks for; if one is missing it would download all of them."""


class LocalMiniLM:
    """all-MiniLM-L6-v2 run by Chroma's own code: a text -> a unit vector of 384 floats.

    It never downloads. Raises FileNotFoundError where the model is not on this disk, TypeError unless the
    text is a str. Like a recording, its vectors belong to a store of their own.
    """

    name = "all-MiniLM-L6-v2 (local)"
    dim = RecordedEmbedder.dim

    def __init__(self) -> None:
        # slow to import, and only this needs it
        from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

        folder = Path(ONNXMiniLM_L6_V2.DOWNLOAD_PATH) / ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME
        missing = [file for file in FILES if not (folder / file).exists()]
        if missing:
            raise FileNotFoundError(
                f"Chroma's model is not on this disk ({missing[0]} is missing from {folder}); "
                "use RecordedEmbedder() for the texts of the course, or hash_embed for any text"
            )
        self._model: Any = ONNXMiniLM_L6_V2()

    def __call__(self, text: str, /) -> list[float]:
        if not isinstance(text, str):
            raise TypeError(f"text={text!r:.60} is not text; pass a str")
        vector: list[float] = self._model([text])[0].tolist()
        return vector
