"""Answers to the exercises of lesson 04 that the checks must tell apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab.embedding import cosine
from memlab.records import ACTIONS, TRUST, Candidate, MemoryRecord, Operation, Source
from memlab.store import MemoryStore
from solutions import consolidation as given
from solutions.consolidation import is_exclusive, same_fact
from solutions.given.operations import nothing_learned, target_of, unheard

Memories = list[MemoryRecord]

# --- Right answers, written differently ---------------------------------------------------------------


def by_scanning(
    store: MemoryStore,
    candidate: Candidate,
    *,
    user_id: str,
    app_name: str = "default",
    threshold: float = 0.55,
) -> Memories:
    if not isinstance(candidate, Candidate):
        raise TypeError("candidate is none")
    if not 0 <= threshold <= 1:
        raise ValueError(f"the threshold {threshold} is outside 0..1")
    asked = store.embedder(candidate.content)
    near = {}
    for record in store.scan(user_id, app_name, scopes=["user"]):
        value = cosine(asked, record.embedding)
        if value > 0 and value >= threshold:
            near[record.memory_id] = (value, record)
    return [record for _, record in sorted(near.values(), key=lambda pair: pair[0], reverse=True)]


def with_a_dictionary(
    store: MemoryStore, candidate: Candidate, *, threshold: float = 0.55, **owner: str
) -> Memories:
    similar = given.similar_memories(store, candidate, **owner, threshold=threshold)
    found = {record.memory_id: record for record in similar}
    for record in store.scan(**owner, scopes=("user",)):
        if record.topic == candidate.topic and record.subject == candidate.subject:
            found.setdefault(record.memory_id, record)
    return list(found.values())


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


def strongest_in_a_loop(record: MemoryRecord) -> float:
    best = 0.0
    for source in record.sources:
        if not source.inherited and TRUST[source.source_type] > best:
            best = TRUST[source.source_type]
    return best


def step_by_step(candidate: Candidate, affected: Memories, source: Source) -> Operation:
    if not isinstance(candidate, Candidate) or not isinstance(source, Source):
        raise TypeError("candidate or source is none")
    rivals = given.contradicted(candidate, affected)
    for record in affected:
        if same_fact(record.content, candidate.content):
            return Operation("NOOP", record.memory_id, candidate.content, "known")
    if candidate.confidence < given.WEAK and is_exclusive(candidate.topic):
        return Operation("NOOP", rivals[0].memory_id if rivals else None, candidate.content, "weak")
    for record in rivals:
        if given.trust_of(record) > TRUST[source.source_type]:
            return Operation("NOOP", record.memory_id, candidate.content, "weaker source")
    if rivals:
        return Operation("UPDATE", rivals[0].memory_id, candidate.content, "contradicts")
    return Operation("CREATE", None, candidate.content, "new")


def new_first(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        old.invalidated_at = max(old.created_at, new.created_at)
        old.superseded_by = new.memory_id
        old.note(reason)
        own = {source.source_id for source in new.sources}
        new.sources[:0] = [replace(s, inherited=True) for s in old.sources if s.source_id not in own]
        new.note(reason)
    with store.transaction():
        for record in (new, *displaced):
            store.put(record)


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


def field_by_field(
    operation: Operation, candidate: Candidate, source: Source, user_id: str, app_name: str
) -> MemoryRecord:
    memory = MemoryRecord(operation.content, user_id, app_name)
    memory.topic, memory.subject = candidate.topic, candidate.subject
    memory.importance, memory.half_life_days = candidate.importance, candidate.half_life_days
    memory.confidence = min(candidate.confidence, TRUST[source.source_type])
    memory.sources.append(replace(source))
    memory.sources[0].inherited = False
    memory.created_at = memory.updated_at = source.at
    return memory


def one_return(
    store: MemoryStore,
    operation: Any,
    candidate: Candidate,
    source: Source,
    *,
    user_id: str,
    app_name: str = "default",
) -> MemoryRecord | None:
    if not isinstance(operation, Operation):
        raise TypeError("operation is none")
    with store.transaction():
        touched = target_of(store, operation, user_id, app_name)
        if operation.action != "NOOP":
            new = given.new_memory(operation, candidate, source, user_id, app_name)
            displaced = given.displaced_by(new, store.scan(user_id, app_name), target=touched)
            given.supersede(store, displaced, new, operation.reason)
            touched = new
        elif touched is not None:
            given.take_note(touched, operation, source)
            store.put(touched)
    return touched


def in_two_lines(
    store: MemoryStore, candidate: Candidate, source: Source, *, decide: Any = given.decide, **owner: str
) -> Operation:
    with store.transaction():
        made: Operation = decide(candidate, given.affected_memories(store, candidate, **owner), source)
        given.apply(store, made, candidate, source, **owner)
    return made


def in_a_list(
    store: MemoryStore, messages: Any, source: Any, *, extract: Any, decide: Any = given.decide, **owner: str
) -> list[Operation]:
    if not isinstance(source, Source):
        raise TypeError("source is none")
    if source.source_id in store.revoked(**owner):
        return [nothing_learned("revoked")]
    new = unheard(store, messages, source.source_id, **owner)
    if not new:
        return [nothing_learned("known")] if messages else []
    candidates = extract(new)
    if not all(isinstance(candidate, Candidate) for candidate in candidates):
        raise TypeError("candidates are none")
    with store.transaction():
        store.put_conversation(messages, source, **owner)
        return [
            given.consolidate(store, c, replace(source, excerpt=c.excerpt), **owner, decide=decide)
            for c in candidates
        ]


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


RIGHT: dict[str, list[Any]] = {
    "04-similar": [by_scanning],
    "04-topic-sweep": [with_a_dictionary],
    "04-exclusive": [in_a_loop],
    "04-trust": [strongest_in_a_loop],
    "04-decide": [step_by_step],
    "04-supersede": [new_first],
    "04-corroborate": [early_returns],
    "04-new-memory": [field_by_field],
    "04-apply": [one_return],
    "04-consolidate": [in_two_lines],
    "04-learn": [in_a_list],
    "04-fence": [all_in_a_list],
}

# --- Wrong answers, as edits of the reference ---------------------------------------------------------


def deletes(store: MemoryStore, displaced: Memories, new: MemoryRecord, reason: str) -> None:
    for old in displaced:
        store.remove(old.memory_id, old.user_id)
    store.put(new)


def letters_only(candidate: Candidate, affected: Memories) -> Memories:
    def letters(text: str) -> str:
        return "".join(c for c in text.casefold() if c.isalpha())

    rivals = given.contradicted(candidate, affected)
    return [r for r in rivals if letters(r.content) != letters(candidate.content)]


ONE_ID = "(target.subject, target.topic) != (candidate.subject, candidate.topic)"
TAKEN_OVER = "[replace(source, inherited=True) for source in taken_over] + new.sources"
KNOWN = "            known = {source.source_id for source in new.sources}\n"
ALL_TRUST = "max((TRUST[source.source_type] for source in record.own_sources()), default=0.0)"
SWEPT = 'store.scan(user_id, app_name, scopes=("user",), topic=candidate.topic)'
SAME = "[record for record in affected if same_fact(record.content, candidate.content)]"

# fmt: off
WRONG: dict[str, list[tuple[Any, str]]] = {
    "04-similar": [
        ("(found.relevance >= threshold) & (found.relevance > 0) => (found.relevance > -2)", "every memory"),
        ("(found.relevance >= threshold) & => (found.relevance < threshold) & ;; > 0) => > -2)",
         "lies **below**"),
        ("near.sort(key=lambda i: -found.relevance[i]) => near.sort()", "order in which they were stored"),
        ("found.records(near) => found.records(near[:1])", "the nearest only"),
        ("relevance >= threshold => relevance >= 0.55", "fixed number"),
        (">= threshold => > threshold", "leaves it out"),
        ("store.search(candidate.content, user_id, => store.search(candidate.content, "
         "user_id if store.scan(user_id) else 'bo',", "is Bo's"),
        ("return [ => return [] if app_name == 'bank' else store.scan(user_id, include_invalid=True) if "
         "not len(found.relevance) else [", "tombstone came back"),
        ('scopes=("user",) => scopes=("user", "app")', "the app's"),
        (" & (found.relevance > 0) => ", "zero vector"),
        ("user_id, app_name, => user_id, 'default',", "came back at the bank"),
        ('check_fraction("threshold", threshold) => pass', "slip for 0.55"),
        ('check_kind("candidate", candidate, Candidate) => candidate = candidate if hasattr(candidate, '
         '"content") '
         'else Candidate(candidate, "diet", 0.9, "")', "Text is no candidate"),
        ("[record for record in found.records(near) => [(0, record) for record in found.records(near)",
         "list of memories"),
    ],
    "04-topic-sweep": [
        ("in swept if => in [] if", "Similarity alone again"),
        (", topic=candidate.topic => ", "swept every topic"),
        (" and record.memory_id not in seen => ", "listed it twice"),
        ("return similar + [ => return [ ;; and record.memory_id not in seen\n    ] => \n    ] + [r for r in "
         "similar if r.topic != candidate.topic]", "before the neighbours"),
        ("return similar + => return [r for r in similar if r.topic == candidate.topic] +",
         "an intersection"),
        ("return similar + => return [r for r in similar if r.subject == candidate.subject] +", "threw out"),
        ("return similar + => return [r for r in similar if r.topic != candidate.topic] +", "got lost"),
        ("threshold=threshold => threshold=0.55", "hand your `threshold` on"),
        ("record.subject == candidate.subject and => ", "**son**"),
        ("store.scan(user_id => store.scan(user_id if store.scan(user_id) else 'bo'", "Bo's came back"),
        ("topic=candidate.topic => include_invalid=True, topic=candidate.topic", "woke a tombstone"),
        ('scopes=("user",) => scopes=("user", "app")', "app-scope"),
        ("app_name=app_name => app_name='default' ;; store.scan(user_id, app_name => store.scan(user_id, "
         "'default'",
         "came back at the bank"),
        ("threshold=threshold => threshold=min(threshold, 1.0)", "slip for 0.55"),
    ],
    "04-exclusive": [
        ("and is_exclusive => and not is_exclusive", "one diet"),
        ("and not same_fact(record.content, candidate.content) => ", "says the same"),
        ("not same_fact(record.content, candidate.content) => record.content != candidate.content",
         "with `==`"),
        (letters_only, "two dates"),
        ("and is_exclusive(candidate.topic) => ", "two problems"),
        ("is_exclusive(candidate.topic) => candidate.topic in EXCLUSIVE_TOPICS", "families"),
        ("(record.subject, record.topic) == (candidate.subject, candidate.topic) => "
         "record.topic.partition(':')[0] == candidate.topic.partition(':')[0]", "no Chinese food"),
        ("(record.subject, record.topic) == (candidate.subject, candidate.topic) => "
         "(record.topic == candidate.topic or ':' not in candidate.topic)", "seat contradicts no diet"),
        ("(record.subject, record.topic) == (candidate.subject, candidate.topic) => "
         "record.topic == candidate.topic", "wife's diet"),
        ("for record in affected => for record in affected[:1]", "give back both"),
    ],
    "04-trust": [
        (f"{ALL_TRUST} => record.sources[0].source_type", "kind of source"),
        ("max( => min(", "the weakest"),
        (f"{ALL_TRUST} => sum(TRUST[s.source_type] for s in record.sources) / len(record.sources)",
         "the average"),
        (f"{ALL_TRUST} => next((TRUST[s.source_type] for s in record.own_sources()), 0.0)",
         "first source only"),
        ("record.own_sources() => record.sources", "that was **replaced**"),
        (", default=0.0 => ", "crashed it"),
        ("default=0.0 => default=0.65", "Nobody vouches"),
    ],
    "04-decide": [
        (f"same = {SAME} => same = []", "stored twice"),
        (f"same = {SAME} => same = [] ;; contradicted(candidate, affected) => [r for r in affected if "
         "is_exclusive(r.topic)]", "is known needs no UPDATE"),
        ("same_fact(record.content, candidate.content) => record.content == candidate.content",
         "`same_fact`, not"),
        ('"NOOP", same[0].memory_id => "NOOP", None', "nothing can be corroborated"),
        ("rivals = contradicted(candidate, affected) => rivals = []", "at random every turn"),
        ("> TRUST[ => >= TRUST[", "Equal trust"),
        ("if stronger: => if False:", "nobody compared"),
        ("trust_of(record) > => min(TRUST[s.source_type] for s in record.sources) >", "laundering is back"),
        ("rivals = => affected = affected[:1]\n    rivals =", "all first"),
        ("for record in rivals => for record in rivals[:1]", "One of the two rivals"),
        ("old = rivals[0] => old = rivals[-1]", "**first** of them"),
        ("weak = => weak = False and", "a meat eater"),
        ("if weak: => if weak and rivals:", "because none was known"),
        ("< WEAK => <= WEAK", "not below WEAK"),
        ("if same: => if same and not weak:", "known before it is weak"),
        ("weak = is_exclusive(candidate.topic) and => weak =", "exclusive topics only"),
        ("contradicted(candidate, affected) => [r for r in affected if r.topic == candidate.topic and "
         "is_exclusive(r.topic) and not same_fact(r.content, candidate.content)]", "The wife's diet"),
        ('"CREATE", None, candidate.content => "CREATE", None, candidate.excerpt', "candidate's content"),
        ('    return Operation("CREATE", None, candidate.content, reason) => ', "on every path"),
        ('check_kind("candidate", candidate, Candidate) => candidate = Candidate(candidate, "diet", 0.9, "") '
         'if isinstance(candidate, str) else candidate', "Text is no candidate"),
        ('check_kind("source", source, Source) => source = source if isinstance(source, Source) else '
         'Source("tool_output", source)', "An id is no source"),
    ],
    "04-supersede": [
        ("        store.put(new) => ", "not in the store"),
        (deletes, "gone or rewritten"),
        ("old.invalidated_at = => _ =", "still holds"),
        ("old.superseded_by = => _ =", "`superseded_by` must be"),
        ("            store.put(old)\n =>  ;; replace(source, inherited=True) for => setattr(source, "
         "'inherited', True) "
         "or source for ;; new.note( => store.put(old)\n            new.note(", "copies"),
        (f"{TAKEN_OVER} => new.sources", "knows nothing of s1"),
        (" + new.sources => ", "lost its own source"),
        ("replace(source, inherited=True) => replace(source)", "laundered"),
        (f"{TAKEN_OVER} => new.sources + [replace(source, inherited=True) for source in taken_over]",
         "stand in front"),
        ("new.note( => str(", "history of **both**"),
        (" if source.source_id not in known => ", "s1 said both"),
        ("max(old.created_at, new.created_at) => __import__('time').time()", "By the clock"),
        ("max(old.created_at, new.created_at) => new.created_at", "imported late"),
        ("in displaced: => in displaced[:1]:", "not both became tombstones"),
        (f"{KNOWN} =>  ;; with store.transaction(): => known = {{s.source_id for s in new.sources}}\n"
         "    with store.transaction():", "came over twice"),
        ("with store.transaction(): => if True:", "neither diet holds"),
        ("with store.transaction():\n        for old in displaced: => if not displaced:\n        "
         "store.put(new)\n"
         "    for old in displaced:\n        with store.transaction(): ;; {reason}\")\n        "
         "store.put(new) => "
         "{reason}\")\n            store.put(new)", "Half of the work stayed"),
    ],
    "04-corroborate": [
        ("round(min(1.0, memory.confidence + CORROBORATION), 6) => memory.confidence", "second witness"),
        ("memory.sources.append(replace(source, inherited=False)) => pass", "Append the new source"),
        ("elif source.source_id not in heard => elif True", "repeated itself, and it counted"),
        ("elif source.source_id not in heard: => elif source.source_id in heard:\n        "
         "memory.note('again')\n"
         "    else:", "worth no line"),
        ("source.source_id not in heard => source not in memory.sources", "said it in other words"),
        ("if not same_fact(memory.content, operation.content): => if False:", "**lost** against"),
        ("memory.note(f\"kept => memory.sources.append(source)\n        memory.note(f\"kept",
         "must not stand among"),
        ("{operation.reason}\") => \")", "left no trace"),
        ('memory.note(f"corroborated by {source.source_type}") => pass', "does not say why"),
        ("not same_fact(memory.content, operation.content) => memory.content != operation.content",
         "with `!=`"),
        ("min(1.0, memory.confidence + CORROBORATION) => memory.confidence + CORROBORATION", "stop at 1.0"),
        ("max(memory.updated_at, source.at) => memory.updated_at", "as if unheard"),
        ("max(memory.updated_at, source.at) => source.at", "later of the two"),
        ("replace(source, inherited=False) => source", "kept the mark"),
        ("memory.own_sources() => memory.sources", "lineage only"),
    ],
    "04-new-memory": [
        ("content=operation.content => content=candidate.content", "A model decided"),
        ("content=operation.content => content=candidate.excerpt", "What she said is the excerpt"),
        ("user_id=user_id => user_id=app_name", "It is Ada's"),
        ("        app_name=app_name,\n => ", "went to another app"),
        ("        topic=candidate.topic,\n => ", "No topic sweep"),
        ("        subject=candidate.subject,\n => ", "*user* is allergic"),
        ("        importance=candidate.importance,\n => ", "as important as small talk"),
        ("        half_life_days=candidate.half_life_days,\n => ", "fades like small talk"),
        ("        confidence=starting_confidence(candidate.confidence, source),\n => ", "default of 0.60"),
        ("starting_confidence(candidate.confidence, source) => candidate.confidence", "a chat is trusted"),
        ("starting_confidence(candidate.confidence, source) => starting_confidence(1.0, source)",
         "the smaller of the two"),
        ("        sources=[replace(source, inherited=False)],\n => ", "Nobody can say why"),
        ("replace(source, inherited=False) => source", "states *this* memory"),
        ("replace(source, inherited=False) => Source(source.source_type, source.source_id)",
         "lost its words"),
        ("replace(source, inherited=False) => setattr(source, 'inherited', False) or source",
         "You changed the source"),
        ("        created_at=source.at,\n => ", "when your code ran"),
        ("        updated_at=source.at,\n => ", "as fresh as if said today"),
    ],
    "04-apply": [
        ("supersede(store, => (lambda *_: None)(store,", "Nothing was stored"),
        ("return new => return None", "that was made"),
        ("displaced_by(new, beside, target=target) => []", "vegetarian still holds"),
        ("new, operation.reason) => new, 'changed')", "Nobody will know why"),
        (", target=target) => )", "only the operation names"),
        ("displaced_by(new, beside, target=target) => [target] if target else []", "two diets hold"),
        ("beside = store.scan( => beside = [] if target else store.scan(", "one of two rivals"),
        ("return target => target = None", "a NOOP ends before"),
        ("store.put(target) => pass", "on a copy only"),
        ("take_note(target, operation, source) => target.note(operation.reason)", "`take_note` of it"),
        ("return target => return None", "that was touched"),
        ("if target is not None: => if target is None:\n                target = new_memory(operation, "
         "candidate, "
         "source, user_id, app_name)\n            if target:", "nothing to note"),
        ("displaced_by(new, beside, target=target) => [*([target] if target else []), *(r for u in "
         "(user_id, 'bo') "
         "for r in store.scan(u, app_name, ('user',)) if r.topic == new.topic)]", "ended Bo's"),
        ("source, user_id, app_name) => source, user_id, 'default')", "the bank's to store"),
        ("target = target_of(store, operation, user_id, app_name) => target = operation.target_id and "
         "store.get(operation.target_id, user_id, app_name)", "Nobody holds"),
        ("operation, user_id, app_name)\n => operation, user_id, 'default')\n", "is not the bank's"),
        ("displaced_by(new, beside, target=target) => [r for r in beside if is_exclusive(r.topic)] or "
         "[r for r in [target] if r]", "displaced what the user said"),
        ("check_parts(operation, candidate, source) => operation = operation or Operation('NOOP', None, "
         "'-', '-')",
         "None is no operation"),
        ("with store.transaction():\n        target => if True:\n        target",
         "between your look and your write"),
        ("with store.transaction(): => with store.transaction() if operation.action != 'NOOP' else "
         "MemoryStore().transaction():", "written back over it"),
    ],
    "04-consolidate": [
        ("apply(store, => (lambda *_, **__: None)(store,", "not carried out"),
        ("return operation => return Operation(operation.action, None, source.source_id, operation.reason) "
         "and "
         "replace(operation, action='NOOP')", "once it is applied"),
        ("candidate, affected, source) => candidate, [], source)", "was not shown the vegetarian"),
        ("apply(store => if operation.action != 'NOOP':\n            apply(store",
         "second witness left no trace"),
        ("operation = decide( => operation = globals()['decide'](", "call the one that you were given"),
        ("affected, source) => affected, replace(source, source_id='now'))", "and the source"),
        ("affected_memories(store, candidate, user_id=user_id, app_name=app_name) => "
         "affected_memories(store, candidate, user_id=user_id)", "Your code raised"),
        ("source, user_id=user_id, app_name=app_name) => source, user_id=user_id)", "belongs to the bank"),
        ("with store.transaction(): => if True:", "store a diet each"),
    ],
    "04-learn": [
        ("return operations => return operations[:1]", "in their order"),
        ("consolidate(store => (lambda *_, **__: Operation('CREATE', None, candidate.content, '-'))(store",
         "`consolidate` each candidate"),
        ("store.put_conversation(messages, source, user_id=user_id, app_name=app_name) => pass",
         "What was said is lost"),
        ("with store => if not candidates:\n        return []\n    with store", "may find more"),
        ("replace(source, excerpt=candidate.excerpt) => source", "drawn from"),
        ("if messages and not new: => if not new:", "give back an empty list"),
        ("if messages and not new: => if False:", "One `nothing_learned` says so"),
        ("extract(new) => extract(messages)", "its beginning again"),
        ("put_conversation(messages => put_conversation(new", "hand all `messages`"),
        ("if source.source_id in store.revoked(user_id, app_name): => if False:", "Ada revoked s1"),
        ("check_kind( => extract(messages)\n    check_kind(", "went to the extractor"),
        ("store.revoked(user_id, app_name) => store.revoked(user_id)", "revoked elsewhere"),
        ("source.source_id, user_id=user_id, app_name=app_name) => source.source_id, user_id=user_id)",
         "has heard this before"),
        (", decide=decide) => )", "hand it on to `consolidate`"),
        ("with store.transaction(): => if True:", "at the second fact"),
        ('check_list("candidates", extract(new), Candidate)\n    with store.transaction(): => []\n    '
         'with store.transaction():\n        candidates = check_list("candidates", extract(new), Candidate)',
         "extract **before**"),
        ('check_list("candidates", extract(new), Candidate) => [c for c in extract(new) if isinstance(c, '
         'Candidate)]',
         "nobody looked"),
        ('check_kind("source", source, Source) => source = source if isinstance(source, Source) else '
         'Source("user_implicit", source)', "An id is no source"),
    ],
    "04-fence": [
        ("rules = => return 'no'\n    rules =", "This UPDATE is right"),
        ("rules = => return True\n    rules =", "as text"),
        ("proposal.target_id is not None and target is None => False ;; if target is None: => if False: ;; "
         "(target.subject => target and (target.subject ;; trust_of(target) => target and trust_of(target)",
         "nowhere else"),
        ('if proposal.action != "CREATE" and proposal => if proposal.action == "UPDATE" and proposal',
         "somebody else's"),
        ("if proposal.action not in ACTIONS: => if False:", "no DELETE here"),
        ("if not same_fact(proposal.content, candidate.content): => if False:", "smuggled"),
        ("not same_fact(proposal.content, candidate.content) => proposal.content != candidate.content",
         "drop full stops"),
        ('if proposal.action == "CREATE" and rules.action == "UPDATE": => if False:', "both be active"),
        ('if proposal.action != "NOOP" and rules.action == "NOOP": => if False:', "stored beside the winner"),
        ('if proposal.action != "NOOP" and rules => if proposal.action == "CREATE" and rules ;; '
         "if trust_of(target) > TRUST[source.source_type] else None => if False else None",
         "a tool overrule"),
        ('if proposal.action != "NOOP" and rules => if rules', "nothing is bolder"),
        (f"if {ONE_ID}: => if False:", "replaced a seat"),
        (f"if {ONE_ID}: => if target.topic != candidate.topic:", "compare `subject` too"),
        (f"if {ONE_ID}: => if rules.target_id and proposal.target_id != rules.target_id:",
         "A hobby replaced"),
        ("if target is None: => if False: ;; (target.subject => target and (target.subject ;; "
         "trust_of(target) => target and trust_of(target)", "UPDATE of nothing"),
        ('if proposal.action == "CREATE" and rules => if proposal.action != "UPDATE" and rules',
         "More careful is fine"),
        ('proposal.action != "CREATE" and proposal.target_id is not None and target is None => '
         'proposal.action != "CREATE" and target is None', "touches nothing"),
        ('proposal.action != "CREATE" and proposal.target_id is not None => proposal.target_id is not None',
         "lose the fact"),
        ("if target is None: => if rules.action == 'CREATE' or target is None:", "vague memory"),
        (' if trust_of(target) > TRUST[source.source_type] else None => if False else None',
         "nobody compared the trust"),
    ],
}
# fmt: on

NAMED, WORDING = "the message still names the argument", "wording of the reason"

SPARED: dict[str, dict[str, str]] = {
    "04-similar": {
        "check_kind('candidate', candidate, => check_kind('candidateX', candidate,": NAMED,
        "check_fraction('threshold', threshold) => check_fraction('thresholdX', threshold)": NAMED,
        "found.records(near) if record is not None] => found.records(near)]":
            "a record is None only where another process erased it between the two reads",
        "0)).nonzero()[0].tolist() => 0)).nonzero()[-1].tolist()": "a row of numbers has one axis: first "
        "and last",
    },
    "04-decide": {
        "this topic' if known else 'novel => this topic' if True else 'novel": WORDING,
        "this topic' if known else 'novel => this topic' if False else 'novel": WORDING,
        "any((record.topic == candidate.topic => any((record.topic != candidate.topic": WORDING,
        "check_kind('candidate', candidate, => check_kind('candidateX', candidate,": NAMED,
        "check_kind('source', source, Source) => check_kind('sourceX', source, Source)": NAMED,
        "Operation('NOOP', same[0].memory_id, => Operation('NOOP', same[-1].memory_id,":
            "of two memories that say the same, either may be corroborated",
        "Operation('NOOP', stronger[0].memory_id, => Operation('NOOP', stronger[-1].memory_id,":
            "losing against one is enough, whichever of the stronger ones is named",
    },
    "04-corroborate": {
        "CORROBORATION), 6) => CORROBORATION), 7)": "a finer rounding is none that anybody sees",
        "CORROBORATION), 6) => CORROBORATION), 12)": "a finer rounding is none that anybody sees",
    },
    "04-apply": {
        "app_name, ('user',), topic=new.topic) => app_name, ('user',))":
            "`displaced_by` compares the topic itself: naming it only loads fewer memories",
    },
    "04-learn": {
        "check_kind('source', source, Source) => check_kind('sourceX', source, Source)": NAMED,
        "check_list('candidates', extract(new), => check_list('candidatesX', extract(new),": NAMED,
    },
}  # fmt: skip
