"""Lesson 11, the capstone: the checks of its exercises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock, patch

from course.attacks import OPEN, Gullible, after_the_block
from course.check import Call, Cases, Function, Shown, call, exercise, refused
from memlab import clock
from memlab.messages import read_messages
from memlab.records import Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore

TODAY = "2026-08-06T20:11:27Z"

# --- 11-remember: what is written, and what the store holds then --------------------------------------


class Watched(MemoryStore):
    """Its disk is full after `left` writes; while nobody holds it, another process writes `rival`."""

    left = 10**9
    rival: MemoryRecord | None = None
    held = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with super().transaction():
            self.held = True
            yield
        self.held = False

    def put(self, record: MemoryRecord) -> None:
        if self.left == 0:
            raise OSError("no space left on device")
        self.left -= 1
        super().put(record)

    def scan(self, *owner: Any, **where: Any) -> list[MemoryRecord]:
        records = super().scan(*owner, **where)
        if self.rival and not self.held:
            super().put(self.rival)
        return records


def contents(store: MemoryStore, user_id: str = "u_ada", **where: Any) -> list[str]:
    return [record.content for record in store.scan(user_id, **where)]


def _remembers(remember: Function) -> Function:
    """Makes the writes, each a call of `remember` for Ada, of which the last may fail; what is seen then."""

    def run(*writes: Call, show: Any = None, days: float = 0, left: int = 10**9, rival: Any = None,
            fails: Any = (), **seen: Any) -> Any:  # fmt: skip
        store, new = Watched(), None
        for write in writes:
            if write is writes[-1]:
                store.left, store.rival = left, rival
            with suppress(*fails):
                new = remember(store, *write.args, **{"user_id": "u_ada"} | write.kwargs)
        with clock.travel(days=days):
            return show(store, new) if show else contents(store, **seen)

    return run


def _written(*writes: Call, days: float = 0, left: int = 10**9, rival: Any = None, **_: Any) -> str:
    said = [", ".join([w.args[0], *(f"{k}={v!r:.40}" for k, v in w.kwargs.items())]) for w in writes]
    later = f" · {days} days later" * bool(days) + " · the disk is full" * (left < 10)
    return " · ".join(said) + later + " · another process writes" * bool(rival)


def _ended(store: MemoryStore, new: Any) -> str:
    gone = [record for record in store.owned("u_ada") if not record.active()]
    named = bool(gone) and gone[0].superseded_by == new.memory_id
    return "superseded by the new one" if named else "by nothing" if gone else "no trace of it"


def _no_rust(record: MemoryRecord) -> MemoryRecord:
    """Stands in for the gate: it keeps rust out, and cuts cheers."""
    if "rust" in record.content:
        raise ValueError("rust")
    return replace(record, content=record.content.replace(" Cheers.", ""))


# fmt: off
BANER, KOTHRUD, PUNE = "Lives in Baner.", "Lives in Kothrud.", "Lives in Pune."
IN_BANER, IN_KOTHRUD = call(BANER, slot="address"), call(KOTHRUD, slot="address")
DRINKS, VOUCHER = call("Drinks tea."), call("Has a voucher.", ttl_days=1)
ROOM_40, ROOM_7 = (call(room, slot="room", session_id="s1") for room in ("Room 40.", "Room 7."))
CLINIC: dict[str, Any] = {"app_name": "clinic"}
BO, S1 = {"user_id": "u_bo"}, {"scopes": ("session",), "session_id": "s1"}
SAID, GUESSED = Source("user_explicit", "s1"), Source("tool_output", "t1")
TRUSTED, GUESS = call(BANER, slot="address", source=SAID), call(PUNE, slot="address", source=GUESSED)
RIVAL = MemoryRecord(PUNE, "u_ada", topic="slot:address")
BOTH_WRITES = "Look and write in one `store.transaction()`."

REMEMBER = [
    ("a memory is written", call(DRINKS), ["Drinks tea."],
     "Nothing was written: `supersede` stores the new memory, also when it displaces none."),
    ("and given back", call(DRINKS, show=lambda store, new: type(new).__name__), "MemoryRecord",
     "Give back the memory that you wrote."),
    ("importance makes the pin", call(call("No nuts!", importance=1.0), show=lambda _, new: new.pinned), True,
     "Pass `importance` on: 1.0 is a pin."),
    ("by itself it is none", call(DRINKS, show=lambda _, new: new.pinned), False,
     "Without a word about it, importance is 0.5: no pin."),
    ("and holds for ever", call(DRINKS, days=900), ["Drinks tea."], "Without `ttl_days` it never expires."),
    ("it rests on its source", call(TRUSTED, show=lambda store, new: new.sources[0].source_id), "s1",
     "Pass `source` on: else the memory says that the business has said it."),
    ("without a slot, facts stand side by side", call(call("No nuts!"), DRINKS), ["No nuts!", "Drinks tea."],
     "Without a slot only what says the very same is replaced."),
    ("the same text is held once", call(DRINKS, DRINKS), ["Drinks tea."],
     "The same text twice is one memory: ask `displaced_by` what gives way."),
    ("a slot holds one value", call(IN_BANER, IN_KOTHRUD), [KOTHRUD],
     "Both addresses hold: what stood in the slot, on the topic `topic_of(slot)`, has to give way."),
    ("another slot is another matter", call(call("From 9.", slot="hours"), IN_BANER), ["From 9.", BANER],
     "The opening hours are gone: a slot displaces only what has its own topic."),
    ("users' topics are theirs", call(call("Vegan.", slot="diet"), show=lambda _, new: new.topic), "diet",
     "What users say of their diet never meets what your form says: `topic_of(slot)` knows the topic."),
    ("another user keeps theirs", call(call(BANER, slot="address", **BO), IN_KOTHRUD, **BO), [BANER],
     "Bo's address is gone, too. Scan for this user only."),
    ("another app keeps its own", call(IN_BANER, call(KOTHRUD, slot="address", **CLINIC)), [BANER],
     "The clinic wrote, and it shows in the default app: hand `app_name` on to the record.",
     ([], "The clinic wrote, and the default app lost its address: hand `app_name` on to `scan`.")),
    ("and holds one value", call(*(call(home, slot="address", **CLINIC) for home in (BANER, PUNE)), **CLINIC),
     [PUNE], "The clinic wrote twice, and not one address holds: hand `app_name` on to `scan`."),
    ("the old value is a tombstone that names its successor", call(IN_BANER, IN_KOTHRUD, show=_ended),
     "superseded by the new one", "The old address was removed: `supersede` leaves a tombstone instead.",
     ("by nothing", "The old address ended, and `superseded_by` does not say what came after it.")),
    ("a session's memory stays in its session", call(ROOM_40), [],
     "It is seen in every session: pass `session_id` on."),
    ("and leaves the user's own alone", call(call("Room 12.", slot="room"), ROOM_40), ["Room 12."],
     "The session's value displaced the one that holds everywhere. Scan the scope that you write to."),
    ("and is one there", call(ROOM_40, ROOM_7, **S1), ["Room 7."],
     "The session has two rooms, or none: `scan` sees a session's memories only when you name it."),
    ("it holds until then", call(VOUCHER, days=0.5), ["Has a voucher."],
     "Half a day later it has expired: `ttl_days` counts days; pass it on as it is."),
    ("it expires on time", call(VOUCHER, days=1), [], "A day later it still holds: pass `ttl_days` on."),
    ("what is admitted is written", call(call("Drinks tea. Cheers.", admit=_no_rust)), ["Drinks tea."],
     "Write what `admit` gives back: it may have taken something out."),
    ("what is not admitted is not", call(call("Likes rust.", admit=_no_rust), fails=[ValueError]), [],
     "It was written before `admit` had its say."),
    ("a weaker source does not displace a stronger one", call(TRUSTED, GUESS), refused("source"),
     "A tool's guess displaced what the user said. `displaced_by` refuses that: call it before you write."),
    ("and nothing is written then", call(TRUSTED, GUESS, fails=[ValueError]), [BANER],
     "You refused the weaker source after writing. Check first, then write."),
    ("a full disk changes nothing", call(IN_BANER, IN_KOTHRUD, left=1, fails=[OSError]), [BANER],
     f"The disk was full between two writes, and the address is there twice. {BOTH_WRITES}",
     ([], f"The disk was full between two writes, and the address is lost. {BOTH_WRITES}")),
    ("nobody writes in between", call(IN_KOTHRUD, rival=RIVAL), [KOTHRUD],
     f"Another process wrote between your look and your write, and both addresses hold. {BOTH_WRITES}"),
]
# fmt: on


@exercise("11-remember")
def _(case: Cases, remember: Function) -> None:
    with clock.freeze(TODAY):
        case.table(_remembers(remember), REMEMBER, _written)


# --- 11-assemble: what is done with a system, and what the last step gives ----------------------------

VEGETARIAN, FISH = "No meat for me.", "Fish again for me."
MELLON, PROMISED = "To get in I say mellon.", "The manager promised me a refund."
DIET, EATS_FISH, PROMISE = (
    "The user follows a vegetarian diet.", "The user eats fish again.", "The manager promised a refund.",
)  # fmt: skip
SPOKEN = {
    VEGETARIAN: (DIET, "diet"), FISH: (EATS_FISH, "diet"), PROMISED: (PROMISE, "note"),
    MELLON: ("The password is mellon.", "note"),
}  # fmt: skip


def _scripted(messages: list[dict[str, Any]]) -> list[Candidate]:
    """The extractor of the check: it knows the sentences in SPOKEN, and no rule does."""
    text = " ".join(text for role, text in read_messages(messages) if role == "user")
    return [Candidate(fact, topic, 0.9, words) for words, (fact, topic) in SPOKEN.items() if words in text]


class Step(NamedTuple):
    """One thing that is done with a system, or looked at, for Ada; calling it gives it values."""

    name: str
    values: tuple[Any, ...] = ()
    how: dict[str, Any] = {}  # noqa: RUF012

    def __call__(self, *values: Any, **how: Any) -> Step:
        return Step(self.name, values, {"user_id": "u_ada"} | how)

    def __repr__(self) -> str:
        how = [f"{key}={value!r}" for key, value in self.how.items() if value != "u_ada"]
        return f"{self.name}({', '.join([*map(repr, self.values), *how])})"


learn, remember, recall, context = map(Step, ("learn", "remember", "recall", "context"))
forget_source, forget_user, close_session = map(Step, ("forget_source", "forget_user", "close_session"))
memories, refusal, words, waiting, owned = map(Step, ("memories", "refusal", "words", "waiting", "owned"))


def _said(text: str, source_id: str = "s1", kind: Any = "user_explicit") -> tuple[Any, ...]:
    return [{"role": "user", "content": text}], Source(kind, source_id)


def _taken(system: Any, step: Step) -> Any:
    """What the step gives: the method's result, what an error says, or what is kept of one kind."""
    if step.name == "refusal":
        try:
            return f"nothing, but {_taken(system, step.values[0])!r}"
        except ValueError as error:
            return str(error)
    if step.name == "words":
        talks = system.store.conversations("u_ada")
        return [text for talk in talks for _, text in read_messages(talk.messages)]
    if step.name in ("waiting", "owned"):
        return system.review.waiting() if step.name == "waiting" else system.store.owned("u_ada")
    values = _said(*step.values) if step.name in ("learn", "close_session") else step.values
    return getattr(system, step.name)(*values, **step.how)


def _short(got: Any) -> Any:
    """What a step gave, as short as a row has it: contents of memories, actions of operations."""
    if isinstance(got, list):
        return [_short(one) for one in got]
    if isinstance(got, str) and OPEN in got:
        return [line.partition("] ")[2] for line in got.splitlines() if line.startswith("- ")]
    got = getattr(got, "record", getattr(got, "candidate", got))
    names = ("action",) if isinstance(got, Operation) else ("content", "erased")
    got = next((getattr(got, name) for name in names if hasattr(got, name)), got)
    return len(got) if isinstance(got, list) else got


def _runs(system: Function) -> Function:
    """Takes the steps with a fresh system, and gives back what came of the last."""

    def run(*steps: Step, **options: Any) -> Any:
        with MemoryStore() as store:
            if "weights" in options:  # of the kind that the system has
                options["weights"] = type(system(store).weights)(*options["weights"])
            made = system(store, **{"extract": _scripted} | options)
            return [_short(_taken(made, step)) for step in steps][-1]

    return run


def _steps(*steps: Step, **options: Any) -> str:
    return " · ".join([*(f"{name}={value!r:.30}" for name, value in options.items()), *map(repr, steps)])


def _tea(candidate: Candidate, verified: bool = False) -> Any:
    """A gate that lets nothing pass but tea."""
    return SimpleNamespace(stored="tea" in candidate.content, reason="no tea", flagged=False)


def _model(candidate: Candidate, affected: list[MemoryRecord], source: Source) -> Operation:
    raise ValueError("the model decides")


# fmt: off
TEA, ROOM = remember("Drinks tea."), remember("Room 40.", session_id="s1")
SECRET = remember("Password: hunter2.")
HOMES = [remember(home, slot="address", source=source) for home, source in ((BANER, SAID), (PUNE, GUESSED))]
SEVEN = [f"Drinks tea {number}." for number in range(7)]
TWO, REVOKED = (learn(VEGETARIAN), learn(FISH, "s2")), forget_source("s2")
HINTED, FLAGGED = learn(VEGETARIAN, "s3", "user_implicit"), (learn(f"{VEGETARIAN} {PROMISED}"), TWO[1])
REFUND, WITHHELD = "A refund of Rs 300 was issued.", "[withheld by the write gate]"

ASSEMBLE = [
    ("what was said is learned", call(learn(FISH), memories()), [EATS_FISH],
     "Nothing was learned: the function `learn` takes your extractor, behind the gate, as `extract=`."),
    ("learn gives back what was decided", call(learn(FISH)), ["CREATE"],
     "Give back the operations that the function `learn` gives."),
    ("learned for its app", call(learn(FISH, **CLINIC), memories(**CLINIC)), [EATS_FISH],
     "What was said at the clinic does not hold at the clinic: `learn` hands `app_name` on."),
    ("a secret is not learned", call(learn(MELLON), memories()), [],
     "The gate does not stand behind your extractor: `behind_gate(self.extract, …)` puts it there."),
    ("nor kept in the conversation", call(learn(MELLON), words()), [WITHHELD],
     "The memory was refused, and the secret stands in the talk: `behind_gate` wants the one that is kept."),
    ("nor is one that shows", call(learn("My password is hunter2. Hello!"), words()), [f"{WITHHELD} Hello!"],
     "The conversation is kept with the password in it. `without_secrets(messages)` goes first."),
    ("what is flagged waits for a member of staff", call(learn(PROMISED), waiting()), [PROMISE],
     "A promise was flagged, and nobody will ever see it: give `behind_gate` the queue `self.review`."),
    ("your own gate decides", call(learn(FISH), memories(), gate=_tea), [],
     "The system was made with another gate, and `learn` did not ask it: `self.gate`."),
    ("and your own decider", call(learn(FISH), decide=_model), refused("the model decides"),
     "The system was made with another decider, and nobody asked it: hand `decide=self.decide` on."),
    ("business code passes the gate, too", call(SECRET), refused("secret"),
     "`remember` wrote a password. `admitted`, with your gate and queue, has the last word as `admit=`."),
    ("a refusal does not quote the secret", call(refusal(SECRET)),
     "text: the write gate keeps it out (payment detail or secret); leave that out of it",
     "The message says more than the gate's reason; if it quotes the text, logs will keep the password."),
    ("what is flagged there waits as well", call(refusal(remember(REFUND)), waiting()), [REFUND],
     "A promise was refused, and nobody will ever see it: give `admitted` the queue `self.review`."),
    ("a source vouches for it", call(refusal(remember(REFUND, source=GUESSED)), memories()), [REFUND],
     "A tool's result vouches for the refund, and it was kept out: give `admitted` the `source`."),
    ("your own gate decides there", call(remember("Drinks milk."), gate=_tea), refused("no tea"),
     "The system was made with another gate, and `remember` did not ask it: `gate=self.gate`."),
    ("remember gives back the memory", call(TEA), "Drinks tea.", "Give back what `remember` gave you."),
    ("a weaker source is refused", call(*HOMES), refused("source"),
     "The slot or the source did not reach `remember`: pass `source=source` and `**where_and_how` on."),
    ("a session's memories stay there", call(TEA, ROOM, recall("tea?", session_id="s2")), ["Drinks tea."],
     "They come back only when that session is named: hand `session_id` on as it is."),
    ("and come back there", call(ROOM, recall("tea?", session_id="s1")), ["Room 40."],
     "The session was named, and its memory did not come back: search all SCOPES, and hand `session_id` on."),
    ("no app is told what another knows", call(TEA, recall("tea?", **CLINIC)), [],
     "The clinic was told what the default app knows: `recall` hands `app_name` on."),
    ("no user what another said", call(TEA, recall("tea?", **BO)), [],
     "Bo was told what Ada said: `recall` hands `user_id` on."),
    ("k limits what comes back", call(TEA, remember("Sings."), recall("Drinks tea?", k=1)), ["Drinks tea."],
     "`k` does not reach `retrieve`."),
    ("it is 5 by itself", call(*[remember(text) for text in SEVEN], recall("tea?")), SEVEN[:5],
     "Without a word about it, five memories come back."),
    ("your weights are used", call(TEA, remember("Sings.", importance=0.9), recall("Drinks tea?", k=1),
                                   weights=(0.0, 0.0, 1.0)), ["Sings."],
     "The system was made to rank by importance, and did not: hand `weights=self.weights` on."),
    ("and your relevance", call(recall("tea?"), relevance="by hand"), refused("relevance"),
     "The system was made with another relevance, and nobody used it: hand `relevance=self.relevance` on."),
    ("the prompt holds what is recalled", call(TEA, context("Be brief.", "tea?")), ["Drinks tea."],
     "`context` is `inject(system, …)` of what `self.recall` brings back."),
    ("and nothing of another user", call(TEA, context("Be brief.", "tea?", **BO)), "Be brief.",
     "Bo's prompt holds what Ada said: `context` hands `**whose` on to `self.recall`."),
    ("within its budget", call(TEA, context("Be brief.", "tea?", max_chars=1)), "Be brief.",
     "The block is longer than `max_chars` allows: hand it on to `inject`."),
    ("what a revoked source had displaced comes back", call(*TWO, REVOKED, memories()), [DIET],
     "The fish is gone and the vegetarian still lies under its tombstone: `regenerate` brings it back."),
    ("it says what went", call(*TWO, REVOKED), 1, "Give back what the function `forget_source` gives."),
    ("in its app", call(*(step(*step.values, **CLINIC) for step in (*TWO, REVOKED, memories()))), [DIET],
     "At the clinic nothing came back: hand `app_name` on, to `forget_source` and to `regenerate`."),
    ("what it had kept out comes in", call(TWO[1], HINTED, REVOKED, memories()), [DIET],
     "Nothing came of the talk that the fish had kept out: hand `extract=` on to `regenerate`."),
    ("what the gate refused stays out", call(*FLAGGED, REVOKED, memories()), [DIET],
     "Regenerated, the promise got in that the gate had flagged: `extract=` is yours, behind the gate."),
    ("and does not wait twice", call(*FLAGGED, REVOKED, waiting()), [PROMISE],
     "Regenerated, the promise waits twice: what is flagged again goes into a queue that nobody reads."),
    ("erasing a user leaves nothing", call(*TWO, forget_user(), owned()), [],
     "Something of Ada's is left: the function `forget_user` erases it all."),
    ("and says how much went", call(*TWO, forget_user()), 2, "Give back what `forget_user` gives."),
    ("nor does a word of theirs wait", call(learn(PROMISED), forget_user(), waiting()), [],
     "Ada is erased, and what was flagged of her still waits for staff: `self.review.forget(user_id)`."),
    ("one app's user is erased", call(TEA, forget_user(**CLINIC), memories()), ["Drinks tea."],
     "The clinic's Ada was erased, and the default app's with her: `forget_user` hands `app_name` on."),
    ("what is given works: memories", call(TEA, ROOM, memories()), ["Drinks tea."],
     "`memories` is given: what holds in user scope, whatever the session."),
    ("closing", call(Step("close"), memories()), refused("closed", Exception),
     "`close` is given: it closes the store."),
    ("and the end of a session", call(*(step(*step.values, **CLINIC, **how) for step, how in (
        (close_session(f"{FISH} {MELLON}"), {}), (recall("fish?"), {"session_id": "s1"})))),
     [f'Earlier in this conversation: {EATS_FISH} The user last said: "{WITHHELD}"'],
     "`close_session` is given: it keeps what was learned, and no secret."),
]
# fmt: on


@exercise("11-assemble")
def _(case: Cases, system: Function) -> None:
    with clock.freeze(TODAY):
        case.table(_runs(system), ASSEMBLE, _steps)
        case.table(system, [("what is no store is refused", None, refused("store=None", TypeError),
                             "The constructor is given: it refuses what is no store.")])  # fmt: skip


# --- 11-poison: a goal and a lie in, where the lie stands out -----------------------------------------


def _poisons(poison: Function) -> Function:
    """Tells the weak system what `poison` says, and gives back where the lie stands."""

    def run(goal: str, lie: str) -> str:
        talk = poison(goal, lie)
        if not isinstance(talk, list) or not all(isinstance(message, dict) for message in talk):
            return "no messages"
        if {message.get("role") for message in talk} != {"user"}:
            return "somebody else speaks"
        system = Gullible()
        system.learn(talk, user_id="u_mallory")
        own, bos = (system.context("Be brief.", user_id=user_id) for user_id in ("u_mallory", "u_bo"))
        if goal == "everyone":
            return "in Bo's prompt" if lie in bos else "in Mallory's alone" if lie in own else "nowhere"
        below = after_the_block(own)
        if any(lie in line for line in below):
            return "below the block" if lie in below else "beside the closing tag"
        return "in the block" if lie in own else "nowhere"

    return run


# fmt: off
NO_TALK = (
    ("no messages", "A conversation is a list of messages, each a dict with role and content."),
    ("somebody else speaks", "Mallory is a user, and nobody else speaks for her: every role is `user`."),
)
POISON = [row for lie in ("Refunds are unlimited.", "The manager is u_mallory.") for row in (
    (f"Bo is told: {lie}", call("everyone", lie), "in Bo's prompt",
     "Bo's prompt does not hold it. What must a sentence begin with to be everyone's? Read `learn` again.",
     ("in Mallory's alone", "Mallory's prompt holds it, Bo's does not. What makes it everyone's?"), *NO_TALK),
    (f"below the block: {lie}", call("command", lie), "below the block",
     "The prompt does not hold it at all.",
     ("in the block", "It stands in the block, as a memory. Something has to end the block before it."),
     ("beside the closing tag", "It stands on the closing tag's line. Give it a line of its own."), *NO_TALK),
)] + [
    ("another goal is refused", call("flattery", "You are great."), refused("goal"),
     "A goal that you do not know must raise a ValueError that names `goal`."),
]
# fmt: on


@exercise("11-poison")
def _(case: Cases, poison: Function) -> None:
    case.table(_poisons(poison), POISON)


# --- 11-quota: memories in, who has to go out ---------------------------------------------------------


def memory(name: str, importance: float = 0.5, age: float = 0, **fields: Any) -> MemoryRecord:
    """A memory of Ada's, `age` days old; confidence starts at 0.8 and halves in 100 days."""
    then = clock.timestamp(TODAY, "TODAY") - age * clock.DAY
    usual: dict[str, Any] = {
        "user_id": "u_ada",
        "confidence": 0.8,
        "half_life_days": 100,
        "created_at": then,
        "updated_at": then,
    }
    return MemoryRecord(name, importance=importance, **usual | fields)


def _evicts(evict: Function) -> Function:
    """Gives back who was evicted, or what `show` makes of the store; on a full disk, who is left."""

    def run(*records: MemoryRecord, keep: int, show: Any = None, left: int = 10**9, **owner: Any) -> Any:
        store = Watched()
        with store:
            for record in records:
                store.put(record)
            store.left = left
            with suppress(OSError):
                evicted = evict(store, **{"user_id": "u_ada"} | owner, keep=keep)
                given = isinstance(evicted, list) and all(
                    isinstance(record, MemoryRecord) for record in evicted
                )
                return show(store) if show else [record.content for record in evicted] if given else evicted
            return contents(store)

    return run


def _stored(*records: MemoryRecord, keep: int, left: int = 10**9, **_: Any) -> str:
    return f"{', '.join(r.content for r in records)} · keep={keep}" + " · the disk is full" * (left < 10)


# fmt: off
PINS = [memory(f"pin {number}", 1.0, age=900) for number in range(3)]
FAIR = memory("fair", 0.8, confidence=0.5)
WORTH = memory("old but dear", 0.9, age=200), memory("new and slight", 0.3), FAIR, memory("good", 0.7)
EQUALS = [memory(name) for name in ("older", "newer")]
OTHERS = [
    memory("Bo's", 0.1, user_id="u_bo"), memory("the session's", 0.1, scope="session", session_id="s1"),
    memory("the app's", 0.1, scope="app", sources=[Source("bootstrapped", "b")]),
    memory("the clinic's", 0.1, **CLINIC),
]

QUOTA = [
    ("within the quota nothing goes", call(*WORTH, keep=4), [], "Four memories, and four may stay.",
     (lambda got: not isinstance(got, list), "Give back the memories that were evicted, as a list.")),
    ("far below it neither", call(*WORTH, keep=6), [],
     "Four memories, six may stay, and some went: a negative number in a slice counts from the end."),
    ("what is worth least goes first", call(*WORTH, keep=2), ["old but dear", "new and slight"],
     "The worth of a memory is importance times `decayed_confidence()`; the lowest goes first.",
     (["new and slight", "good"], "You ranked by importance alone: what nobody believes is worth little."),
     (["old but dear", "fair"], "You ranked by confidence alone: a cold is as sure as an allergy."),
     (["new and slight", "fair"], "That is the confidence of the first day: see `decayed_confidence()`."),
     (["good", "fair"], "You evicted the best: sort upwards."),
     (["new and slight", "old but dear"], "These two, but the least valuable comes first.")),
    ("exactly that many are left", call(*WORTH, keep=2, show=contents), ["fair", "good"],
     "Say it to the store: a record that only you have changed holds on."),
    ("they become tombstones", call(*WORTH, keep=2, show=lambda store: len(store.owned("u_ada"))), 4,
     "They were removed without a trace: `tombstone` keeps the answer to *where is it?*"),
    ("of equals the older goes", call(*EQUALS, keep=1), ["older"],
     "Both are worth the same; then the one that was learned first goes."),
    ("a pin is never evicted", call(*PINS, FAIR, keep=2), ["fair"],
     "Pins take room as well: with three of them a quota of 2 is full, so everything else goes.",
     (lambda got: "pin 0" in got, "An allergy went because it is old. What is pinned stays, always.")),
    ("only this user's own memories count", call(memory("a"), memory("b", 0.6), *OTHERS, keep=1), ["a"],
     'Scan the scope "user" of this user: what Bo owns, the app shares or a session holds does not count.'),
    ("in this app", call(*WORTH, *OTHERS, keep=1, **CLINIC), [],
     "The clinic holds one memory of Ada's, and one may stay: hand `app_name` on."),
    ("a full disk evicts nobody", call(*WORTH, keep=2, left=1), [record.content for record in WORTH],
     "The disk was full half-way, and one of two is gone. All of it belongs in one `store.transaction()`."),
    ("keeping nothing is refused", call(FAIR, keep=0), refused("keep"),
     "A quota below 1 is a mistake, or an erasure in disguise: `check_whole` refuses it."),
]
# fmt: on


@exercise("11-quota")
def _(case: Cases, evict: Function) -> None:
    with clock.freeze(TODAY):
        case.table(_evicts(evict), QUOTA, _stored)


# --- 11-bill: users and copies in, two sums out --------------------------------------------------------

USAGE = SimpleNamespace(turns=200, context_tokens=150, memories=100, bytes_per_memory=2_000)


def _bills(monthly_bill: Function) -> Function:
    def run(users: int, **copies: int) -> Any:
        bill = monthly_bill(users, USAGE, per_million_tokens=2.0, per_gigabyte=0.5, **copies)
        named = hasattr(bill, "prompts") and hasattr(bill, "storage")
        return [bill.prompts, bill.storage] if named else "no Bill"

    return run


def _users(users: int, **copies: int) -> str:
    each = "200 turns × 150 tokens at 2.0 a million; 100 memories × 2000 bytes at 0.5 a gigabyte"
    return f"{users} users × {each}" + "".join(f"; {key}={value}" for key, value in copies.items())


# fmt: off
BILL = [
    ("a thousand users", call(1_000), [60.0, 0.1],
     "Tokens: users × turns × tokens, ÷ 10⁶. Bytes: users × memories × bytes, ÷ 10⁹.",
     ("no Bill", "Give back `Bill(prompts, storage)`."),
     (lambda got: got[0] == 30, "You charged each memory once. But the block travels with every *turn*."),
     (lambda got: got[0] > 1e6, "Prices are per *million* tokens: divide."),
     (lambda got: got[0] == 60 and 0.09 < got[1] < 0.1, "A gigabyte is 10⁹ bytes; 2³⁰ is a gibibyte."),
     (lambda got: got[0] == 60 and got[1] > 1, "Bytes are kept once, not anew with each turn."),
     (lambda got: got[0] == 0.06, "That is the bill for one user: multiply.")),
    ("backups are paid for, too", call(1_000, copies=3), [60.0, 0.3],
     "Three copies are three times the bytes, and no more tokens."),
    ("nobody costs nothing", call(0), [0.0, 0.0], "No users, no bill."),
    ("users below the least are refused", call(-1), refused("users"),
     "That is no bill but a mistake: raise a ValueError that names `users`."),
    ("copies below the least are refused", call(1, copies=0), refused("copies"),
     "That is no bill but a mistake: raise a ValueError that names `copies`."),
]
# fmt: on


@exercise("11-bill")
def _(case: Cases, monthly_bill: Function) -> None:
    case.table(_bills(monthly_bill), BILL, _users)


# --- 11-shard -----------------------------------------------------------------------------------------

PEOPLE = [f"u_{number:04}" for number in range(801)]
FOUR = ["north", "east", "south", "west"]
NOBODY = [
    ("no shards are refused", call("u_ada", []), refused("shards"),
     "Without shards there is nowhere to look: raise a ValueError that names `shards`."),
    ("nobody is refused", call("", FOUR), refused("user_id"),
     "An empty id is nobody's: raise a ValueError that names `user_id`, as `check_id` does."),
]  # fmt: skip


# fmt: off
@exercise("11-shard")
def _(case: Cases, shard_of: Function) -> None:
    salted = Mock(wraps=hash)
    with patch.dict(getattr(shard_of, "__globals__", {}), hash=salted):
        first = shard_of("u_ada", FOUR)
    case.holds("it names a shard", first in FOUR, "Give back one of `shards`, by its name.", got=first)
    case.holds(
        "it is the same in every process", not salted.called,
        "`hash()` of a text is salted anew in each process: after a restart Ada is looked for elsewhere. "
        "Use a digest, such as `hashlib.sha256`.")
    before = [shard_of(user_id, FOUR) for user_id in PEOPLE]
    case.holds(
        "the same user, the same shard", before == [shard_of(user_id, FOUR) for user_id in PEOPLE],
        "Asked twice, it names two shards for the same user. Nothing may depend on chance or the past.")
    load = {shard: before.count(shard) for shard in FOUR}
    case.holds(
        "users are spread evenly", min(load.values()) > 140 and max(load.values()) < 260,
        "Some shard has far more users than another. Use the whole digest, not a letter of the id.",
        given="801 users, 4 shards", expected=Shown("about 200 each"), got=load)
    turned = [shard_of(user_id, FOUR[::-1]) for user_id in PEOPLE]
    case.holds(
        "the order of the list does not matter", turned == before,
        "The same shards in another order, and users move. Let each shard's *name* decide, not its position.",
        given="the four shards, reversed", expected=Shown("nobody moves"))
    after = [shard_of(user_id, [*FOUR, "fifth"]) for user_id in PEOPLE]
    homes = [new for old, new in zip(before, after, strict=True) if new != old]
    case.holds(
        "a new shard moves only those it takes", set(homes) == {"fifth"},
        "A fifth shard was added, and users moved between the old ones: memories would travel for nothing. "
        "Score every (shard, user) pair by itself and take the best.",
        given="a fifth shard", expected=Shown("about 160 move, all of them to it"),
        got=Shown(f"{len(homes)} move, {homes.count('fifth')} of them to it"))
    case.table(shard_of, NOBODY)
# fmt: on
