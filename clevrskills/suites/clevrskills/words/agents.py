"""Policies in words without a model: the oracle, a plan in skills of L0, and chance."""

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
from clevrskills.suites.clevrskills.words.forms import any_command
from clevrskills.suites.clevrskills.words.grammar import PUT_DOWN, WAIT, command_for


class Commander(CommandOracle):
    """Oracle in words: the first open leaf of the goal tree as a command, again and again.

    Args:
        env: The environment.
    """

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self._env = env

    def act(self) -> Any:
        """Return the next command.

        Raises:
            GaveUp: No command says it.
        """
        leaf = self._env.goal.next_leaf(self._env.outcome)
        self.subtask = WAIT if leaf is None else command_for(leaf, self._env)
        return self.subtask


class SkillPlan(Privileged):
    """Plan in the skills of L0, none of which both picks and places: as the oracle in words, but
    what is to be put somewhere is picked up first.

    Args:
        suite: What it acts in.
        interface: What it acts by.

    Raises:
        ClevrSkillsError: It acts by numbers.
    """

    def __init__(self, suite: Suite, interface: Interface) -> None:
        super().__init__(suite, interface)
        if not isinstance(interface, TextInterface):
            raise ClevrSkillsError(
                f"a plan is in words; the interface {interface.name} is of numbers"
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
    """Any command, about any things of the scene, at any place of the table; where actions are
    numbers, any of these.

    Args:
        suite: What it acts in.
        interface: What it acts by.
        by: What is as likely as any other: ``sentences``, with places to a centimetre and angles
            to ten degrees, so that most name a place; or ``forms`` of commands, whatever they
            name.

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
