"""Answers to the exercises of lesson 04 that the checks must tell apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab import clock
from memlab.embedding import cosine
from memlab.records import ACTIONS, TRUST, Candidate, MemoryRecord, Operation, Source, check_fraction
from memlab.store import MemoryStore
from solutions import consolidation as given
from solutions.consolidation import is_exclusive, same_fact

Memories = list[MemoryRecord]

# --- 04-similar


def _scored(store: MemoryStore, candidate: Candidate, user_id: str, scopes: Any = ("user",)) -> list[Any]:
    asked = store.embedder(candidate.content)
    return [(cosine(asked, record.embedding), record) for record in store.scan(user_id, scopes=scopes)]


def everything(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    check_fraction("threshold", threshold)
    ranked = sorted(_scored(store, candidate, user_id), key=lambda pair: -pair[0])
    return [record for _, record in ranked]


def below(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    return [record for value, record in _scored(store, candidate, user_id) if value < threshold]


def as_stored(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    check_fraction("threshold", threshold)
    return [record for value, record in _scored(store, candidate, user_id) if value >= threshold > 0]


def fixed(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    return given.similar_memories(store, candidate, user_id=user_id)


def of_everybody(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    own = given.similar_memories(store, candidate, user_id=user_id, threshold=threshold)
    return own + given.similar_memories(store, candidate, user_id="bo", threshold=threshold)


def with_tombstones(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    asked = store.embedder(candidate.content)
    scanned = store.scan(user_id, scopes=("user",), include_invalid=True)
    scored = [(cosine(asked, record.embedding), record) for record in scanned]
    return [r for value, r in sorted(scored, key=lambda pair: -pair[0]) if value >= threshold]


def with_the_apps(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    scored = sorted(_scored(store, candidate, user_id, ("user", "app")), key=lambda pair: -pair[0])
    return [record for value, record in scored if value >= threshold]


def zero_is_near(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    scored = sorted(_scored(store, candidate, user_id), key=lambda pair: -pair[0])
    return [record for value, record in scored if value >= threshold]


def any_threshold(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    found = store.search(candidate.content, user_id, app_name, scopes=("user",))
    near = [i for i, value in enumerate(found.relevance) if value >= threshold and value > 0]
    return found.records(sorted(near, key=lambda i: -found.relevance[i]))


def above_only(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    scored = sorted(_scored(store, candidate, user_id), key=lambda pair: -pair[0])
    return [record for value, record in scored if value > threshold]


def of_any_app(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    return given.similar_memories(store, candidate, user_id=user_id, threshold=threshold)


def pairs_of_floats(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> list[Any]:
    return _scored(store, candidate, user_id)


def by_scanning(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold} is outside 0..1")
    asked = store.embedder(candidate.content)
    near = {}
    for record in store.scan(user_id, app_name, scopes=["user"]):
        value = cosine(asked, record.embedding)
        if value > 0 and value >= threshold:
            near[record.memory_id] = (value, record)
    return [record for _, record in sorted(near.values(), key=lambda pair: pair[0], reverse=True)]


# --- 04-topic-sweep


def _swept(
    store: MemoryStore, candidate: Candidate, user_id: str, threshold: float = 0.55, **scan: Any
) -> tuple[Memories, Memories]:
    similar = given.similar_memories(store, candidate, user_id=user_id, threshold=threshold)
    kept = store.scan(user_id, **({"scopes": ("user",)} | scan))
    return similar, [r for r in kept if (r.topic, r.subject) == (candidate.topic, candidate.subject)]


def _new(similar: Memories, swept: Memories) -> Memories:
    ids = {record.memory_id for record in similar}
    return similar + [record for record in swept if record.memory_id not in ids]


def similarity_only(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    return given.similar_memories(store, candidate, user_id=user_id, threshold=threshold)


def every_topic(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    return _new(similarity_only(store, candidate, user_id=user_id), store.scan(user_id, scopes=("user",)))


def repeated(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    similar, swept = _swept(store, candidate, user_id, threshold)
    return similar + swept


def sweep_first(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    similar, swept = _swept(store, candidate, user_id, threshold)
    return _new(swept, similar)


def topic_only(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    similar, swept = _swept(store, candidate, user_id, threshold)
    return _new([record for record in similar if record.topic == candidate.topic], swept)


def own_threshold(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    return _new(*_swept(store, candidate, user_id))


def any_subject(
    store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55
) -> Memories:
    similar = given.similar_memories(store, candidate, user_id=user_id, threshold=threshold)
    return _new(similar, store.scan(user_id, scopes=("user",), topic=candidate.topic))


def any_owner(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    similar, swept = _swept(store, candidate, user_id, threshold)
    return _new(similar, swept + _swept(store, candidate, "bo")[1])


def any_state(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    return _new(*_swept(store, candidate, user_id, threshold, include_invalid=True))


def any_scope(store: MemoryStore, candidate: Candidate, *, user_id: str, threshold: float = 0.55) -> Memories:
    return _new(*_swept(store, candidate, user_id, threshold, scopes=("user", "app")))


def any_app(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    return _new(*_swept(store, candidate, user_id, threshold))


def with_a_dictionary(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    found = {
        record.memory_id: record
        for record in given.similar_memories(
            store, candidate, user_id=user_id, app_name=app_name, threshold=threshold
        )
    }
    for record in store.scan(user_id, app_name, ("user",)):
        if record.topic == candidate.topic and record.subject == candidate.subject:
            found.setdefault(record.memory_id, record)
    return list(found.values())


# --- 04-exclusive


def _about(candidate: Candidate, record: MemoryRecord) -> bool:
    return (record.subject, record.topic) == (candidate.subject, candidate.topic)


def nothing_contradicts(candidate: Candidate, affected: Memories) -> Memories:
    return []


def itself_too(candidate: Candidate, affected: Memories) -> Memories:
    return [r for r in affected if _about(candidate, r) and is_exclusive(r.topic)]


def to_the_letter(candidate: Candidate, affected: Memories) -> Memories:
    return [r for r in itself_too(candidate, affected) if r.content != candidate.content]


def alike_is_equal(candidate: Candidate, affected: Memories) -> Memories:
    def letters(text: str) -> str:
        return "".join(c for c in text.casefold() if c.isalpha())

    return [r for r in itself_too(candidate, affected) if letters(r.content) != letters(candidate.content)]


def open_topics_too(candidate: Candidate, affected: Memories) -> Memories:
    return [r for r in affected if _about(candidate, r) and not same_fact(r.content, candidate.content)]


def no_families(candidate: Candidate, affected: Memories) -> Memories:
    exclusive = {"diet", "deadline", *given.EXCLUSIVE_TOPICS}
    return [r for r in open_topics_too(candidate, affected) if r.topic in exclusive]


def across_topics(candidate: Candidate, affected: Memories) -> Memories:
    kept = [r for r in affected if r.topic == candidate.topic or r.topic == "travel"]
    return [r for r in kept if is_exclusive(r.topic) and not same_fact(r.content, candidate.content)]


def across_subjects(candidate: Candidate, affected: Memories) -> Memories:
    kept = [r for r in affected if r.topic == candidate.topic and is_exclusive(r.topic)]
    return [r for r in kept if not same_fact(r.content, candidate.content)]


def first_rival(candidate: Candidate, affected: Memories) -> Memories:
    return given.contradicted(candidate, affected)[:1]


def in_a_loop(candidate: Candidate, affected: Memories) -> Memories:
    rivals: Memories = []
    if not is_exclusive(candidate.topic):
        return rivals
    for record in affected:
        if record.topic == candidate.topic and record.subject == candidate.subject:
            if same_fact(candidate.content, record.content):
                continue
            rivals.append(record)
    return rivals


# --- 04-trust


def the_kind(record: MemoryRecord) -> str:
    return record.sources[0].source_type


def weakest(record: MemoryRecord) -> float:
    return min(TRUST[source.source_type] for source in record.sources)


def average(record: MemoryRecord) -> float:
    return sum(TRUST[source.source_type] for source in record.sources) / len(record.sources)


def the_first(record: MemoryRecord) -> float:
    return TRUST[record.sources[0].source_type]


def strongest_of_all(record: MemoryRecord) -> float:
    return max((TRUST[source.source_type] for source in record.sources), default=0.0)


def crashes_on_none(record: MemoryRecord) -> float:
    return max(TRUST[source.source_type] for source in record.own_sources())


def trusts_nobody_fully(record: MemoryRecord) -> float:
    return max((TRUST[source.source_type] for source in record.own_sources()), default=0.65)


def strongest_in_a_loop(record: MemoryRecord) -> float:
    best = 0.0
    for source in record.sources:
        if not source.inherited and TRUST[source.source_type] > best:
            best = TRUST[source.source_type]
    return best


# --- 04-decide


def _decide(
    candidate: Candidate,
    affected: Memories,
    source: Source,
    *,
    trust: Any = given.trust_of,
    weak: bool = True,
    same: Any = same_fact,
    limit: float = given.WEAK,
) -> Operation:
    rivals = given.contradicted(candidate, affected)
    for record in affected:
        if same(record.content, candidate.content):
            return Operation("NOOP", record.memory_id, candidate.content, "known")
    if weak and candidate.confidence < limit and is_exclusive(candidate.topic):
        return Operation("NOOP", rivals[0].memory_id if rivals else None, candidate.content, "weak")
    for record in rivals:
        if trust(record) > TRUST[source.source_type]:
            return Operation("NOOP", record.memory_id, candidate.content, "weaker source")
    if rivals:
        return Operation("UPDATE", rivals[0].memory_id, candidate.content, "contradicts")
    return Operation("CREATE", None, candidate.content, "new")


def always_creates(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return Operation("CREATE", None, candidate.content, "new")


def no_contradictions(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    known = [r for r in affected if same_fact(r.content, candidate.content)]
    return _decide(candidate, known, source)


def same_to_the_letter(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, same=str.__eq__)


def weak_at_the_edge(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, limit=given.WEAK + 1e-9)


def no_trust(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, trust=lambda record: 0.0)


def newer_must_be_stronger(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, trust=lambda record: given.trust_of(record) + 0.01)


def laundered(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, trust=weakest)


def first_memory_decides(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected[:1], source)


def first_rival_decides(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    same = [r for r in affected if same_fact(r.content, candidate.content)]
    return _decide(candidate, same or given.contradicted(candidate, affected)[:1], source)


def one_meal_counts(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, weak=False)


def weak_needs_a_rival(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source, weak=bool(given.contradicted(candidate, affected)))


def weak_before_known(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    if candidate.confidence < given.WEAK and is_exclusive(candidate.topic):
        rivals = given.contradicted(candidate, affected)
        return Operation("NOOP", rivals[0].memory_id if rivals else None, candidate.content, "weak")
    return _decide(candidate, affected, source)


def weak_everywhere(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    known = any(same_fact(r.content, candidate.content) for r in affected)
    if candidate.confidence < given.WEAK and not known and not affected:
        return Operation("NOOP", None, candidate.content, "weak")
    return _decide(candidate, affected, source)


def own_words(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return replace(given.decide(candidate, affected, source), content=candidate.excerpt or "said")


def nothing_back(candidate: Candidate, affected: Memories, source: Source) -> Any:
    return None


def step_by_step(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    return _decide(candidate, affected, source)


# --- 04-supersede


def _tombstone(old: MemoryRecord, new: MemoryRecord, reason: str) -> None:
    old.invalidated_at = max(old.created_at, new.created_at)
    old.superseded_by = new.memory_id
    old.note(f"superseded by {new.memory_id}: {reason}")


def _inherit(old: MemoryRecord, new: MemoryRecord, reason: str) -> None:
    own = {source.source_id for source in new.sources}
    new.sources = [replace(s, inherited=True) for s in old.sources if s.source_id not in own] + new.sources
    new.note(f"created from {old.memory_id}: {reason}")


def deletes(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        store.remove(old.memory_id, old.user_id)
    store.put(new)


def forgets_the_new(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        _tombstone(old, new, reason)
        store.put(old)


def leaves_the_old_active(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        old.superseded_by = new.memory_id
        store.put(old)
    store.put(new)


def names_nothing(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        old.invalidated_at = new.created_at
        store.put(old)
    store.put(new)


def shares_sources(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            for source in old.sources:
                source.inherited = True
            new.sources = old.sources + new.sources
            _tombstone(old, new, reason)
            store.put(old)
        store.put(new)


def no_lineage(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
        store.put(new)


def drops_its_own(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            new.sources = [replace(source, inherited=True) for source in old.sources]
        store.put(new)


def launders(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            new.sources = old.sources + new.sources
        store.put(new)


def notes_one_side(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            _inherit(old, new, reason)
        new.history = []
        store.put(new)


def inherits_twice(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            new.sources = [replace(source, inherited=True) for source in old.sources] + new.sources
            new.note(reason)
        store.put(new)


def known_from_the_start(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    known = {source.source_id for source in new.sources}
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            taken_over = [source for source in old.sources if source.source_id not in known]
            new.sources = [replace(source, inherited=True) for source in taken_over] + new.sources
            new.note(reason)
        store.put(new)


def _but_ends(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str, at: float) -> None:
    given.supersede(store, displaced, new, reason)
    for old in displaced:
        old.invalidated_at = at
        store.put(old)


def ends_by_the_clock(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    _but_ends(store, displaced, new, reason, clock.now())


def ends_too_early(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    _but_ends(store, displaced, new, reason, new.created_at)


def inherits_behind(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    with store.transaction():
        for old in displaced:
            _tombstone(old, new, reason)
            store.put(old)
            known = {source.source_id for source in new.sources}
            taken_over = [source for source in old.sources if source.source_id not in known]
            new.sources = new.sources + [replace(source, inherited=True) for source in taken_over]
            new.note(reason)
        store.put(new)


def replaces_the_first(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    given.supersede(store, displaced[:1], new, reason)


def two_writes(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        _tombstone(old, new, reason)
        _inherit(old, new, reason)
        store.put(old)
    store.put(new)


def new_first(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        _tombstone(old, new, reason)
        _inherit(old, new, reason)
    store.put(new)
    for old in displaced:
        store.put(old)


def new_first_in_one(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        _tombstone(old, new, reason)
        _inherit(old, new, reason)
    with store.transaction():
        for record in (new, *displaced):
            store.put(record)


# --- 04-corroborate


def anything_counts(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    memory.sources.append(source)
    memory.confidence = min(1.0, memory.confidence + 0.05)
    memory.updated_at = max(memory.updated_at, source.at)


def published(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    if source.source_id not in [known.source_id for known in memory.sources]:
        anything_counts(memory, operation, source)


def nothing_raised(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    memory.sources.append(source)


def no_source_kept(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    memory.confidence = min(1.0, memory.confidence + 0.05)


def loser_is_a_source(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    if same_fact(memory.content, operation.content):
        published(memory, operation, source)
    else:
        memory.sources.append(source)


def loser_leaves_no_line(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    if same_fact(memory.content, operation.content):
        published(memory, operation, source)


def _but_for(memory: MemoryRecord, operation: Operation, source: Source, **restored: Any) -> None:
    given.take_note(memory, operation, source)
    for name, value in restored.items():
        setattr(memory, name, value)


def agreement_leaves_no_line(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    if same_fact(memory.content, operation.content):
        _but_for(memory, operation, source, history=list(memory.history))
    else:
        given.take_note(memory, operation, source)


def stays_stale(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    _but_for(memory, operation, source, updated_at=memory.updated_at)


def goes_back(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    _but_for(memory, operation, source, updated_at=source.at)


def keeps_the_mark(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    known = len(memory.sources)
    given.take_note(memory, operation, source)
    memory.sources[known:] = [source] * (len(memory.sources) - known)


def without_a_ceiling(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    before = memory.confidence
    given.take_note(memory, operation, source)
    if memory.confidence > before:
        memory.confidence = before + 0.05


def early_returns(memory: MemoryRecord, operation: Operation, source: Source) -> None:
    if not same_fact(operation.content, memory.content):
        memory.history.append(f"a claim of {source.source_id} lost: {operation.reason}")
        return
    if any(known.source_id == source.source_id for known in memory.own_sources()):
        return
    memory.sources = [*memory.sources, replace(source, inherited=False)]
    memory.confidence = min(memory.confidence + 0.05, 1.0)
    if source.at > memory.updated_at:
        memory.updated_at = source.at
    memory.history.append(f"{source.source_id} says so too")


# --- 04-fence


def _without(*forgiven: str) -> Any:
    """A fence that lacks the rules whose reasons contain one of `forgiven`."""

    def objection(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
        reason = given.objection(proposal, candidate, affected, source)
        return None if reason and any(part in reason for part in forgiven) else reason

    return objection


def refuses_all(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str:
    return "no"


def true_or_false(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> bool:
    return given.objection(proposal, candidate, affected, source) is not None


def ids_in_updates_only(
    proposal: Any, candidate: Candidate, affected: Memories, source: Source
) -> str | None:
    if proposal.action == "NOOP":
        return None
    return given.objection(proposal, candidate, affected, source)


def full_stops_matter(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    if proposal.content != candidate.content:
        return "other words"
    return given.objection(proposal, candidate, affected, source)


def topic_is_enough(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    target = next((r for r in affected if r.memory_id == proposal.target_id), None)
    if proposal.action == "UPDATE" and target is not None and target.topic == candidate.topic:
        return _without("something else")(proposal, candidate, affected, source)  # type: ignore[no-any-return]
    return given.objection(proposal, candidate, affected, source)


def no_careful_models(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    if proposal.action == "NOOP" and given.decide(candidate, affected, source).action == "UPDATE":
        return "too careful"
    return given.objection(proposal, candidate, affected, source)


def strict_ids(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    if proposal.target_id is not None and proposal.target_id not in [r.memory_id for r in affected]:
        return "never shown"
    return given.objection(proposal, candidate, affected, source)


def only_like_the_rules(
    proposal: Any, candidate: Candidate, affected: Memories, source: Source
) -> str | None:
    rules = given.decide(candidate, affected, source)
    if proposal.action == "UPDATE" and rules.action == "CREATE":
        return "the rules say CREATE"
    return given.objection(proposal, candidate, affected, source)


def weaker_beside(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    if proposal.action == "CREATE" and given.decide(candidate, affected, source).action == "NOOP":
        return None
    return given.objection(proposal, candidate, affected, source)


def all_in_a_list(proposal: Any, candidate: Candidate, affected: Memories, source: Source) -> str | None:
    shown = {record.memory_id: record for record in affected}
    rules = given.decide(candidate, affected, source)
    creates, updates = proposal.action == "CREATE", proposal.action == "UPDATE"
    target = shown.get(proposal.target_id)
    about = target and (target.subject, target.topic) == (candidate.subject, candidate.topic)
    faults = {
        "no action": proposal.action not in ACTIONS,
        "other words": not same_fact(proposal.content, candidate.content),
        "unknown id": not creates and proposal.target_id is not None and target is None,
        "against the rules": (creates or updates) and rules.action == "NOOP",
        "contradiction": creates and rules.action == "UPDATE",
        "wrong target": updates and not about,
        "stronger": updates and target is not None and given.trust_of(target) > TRUST[source.source_type],
    }
    return next((fault for fault, found in faults.items() if found), None)


WRONG: dict[str, list[tuple[Any, str]]] = {
    "04-similar": [
        (everything, "every memory"),
        (below, "lies **below**"),
        (as_stored, "order in which they were stored"),
        (fixed, "fixed number"),
        (above_only, "leaves it out"),
        (of_everybody, "is Bo's"),
        (with_tombstones, "tombstone came back"),
        (with_the_apps, "the app's"),
        (zero_is_near, "zero vector"),
        (of_any_app, "came back at the bank"),
        (any_threshold, "slip for 0.55"),
        (pairs_of_floats, "list of memories"),
    ],
    "04-topic-sweep": [
        (similarity_only, "Similarity alone again"),
        (every_topic, "swept every topic"),
        (repeated, "listed it twice"),
        (sweep_first, "before the neighbours"),
        (topic_only, "an intersection"),
        (own_threshold, "hand your `threshold` on"),
        (any_subject, "**son**"),
        (any_owner, "Bo's came back"),
        (any_state, "woke a tombstone"),
        (any_scope, "app-scope"),
        (any_app, "came back at the bank"),
    ],
    "04-exclusive": [
        (nothing_contradicts, "one diet"),
        (itself_too, "says the same"),
        (to_the_letter, "with `==`"),
        (alike_is_equal, "two dates"),
        (open_topics_too, "two problems"),
        (no_families, "families"),
        (across_topics, "seat contradicts no diet"),
        (across_subjects, "wife's diet"),
        (first_rival, "give back both"),
    ],
    "04-trust": [
        (the_kind, "kind of source"),
        (weakest, "the weakest"),
        (average, "the average"),
        (the_first, "first source only"),
        (strongest_of_all, "that was **replaced**"),
        (crashes_on_none, "default=0.0"),
        (trusts_nobody_fully, "Nobody vouches"),
    ],
    "04-decide": [
        (always_creates, "stored twice"),
        (same_to_the_letter, "with `same_fact`, not"),
        (no_contradictions, "at random every turn"),
        (newer_must_be_stronger, "Equal trust"),
        (no_trust, "nobody compared"),
        (laundered, "laundering is back"),
        (first_memory_decides, "all first"),
        (first_rival_decides, "One of the two rivals"),
        (one_meal_counts, "a meat eater"),
        (weak_needs_a_rival, "because none was known"),
        (weak_at_the_edge, "not below WEAK"),
        (weak_before_known, "known before it is weak"),
        (weak_everywhere, "exclusive topics only"),
        (own_words, "candidate's content"),
        (nothing_back, "on every path"),
    ],
    "04-supersede": [
        (forgets_the_new, "not in the store"),
        (deletes, "gone or rewritten"),
        (leaves_the_old_active, "still holds"),
        (names_nothing, "`superseded_by` must be"),
        (shares_sources, "copies"),
        (no_lineage, "knows nothing of s1"),
        (drops_its_own, "lost its own source"),
        (launders, "laundered"),
        (inherits_behind, "stand in front"),
        (notes_one_side, "history of **both**"),
        (inherits_twice, "s1 said both"),
        (ends_by_the_clock, "By the clock"),
        (ends_too_early, "imported late"),
        (replaces_the_first, "not both became tombstones"),
        (known_from_the_start, "came over twice"),
        (two_writes, "neither diet holds"),
        (new_first, "half of the work stayed"),
    ],
    "04-corroborate": [
        (nothing_raised, "second witness"),
        (no_source_kept, "Append the new source"),
        (anything_counts, "repeated itself"),
        (published, "**lost** against"),
        (loser_is_a_source, "must not stand among"),
        (loser_leaves_no_line, "left no trace"),
        (agreement_leaves_no_line, "does not say why"),
        (without_a_ceiling, "stop at 1.0"),
        (stays_stale, "as if unheard"),
        (goes_back, "later of the two"),
        (keeps_the_mark, "kept the mark"),
    ],
    "04-fence": [
        (refuses_all, "This UPDATE is right"),
        (true_or_false, "as text"),
        (_without("never shown", "names the memory"), "nowhere else"),
        (ids_in_updates_only, "corroborate somebody else's"),
        (_without("is none of"), "no DELETE here"),
        (_without("its content"), "smuggled"),
        (full_stops_matter, "drop full stops"),
        (_without("left standing"), "both be active"),
        (_without("lower-trust"), "a tool overrule"),
        (weaker_beside, "stored beside the winner"),
        (_without("something else"), "replaced a seat"),
        (topic_is_enough, "compare `subject` too"),
        (_without("names the memory"), "UPDATE of nothing"),
        (no_careful_models, "More careful is fine"),
        (strict_ids, "lose the fact"),
        (only_like_the_rules, "vague memory"),
        (_without("stronger source"), "nobody compared the trust"),
    ],
}

RIGHT: dict[str, list[Any]] = {
    "04-similar": [by_scanning],
    "04-topic-sweep": [with_a_dictionary],
    "04-exclusive": [in_a_loop],
    "04-trust": [strongest_in_a_loop],
    "04-decide": [step_by_step],
    "04-supersede": [new_first_in_one],
    "04-corroborate": [early_returns],
    "04-fence": [all_in_a_list],
}
