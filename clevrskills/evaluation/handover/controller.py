"""Controller: a policy that executes the commands of another policy that plans in words."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from clevrskills.core.env import Env, Episode
from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.interface import BoxInterface, in_range
from clevrskills.core.observer import Observer
from clevrskills.core.policy import ConnectionLost, GaveUp, Observation, PolicyError
from clevrskills.core.policy_loader import PolicySource
from clevrskills.core.suite import Suite, find_interface
from clevrskills.errors import one_line
from clevrskills.evaluation.action_sizes import ActionSizes
from clevrskills.evaluation.handover.parts import limit_alone, subgoal_prompt
from clevrskills.evaluation.policy_slots import make_runner

MOST_STEPS = 600
"""Step limit of commands without a task of that single goal."""


class Controllers:
    """Controller policy in slots.

    Args:
        source: Source of the policy.
        suite: Suite of the episodes.
        clip: Whether actions out of range are clipped; else they are errors.
        chunk: Maximum number of actions executed per chunk; ``None``: all.
        slots: Number of slots.
        limit_s: Time limit of an action in seconds.

    Attributes:
        options: Observation options.
        info: Declaration of the policy.
        isolated: Whether it runs in a separate process.

    Raises:
        ClevrSkillsError: The policy cannot be created.
    """

    def __init__(
        self,
        source: PolicySource,
        suite: Suite,
        clip: bool,
        chunk: int | None,
        slots: int,
        limit_s: float,
    ) -> None:
        self.source, self.suite, self.clip, self.chunk = source, suite, clip, chunk
        self.runner, policy = make_runner(partial(source.make, suite), slots, limit_s)
        self.options, self.info, self.isolated = policy.options, policy.info, policy.isolated


@dataclass
class CommandExecutor:
    """Executor of the commands of one episode.

    The controller is reset for each command and prompted with it like with a subgoal, including
    images if it was trained on such prompts.

    Attributes:
        of: The controller in all slots.
        slot: Slot of the episode.
        env: Environment.
        episode: Episode.
        seed: Function that returns the policy seed of a part.
        name: Name of the policy.
        prompt: Current prompt.
        sizes: Statistics of its actions.
        spent_s: Wall-clock seconds waiting for it.
    """

    of: Controllers
    slot: int
    env: Env
    episode: Episode
    seed: Callable[[str], int]

    def __post_init__(self) -> None:
        self.name, self.sizes, self.spent_s = self.of.source.name, ActionSizes(), 0.0
        self._count = 0

    def achieve(self, leaf: Leaf) -> Iterator[NDArray[Any]]:
        """Yield the actions of the controller for a command, up to its step limit."""
        suite, options = self.of.suite, self.of.options
        interface = find_interface(suite)
        assert isinstance(interface, BoxInterface)
        observer = Observer(self.env, options, subgoal_prompt(self.env, leaf))
        self.prompt = observer.begin(self.seed(f"command/{self._count}"))
        self._count += 1
        self.of.runner.reset({self.slot: self})
        observation, waiting = observer.look(), deque[tuple[NDArray[Any], NDArray[Any], bool]]()
        for _ in range(limit_alone(suite, leaf.name) or MOST_STEPS):
            if not waiting:
                answer = self._ask(observation)
                asked = interface.numbers(answer)
                read = zip(asked, *in_range(asked, self.of.clip), strict=True)
                waiting.extend([*read][: self.of.chunk])
            numbers, action, clipped = waiting.popleft()
            self.sizes.add(numbers, clipped)
            yield action
            if len(waiting) < options.history:  # skip unseen observations
                observation = observer.look()

    def _ask(self, observation: Observation) -> NDArray[Any]:
        began_s = time.perf_counter()
        answer = self.of.runner.act({self.slot: observation})[self.slot]
        self.spent_s += time.perf_counter() - began_s
        if isinstance(answer, GaveUp):
            raise answer
        if isinstance(answer, Exception):
            lost = isinstance(answer, ConnectionLost)
            kind = ConnectionLost if lost else PolicyError
            raise kind(f"controller {self.name}: {one_line(answer)}") from answer
        return answer
