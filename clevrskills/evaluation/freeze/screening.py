"""Screening of episodes to be evaluated on: the start has no fault, the oracle solves it, and doing
nothing does not.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface, Turn
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import (
    EpisodeOracle,
    Perturbable,
    Suite,
    find_interface,
    load_suite,
    perturbed,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.freeze.candidates import Candidate, ScreeningResult
from clevrskills.jobs.files import to_json

STILL_STEPS = 40
"""Equal states, bit for bit, after which nothing will ever change under the same action."""


class EpisodeScreener:
    """Base class of screeners; keeps the environment while it fits.

    Args:
        suite: Suite of the episodes.
        axes: Level of each axis that perturbs them.
    """

    def __init__(self, suite: Suite, axes: Mapping[str, int]) -> None:
        torch.set_num_threads(1)
        self._suite, self._axes, self._interface = suite, axes, find_interface(suite)
        self._made: tuple[EnvConfig, Env] | None = None

    def _start(self, episode: Episode) -> Env:
        """Return the environment at the start of an episode."""
        config = EnvConfig(
            *(episode.task, episode.split, episode.robot), task_args=episode.task_args
        )
        if self._made is None or self._made[0] != config:
            if self._made is not None:
                self._made[1].close()
            self._made = config, self._suite.make(config)
        env = self._made[1]
        env.reset(options={"episode": episode})
        return env

    def _fault(self, episode: Episode, env: Env, faults: Iterable[str] | None = None) -> str:
        """Return why an episode that starts in an environment is rejected; empty: it is not.

        Args:
            episode: The episode.
            env: The environment.
            faults: Faults of the start that count; ``None``: all.
        """
        known = env.faults()
        if found := [name for name in (known if faults is None else faults) if known.get(name)]:
            return f"start: {', '.join(found)}"
        suite = self._suite
        return suite.visibility_fault(episode) if isinstance(suite, Perturbable) else ""

    def _solve(self, episode: Episode, env: Env) -> tuple[int, str]:
        """Return the turns that the oracle needs, and why the episode is rejected; empty: it is
        not.
        """
        turns, reason = solve(env, self._suite.oracle(env), self._interface)
        if reason:
            return turns, f"oracle: {reason}"
        env.reset(options={"episode": episode})
        none = self._interface.none
        blind = succeeds_blindly(env, none, steady=True, interface=self._interface)
        return turns, "solved by doing nothing" if blind else ""


class Screener(EpisodeScreener):
    """Screener of seeds, one after the other.

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
        super().__init__(suite or load_suite(), axes or {})
        self._planned = planned

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
        spec = perturbed(suite, drawn, self._axes)
        if isinstance(spec, str):
            return ScreeningResult(seed, spec)
        data = spec.to_json()
        episode = suite.read_episode(json.loads(to_json(data)))
        env = self._start(episode)
        if fault := self._fault(episode, env):
            return ScreeningResult(seed, fault)
        if self._planned:
            if spec.planned_turns is None:
                raise ClevrSkillsError(f"suite {suite.name} has no plans without acting")
            turns, limit = spec.planned_turns
            return ScreeningResult(seed, "", turns, data, limit)
        turns, reason = self._solve(episode, env)
        if reason:
            return ScreeningResult(seed, reason)
        return ScreeningResult(seed, "", turns, data, self._interface.begin(env).limit)


def solve(env: Env, oracle: EpisodeOracle, interface: Interface | None = None) -> tuple[int, str]:
    """Let the oracle act from the start of an episode.

    Returns:
        Turns taken, and why the goal was not reached; empty if it was.
    """
    oracle.reset()
    rollout = Rollout(env, actuator=interface.begin(env) if interface else None)
    reason, _ = rollout.run(oracle.act)
    return rollout.turns, reason


def succeeds_blindly(
    env: Env, action: Callable[[], Any], steady: bool = False, interface: Interface | None = None
) -> bool:
    """Return whether actions that depend on nothing seen reach the goal within the step limit.

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
