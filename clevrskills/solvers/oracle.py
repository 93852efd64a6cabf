"""The oracle: achieve the first open leaf of the goal tree, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.requirements import require_planner
from clevrskills.solvers.skills import skill_for
from clevrskills.threads import single_threaded

if TYPE_CHECKING:
    from clevrskills.env import ClevrSkillsEnv

ATTEMPTS_PER_LEAF = 4


class Oracle:
    """Acts on what the world shows and nothing else, so it can take over in any state.

    Args:
        env: The environment, at any time of an episode.

    Attributes:
        subtask: What is being achieved, with placeholders as in prompts; of the action given last.
        step: What is being done for it.
        subgoal: Index of the leaf of the goal tree, -1 when nothing is left to do.

    Raises:
        ClevrSkillsError: The planner is not installed or can't run.
    """

    def __init__(self, env: ClevrSkillsEnv) -> None:
        require_planner()
        self.env = env
        self.reset()

    def reset(self) -> None:
        """Start afresh, at the start of an episode or whenever something else has acted."""
        seed = int(self.env._episode_seed[0])
        entropy = (seed, crc32(self.env.task.key.encode()), crc32(b"oracle"))
        self._arm = Arm(self.env, np.random.default_rng(np.random.SeedSequence(entropy)))
        self._actions = self._solve()
        self.subtask, self.step, self.subgoal = "", "", -1

    @property
    def done(self) -> bool:
        """Whether the goal holds."""
        return bool(self.env.outcome.holds[0])

    @single_threaded
    def act(self) -> np.ndarray:
        """The next action, (7,) float32 in [-1, 1].

        Raises:
            SkillFailed: The goal could not be achieved; the message tells why.
        """
        action = next(self._actions)
        self.step = self._arm.step_label
        return action

    def _solve(self) -> Actions:
        leaves = list(self.env.goal.leaves())
        attempts = [0] * len(leaves)
        failure: SkillFailed | None = None
        while True:
            leaf = self.env.goal.next_leaf(self.env.outcome)
            if leaf is None:
                self.subtask, self.subgoal, self._arm.step_label = "", -1, "Done"
                yield self._arm.action()
                continue
            self.subgoal = next(i for i, other in enumerate(leaves) if other is leaf)
            self.subtask = leaf.says(self.env.world)
            if attempts[self.subgoal] == ATTEMPTS_PER_LEAF:
                reason = (
                    failure or f"{self.subtask}: does not hold after {ATTEMPTS_PER_LEAF} attempts"
                )
                raise SkillFailed(str(reason))
            attempts[self.subgoal] += 1
            try:
                yield from skill_for(leaf)(self._arm, leaf)
            except SkillFailed as error:
                failure = error
                yield from self._arm.wait(1)
