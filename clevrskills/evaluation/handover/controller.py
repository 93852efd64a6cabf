"""Controller: a policy that carries out the commands of another one, which plans in words."""

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
"""Control steps of a command, at most, that no task asks for alone."""


class Controllers:
    """A policy that carries out commands in slots.

    Args:
        source: Where it comes from.
        suite: What it acts in.
        clip: Whether actions out of range are clipped; else they are errors.
        chunk: How many actions of a chunk are executed, at most; ``None``: all.
        slots: Number of slots.
        limit_s: Seconds that it may take for an action.

    Attributes:
        options: What it is shown.
        track: What it has learned from, as it says itself; empty: it says nothing.
        isolated: Whether it runs in a process of its own.
        privileged: Whether it is given the environment or the identity of episodes.

    Raises:
        ClevrSkillsError: It cannot be made.
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
        self.options, self.track = policy.options, policy.info.track
        self.isolated, self.privileged = policy.isolated, policy.info.privileged


@dataclass
class CommandExecutor:
    """A policy that carries out the commands of one episode.

    It is told the sentence of each command as it would be told that of a leaf of the goal, with
    images of what the sentence names where it was trained on such prompts, and begins anew.

    Attributes:
        of: The policy in all slots.
        slot: Slot of the episode.
        env: Its environment.
        episode: The episode, which begins.
        seed: Gives the seed of the draws of a part of it.
        name: Name of the policy.
        prompt: What it is told now.
        sizes: Sizes of its actions.
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
        """Yield the actions by which the controller tries to carry out a command, up to the limit
        of the task that asks for such a leaf alone.
        """
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
            # only what it will be shown
            if len(waiting) < options.history:
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
