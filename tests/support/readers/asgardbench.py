"""Reader: plays the household from the text of a request alone, as a test of prompts.

It imagines the household, corrects that by what it reads, and lets the solver go on from there;
what it has found out it writes down as its memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clevrskills.core.policy import Message
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.asgardbench.imagined import BeliefWorld, imagine
from clevrskills.suites.asgardbench.prompts.prompter import (
    OBJECTS,
    REMEMBERED,
    TASK,
    VIEW,
    HousePrompter,
)
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, SHUTTING, Entity
from clevrskills.suites.asgardbench.state_text import NOTHING, line
from clevrskills.suites.asgardbench.tasks.instances import read_sentence
from clevrskills.suites.asgardbench.tasks.solver import StuckError, solve

_LINE = re.compile(r"- (\w+)(?: in (\w+))?(?:: (.*))?")
_PAST = re.compile(r"^\d+\. ([A-Z_]+) (\w+) - (Success|Failure)\.(?: (.*))?$", re.MULTILINE)
_DOORS = ("Fridge", "Microwave", "Box", "Cabinet", "Drawer")
"""Most likely containers of objects that are not visible."""
_DONE = re.compile(r"- Done: ([A-Z]+) (\w+)")


@dataclass
class _Told:
    """What a line says of a item or fixture."""

    kind: str
    parent: str
    states: list[str] = field(default_factory=list)


def reply(messages: Sequence[Message]) -> str:
    """A reply with the solver's next command in the household as it is understood.

    Raises:
        ClevrSkillsError: What is seen is not told in words.
    """
    text = "\n\n".join(part for part in messages[-1].parts if isinstance(part, str))
    sections = dict(re.findall(r"^([A-Z ]{8,})\n((?:.+\n?)*)", text, re.MULTILINE))
    if VIEW not in sections:
        raise ClevrSkillsError("the reader needs what is seen in words: --preset state_text")
    task, variant = read_sentence(sections[TASK])
    house = imagine(task, variant, sections[OBJECTS].strip().split(", "))
    remembered = text.partition(REMEMBERED)[2].partition("\n\n")[0]
    _believe(house, list(_told(remembered)))
    house.events = list(_DONE.findall(remembered))
    past = _PAST.findall(text)
    last = past[-1] if past else ("", "", "", "")
    if last[2] == "Success":
        apply(house, *last[:2])
    _see(house, sections[VIEW])
    _conclude(house, last, sections[VIEW])
    command, plan = "", list[str]()
    looked = any(entry[:3] == ("FIND", "DiningTable", "Success") for entry in past)
    if task == "set_table" and not looked:
        command = "FIND DiningTable"
    else:
        try:
            plan = solve(task, variant, house)
        except StuckError:
            plan = []
        command = _next(plan, past)
    return HousePrompter({}).answer(command, plan or [command], list(_memory(house)))


def _next(plan: Sequence[str], past: Sequence[Sequence[str]]) -> str:
    """The first command of a plan; where that has just failed, another look at what it is about."""
    failed = [f"{verb} {kind}" for verb, kind, how, _ in past[-2:] if how == "Failure"]
    if not plan:
        return "FIND DiningTable" if past and past[-1][1] != "DiningTable" else "FIND CounterTop"
    if plan[0] in failed:
        return f"FIND {plan[0].split()[1]}"
    return plan[0]


def _told(text: str) -> Iterator[_Told]:
    """What lines say."""
    for row in text.splitlines():
        found = _LINE.fullmatch(row.strip())
        if found and found[1] != "Done":
            yield _Told(found[1], found[2] or "", (found[3] or "").split(", "))


def _believe(house: BeliefWorld, given: Sequence[_Told]) -> None:
    """Store the stated facts on objects and fixtures."""
    data = catalogue()
    taken: set[str] = set()
    for kind in {each.kind for each in given if each.kind in data.slices.values()}:
        whole = next(k for k, piece in data.slices.items() if piece == kind)
        for entity in house.of_type(whole):
            entity.parent = GONE
    where = {e.id: _where(house, e) for e in house.entities.values()}

    def elsewhere(each: _Told) -> bool:
        """Whether nothing like it is thought to be there."""
        return all(where[e.id] != each.parent for e in house.of_type(each.kind))

    for each in sorted(given, key=elsewhere):  # what is as it was thought to be is told apart first
        if each.kind in data.fixtures:
            continue
        there = [e for e in house.of_type(each.kind) if e.id not in taken]
        there.sort(key=lambda e: where.get(e.id) != each.parent)
        if not there:
            number = len(house.of_type(each.kind)) + 1
            there = [Entity(f"{each.kind}_{number}", each.kind, HAND)]
            house.entities[there[0].id] = there[0]
        item = there[0]
        taken.add(item.id)
        if each.parent == HAND:
            item.parent, item.slot = HAND, 0
        container = next(iter(house.of_type(each.parent)), None)
        before = house.entities.get(item.parent)
        if container is not None and (before is None or before.type != each.parent):
            item.parent, item.slot = container.id, _slot(house, container)
        item.dirty, item.cooked = "dirty" in each.states, "cooked" in each.states
        filled = [s.removeprefix("filled with ") for s in each.states if s.startswith("filled")]
        item.filled = filled[0] if filled else ""
    for kind in {each.kind for each in given if each.kind in data.fixtures}:
        states = [state for each in given if each.kind == kind for state in each.states]
        for fixture in house.of_type(kind):
            fixture.open, fixture.on = "open" in states, "on" in states
            fixture.dirty, fixture.sprayed = "dirty" in states, "sprayed" in states


def _where(house: BeliefWorld, item: Entity) -> str:
    """Type of what a item is directly in or on, or :data:`HAND`."""
    parent = house.entities.get(item.parent)
    return item.parent if parent is None else parent.type


def _slot(house: BeliefWorld, container: Entity) -> int:
    """A slot that is free, be it one that no container has."""
    taken = {e.slot for e in house.contents(container)}
    return next(k for k in range(len(taken) + 1) if k not in taken)


def _see(house: BeliefWorld, view: str) -> None:
    """Store the visible facts."""
    held = re.search(r"^In hand: (\w+)$", view, re.MULTILINE)
    kind = held[1] if held else NOTHING
    _believe(house, [given for given in _told(view)])
    top = house.of_type("CounterTop") or house.of_type("CoffeeTable") or house.of_type("Shelf")
    for entity in house.entities.values():
        if entity.parent == HAND and entity.type != kind:
            entity.parent, entity.slot = top[0].id, _slot(house, top[0])
    if kind != NOTHING and house.held is None:
        for item in house.of_type(kind)[:1]:
            item.parent, item.slot = HAND, 0


def _conclude(house: BeliefWorld, last: Sequence[str], view: str) -> None:
    """Apply the last command: a sought object that is not visible is behind a door."""
    verb, kind, how, why = last
    if how == "Failure" and "is dirty" in why:
        for item in house.of_type(kind):
            item.dirty = True
    seen = list(_told(view))
    unseen = all(given.kind != kind for given in seen) and kind in catalogue().sizes
    shut = [given.kind for given in seen if given.kind in SHUTTING and "closed" in given.states]
    if verb == "FIND" and how == "Success" and unseen and shut:
        container = house.of_type(min(shut, key=_DOORS.index))[0]
        for item in house.of_type(kind)[:1]:
            if item.parent != HAND:
                item.parent, item.slot = container.id, _slot(house, container)


def _memory(house: BeliefWorld) -> Iterator[str]:
    """Known facts on the household, differences from the assumed one, and past commands."""
    for verb, what in house.events:
        yield f"Done: {verb} {what}"
    for entity in house.entities.values():
        parent = house.entities.get(entity.parent)
        plain = parent is not None and parent.type in ("CounterTop", "CoffeeTable")
        given = line(house, entity)
        if entity.parent == GONE or entity.type == "StoveKnob":
            continue
        if entity.type in catalogue().fixtures:
            if entity.open or entity.on or entity.dirty or entity.sprayed:
                yield given
        elif not plain or ":" in given or entity.type in catalogue().slices.values():
            yield given
