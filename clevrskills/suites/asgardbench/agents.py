"""Policies without a model: verbs at random, and a plan that is followed without looking."""

from __future__ import annotations

from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import Privileged, Zero
from clevrskills.suites.asgardbench.env import HIDDEN
from clevrskills.suites.asgardbench.imagined import imagine
from clevrskills.suites.asgardbench.rules.verbs import VERBS, allowed
from clevrskills.suites.asgardbench.tasks.instances import read_sentence
from clevrskills.suites.asgardbench.tasks.solver import solve


class RandomVerbs(Privileged):
    """Any verb with any type that is seen, each as likely; for its arguments see
    :class:`~clevrskills.evaluation.policies.Zero`.
    """

    def act(self, observation: Observation) -> str:
        """Return the next command."""
        commands = self.choices()
        return commands[int(self.generator.integers(len(commands)))]

    def choices(self) -> list[str]:
        """Return the allowed commands."""
        house = self.env.house
        seen = {e.type for e in house.entities.values() if house.visible(e)} - HIDDEN
        kinds = sorted(seen) or [kind for kind in house.types if kind not in HIDDEN]
        return [f"{verb} {kind}" for verb in VERBS for kind in kinds]


class RandomValid(RandomVerbs):
    """Any command that would be done, each as likely."""

    def choices(self) -> list[str]:
        """Return the commands that would succeed."""
        house = self.env.house
        kinds = [kind for kind in house.types if kind not in HIDDEN]
        return [f"{v} {kind}" for v in VERBS for kind in kinds if allowed(house, v, kind)]


class Blind(Zero):
    """The plan of the plainest case, all clean and at hand, whatever is seen or told; after its end
    the last command again.
    """

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._turn, self._plan = 0, list[str]()
        try:
            task, variant = read_sentence(prompt.text)
            self._plan = solve(task, variant, imagine(task, variant, prompt.about["objects"]))
        except ClevrSkillsError:
            pass

    def act(self, observation: Observation) -> str:
        """Return the next command.

        Raises:
            GaveUp: What is asked for makes no sense here.
        """
        if not self._plan:
            raise GaveUp("no plan is known for what is asked for")
        self._turn += 1
        return self._plan[min(self._turn, len(self._plan)) - 1]
