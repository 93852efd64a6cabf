"""Screening of episodes: the start is valid, the oracle solves them, and doing nothing does not."""

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
"""Number of bit-equal states after which the same action will never change anything."""


class EpisodeScreener:
    """Base class of screeners, which reuse the environment while its configuration is the same.

    Args:
        suite: Suite of the episodes.
        axes: Level of each perturbation axis.
    """

    def __init__(self, suite: Suite, axes: Mapping[str, int]) -> None:
        torch.set_num_threads(1)
        self._suite, self._axes, self._interface = suite, axes, find_interface(suite)
        self._made: tuple[EnvConfig, Env] | None = None

    def _start(self, episode: Episode) -> Env:
        """Return the environment, reset to an episode."""
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
        """Return why to reject the start of an episode, of some faults or of all; empty: none."""
        known = env.faults()
        if found := [name for name in (known if faults is None else faults) if known.get(name)]:
            return f"start: {', '.join(found)}"
        suite = self._suite
        return suite.visibility_fault(episode) if isinstance(suite, Perturbable) else ""

    def _solve(self, episode: Episode, env: Env) -> tuple[int, str]:
        """Return the turns of the oracle and the reason to reject the episode; empty: none."""
        turns, reason = solve(env, self._suite.oracle(env), self._interface)
        if reason:
            return turns, f"oracle: {reason}"
        env.reset(options={"episode": episode})
        none = self._interface.none
        blind = succeeds_blindly(env, none, steady=True, interface=self._interface)
        return turns, "solved by doing nothing" if blind else ""


class Screener(EpisodeScreener):
    """Screener of seeds.

    Args:
        suite: Suite; ``None``: ClevrSkills.
        axes: Level of each perturbation axis.
        planned: Whether the plan found during sampling suffices, without running the oracle.
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
        """Screen the episode of a seed, after a round trip through JSON.

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
    """Run the oracle; return its number of turns, and the reason of a failure or an empty text."""
    oracle.reset()
    rollout = Rollout(env, actuator=interface.begin(env) if interface else None)
    reason, _ = rollout.run(oracle.act)
    return rollout.turns, reason


def succeeds_blindly(
    env: Env, action: Callable[[], Any], steady: bool = False, interface: Interface | None = None
) -> bool:
    """Return whether open-loop actions reach the goal within the step limit.

    Args:
        env: Environment at the start of an episode.
        action: Function that returns the next action.
        steady: Whether the action is constant, so that the episode can end once all is still.
        interface: Action interface; ``None``: one control step per action.
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
