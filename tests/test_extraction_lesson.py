"""What lesson 03 shows: guards as an argument, labelled messages, and the count of an extractor."""

from __future__ import annotations

from course.lesson import ROOT
from course.pictures.guards import Labelled, count, guard_table, load_labelled, said, seen_table
from memlab.records import Candidate
from solutions.extraction import GUARDS, is_question, rule_extract

LABELLED = load_labelled(ROOT / "data" / "labelled_messages.json")
ASKED = [said("I'm a vegetarian, right?")]


def test_a_guard_that_is_left_out_does_not_guard() -> None:
    assert [fact.topic for fact in rule_extract(ASKED, guards=())] == ["diet"]
    assert rule_extract(ASKED, guards=(is_question,)) == rule_extract(ASKED) == []


def test_every_labelled_message_stands_alone_and_is_listed_once() -> None:
    texts = [message.content for message in LABELLED]
    assert len(set(texts)) == len(texts)
    assert all(fact == fact.lower().strip() for message in LABELLED for fact in message.facts)


def test_no_guard_drops_a_fact_that_the_labels_keep() -> None:
    with_guards = count(rule_extract, LABELLED)
    alone = count(lambda messages: rule_extract(messages, guards=()), LABELLED)
    assert with_guards.found == alone.found


def test_each_guard_keeps_noise_out_of_the_labelled_messages_or_is_not_shown_there() -> None:
    alone = count(lambda messages: rule_extract(messages, guards=()), LABELLED).noise
    helpful = {
        guard.__name__
        for guard in GUARDS
        if len(count(lambda messages, guard=guard: rule_extract(messages, guards=(guard,)), LABELLED).noise)
        < len(alone)
    }
    assert helpful == {"is_question", "is_hypothetical", "is_denied", "is_reported"}


def test_a_count_tells_found_missed_and_noise_apart() -> None:
    def echo(messages: list[dict[str, str]]) -> list[Candidate]:
        return [Candidate(message["content"], "general", 0.5, message["content"]) for message in messages]

    counted = count(echo, [Labelled("I SKI.", ["i ski", "i hike"]), Labelled("Hello.", [])])
    assert (counted.found, counted.missed, counted.noise) == (["i ski"], ["i hike"], ["Hello."])


def test_the_views_show_a_match_in_its_surroundings() -> None:
    marked = "Well, do [I live in Leeds]?"
    assert seen_table([marked]).rows == [["«Well, do »", "« do »", "«I live in Leeds»", "«?»"]]
    assert guard_table([marked], asks=lambda match: "do" in match.clause).rows == [[marked, "● drops it"]]
