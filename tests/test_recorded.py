"""The recorded vectors are the real model's, complete and unaltered; other texts are refused."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from memlab.embedding import RecordedEmbedder, UnrecordedText, cosine

DATA = Path(__file__).resolve().parents[1] / "data"
embed = RecordedEmbedder()

LUNCH = "what should we order for lunch?"
FISH = "The user eats fish again."
VEGETARIAN = "The user follows a vegetarian diet."
AISLE = "The user prefers aisle seating on flights."
ADA = "The user goes by Ada."

IN_CODE = "Can she eat the Diwali hamper with peanut chikki?"
IN_STORY = "Can I get the Diwali hamper with the peanut chikki?"
HAMPER = "Oct 28: Diwali hamper arrived late; given a Rs 200 voucher."
ALLERGY = "Allergic to peanuts. Confirmed twice."
EVENING = "Prefers deliveries after 6 pm on weekdays."
AGE_AND_IMPORTANCE = {HAMPER: (7, 3), ALLERGY: (40, 5), EVENING: (20, 3)}


def similarity(a: str, b: str) -> float:
    return cosine(embed(a), embed(b))


def blended(memory: str, relevance: float) -> float:
    """The published score: weights .5 .2 .3, recency 0.99 ** days, importance out of 5."""
    days, importance = AGE_AND_IMPORTANCE[memory]
    return 0.5 * relevance + 0.2 * 0.99**days + 0.3 * importance / 5


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (LUNCH, FISH, "0.164"),
        (LUNCH, VEGETARIAN, "0.211"),
        (LUNCH, AISLE, "0.212"),
        (LUNCH, ADA, "0.008"),
        (VEGETARIAN, FISH, "0.522"),
    ],
)
def test_similarities_are_those_of_the_real_model(a: str, b: str, expected: str) -> None:
    assert f"{similarity(a, b):.3f}" == expected


@pytest.mark.parametrize("diet", [FISH, VEGETARIAN])
def test_meaning_puts_the_diet_first_at_lunch_once_the_score_is_blended(diet: str) -> None:
    importance = {diet: 0.8, ADA: 0.8, AISLE: 0.5}
    ranked = sorted(importance, key=lambda m: 0.6 * similarity(LUNCH, m) + 0.15 * importance[m], reverse=True)
    assert ranked == [diet, AISLE, ADA]


@pytest.mark.parametrize(
    ("query", "memory", "distance", "published", "exact"),
    [
        (IN_CODE, HAMPER, "0.525", "0.604", "0.604"),
        (IN_CODE, ALLERGY, "0.617", "0.625", "0.626"),
        (IN_CODE, EVENING, "0.828", "0.430", "0.430"),
        (IN_STORY, HAMPER, "0.458", "0.637", "0.638"),
        (IN_STORY, ALLERGY, "0.752", "0.558", "0.558"),
        (IN_STORY, EVENING, "0.800", "0.444", "0.444"),
    ],
)
def test_the_bakery_table_comes_out_as_published(
    query: str, memory: str, distance: str, published: str, exact: str
) -> None:
    relevance = similarity(query, memory)
    assert f"{1 - relevance:.3f}" == distance
    # The published table scores the similarity as it prints it, with three digits.
    assert f"{blended(memory, round(relevance, 3)):.3f}" == published
    assert f"{blended(memory, relevance):.3f}" == exact


def test_the_allergy_wins_by_a_hair_in_one_wording_and_loses_in_the_other() -> None:
    margins = [
        blended(ALLERGY, similarity(query, ALLERGY)) - blended(HAMPER, similarity(query, HAMPER))
        for query in (IN_CODE, IN_STORY)
    ]
    assert 0 < margins[0] < 0.03
    assert margins[1] < 0


def test_every_vector_is_a_unit_vector_of_384_floats() -> None:
    vectors = [embed(text) for text in embed.texts]
    assert {len(vector) for vector in vectors} == {embed.dim}
    assert all(type(number) is float for number in vectors[0])
    assert np.linalg.norm(np.array(vectors), axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_changed_result_does_not_change_the_recording() -> None:
    embed(LUNCH)[0] = 99.0
    assert embed(LUNCH)[0] != 99.0


def test_a_composed_and_a_decomposed_accent_are_one_text() -> None:
    assert embed("Je suis ve\u0301ge\u0301tarien.") == embed("Je suis végétarien.")


def test_threads_that_meet_at_the_first_call_get_the_same_vectors() -> None:
    fresh = RecordedEmbedder()
    with ThreadPoolExecutor(8) as pool:
        assert all(vector == embed(FISH) for vector in pool.map(fresh, [FISH] * 64))


@pytest.mark.parametrize(
    "text", ["The user eats fish agian.", "the user eats fish again.", "", " ", "x" * 1_000_000]
)
def test_an_unrecorded_text_is_refused_with_advice(text: str) -> None:
    with pytest.raises(UnrecordedText) as refusal:
        embed(text)
    message = str(refusal.value)
    assert repr(text[:80]) in message
    assert "data/minilm/texts.txt" in message
    assert len(message) < 1000


def test_the_advice_names_the_nearest_recorded_text() -> None:
    with pytest.raises(UnrecordedText, match=f"recorded texts: {FISH!r}"):
        embed("The user eats fish agian.")


@pytest.mark.parametrize("value", [None, b"fish", 7, ["fish"]])
def test_what_is_not_text_is_refused_by_type(value: object) -> None:
    with pytest.raises(TypeError, match="text="):
        embed(value)  # type: ignore[arg-type]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the recording to damage, beside a copy of the labelled data."""
    folder = Path(shutil.copytree(DATA / "minilm", tmp_path / "data" / "minilm"))
    shutil.copy(DATA / "retrieval.json", folder.parent)
    return folder


def flip_a_byte(folder: Path) -> None:
    vectors = bytearray((folder / "vectors.npy").read_bytes())
    vectors[-3] ^= 1
    (folder / "vectors.npy").write_bytes(vectors)


def swap_two_texts(folder: Path) -> None:
    about = json.loads((folder / "recording.json").read_text(encoding="utf-8"))
    about["texts"][0], about["texts"][1] = about["texts"][1], about["texts"][0]
    (folder / "recording.json").write_text(json.dumps(about), encoding="utf-8")


def cut_in_half(folder: Path) -> None:
    text = (folder / "recording.json").read_text(encoding="utf-8")
    (folder / "recording.json").write_text(text[: len(text) // 2], encoding="utf-8")


def put_a_list(folder: Path) -> None:
    (folder / "recording.json").write_text("[]", encoding="utf-8")


@pytest.mark.parametrize("damage", [flip_a_byte, swap_two_texts, cut_in_half, put_a_list])
def test_an_altered_recording_is_refused(copy: Path, damage: Callable[[Path], None]) -> None:
    damage(copy)
    with pytest.raises(ValueError, match=r"altered since it was recorded.*git checkout data/minilm"):
        RecordedEmbedder(copy)(FISH)


@pytest.mark.parametrize("name", ["vectors.npy", "recording.json"])
def test_a_missing_file_is_named_with_the_cure(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing.*pip install -e"):
        RecordedEmbedder(copy)(FISH)


def test_the_recording_is_read_at_the_first_call_only(copy: Path) -> None:
    lazy = RecordedEmbedder(copy)
    expected = lazy(FISH)
    shutil.rmtree(copy)
    assert lazy(FISH) == expected


def record(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, folder / "record.py", *arguments], capture_output=True, encoding="utf-8", check=False
    )


def test_every_text_that_the_course_embeds_is_recorded() -> None:
    done = record(DATA / "minilm", "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"All {len(embed.texts)} texts are recorded.\n"


def test_the_check_names_listed_said_and_labelled_texts_that_are_not_recorded(copy: Path) -> None:
    with (copy / "texts.txt").open("a", encoding="utf-8") as file:
        file.write("\n# no text\n\nThe user owns a yak.\n")
    talk = [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Feed my yak."},
        {"role": "user", "content": [{"type": "text", "text": "This yak."}, {"type": "image", "source": {}}]},
    ]
    (copy.parent / "conversations").mkdir()
    (copy.parent / "conversations" / "yak.json").write_text(
        json.dumps([{"messages": talk}]), encoding="utf-8"
    )
    labelled = json.loads((copy.parent / "retrieval.json").read_text(encoding="utf-8"))
    labelled["people"][0]["memories"][0]["content"] = "Has a yak."
    labelled["people"][-1]["questions"][-1]["text"] = "Is my yak well?"
    (copy.parent / "retrieval.json").write_text(json.dumps(labelled), encoding="utf-8")
    done = record(copy, "--check")
    assert done.returncode == 1
    assert "5 texts to record" in done.stderr
    new = ("The user owns a yak.", "Feed my yak.", "This yak.", "Has a yak.", "Is my yak well?")
    assert all(repr(text) in done.stderr for text in new)


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record", DATA / "minilm" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_recording_anew_keeps_the_bytes_of_what_agrees(recorder: ModuleType) -> None:
    fresh = np.array([embed(FISH), embed(ADA), [0.5] * 384], dtype=np.float32) + np.float32(3e-6)
    kept = recorder.keep_recorded([FISH, ADA, "The user owns a yak."], fresh, embed)
    assert kept == 2
    assert fresh[:2].tolist() == [embed(FISH), embed(ADA)]
    assert fresh[2] == pytest.approx(0.5, abs=1e-5)


def test_recording_anew_stops_when_a_recorded_vector_is_not_the_models(recorder: ModuleType) -> None:
    fresh = np.array([embed(ADA)], dtype=np.float32)
    with pytest.raises(SystemExit, match=r"The user eats fish again\..*differ"):
        recorder.keep_recorded([FISH], fresh, embed)


def test_the_recording_says_which_model_made_it_and_stays_small(recorder: ModuleType) -> None:
    about = json.loads((DATA / "minilm" / "recording.json").read_text(encoding="utf-8"))
    assert about["model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert about["weights_sha256"] == recorder.WEIGHTS_SHA256
    assert about["dim"] == embed.dim
    assert about["texts"] == sorted(about["texts"]) == recorder.needed_texts()
    assert sum(file.stat().st_size for file in (DATA / "minilm").iterdir() if file.is_file()) < 2_000_000
