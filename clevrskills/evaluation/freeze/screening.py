"""Screening of episodes to be evaluated on: the start has no fault, the oracle solves it, and doing
nothing does not.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface, Turn
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import (
    Oracle,
    Perturbable,
    Suite,
    find_interface,
    load_suite,
    paired_split,
    perturbed,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.freeze.candidates import Candidate, ScreeningResult
from clevrskills.jobs.files import to_json

STILL_STEPS = 40
"""Equal states, bit for bit, after which nothing will ever change under the same action."""


class Screener:
    """Screens one seed after the other; keeps the environment while the task stays the same.

    Args:
        suite: What the seeds are of; ``None``: ClevrSkills.
        axes: Level of each axis that perturbs the episodes.
        planned: Whether a plan that was found when an episode was drawn is enough; nothing acts.
    """

    def __init__(
        self,
        suite: Suite | None = None,
        axes: Mapping[str, int] | None = None,
        planned: bool = False,
    ) -> None:
        torch.set_num_threads(1)
        self._suite, self._axes, self._planned = suite or load_suite(), axes or {}, planned
        self._made: tuple[EnvConfig, Env] | None = None

    def __call__(self, candidate: Candidate) -> ScreeningResult:
        """Screen a seed, as an episode written and read again.

        Raises:
            ClevrSkillsError: There is no such environment, or no oracle.
        """
        suite, seed = self._suite, candidate.seed
        try:
            drawn = suite.draw(candidate.task, candidate.split, seed, robot=candidate.robot)
        except UnknownNameError:
            raise
        except ClevrSkillsError as error:  # no scene fits
            return ScreeningResult(seed, str(error))
        if paired_split(suite, candidate.split) and (fault := drawn.pairing_fault()):
            return ScreeningResult(seed, fault)
        spec = perturbed(suite, drawn, self._axes)
        if isinstance(spec, str):
            return ScreeningResult(seed, spec)
        data = spec.to_json()
        env, interface = self._prepare(spec), find_interface(suite)
        episode = suite.read_episode(json.loads(to_json(data)))
        start = {"episode": episode}
        env.reset(options=start)
        found = [name for name, is_there in env.faults().items() if is_there]
        if found:
            return ScreeningResult(seed, "start: " + ", ".join(found))
        if isinstance(suite, Perturbable) and (fault := suite.visibility_fault(episode)):
            return ScreeningResult(seed, fault)
        if self._planned:
            if spec.planned_turns is None:
                raise ClevrSkillsError(f"suite {suite.name} has no plans without acting")
            turns, limit = spec.planned_turns
            return ScreeningResult(seed, "", turns, data, limit)
        steps, reason = solve(env, suite.oracle(env), interface)
        if reason:
            return ScreeningResult(seed, f"oracle: {reason}")
        env.reset(options=start)
        if succeeds_blindly(env, interface.none, steady=True, interface=interface):
            return ScreeningResult(seed, "solved by doing nothing")
        return ScreeningResult(seed, "", steps, data, interface.begin(env).limit)

    def _prepare(self, episode: Episode) -> Env:
        config = EnvConfig(episode.task, episode.split, episode.robot, cameras=())
        if self._made is None or self._made[0] != config:
            if self._made is not None:
                self._made[1].close()
            self._made = config, self._suite.make(config)
        return self._made[1]


def solve(env: Env, oracle: Oracle, interface: Interface | None = None) -> tuple[int, str]:
    """Let the oracle act from the start of an episode.

    Returns:
        Turns taken, and why the goal was not reached; empty if it was.
    """
    oracle.reset()
    rollout = Rollout(env, actuator=interface.begin(env) if interface else None)
    reason, _ = rollout.run(oracle.act)
    return rollout.turns, reason


def succeeds_blindly(
    env: Env,
    action: Callable[[], Any],
    steady: bool = False,
    interface: Interface | None = None,
) -> bool:
    """Whether actions that depend on nothing seen reach the goal within the step limit.

    Args:
        env: The environment, at the start of an episode.
        action: Gives the next action.
        steady: Whether it is always the same, so that nothing more happens once all is still.
        interface: What takes the actions; ``None``: they are one control step each.
    """
    state, still = b"", 0

    def is_still(_: Any, __: Turn) -> bool:
        nonlocal state, still
        before, state = state, np.asarray(env.get_state()).tobytes()
        still = still + 1 if state == before else 0
        return still == STILL_STEPS

    rollout = Rollout(env, actuator=interface.begin(env) if interface else None)
    rollout.run(action, is_still if steady else None)
    return rollout.success
