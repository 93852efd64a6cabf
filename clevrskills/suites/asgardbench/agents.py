"""Scripted policies: random verbs, and plans that ignore observations."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import Privileged, Zero
from clevrskills.suites.asgardbench.env import HIDDEN
from clevrskills.suites.asgardbench.imagined import BeliefWorld, imagine
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.verbs import VERBS, allowed, apply
from clevrskills.suites.asgardbench.tasks.goals import COOKED
from clevrskills.suites.asgardbench.tasks.instances import FAMILIES, Variant, read_sentence
from clevrskills.suites.asgardbench.tasks.setup import needed_types
from clevrskills.suites.asgardbench.tasks.solver import solve
from clevrskills.suites.asgardbench.tasks.termination import FAILURES

Script = Generator[str, bool, None]
"""Generator of commands, each answered by whether it was executed."""
LAY_DOWN = ("FIND CounterTop", "PUT CounterTop")
EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "coffee": {"full": True, "inside": {"SaltShaker": "SinkBasin"}}
}
"""Arguments of :func:`~clevrskills.suites.asgardbench.imagined.imagine` for families in which
another case than the plainest gives the most careful plans on ``val``; found by
``benchmarks/household_blind.py --tune``.
"""


class RandomVerbs(Privileged):
    """Uniformly random verbs with visible types; for its arguments see
    :class:`~clevrskills.evaluation.policies.Zero`.
    """

    def act(self, observation: Observation) -> str:
        commands = self.choices()
        return commands[int(self.generator.integers(len(commands)))]

    def choices(self) -> list[str]:
        """Return the candidate commands."""
        house = self.env.house
        seen = {e.type for e in house.entities.values() if house.visible(e)} - HIDDEN
        kinds = sorted(seen) or [kind for kind in house.types if kind not in HIDDEN]
        return [f"{verb} {kind}" for verb in VERBS for kind in kinds]


class RandomValid(RandomVerbs):
    """Uniformly random commands that would succeed."""

    def choices(self) -> list[str]:
        house = self.env.house
        kinds = [kind for kind in house.types if kind not in HIDDEN]
        return [f"{v} {kind}" for v in VERBS for kind in kinds if allowed(house, v, kind)]


class Blind(Zero):
    """Fixed plan for one case, usually that everything is clean and in reach; at its end the last
    command is repeated.
    """

    def reset(self, prompt: PromptInput) -> None:
        self._commands = self._script(prompt.text, prompt.about["objects"])
        self._last = ""

    def act(self, observation: Observation) -> str:
        """Return the next command.

        Raises:
            GaveUp: There is no plan for the instruction.
        """
        try:
            if self._last:
                message = observation["turns"][-1]["message"]
                self._last = self._commands.send(not message.startswith("Failure"))
            else:
                self._last = next(self._commands)
        except (StopIteration, ClevrSkillsError):
            if not self._last:
                raise GaveUp("there is no plan for this instruction") from None
        return self._last

    def _script(self, text: str, kinds: Sequence[str]) -> Script:
        """Yield commands, each answered by whether it was executed according to the feedback."""
        task, variant = read_sentence(text)
        for house in self.cases(task, variant, kinds):
            for command in solve(task, variant, house):
                _ = yield command

    def cases(self, task: str, variant: Variant, kinds: Sequence[str]) -> Iterator[BeliefWorld]:
        """Yield the assumed households, the most likely first."""
        yield imagine(task, variant, kinds, **EXPECTED.get(task, {}))


class OpenLoop(Blind):
    """Fixed sequence of plans for several cases: the usual one, each dish dirty, the mug full, and
    the same with food in the sink.
    """

    def cases(self, task: str, variant: Variant, kinds: Sequence[str]) -> Iterator[BeliefWorld]:
        yield from super().cases(task, variant, kinds)
        dishes = used_dishes(task, variant)
        for food in ("", *in_the_way(task, variant, kinds, "Faucet")[:1]):
            inside = {food: "SinkBasin"} if food else {}
            for dish in dishes:
                yield imagine(task, variant, kinds, dirty=(dish,), inside=inside)
            if "Mug" in dishes:
                yield imagine(task, variant, kinds, full=True, inside=inside)


class Cautious(Blind):
    """Fixed plan for the worst case: clear the sink or table, empty the mug and wash all dishes."""

    def cases(self, task: str, variant: Variant, kinds: Sequence[str]) -> Iterator[BeliefWorld]:
        """Yield the worst case."""
        dishes = used_dishes(task, variant)
        place = "DiningTable" if FAMILIES[task].clears_table else "SinkBasin"
        inside = dict.fromkeys(in_the_way(task, variant, kinds, place), place)
        yield imagine(task, variant, kinds, dirty=dishes, full="Mug" in dishes, inside=inside)


class Probing(Blind):
    """Plan that is repaired from failures only: they reveal what is dirty, full or in the way."""

    def _script(self, text: str, kinds: Sequence[str]) -> Script:
        task, variant = read_sentence(text)
        house = imagine(task, variant, kinds)
        places = ("DiningTable", "SinkBasin", "Faucet")
        others = {place: in_the_way(task, variant, kinds, place) for place in places}
        if FAMILIES[task].clears_table:
            yield from _clear(house, "DiningTable", others["DiningTable"])
        if task == "put_away_dishes":
            yield from _try_dishes(house, variant.objects)
        while plan := solve(task, variant, house):
            verb, kind = plan[0].split()
            if (yield from _do(house, plan[0])):
                continue
            if kind in ("Faucet", "SinkBasin"):
                then = plan[0] if kind == "Faucet" else "FIND SinkBasin"
                yield from _do(house, *LAY_DOWN)
                yield from _clear(house, "SinkBasin", others[kind], then)
            elif verb == "PICKUP":
                house.entities[kind].parent = "Fridge_1"
            elif kind == "CoffeeMachine":
                house.entities["Mug"].dirty = not (yield "EMPTY Mug")
            elif kind in catalogue().dirtyable:
                house.entities[kind].dirty = True


def _do(house: BeliefWorld, *commands: str) -> Generator[str, bool, bool]:
    """Issue commands, mirror them in the assumed household, return whether the last succeeded."""
    done = False
    for command in commands:
        done = yield command
        if done:
            apply(house, *command.split())
    return done


def _clear(house: BeliefWorld, place: str, kinds: list[str], then: str = "") -> Script:
    """Try to remove one type after the other until ``then`` succeeds; removed types leave the
    list.
    """
    yield from _do(house, f"FIND {place}")
    for number, kind in enumerate(tuple(kinds), 1):
        if (yield from _do(house, f"PICKUP {kind}")):
            kinds.remove(kind)
            yield from _do(house, *LAY_DOWN, f"FIND {place}")
            if then and (yield from _do(house, then)):
                return
        elif not number % (FAILURES - 2):
            yield from _do(house, f"FIND {place}")  # repeated failures would end the episode


def _try_dishes(house: BeliefWorld, dishes: Sequence[str]) -> Script:
    """Try to put a fork into one dish after the other, as dirty dishes refuse it."""
    yield from _do(house, "FIND Fork", "PICKUP Fork")
    for dish in dishes:
        if not (yield from _do(house, f"FIND {dish}", f"PUT {dish}")):
            house.entities[dish].dirty = True
            break
        yield from _do(house, "PICKUP Fork")
    yield from _do(house, *LAY_DOWN)


def used_dishes(task: str, variant: Variant) -> tuple[str, ...]:
    """Return the dishes that may be dirty."""
    if task in ("coffee", "set_table"):
        return ("Mug",)
    pan = ("Pan",) if task in ("cook_egg", "cook_potato_slice") else ()
    served = (catalogue().served_in[COOKED[task]],) if task in COOKED else ()
    named = tuple(kind for kind in variant.objects if kind in catalogue().dirtyable)
    return (*pan, *served, *named)


def in_the_way(task: str, variant: Variant, kinds: Sequence[str], place: str) -> list[str]:
    """Return the types that may be in the way in the sink, of its faucet or on a table, likely ones
    first: food, and in the sink dishes.
    """
    data = catalogue()
    not_these = needed_types(task, variant) | {*data.slices.values()}
    if place == "Faucet":
        place, not_these = "SinkBasin", not_these | data.washable
    found = [k for k in kinds if k not in not_these and place in data.fits.get(k, ())]
    first = {*data.classes["Food"]} | (data.washable if place == "SinkBasin" else set())
    return sorted(found, key=lambda kind: kind not in first)
