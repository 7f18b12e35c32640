"""What an extractor proposes, and how the gate gets to see it: each text in it, as a person would read it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from memlab.fields import check_bool, check_text
from memlab.records import Candidate

SLOTS = ("", "address", "allergy_self", "delivery_time", "diet", "language", "name", "phone")
"""The facts that have one value at a time; "" is for all others."""

SLOT_ALIASES = {
    "delivery_address": "address",
    "home": "address",
    "home_address": "address",
    "location": "address",
    "allergy": "allergy_self",
    "allergies": "allergy_self",
    "delivery_window": "delivery_time",
    "preferred_delivery_time": "delivery_time",
    "dietary_preference": "diet",
    "phone_number": "phone",
}
MOST = 1000
"""Characters in one field: a memory is a sentence, and patterns stay fast."""

Item = TypeVar("Item")


class Proposal(BaseModel):
    """What an extractor proposes. The importance is clamped to 1..5, other names of a slot are mapped.

    about: the customer, or who else, like "son Aarav". excerpt: the words it was drawn from. An unknown
    slot can be proposed, and is refused by the gate. `source` is set by the code that reads the
    conversation. Raises pydantic's ValidationError for a wrong type or an unknown field.

    Example:
    >>> proposal = Proposal(text="Lives in Kothrud.", slot="delivery_address", importance=99)
    >>> proposal.slot, proposal.importance, proposal.memory
    ('address', 5, '(customer) Lives in Kothrud.')
    """

    model_config = ConfigDict(extra="forbid", strict=True, revalidate_instances="always")

    text: str
    about: str = "customer"
    kind: Literal["fact", "preference", "episode"] = "fact"
    slot: str = Field(default="", json_schema_extra={"enum": list(SLOTS)})
    importance: int = 3
    source: Literal["customer_said", "assistant_said", "tool_output"] = "customer_said"
    claims_crumb_owes_something: bool = False
    excerpt: str = ""
    metadata: dict[str, Any] = {}

    @field_validator("importance")
    @classmethod
    def _clamped(cls, importance: int) -> int:
        return min(max(importance, 1), 5)

    @field_validator("slot")
    @classmethod
    def _of_the_list(cls, slot: str) -> str:
        name = re.sub(r"[\s-]+", "_", slot.strip().lower())
        return SLOT_ALIASES.get(name, name)

    @field_validator("text", "about", "excerpt")
    @classmethod
    def _storable(cls, text: str, info: ValidationInfo) -> str:
        return check_text(
            str(info.field_name), text, empty=info.field_name != "about", most=max(1, len(text))
        )

    @property
    def memory(self) -> str:
        """The text to store: who it is about stands in it, so that a son never becomes the customer."""
        return f"({self.about}) {self.text}"


@dataclass(frozen=True)
class Inspection:
    """A proposal under inspection: `fields` holds every text in it, made legible.

    verified: our own code, or staff, vouches for it.
    """

    proposal: Proposal
    fields: tuple[str, ...]
    verified: bool = False

    def any(self, test: Callable[[str], object]) -> bool:
        """True when `test` says yes of any field."""
        return any(map(test, self.fields))


def inspect(candidate: object, legible: Callable[[str], str], *, verified: bool = False) -> Inspection:
    """`candidate` read as a Proposal, with every text in it made legible; metadata with its keys and numbers.

    candidate: a Proposal, a Candidate, a dict, or an object with a proposal's attributes. legible: gives a
    text as a person would read it. Raises ValidationError, or TypeError for metadata that is no JSON and for
    a `verified` that is no bool.

    Example:
    >>> inspect({"text": "OTP is 482913"}, str.lower).fields
    ('otp is 482913', '', 'customer', '', '{}')
    """
    check_bool("verified", verified)
    if isinstance(candidate, Candidate):
        candidate = _said_by_the_customer(candidate)
    proposal = Proposal.model_validate(candidate, from_attributes=True)
    metadata = json.dumps(proposal.metadata, ensure_ascii=False)
    texts = (proposal.text, proposal.excerpt, proposal.about, proposal.slot, metadata)
    return Inspection(proposal, tuple(map(legible, texts)), verified)


def _said_by_the_customer(candidate: Candidate) -> Proposal:
    candidate = replace(candidate)  # checks its fields once more: they may have been changed since
    about = "customer" if candidate.subject == "user" else candidate.subject
    return Proposal(
        text=candidate.content, about=about, importance=round(1 + 4 * candidate.importance),
        excerpt=candidate.excerpt, metadata={"topic": candidate.topic},
    )  # fmt: skip


def reduced(candidate: Item, need_only: Callable[[str], str]) -> Item | None:
    """The Proposal or Candidate with its need alone, in text and excerpt; None without a need in its text.

    Example:
    >>> reduced(Proposal(text="Diabetic, wants rye"), lambda text: text.partition(", ")[2]).text
    'wants rye'
    """
    if isinstance(candidate, Candidate):
        need, excerpt = need_only(candidate.content), need_only(candidate.excerpt)
        return replace(candidate, content=need, excerpt=excerpt) if need else None
    if isinstance(candidate, Proposal):
        need, excerpt = need_only(candidate.text), need_only(candidate.excerpt)
        return candidate.model_copy(update={"text": need, "excerpt": excerpt}) if need else None
    return None
