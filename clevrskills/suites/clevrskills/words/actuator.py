"""Actuator that executes commands in words with the arm."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import torch

from clevrskills.core.goal.predicate import GoalState, Leaf
from clevrskills.core.goal.tree import nodes
from clevrskills.core.interface import Controller, Step, Turn
from clevrskills.core.threads import single_threaded
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.predicates import Predicate
from clevrskills.solvers.motion import Actions, Arm, PlanFailed
from clevrskills.solvers.skills import skill_for
from clevrskills.solvers.skills.put_down import put_aside
from clevrskills.suites.clevrskills.words.grammar import PUT_DOWN, WAIT, SkillCommand, read

WAIT_STEPS = 20
"""Control steps of ``wait``, and for objects to come to rest after a skill."""
MOST_STEPS = 600
"""Maximum number of control steps of a turn."""
SPARE_TURNS = 2


class CommandedArm(Arm):
    """Arm that achieves the goal of a command instead of that of the episode.

    Attributes:
        state: State of the goal since the command.
        holds: Whether the goal holds now.
    """

    def __init__(self, env: ClevrSkillsEnv, generator: np.random.Generator, leaf: Leaf) -> None:
        super().__init__(env, generator)
        self._leaf = leaf
        with torch.inference_mode():
            self.state: GoalState = leaf.initial_state(env.world)
        self.look()

    def look(self) -> None:
        """Evaluate the goal; must be called after each control step."""
        with torch.inference_mode():
            outcome = self._leaf.evaluate(self.env.world, self.state)
        self.state, self.holds = outcome.state, bool(outcome.holds[0])

    def remembered(self, leaf: Leaf) -> GoalState:
        return self.state if leaf is self._leaf else super().remembered(leaf)


class SkillActuator:
    """Actuator of commands in one environment.

    Args:
        env: The environment.
        controller: Controller that executes them; ``None``: the registered skills.
    """

    def __init__(self, env: ClevrSkillsEnv, controller: Controller | None = None) -> None:
        self._env, self._turns, self._controller = env, 0, controller

    @property
    def limit(self) -> int:
        """Maximum number of turns: two for each leaf of the goal, and two more."""
        used = sum(node.active and node.leaf is not None for node in nodes(self._env.goal))
        return 2 * used + SPARE_TURNS

    @single_threaded
    def act(self, action: str, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Execute a command; success is that of the final state."""
        self._turns += 1
        command = read(action, self._env)
        if command.code:
            return self._turn(0, 0.0, command)
        if command.action == PUT_DOWN and int(self._env.world.held[0]) < 0:
            return self._turn(0, 0.0, SkillCommand(code="NOTHING_HELD"))
        entropy = (self._env.episode_seed, crc32(b"words"), self._env.elapsed_steps.item())
        generator = np.random.default_rng(np.random.SeedSequence(entropy))
        if command.leaf is None:
            arm = Arm(self._env, generator)
            actions = arm.wait(WAIT_STEPS) if command.action == WAIT else put_aside(arm)
        else:
            assert isinstance(command.leaf, Leaf)
            arm = CommandedArm(self._env, generator, command.leaf)
            if self._controller is None:
                actions = achieve(arm, command.leaf)
            else:
                actions = until_it_holds(arm, self._controller.achieve(command.leaf))
        return self._run(arm, actions, on_step)

    def _run(self, arm: Arm, actions: Actions, on_step: Callable[[Step], None] | None) -> Turn:
        """Execute the actions of a skill."""
        commanded = arm if isinstance(arm, CommandedArm) else None

        def look(_: Step) -> bool:
            if commanded is not None:
                commanded.look()
            return False

        done = arm.carry_out(actions, MOST_STEPS, on_step, look)
        ended = SkillCommand(code="DONE")
        if done.failure is not None:
            code = "UNREACHABLE" if isinstance(done.failure, PlanFailed) else "FAILED"
            ended = SkillCommand(code=code, args={"reason": str(done.failure)})
        elif not done.whole:
            ended = SkillCommand(code="TIMED_OUT")
        elif commanded is not None and not commanded.holds:
            if not bool(self._env.outcome.holds[0]):
                ended = SkillCommand(code="NOT_ACHIEVED")
        return self._turn(done.steps, done.reward, ended)

    def _turn(self, steps: int, reward: float, ended: SkillCommand) -> Turn:
        return Turn.after(
            self._env.outcome,
            self._turns >= self.limit,
            reward,
            ok=ended.code == "DONE",
            code=ended.code,
            args=ended.args,
            steps=steps,
        )


def achieve(arm: CommandedArm, leaf: Predicate) -> Actions:
    """Yield the actions of the skill for a leaf, then wait until it holds.

    Raises:
        SkillFailed: The skill gave up.
    """
    yield from skill_for(leaf)(arm, leaf)
    for _ in range(WAIT_STEPS):
        if arm.holds:
            return
        yield from arm.wait(1)


def until_it_holds(arm: CommandedArm, actions: Actions) -> Actions:
    """Yield the actions of a controller until its command holds or they end."""
    while not arm.holds and (action := next(actions, None)) is not None:
        yield action
