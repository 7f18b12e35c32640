"""What the acceptance suite works with: a system as it sees it, and a fresh one for each trial."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, Protocol, cast

from memlab import clock
from memlab.records import Candidate, MemoryRecord, Source, SourceType

Extractor = Callable[[list[dict[str, Any]]], list[Candidate]]


class Hit(Protocol):
    """One memory that recall brought back, and how well it fits."""

    @property
    def score(self) -> float: ...

    @property
    def record(self) -> MemoryRecord: ...


class System(Protocol):
    """What the suite calls. A system that lacks a method, or raises NotOffered in it, does not offer it."""

    def learn(
        self, messages: list[dict[str, Any]], source: Source, *, user_id: str, app_name: str = "default"
    ) -> object:
        """Extract, gate and consolidate what was said. Raises when the extraction failed."""
        ...

    def remember(
        self,
        text: str,
        *,
        user_id: str,
        app_name: str = "default",
        importance: float = 0.5,
        slot: str = "",
        ttl_days: float = 0,
        session_id: str | None = None,
        source: Source | None = None,
    ) -> object:
        """Write one memory by business code, through the gate.

        importance: 1.0 makes a pin. slot: a slot holds one value at a time, the newest. ttl_days: days
        until it expires, 0 for never. session_id: visible in that session only. source: where it comes
        from, by default Source("bootstrapped", "policy").
        """
        ...

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> Sequence[Hit]:
        """Pins, then the k best memories; those of a session too when it is named."""
        ...

    def context(
        self,
        system: str,
        query: str,
        *,
        user_id: str,
        app_name: str = "default",
        session_id: str | None = None,
        k: int = 5,
    ) -> str:
        """The system prompt with what recall brings back in one memory block; alone when there is nothing."""
        ...

    def memories(self, user_id: str, app_name: str = "default") -> list[MemoryRecord]:
        """What holds of this user now, in user scope, oldest first."""
        ...

    def forget_source(self, source_id: str, user_id: str, app_name: str = "default") -> object:
        """Take back what one source said, and bring back what it had displaced."""
        ...

    def forget_user(self, user_id: str, app_name: str = "default") -> int:
        """Erase all that one user owns, bytes too; the number of memories erased."""
        ...

    def close(self) -> None:
        """Close what the system has open."""
        ...


Factory = Callable[[Path, Extractor | None], System]
"""From an empty folder for all the files of the system, and an extractor (None: its own), to a system."""


class NotOffered(Exception):
    """Raised by a system for what its product has no means for; its sentence stands in the table."""


ADA, BO, APP = "u_ada", "u_bo", "default"
PROMPT = "You are a concierge."
MANY = 50  # more than any row lets a system remember


class Failed(AssertionError):
    """What a row found missing, in one sentence."""


class Unbuilt(Exception):
    """The factory gave no system."""


def require(condition: bool, otherwise: str) -> None:
    """Raise Failed with the sentence `otherwise` unless `condition` holds."""
    if not condition:
        raise Failed(otherwise)


def fact(content: str, topic: str = "notes", confidence: float = 0.95, **fields: Any) -> Candidate:
    """What the scripted extractor finds; the words it was drawn from are filled in when they are said."""
    return Candidate(content, topic, confidence, "", **fields)


def said(text: str, role: str = "user") -> list[dict[str, Any]]:
    """A conversation of one message."""
    return [{"role": role, "content": text}]


class Offered:
    """A system whose missing methods are not offered, instead of an AttributeError."""

    def __init__(self, system: System) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._system, name, None)
        if method is None:
            raise NotOffered(f"it has no `{name}`")
        return method


class Trial:
    """A system under test and the folder it lives in. Its extractor finds what the row says it finds, so
    that a row about something else does not depend on how well a system extracts."""

    def __init__(self, factory: Factory, folder: Path, extract: Extractor | Literal["script"] | None) -> None:
        self.folder, self.script = folder, dict[str, list[Candidate]]()
        try:
            made = factory(folder, self._scripted if extract == "script" else extract)
        except (NotOffered, KeyboardInterrupt):
            raise
        except BaseException as error:  # as in _outcome
            raise Unbuilt(f"the system could not be made: {sentence(error, folder)}") from error
        if not (hasattr(made, "learn") or hasattr(made, "remember")):
            raise Unbuilt(f"the factory gave a {type(made).__name__}, which can neither learn nor remember")
        self.system: Any = Offered(made)

    def _scripted(self, messages: list[dict[str, Any]]) -> list[Candidate]:
        texts = [message["content"] for message in messages if message["role"] == "user"]
        return [replace(found) for text in texts for found in self.script.get(text, [])]

    def tell(
        self,
        source_id: str,
        text: str,
        *facts: Candidate,
        kind: SourceType = "user_explicit",
        user_id: str = ADA,
        app_name: str = APP,
        days_ago: float = 0.0,
    ) -> None:
        """Let the system learn `text`, from which its extractor draws `facts`."""
        self.script[text] = [replace(found, excerpt=text) for found in facts]
        source = Source(kind, source_id, at=clock.now() - days_ago * clock.DAY)
        self.system.learn(said(text), source, user_id=user_id, app_name=app_name)

    def held(self, user_id: str = ADA, app_name: str = APP) -> list[str]:
        """The contents of all that holds of this user."""
        return [record.content for record in self.system.memories(user_id, app_name)]

    def recalled(self, query: str, **options: Any) -> list[str]:
        """The contents of what `query` brings back for Ada, or for the user named in `options`."""
        hits = self.system.recall(query, **{"user_id": ADA, "k": MANY} | options)
        return [hit.record.content for hit in hits]

    def prompt(self, query: str, **options: Any) -> str:
        """The prompt for Ada, or for the user named in `options`."""
        return str(self.system.context(PROMPT, query, **{"user_id": ADA, "k": MANY} | options))

    def views(self, query: str, texts: Collection[str], k: int = MANY) -> Iterator[list[str]]:
        """Those of `texts` that hold, those that `query` brings back, and those in a prompt."""
        for found in (self.held(), self.recalled(query, k=k)):
            yield [text for text in texts if text in found]
        with suppress(NotOffered):
            prompt = self.prompt(query, k=k)
            yield [text for text in texts if text in prompt]

    def record(self, content: str) -> MemoryRecord:
        """Ada's memory of this content; raises Failed when it does not hold."""
        found = [record for record in self.system.memories(ADA) if record.content == content]
        require(bool(found), f"{content!r} does not hold, but {shown(self.held())}")
        return cast(MemoryRecord, found[0])

    def close(self) -> None:
        """Close the system, if it can be closed."""
        with suppress(NotOffered):
            self.system.close()


class Bench:
    """Makes the systems that one row needs, each in an empty folder."""

    def __init__(self, factory: Factory, folder: Path) -> None:
        self.factory, self.folder, self.trials = factory, folder, list[Trial]()

    def trial(self, extract: Extractor | Literal["script"] | None = "script") -> Trial:
        """A fresh system, by default with a scripted extractor; None is for the system's own."""
        folder = self.folder / f"system{len(self.trials)}"
        folder.mkdir()
        trial = Trial(self.factory, folder, extract)
        self.trials.append(trial)
        return trial

    def close(self) -> None:
        """Close every system."""
        with ExitStack() as opened:
            for trial in self.trials:
                opened.callback(trial.close)


def shown(contents: Sequence[str]) -> str:
    """The contents as a sentence has them; "nothing" without any."""
    return " and ".join(map(repr, contents)) or "nothing"


def hold(contents: Sequence[str]) -> str:
    """The verb after `shown`."""
    return "both hold" if len(contents) == 2 else "holds" if len(contents) < 2 else "hold"


def sentence(error: BaseException, folder: Path) -> str:
    """An error in one line of at most 200 characters, the same on every machine."""
    text = re.sub(re.escape(str(folder)) + r"([\\/]system\d+)?", "its folder", " ".join(str(error).split()))
    return shorten(f"{type(error).__name__}: {text}" if text else type(error).__name__, 200, placeholder=" …")


def refused(call: Callable[[], object]) -> bool:
    """True when `call` raises; what is not offered is raised all the same."""
    try:
        call()
    except NotOffered:
        raise
    except Exception:
        return True
    return False


def files_with(folder: Path, text: str) -> list[str]:
    """Names of the files below `folder` in whose bytes `text` stands, in UTF-8, in alphabetical order."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sorted(file.name for file in files if text.encode() in file.read_bytes())
