"""Sentences are read back: a grammar of English finds in them the leaves of the goal, and no more.

Mutated sentences ask for something else, or are not understood.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from clevrskills.core.goal.tree import nodes
from clevrskills.sim.prompt import Prompt
from clevrskills.suites.clevrskills.wording_checks import KEYSTEPS, draw_layout
from clevrskills.tasks import stack_roles, task
from clevrskills.tasks.leaf_slots import used_leaves
from tests.support.grammar import NUMBERS, Grammar, scene_names
from tests.tasks.scenes import TASKS

MUTATIONS = 200
VERBS = {  # of leaves: those that a sentence must have, and those that it may have
    "AtPose": ("restore", "pose"),
    "AtPoseOnTop": ("restore", "pose"),
    "AtPosition": ("", ""),
    "AtPositionPushed": ("push", ""),
    "Balanced": ("balance", ""),
    "EndEffectorAtPose": ("", "pose lift"),
    "Hit": ("", "throw hit lift"),
    "HitToppled": ("topple", "throw hit lift"),
    "Inside": ("", "touch lift"),
    "InsideAfter": ("neighbor", "touch"),
    "OnTop": ("", "lift stack"),
    "Picked": ("", "lift"),
    "PushedTowards": ("push", "touch"),
    "Rotated": ("", "lift"),
    "SameStack": ("stack", ""),
    "SetDown": ("", "lift"),
    "Swapped": ("swap", ""),
    "ToppledStructure": ("topple", "push"),
    "Touched": ("touch", ""),
    "TouchedPushed": ("push", "touch"),
    "TouchedToppled": ("topple", "touch push"),
    "Traced": ("trace", "touch"),
}
FREE = {"alike", "area", "visit", "neighbor"}
"""What says of which objects a sentence is, and in which manner."""
RELATIONS = {
    "Hit": "to in",
    "HitToppled": "to in",
    "Inside": "in on to",
    "InsideAfter": "in on to",
    "OnTop": "on to",
    "PushedTowards": "towards to",
    "SetDown": "on to",
}
SWAPS = (
    ("clockwise", "anti-clockwise"),
    ("on the left", "on the right"),
    ("on the side towards the robot", "on the side away from the robot"),
    (" on ", " under "),
    (" into ", " out of "),
    (" towards ", " away from "),
    (" then ", " before that "),
    (" first", " last"),
    ("bottom", "top"),
    ("without ", "by "),
    (" not ", " "),
    (" no ", " a "),
    ("neither ", "either "),
)
NEGATIONS = ("without", "not", "no", "neither")


class Goal:
    """What sentences of a scene may ask for."""

    def __init__(self, key, layout) -> None:
        made = task(key)
        goal = made.goal(stack_roles([layout]))
        self.kinds = [type(n.predicate).__name__ for n in nodes(goal) if n.active]
        leaves = used_leaves(goal)
        self.ordered = bool({"Order", "Sequence"} & {*self.kinds})
        self.avoids = "Avoiding" in self.kinds
        first = [leaf for leaf in leaves if type(leaf) is type(leaves[0])]
        self.count = len(first)
        if "Balanced" in self.kinds:
            self.count = int((leaves[0].objects[0] >= 0).sum())
        self.steps = [[*range(1, self.count + 1)], [*range(self.count + 1)], [self.count]]

        def name(leaf, part):
            return f"<{layout.slot(int(getattr(leaf, part).reshape(-1)[0])).key}>"

        def several(leaf):
            return [f"<{layout.slot(k).key}>" for k in leaf.objects[0].tolist() if k >= 0]

        self.leaves: list[tuple[object, ...]] = []
        for leaf in leaves:
            kind = type(leaf).__name__
            if kind in RELATIONS:
                other = next(p for p in ("bottom", "target", "towards") if hasattr(leaf, p))
                one = "top" if hasattr(leaf, "top") else "object"
                self.leaves.append((RELATIONS[kind], name(leaf, one), name(leaf, other)))
            elif kind == "Rotated" and "Swapped" not in self.kinds:
                turn = round(float(np.rad2deg(leaf.angle_rad[0])))
                self.leaves.append(("rotate", name(leaf, "object"), turn))
            elif kind == "Balanced":
                self.leaves.append(("balance", tuple(several(leaf))))
            elif kind == "SameStack":
                self.leaves.append(("same stack", *sorted(several(leaf))))
            elif kind in ("Picked", "Touched", "TouchedPushed", "TouchedToppled"):
                self.leaves.append(("one", name(leaf, "object")))
        if "InsideAfter" in self.kinds:
            self.count = 2
        if "Swapped" in self.kinds:
            turns = {
                round(float(np.rad2deg(leaf.angle_rad[0])))
                for leaf in leaves
                if type(leaf).__name__ == "Rotated"
            }
            both = frozenset(name(leaf, "object") for leaf in leaves)
            self.leaves, self.count = [("swap", both, *turns)], 2

    def asks(self, said) -> bool:
        """Whether a sentence asks for this goal."""
        must, may = set(), set(FREE)
        for kind in self.kinds:
            one, other = VERBS.get(kind, ("", ""))
            must |= {*one.split()}
            may |= {*other.split()}
        if "InsideAfter" in self.kinds and "next" in said.marks:
            must -= {"neighbor"}
        if {"Hit", "HitToppled"} & {*self.kinds} and not said.acts & {"throw", "hit"}:
            return False
        if said.steps and "OnTop" in self.kinds and "stack" not in said.acts:
            return False
        if not must <= said.acts <= must | may or said.numbers - {self.count}:
            return False
        if ("avoid" in said.marks) != self.avoids:
            return False
        if said.about and {*said.about} != {self.leaves[0][1]}:
            return False
        if said.steps or "Traced" in self.kinds:
            return said.steps in self.steps or not said.steps and "Traced" in self.kinds
        given, meant = list(said.leaves), list(self.leaves)
        if not self.ordered:
            given.sort(key=lambda leaf: str(leaf[1:]))
            meant.sort(key=lambda leaf: str(leaf[1:]))
        return len(given) == len(meant) and all(map(_same, given, meant))


def _same(given, meant) -> bool:
    if meant[0] == "balance":
        return {*given[1]} == {*meant[1]}
    return (
        given[0] in meant[0]
        and (*given[1:],) == (*meant[1:],)
        or (meant[0] == given[0] == "same stack" and {*given} == {*meant})
    )


def plain(wording, layout) -> str:
    bodies = (*filter(None, layout.bodies), *layout.examples)
    return Prompt(wording.text, bodies, KEYSTEPS, names=(wording.names,)).plain()


def scenes_of(key, seeds):
    for seed in seeds:
        layout = draw_layout(task(key), seed, ("train", "test")[seed % 2])
        yield layout, Grammar(layout), Goal(key, layout)


def check(key, seeds) -> None:
    for layout, grammar, goal in scenes_of(key, seeds):
        for wording in task(key).wordings(layout):
            text = plain(wording, layout)
            said = grammar.read(text)
            assert said is not None, text
            assert goal.asks(said), (text, said, goal.leaves)


@pytest.mark.parametrize("key", TASKS)
def test_a_parsed_sentence_gives_the_leaves(key):
    check(key, range(5))


@pytest.mark.slow
@pytest.mark.parametrize("key", TASKS)
def test_parsed_sentences_of_many_seeds_give_the_leaves(key):
    check(key, range(200))


def mutated(text, layout, generator) -> str | None:
    """A sentence with objects swapped, another direction, order, number, or a negation dropped."""
    bodies = [b for b in (*layout.bodies, *layout.examples) if b]
    names = {n: t for n, t in scene_names(bodies).items() if n.startswith("the ")}
    longest = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    said = re.compile(rf"(?<![\w-])(?:{longest})(?![\w-])", re.I)
    there = list(dict.fromkeys(m[0].lower() for m in said.finditer(text)))
    kind = generator.integers(3)
    if kind == 0 and there:
        old = there[generator.integers(len(there))]
        shapes = {f"<{b.key}>": (b.shape, b.qualifier) for b in bodies}
        others = [n for n in names if shapes[names[n]] != shapes[names[old]]]
        if others:
            new = others[generator.integers(len(others))]
            swap = {old: new, new: old}
            return said.sub(lambda m: swap.get(m[0].lower(), m[0]), text)
    if kind == 1:
        number = rf"\b(?:{'|'.join(NUMBERS[2:-1])})\b|\d+(?= degrees)|(?<=key-step )\d+"
        numbers = re.findall(number, text)
        if numbers:
            old = numbers[generator.integers(len(numbers))]
            step = int(generator.choice([-1, 1]))
            new = str(int(old) + step) if old.isdigit() else NUMBERS[NUMBERS.index(old) + step]
            return re.sub(rf"\b{old}\b", new, text)
    for old, new in generator.permutation(SWAPS).tolist():
        both = [(old, new)] if old.strip() in NEGATIONS else [(old, new), (new, old)]
        for one, other in both:
            word = rf"(?<![\w-]){re.escape(one.strip())}(?![\w-])"
            if re.search(word, text):
                return re.sub(word, other.strip(), text).replace("  ", " ")
    return None


def harmless(goal, text, wrong) -> bool:
    """Whether a mutation leaves the meaning as it is: two of equal rank are named in turn."""
    one, other = (sorted(re.findall(r"[\w-]+", t.lower())) for t in (text, wrong))
    return not goal.ordered and one == other and bool({"Swapped", "Set"} & {*goal.kinds})


@pytest.mark.parametrize("key", TASKS)
def test_mutated_sentences_are_found(key):
    generator, done = np.random.default_rng(1), 0
    for layout, grammar, goal in scenes_of(key, range(60)):
        for wording in task(key).wordings(layout):
            text = plain(wording, layout)
            wrong = mutated(text, layout, generator)
            if wrong is None or wrong.lower() == text.lower() or harmless(goal, text, wrong):
                continue
            said = grammar.read(wrong)
            assert said is None or not goal.asks(said), (text, wrong)
            done += 1
            if done == MUTATIONS:
                return
    raise AssertionError(f"{done} mutations")


@pytest.mark.parametrize(
    ("key", "one", "other", "right", "wrong"),
    [
        ("place", "top", "bottom", "Put {0} on {1}.", "Put {1} on {0}."),
        ("simple_manipulation", "top", "bottom", "{1} should carry {0}.", "{0} should carry {1}."),
        ("push", "object", "towards", "Push {0} towards {1}.", "Towards {0}, push {1}."),
        ("throw", "object", "target", "Hit {1} with {0}.", "Hit {0} with {1}."),
    ],
)
def test_a_template_with_its_objects_the_wrong_way_round_is_found(key, one, other, right, wrong):
    for layout, grammar, goal in scenes_of(key, range(3)):
        leaf = used_leaves(task(key).goal(stack_roles([layout])))[0]
        slots = (int(getattr(leaf, part)) for part in (one, other))
        bodies = [b for b in layout.bodies if b]
        two = [f"the {layout.slot(slot).called(0, bodies)}" for slot in slots]
        assert goal.asks(grammar.read(right.format(*two)))
        assert not goal.asks(grammar.read(wrong.format(*two)))
