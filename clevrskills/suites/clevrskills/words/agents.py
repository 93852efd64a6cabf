"""Policies for commands without a language model: oracle, plan of L0 skills, random commands."""

from __future__ import annotations

from typing import Any

from clevrskills.core.interface import Interface, TextInterface
from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.suite import CommandOracle, Suite
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_text import bodies_of
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.policies import Privileged, Random
from clevrskills.jobs.arguments import check_names
from clevrskills.predicates import AtPosition, OnTop, Rotated
from clevrskills.suites.clevrskills.words.grammar import PUT_DOWN, WAIT, command_for
from clevrskills.suites.clevrskills.words.interface import any_command


class Commander(CommandOracle):
    """Oracle that returns the command of the next leaf of the goal tree."""

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self._env = env

    def act(self) -> Any:
        """Return the next command.

        Raises:
            GaveUp: There is no command for the leaf.
        """
        leaf = self._env.goal.next_leaf(self._env.outcome)
        self.subtask = WAIT if leaf is None else command_for(leaf, self._env)
        return self.subtask


class SkillPlan(Privileged):
    """Oracle with commands of L0 skills, none of which both picks and places: objects are picked up
    before they are placed.

    Raises:
        ClevrSkillsError: The interface is not textual.
    """

    def __init__(self, suite: Suite, interface: Interface) -> None:
        super().__init__(suite, interface)
        if not isinstance(interface, TextInterface):
            raise ClevrSkillsError(
                f"skill_plan needs a text interface; {interface.name} is numeric"
            )

    def act(self, observation: Observation) -> str:
        """Return the next command."""
        env: ClevrSkillsEnv = self.env
        leaf = env.goal.next_leaf(env.outcome)
        if leaf is None:
            return WAIT
        held, wanted = int(env.world.held[0]), -1
        if isinstance(leaf, OnTop):
            wanted = int(leaf.top[0])
        elif isinstance(leaf, AtPosition) and not isinstance(leaf, Rotated):
            wanted = int(leaf.object[0])
        if wanted in (held, -1):
            return command_for(leaf, env)
        return f"pick up {env.world.keys[wanted]}" if held < 0 else PUT_DOWN


class RandomWords(Random):
    """Random commands about objects of the scene; random actions if the interface is numeric.

    Args:
        suite: The suite.
        interface: The action interface.
        by: Uniform distribution over ``sentences``, most of which have a place, with centimetres
            and steps of ten degrees; or over ``forms`` of commands.

    Raises:
        UnknownNameError: ``by`` is something else.
    """

    def __init__(self, suite: Suite, interface: Interface, by: str = "sentences") -> None:
        super().__init__(suite, interface)
        check_names(by=((by,), ("sentences", "forms")))
        self._by, self.privileged = by, isinstance(interface, TextInterface)

    def reset(
        self, prompt: PromptInput, *, env: ClevrSkillsEnv | None = None, episode: Any = None
    ) -> None:
        """Begin an episode."""
        super().reset(prompt)
        self._keys = [] if env is None else [*bodies_of(env)]

    def act(self, observation: Observation) -> Any:
        """Return the next command or action."""
        if not self.privileged:
            return super().act(observation)
        return any_command(self._generator, self._keys, self._by == "forms")
