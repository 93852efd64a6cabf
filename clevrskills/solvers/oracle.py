"""Oracle: repeatedly achieves the first open leaf of the goal tree."""

from zlib import crc32

import gymnasium as gym
import numpy as np

from clevrskills.core.goal.predicate import Leaf
from clevrskills.core.goal.tree import nodes, outcomes
from clevrskills.core.threads import single_threaded
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.predicates import Predicate
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.requirements import require_planner
from clevrskills.solvers.skills import skill_for

__all__ = ["Oracle"]

ATTEMPTS_PER_LEAF = 4


class Oracle:
    """Oracle that acts on the ground-truth state, from any state of an episode.

    Args:
        env: The environment of ``gym.make``, or the batched one.

    Attributes, of the last action:
        subtask: Sentence of the subgoal, with placeholders as in prompts.
        step: Instruction for the arm.
        subgoal: Index of the leaf of the goal tree, -1 if nothing is left to do.
        predicate: Type of that leaf, e.g. ``on_top``.
        skill: Name of the skill, e.g. ``place``.
        action_class: Kind of action, e.g. ``pick``.
        attempt: Number of earlier attempts at this leaf.

    Raises:
        ClevrSkillsError: The planner is not installed or cannot run.
    """

    def __init__(self, env: gym.Env) -> None:
        require_planner()
        inner = env.unwrapped
        self.env: ClevrSkillsEnv = inner.base_env if isinstance(inner, GymnasiumEnv) else inner
        self.reset()

    def reset(self) -> None:
        """Discard the current plan after other actions; a new episode does so automatically."""
        self._goal = self.env.goal
        entropy = (self.env.episode_seed, crc32(self.env.task.key.encode()), crc32(b"oracle"))
        self._arm = Arm(self.env, np.random.default_rng(np.random.SeedSequence(entropy)))
        self._actions = self._solve()
        self._set_labels()
        self.step, self.action_class = "", ""

    def _set_labels(
        self,
        subgoal: int = -1,
        subtask: str = "",
        predicate: str = "",
        skill: str = "",
        attempt: int = 0,
    ) -> None:
        self.subgoal, self.subtask = subgoal, subtask
        self.predicate, self.skill, self.attempt = predicate, skill, attempt

    @property
    def failed(self) -> list[tuple[int, int]]:
        """Failed runs of actions since the reset, start and stop."""
        return list(self._arm.failed)

    @property
    def done(self) -> bool:
        """``True`` if the goal holds."""
        return bool(self.env.outcome.holds[0])

    def next_leaf(self) -> Leaf | None:
        """Return the leaf to achieve next, if any."""
        return self.env.goal.next_leaf(self.env.outcome)

    @single_threaded
    def act(self) -> np.ndarray:
        """Return the next action, (7,) float32 in [-1, 1].

        Raises:
            SkillFailed: The goal could not be achieved.
        """
        if self.env.goal is not self._goal:
            self.reset()
        action = next(self._actions)
        self._arm.actions += 1
        self.step, self.action_class = self._arm.step_label, self._arm.action_class
        return action

    def _solve(self) -> Actions:
        leaves = list(self.env.goal.leaves())
        attempts = [0] * len(leaves)
        failure: SkillFailed | None = None
        arm, ended, start = self._arm, -1, 0
        while True:
            leaf = self.next_leaf()
            if leaf is None:
                self._set_labels()
                arm.set_label("wait", "Done")
                yield arm.action()
                continue
            subgoal = next(i for i, other in enumerate(leaves) if other is leaf)
            if subgoal == ended or (subgoal < ended and not self._holds(leaves[ended])):
                arm.mark_failed(start)
            subtask, start = leaf.describe(self.env.world), arm.actions
            if attempts[subgoal] == ATTEMPTS_PER_LEAF:
                raise failure or SkillFailed(
                    f"{subtask}: does not hold after {ATTEMPTS_PER_LEAF} attempts"
                )
            skill = skill_for(leaf)
            name = skill.__module__.rpartition(".")[2]
            self._set_labels(subgoal, subtask, leaf.name, name, attempts[subgoal])
            attempts[subgoal] += 1
            try:
                yield from skill(arm, leaf)
                ended = subgoal
            except SkillFailed as error:
                failure, ended = error, -1
                arm.set_label("wait", "Wait")
                yield from arm.wait(1)
                arm.mark_failed(start)

    def _holds(self, leaf: Predicate) -> bool:
        """Return whether a leaf of the goal tree holds now."""
        goal = self.env.goal
        found = zip(nodes(goal), outcomes(goal, self.env.outcome), strict=True)
        return any(bool(o.holds[0]) for node, o in found if node.predicate is leaf)
