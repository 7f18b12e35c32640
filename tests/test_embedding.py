"""hash_embed against the published algorithm, and beyond ASCII."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import HOSTILE_TEXTS, any_text, refusal

from benchmarks.embedding import published
from memlab.embedding import STOPWORDS, cosine, hash_embed, words
from solutions import embedding as plain

VOCABULARY = ["The", "user", "follows", "a", "vegetarian", "diet.", "2", "diets,", "DIETARY", "flight-seat"]
ascii_text = st.one_of(
    st.text(st.characters(max_codepoint=127), max_size=200),
    st.lists(st.sampled_from(VOCABULARY), max_size=40).map(" ".join),
)


@given(ascii_text, st.sampled_from([256, 1, 2, 64, 1000]))
@example("The user follows a vegetarian diet.", 256)
@example("any dietary restrictions I should know about?", 256)
def test_ascii_text_has_the_published_vector_to_the_last_bit(text: str, dim: int) -> None:
    assert hash_embed(text, dim) == published(text, dim)


def test_a_long_text_has_the_published_vector_too() -> None:
    text = " ".join(f"word{n} flight" for n in range(3_000))
    assert hash_embed(text) == published(text)


@pytest.mark.parametrize("text", ["", " ", "?!…", "the user", "\u200b\ufeff", "\ud800", "。、"])
def test_text_without_a_word_gives_the_zero_vector_which_matches_nothing(text: str) -> None:
    assert hash_embed(text) == [0.0] * 256
    assert cosine(hash_embed(text), hash_embed(text)) == 0.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe\u0301"),
        ("Ｖｅｇｅｔａｒｉａｎ　４３", "vegetarian 43"),
        ("STRASSE", "straße"),
        ("ΟΔΟΣ", "οδος"),
        ("ﬁsh", "fish"),
        ("vege\u00adtarian", "vegetarian"),
        ("❤️", "❤"),
        ("이름", "\u110b\u1175\u1105\u1173\u11b7"),
    ],
)
def test_forms_of_one_word_embed_alike(one: str, other: str) -> None:
    assert hash_embed(one) == hash_embed(other)
    assert any(hash_embed(one))


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("你好，我是 Foy", "我叫什么", "天气预报"),  # google/adk-python #5601
        ("ユーザーは魚を食べる", "魚を食べますか", "飛行機の席"),
        ("Пользователь не ест мясо", "ест ли он мясо", "билет на самолёт"),
        ("المستخدم نباتي", "هل هو نباتي", "مقعد الطائرة"),
        ("ผู้ใช้แพ้ถั่ว", "แพ้ถั่วไหม", "เที่ยวบิน"),
        ("उपयोगकर्ता शाकाहारी है", "क्या वह शाकाहारी है", "विमान सीट"),
        ("사용자는 채식주의자", "채식주의자입니까", "비행기 좌석"),
        ("loves 🍣 and 🍜", "🍣?", "🚗"),
        ("née à Besançon", "Besançon", "Łódź"),
    ],
)
def test_every_script_finds_its_own_words(text: str, near: str, far: str) -> None:
    vector = hash_embed(text)
    assert cosine(vector, hash_embed(near)) > cosine(vector, hash_embed(far))


@given(any_text)
def test_any_text_has_a_unit_vector_or_the_zero_vector(text: str) -> None:
    length = math.sqrt(sum(value * value for value in hash_embed(text)))
    assert length == 0.0 or length == pytest.approx(1.0)
    assert (length == 0.0) == (not set(words(text)) - STOPWORDS)


@given(any_text)
def test_words_of_words_are_the_same_words(text: str) -> None:
    assert set(words(" ".join(words(text)))) == set(words(text))


@pytest.mark.parametrize("value", HOSTILE_TEXTS, ids=lambda value: repr(value)[:20])
def test_a_hostile_text_has_a_vector_or_a_short_error(value: object) -> None:
    message = refusal(lambda: hash_embed(value))  # type: ignore[arg-type]
    assert message is None if isinstance(value, str) else message and message.startswith("text=")


@pytest.mark.parametrize("dim", [0, -1, True, 2.5, "256", None])
def test_a_dimension_that_is_none_is_refused(dim: object) -> None:
    with pytest.raises(ValueError, match=r"^dim="):
        hash_embed("text", dim)  # type: ignore[arg-type]


def test_vectors_of_two_lengths_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"a has 2 numbers and b has 3"):
        cosine([1.0, 0.0], [1.0, 0.0, 0.0])


@given(any_text, any_text)
def test_likeness_is_mutual_and_at_most_one(one: str, other: str) -> None:
    a, b = hash_embed(one), hash_embed(other)
    assert cosine(a, b) == cosine(b, a)
    assert -1e-9 <= cosine(a, b) <= 1 + 1e-9


@given(st.one_of(ascii_text, any_text), st.sampled_from([256, 1, 2, 7, 1000]))
@example("我叫 Ａda's café cafe\u0301 茶・酒 ฿50 🎂🎂 3\u20dd \ud800", 256)
def test_the_plain_version_of_notebook_01_gives_the_same_words_and_bits(text: str, dim: int) -> None:
    assert plain.words(text) == words(text)
    assert plain.hash_embed(text, dim) == hash_embed(text, dim)
