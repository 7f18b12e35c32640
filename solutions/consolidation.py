"""From candidate to memory: what does this new information repeat, contradict or add?

After "Mini-project 5: build a memory system", Part 5. The policy is code: similar memories united with
the topic sweep, one value at a time on an exclusive topic, and a trust gate that cannot be laundered.
A model may take the decision in place of `decide`; what it may not do, code refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memlab.fields import check_fraction, check_kind, check_list
from memlab.records import ACTIONS, TRUST, Candidate, MemoryRecord, Operation, Source, starting_confidence
from memlab.store import MemoryStore
from memlab.text import fold
from solutions.extraction import read_reply, rule_extract
from solutions.given.ask import ask
from solutions.given.model_decides import (
    Decision,
    DecisionFailed,
    fenced,
    render_decision,
)
from solutions.given.operations import check_parts, nothing_learned, target_of, unheard

if TYPE_CHECKING:
    from anthropic import Anthropic

EXCLUSIVE_TOPICS = frozenset(
    "diet travel identity employer occupation home deadline deadline:* taste:* allergy:* slot:*".split()  # noqa: SIM905
)
"""Topics on which a subject holds one value at a time; "taste:*" means each taste for itself, "slot:*" each
slot that your own code fills."""

CORROBORATION = 0.05
WEAK = 0.4  # a candidate below this, such as one meal, disputes a belief but does not change it

Extractor = Callable[[list[dict[str, Any]]], list[Candidate]]
Decider = Callable[[Candidate, list[MemoryRecord], Source], Operation]


def is_exclusive(topic: str) -> bool:
    """True when two memories on `topic` about one subject contradict each other.

    Example:
    >>> is_exclusive("diet"), is_exclusive("allergy:nuts"), is_exclusive("issue")
    (True, True, False)
    """
    family, colon, _ = topic.partition(":")
    return (f"{family}:*" if colon else topic) in EXCLUSIVE_TOPICS


def similar_memories(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> list[MemoryRecord]:
    """The user's active memories whose cosine with `candidate` is at least `threshold`, nearest first.

    A zero vector is similar to nothing. Raises ValueError for a threshold outside 0..1.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("The user prefers aisle seating.", "u_ada", topic="travel"))
    >>> window = Candidate("The user prefers window seating.", "travel", 0.9, "A window seat, please.")
    >>> [record.content for record in similar_memories(store, window, user_id="u_ada")]
    ['The user prefers aisle seating.']
    """
    check_kind("candidate", candidate, Candidate)
    check_fraction("threshold", threshold)
    found = store.search(candidate.content, user_id, app_name, scopes=("user",))
    near = ((found.relevance >= threshold) & (found.relevance > 0)).nonzero()[0].tolist()
    near.sort(key=lambda i: -found.relevance[i])
    return [record for record in found.records(near) if record is not None]


def affected_memories(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> list[MemoryRecord]:
    """Memories that `candidate` may repeat, refine or contradict: similar ones and those on its topic.

    Returns neighbours at or above `threshold` (cosine, 0..1), most similar first, then the rest of the
    same subject and topic, oldest first; no memory twice; only this user's own, only active ones.
    Raises ValueError for a threshold outside 0..1.

    Example:
    >>> store = MemoryStore()
    >>> store.put(MemoryRecord("The user follows a vegetarian diet.", "u_ada", topic="diet"))
    >>> fish = Candidate("The user eats fish again.", "diet", 0.9, "I've started eating fish again.")
    >>> [record.content for record in affected_memories(store, fish, user_id="u_ada")]
    ['The user follows a vegetarian diet.']
    """
    similar = similar_memories(store, candidate, user_id=user_id, app_name=app_name, threshold=threshold)
    seen = {record.memory_id for record in similar}
    swept = store.scan(user_id, app_name, scopes=("user",), topic=candidate.topic)
    return similar + [
        record for record in swept if record.subject == candidate.subject and record.memory_id not in seen
    ]


def same_fact(a: str, b: str) -> bool:
    """True when two contents say the same in the same words; case, spacing and a final stop aside.

    Example:
    >>> same_fact("The user goes by Ada.", "the user  goes by ADA")
    True
    >>> same_fact("The deadline is 15 October.", "The deadline is 16 October.")
    False
    """
    return _plain(a) == _plain(b)


def contradicted(candidate: Candidate | MemoryRecord, affected: list[MemoryRecord]) -> list[MemoryRecord]:
    """Those of `affected` that cannot be true together with `candidate`: another value for its subject
    on its exclusive topic."""
    return [
        record
        for record in affected
        if (record.subject, record.topic) == (candidate.subject, candidate.topic)
        and is_exclusive(candidate.topic)
        and not same_fact(record.content, candidate.content)
    ]


def trust_of(record: MemoryRecord) -> float:
    """Trust, 0..1, in the strongest source that states the memory itself; inherited ones do not count."""
    return max((TRUST[source.source_type] for source in record.own_sources()), default=0.0)


def decide(candidate: Candidate, affected: list[MemoryRecord], source: Source) -> Operation:
    """What to do with `candidate`, and why: CREATE it, UPDATE the memory it contradicts, or NOOP.

    A weaker source never displaces a stronger one, and a weak candidate (confidence below WEAK) changes
    nothing on an exclusive topic. NOOP on a memory that says the same means that it was heard again; NOOP
    on another means that the candidate lost against it. Raises TypeError for what is no candidate or source.

    Example:
    >>> rome = MemoryRecord("In Rome.", "u_ada", topic="home", sources=[Source("user_implicit", "s1")])
    >>> paris = Candidate("In Paris.", "home", 0.9, "I live in Paris.")
    >>> [decide(paris, [rome], Source(kind, "s2")).action for kind in ("user_implicit", "tool_output")]
    ['UPDATE', 'NOOP']
    """
    check_kind("candidate", candidate, Candidate)
    check_kind("source", source, Source)
    rivals = contradicted(candidate, affected)
    same = [record for record in affected if same_fact(record.content, candidate.content)]
    stronger = [record for record in rivals if trust_of(record) > TRUST[source.source_type]]
    weak = is_exclusive(candidate.topic) and candidate.confidence < WEAK
    if same:
        return Operation("NOOP", same[0].memory_id, candidate.content, "identical to an existing memory")
    if weak:
        disputed = rivals[0].memory_id if rivals else None
        reason = "disputed by one weak statement, too little to go by"
        return Operation("NOOP", disputed, candidate.content, reason)
    if stronger:
        reason = "lower-trust source than the existing memory"
        return Operation("NOOP", stronger[0].memory_id, candidate.content, reason)
    if rivals:
        old = rivals[0].memory_id
        reason = (
            f"contradicts {old} on exclusive topic '{candidate.topic}'; "
            f"newer information from a {source.source_type} source wins"
        )
        return Operation("UPDATE", old, candidate.content, reason)
    known = any(record.topic == candidate.topic for record in affected)
    reason = "a further fact on this topic" if known else "novel topic for this user"
    return Operation("CREATE", None, candidate.content, reason)


def supersede(store: MemoryStore, displaced: list[MemoryRecord], new: MemoryRecord, reason: str) -> None:
    """Store `new` in place of the memories `displaced`, in one transaction: all of it happens, or nothing.

    Each displaced memory becomes a tombstone (`invalidated_at`, `superseded_by`) and keeps its content.
    `new` inherits their sources, so that revoking one of them finds `new` too; a source that it rests on
    itself stays its own. Both sides note the reason in their history.
    """
    with store.transaction():
        for old in displaced:
            old.invalidated_at = max(old.created_at, new.created_at)
            old.superseded_by = new.memory_id
            old.note(f"superseded by {new.memory_id}: {reason}")
            store.put(old)
            known = {source.source_id for source in new.sources}
            taken_over = [source for source in old.sources if source.source_id not in known]
            new.sources = [replace(source, inherited=True) for source in taken_over] + new.sources
            new.note(f"created from {old.memory_id}: {reason}")
        store.put(new)


def take_note(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    """Leave on `memory`, in place, the trace of a NOOP that concerns it.

    The same fact from a source that it does not rest on yet: that source, +0.05 confidence (at most 1.0),
    and `updated_at` no earlier than the source's `at`. From a source that it rests on: nothing. A
    contradiction that lost: a line of history and nothing else.
    """
    heard = {known.source_id for known in memory.own_sources()}
    if not same_fact(memory.content, operation.content):
        memory.note(f"kept against {source.source_type} {source.source_id}: {operation.reason}")
    elif source.source_id not in heard:
        memory.sources.append(replace(source, inherited=False))
        memory.confidence = round(min(1.0, memory.confidence + CORROBORATION), 6)
        memory.updated_at = max(memory.updated_at, source.at)
        memory.note(f"corroborated by {source.source_type}")


def displaced_by(
    new: MemoryRecord, beside: Iterable[MemoryRecord], *, target: MemoryRecord | None = None
) -> list[MemoryRecord]:
    """`target`, and those of `beside` that cannot hold next to `new`: on an exclusive topic or in a slot all
    of the same subject and session, elsewhere what says the very same.

    Raises ValueError when one of them rests on a stronger source.

    Example:
    >>> rome, paris = (MemoryRecord(f"Lives in {city}.", "u_ada", topic="home") for city in ("Rome", "Paris"))
    >>> [record.content for record in displaced_by(paris, [rome])]
    ['Lives in Rome.']
    """
    place = (new.scope, new.session_id, new.topic, new.subject)
    rivals = [r for r in beside if r.active() and (r.scope, r.session_id, r.topic, r.subject) == place]
    rivals = [r for r in rivals if is_exclusive(new.topic) or same_fact(r.content, new.content)]
    displaced = {record.memory_id: record for record in ([target] if target else []) + rivals}
    for record in displaced.values():
        if trust_of(record) > trust_of(new):
            raise ValueError(
                f"source={new.sources[-1].source_type!r} is weaker than what {record.memory_id} rests on; "
                "a weaker source never displaces a stronger one: write from a stronger source, or revoke "
                "the source of the old value first"
            )
    return list(displaced.values())


def new_memory(
    operation: Operation, candidate: Candidate, source: Source, user_id: str, app_name: str
) -> MemoryRecord:
    """The memory that `operation` makes of `candidate`, resting on `source` and begun when it was said.

    It is never surer than its source is trusted. Nothing is stored, and `source` stays as it is.

    Example:
    >>> tea = Candidate("The user likes tea.", "taste:tea", 0.8, "I like tea.")
    >>> create = Operation("CREATE", None, tea.content, "novel topic for this user")
    >>> memory = new_memory(create, tea, Source("user_implicit", "s1", at=60.0), "u_ada", "default")
    >>> memory.confidence, memory.created_at
    (0.65, 60.0)
    """
    return MemoryRecord(
        content=operation.content,
        user_id=user_id,
        app_name=app_name,
        topic=candidate.topic,
        subject=candidate.subject,
        importance=candidate.importance,
        half_life_days=candidate.half_life_days,
        confidence=starting_confidence(candidate.confidence, source),
        sources=[replace(source, inherited=False)],
        created_at=source.at,
        updated_at=source.at,
    )


def apply(
    store: MemoryStore,
    operation: Operation,
    candidate: Candidate,
    source: Source,
    *,
    user_id: str,
    app_name: str = "default",
) -> MemoryRecord | None:
    """Carry out `operation` in one transaction; the memory it made or touched, None if there is none.

    Whatever the operation says, one value is left on an exclusive topic. Raises ValueError, with nothing
    written, when the target is not an active memory of this user's own, or when a weaker source would
    displace a stronger one.

    Example:
    >>> tea = Candidate("The user likes tea.", "taste:tea", 0.8, "I like tea.")
    >>> create = Operation("CREATE", None, tea.content, "novel topic for this user")
    >>> apply(MemoryStore(), create, tea, Source("user_implicit", "s1"), user_id="u_ada").confidence
    0.65
    """
    check_parts(operation, candidate, source)
    with store.transaction():
        target = target_of(store, operation, user_id, app_name)
        if operation.action == "NOOP":
            if target is not None:
                take_note(target, operation, source)
                store.put(target)
            return target
        new = new_memory(operation, candidate, source, user_id, app_name)
        beside = store.scan(user_id, app_name, ("user",), topic=new.topic)
        supersede(store, displaced_by(new, beside, target=target), new, operation.reason)
        return new


def consolidate(
    store: MemoryStore,
    candidate: Candidate,
    source: Source,
    *,
    user_id: str,
    app_name: str = "default",
    decide: Decider = decide,
) -> Operation:
    """Find what `candidate` affects, decide, and apply, in one transaction; the decision.

    decide: by default the rules; with a model in their place the transaction lasts until it has answered.
    Raises as `affected_memories`, `decide` and `apply` do, with nothing written.

    Example:
    >>> store, tea = MemoryStore(), Candidate("The user likes tea.", "taste:tea", 0.8, "I like tea.")
    >>> sources = [Source("user_implicit", "s1"), Source("user_implicit", "s2")]
    >>> [consolidate(store, tea, source, user_id="u_ada").action for source in sources]
    ['CREATE', 'NOOP']
    """
    with store.transaction():
        affected = affected_memories(store, candidate, user_id=user_id, app_name=app_name)
        operation = decide(candidate, affected, source)
        apply(store, operation, candidate, source, user_id=user_id, app_name=app_name)
        return operation


def learn(
    store: MemoryStore,
    messages: list[dict[str, Any]],
    source: Source,
    *,
    user_id: str,
    app_name: str = "default",
    extract: Extractor = rule_extract,
    decide: Decider = decide,
) -> list[Operation]:
    """Keep the conversation and learn what it says, all of it or, if anything fails, nothing.

    One operation for each candidate that `extract` finds. What was learned under this source before is
    not learned twice, and a source that the user has revoked not at all: one NOOP says so. Raises
    ValueError or TypeError for bad messages and a missing owner, and what `extract` and `decide` raise.
    `extract` has answered before the transaction begins, so that nobody waits for it.

    Example:
    >>> said = [{"role": "user", "content": "I'm a vegetarian. Call me Ada."}]
    >>> operations = learn(MemoryStore(), said, Source("user_implicit", "s1"), user_id="u_ada")
    >>> [operation.content for operation in operations]
    ['The user follows a vegetarian diet.', 'The user goes by Ada.']
    """
    check_kind("source", source, Source)
    if source.source_id in store.revoked(user_id, app_name):
        return [nothing_learned(f"source {source.source_id} was revoked by its user")]
    new = unheard(store, messages, source.source_id, user_id=user_id, app_name=app_name)
    if messages and not new:
        return [nothing_learned(f"source {source.source_id} says nothing that it did not say before")]
    candidates = check_list("candidates", extract(new), Candidate)
    with store.transaction():
        store.put_conversation(messages, source, user_id=user_id, app_name=app_name)
        operations = []
        for candidate in candidates:
            said = replace(source, excerpt=candidate.excerpt)
            operations.append(
                consolidate(store, candidate, said, user_id=user_id, app_name=app_name, decide=decide)
            )
        return operations


def _plain(text: str) -> str:
    return " ".join(fold(text).split()).rstrip(".!")


# --- the same decision by a model, fenced by code -----------------------------------------------------


def llm_decide(
    candidate: Candidate,
    affected: list[MemoryRecord],
    source: Source,
    client: Anthropic,
    model: str | None = None,
) -> Operation:
    """What a model would do with `candidate`, as far as the rules allow it; see `objection`.

    One request; none when nothing is affected. Raises DecisionFailed for a reply that cannot be read, and
    what the client raises when there is no reply.

    Example:
    >>> tea = Candidate("The user likes tea.", "taste:tea", 0.8, "I like tea.")
    >>> llm_decide(tea, [], Source("user_implicit", "s1"), client=None).action  # nothing to ask about
    'CREATE'
    """
    if not affected:
        return decide(candidate, affected, source)
    prompt = render_decision(candidate, affected, source)
    text = ask(client, prompt, Decision, model=model, max_tokens=1024, failure=DecisionFailed)
    proposal = read_reply(text, Decision, DecisionFailed)
    return fenced(proposal, objection(proposal, candidate, affected, source), candidate)


def objection(
    proposal: Decision, candidate: Candidate, affected: list[MemoryRecord], source: Source
) -> str | None:
    """Why the rules forbid `proposal`, in words; None when they allow it.

    A model may be more careful than `decide`, never bolder. Forbidden are:

    - an action that is not one of ACTIONS;
    - other content than the candidate's (by `same_fact`);
    - an id that is not among `affected` (a CREATE's id is ignored);
    - a CREATE or UPDATE where `decide` says NOOP, and a CREATE where it says UPDATE;
    - an UPDATE without an id, of a memory on another subject or topic, or of more trust than `source`.
    """
    rules = decide(candidate, affected, source)
    target = next((memory for memory in affected if memory.memory_id == proposal.target_id), None)
    if proposal.action not in ACTIONS:
        return f"{proposal.action!r:.60} is none of {', '.join(ACTIONS)}"
    if not same_fact(proposal.content, candidate.content):
        return "its content is not the candidate's"
    if proposal.action != "CREATE" and proposal.target_id is not None and target is None:
        return f"the id {proposal.target_id!r:.60} was never shown to it"
    if proposal.action != "NOOP" and rules.action == "NOOP":
        return rules.reason
    if proposal.action == "CREATE" and rules.action == "UPDATE":
        return f"the old value would be left standing, and the candidate {rules.reason}"
    if proposal.action != "UPDATE":
        return None
    if target is None:
        return "an UPDATE names the memory that it replaces"
    if (target.subject, target.topic) != (candidate.subject, candidate.topic):
        return f"{target.memory_id} is about something else"
    return "its target rests on a stronger source" if trust_of(target) > TRUST[source.source_type] else None
