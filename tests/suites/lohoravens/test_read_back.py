"""Sentences are read back: a grammar of English finds in them the leaves of the goal, and no more.

Mutated sentences ask for something else, or are not understood.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from clevrskills.core.suite import load_suite
from clevrskills.suites.lohoravens.field import area_of
from clevrskills.suites.lohoravens.predicates.tower import TowerInArea
from clevrskills.tasks.base import stack_roles, task
from clevrskills.tasks.layout import Layout
from clevrskills.tasks.leaf_slots import used_leaves
from tests.suites.lohoravens.scenes import KEYS, SPLITS
from tests.support.field_grammar import (
    COLORS,
    NUMBERS,
    Field,
    Leaf,
    Rectangle,
    read,
    step_leaves,
    steps_of,
)

MUTATIONS, FEWEST = 200, 10
"""Mutations of the sentences of a task; those that there are at least of a fixed sentence."""
SWAPS = (
    *(("left", "right"), ("top", "bottom"), ("nearer", "farther"), ("smaller", "bigger")),
    *(("small", "big"), ("smallest", "biggest"), ("counter-clockwise", "clockwise")),
    *(("inside", "outside"), ("inner", "outer"), ("lowest", "highest"), ("first", "last")),
    *(("odd", "even"), ("same", "other"), ("matching", "mismatching"), ("below", "above")),
    *(("larger", "smaller"), ("large", "small"), ("largest", "smallest"), ("most", "least")),
    *(("increasing", "decreasing"), ("under", "above"), ("beneath", "above"), ("lower", "upper")),
    *(("greatest", "smallest"), ("cool", "warm")),
)
NEGATIONS = ("not", "no", "never", "none", "nothing", "neither", "nor", "without")


def goal_leaves(key: str, layout: Layout) -> frozenset[Leaf]:
    """Return the leaves of the goal of a scene, as the grammar has them."""
    leaves = used_leaves(task(key).goal(stack_roles([layout])))
    return frozenset(leaf_of(leaf, layout) for leaf in leaves)


def leaf_of(leaf: Any, layout: Layout) -> Leaf:
    def some(name: str) -> frozenset[int]:
        return frozenset(k for k in getattr(leaf, name)[0].tolist() if k >= 0)

    def one(name: str) -> int:
        return int(getattr(leaf, name)[0])

    kind = type(leaf).__name__
    if kind == "InBowl":
        return ("bowl", one("object"), some("bowls"))
    if kind == "InZone":
        return ("zone", one("object"), one("zone"))
    if kind == "OnTop":
        return ("on", one("top"), one("bottom"))
    if kind == "InArea":
        return ("area", one("object"), Rectangle((*leaf.low[0].tolist(), *leaf.high[0].tolist())))
    if kind == "ExactlyIn":
        return ("exactly", some("objects"), one("zone"), one("count"))
    if kind == "Forms":
        return _figure(leaf)
    if isinstance(leaf, TowerInArea):
        area = area_of(*leaf.bounds_m()).removeprefix("the ").removesuffix(" area")
        return ("tower in area", some("objects"), area)
    objects, ranks, kinds = (
        getattr(leaf, name)[0].tolist() for name in ("objects", "rank", "kind")
    )
    used = [k for k, slot in enumerate(objects) if slot >= 0]
    order: object = "big below" if any(ranks[k] for k in used) else ""
    if int(leaf.wanted[0, 0]) >= 0:
        colors = {kinds[k]: layout.slot(objects[k]).color for k in used}
        order = tuple(colors[kind] for kind in leaf.wanted[0].tolist() if kind >= 0)
    return ("tower", some("objects"), one("base"), one("count"), order)


def _figure(leaf: Any) -> Leaf:
    slots, groups = leaf.slots(0)
    order = [slots[k] for k in groups.argsort(kind="stable")]
    if leaf.figure in ("line", "ring"):
        return (leaf.figure, *([0] if leaf.figure == "line" else []), *order)
    kinds = sorted({*groups.tolist()})
    parts = (frozenset(s for s, of in zip(slots, groups, strict=True) if of == k) for k in kinds)
    return (leaf.figure, *parts, *(k for k in leaf.zone.tolist() if k >= 0))


def scenes(key: str, seeds: Sequence[int]) -> Iterator[Layout]:
    suite = load_suite("lohoravens")
    for seed in seeds:
        yield suite.draw(key, SPLITS[seed % len(SPLITS)], 640_000 + seed).layout


def asks(sentence: str, field: Field) -> frozenset[Leaf] | None:
    """Return the leaves that a sentence asks for in a scene."""
    meaning = read(steps_of(sentence)[0])
    return meaning(field) if meaning else None


def reader(key: str, layout: Layout) -> Callable[[str], bool]:
    """Return what tells whether a sentence asks for the goal of a scene, with its steps in turn."""
    field, goal = Field(layout), goal_leaves(key, layout)
    followed: Any = task(key).followed(stack_roles([layout]))  # type: ignore[attr-defined]
    taken = [leaf_of(leaf, layout) for leaf in used_leaves(followed.child)] if followed else []

    def means_it(text: str) -> bool:
        said = [step_leaves(field, step) for step in steps_of(text)[1]]
        right = len(said) == len(taken) and all(map(operator.contains, said, taken))
        return right and asks(text, field) == goal

    return means_it


def check(key: str, seeds: Sequence[int]) -> None:
    for layout in scenes(key, seeds):
        means_it = reader(key, layout)
        for wording in task(key).wordings(layout):
            assert means_it(wording.text), wording.text


@pytest.mark.parametrize("key", KEYS)
def test_a_parsed_sentence_gives_the_leaves(key: str) -> None:
    check(key, range(3))


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_parsed_sentences_of_many_seeds_give_the_leaves(key: str) -> None:
    check(key, range(200))


def mutations(text: str, colors: Sequence[str]) -> Iterator[str]:
    """Yield a sentence with colors exchanged, another direction, order, number, or a negation
    dropped.
    """
    there = [c for c in dict.fromkeys(re.findall(r"\w+", text.lower())) if c in COLORS]
    exchanges = [(one, other) for one in there for other in colors if one != other]
    for one, other in (*exchanges, *SWAPS):
        swap = {one: other, other: one}
        words = re.compile(rf"(?<![\w-])(?:{one}|{other})(?!\w)", re.I)
        yield words.sub(lambda m: swap[m[0].lower()], text)  # noqa: B023
    numbers = "|".join(NUMBERS[2:-1])
    for found in re.finditer(rf"\b(?:{numbers})\b|\b\d+(?= cm)", text):
        old = found[0]
        for step in (-1, 1):
            new = str(int(old) + step) if old.isdigit() else NUMBERS[NUMBERS.index(old) + step]
            yield text[: found.start()] + new + text[found.end() :]
    for found in re.finditer(rf"\b(?:{'|'.join(NEGATIONS)})\b ?", text, re.I):
        yield text[: found.start()] + text[found.end() :]


def harmless(text: str, wrong: str) -> bool:
    """Whether a mutation is of the block alone beside which others lie: two may have the same ones
    on a side of them.
    """
    mark = re.compile(rf"(?:left of|right of|robot than) the (?:{'|'.join(COLORS)}) block")
    return mark.sub("", text) == mark.sub("", wrong) != text


@pytest.mark.parametrize("key", KEYS)
def test_mutated_sentences_are_found(key: str) -> None:
    done, generator = set[str](), np.random.default_rng(1)
    for layout in scenes(key, range(1000, 1012)):
        means_it, before = reader(key, layout), len(done)
        colors = sorted({t.color for t in Field(layout).bodies})
        for wording in task(key).wordings(layout):
            text = wording.text
            known = {t for t in mutations(text, colors) if t.lower() != text.lower()} - done
            for wrong in generator.permutation(sorted(known))[:3].tolist():
                if not harmless(text, wrong):
                    assert not means_it(wrong), (text, wrong)
                    done.add(wrong)
        if len(done) >= MUTATIONS or len(done) == before:
            break
    assert len(done) >= FEWEST, len(done)
