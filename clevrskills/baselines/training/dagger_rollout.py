"""DAgger rollouts: a policy acts, and the oracle continues from states that it reaches.

DAgger (Ross et al. 2011) labels every state that the policy reaches with an action of the expert.
This oracle plans a path from rest, so its label of a state is a trajectory rather than one action.
It therefore takes over for some steps at a time, as experts do in HG-DAgger (Kelly et al. 2019).
Steps of the policy are marked as failed: they are in histories, not in the loss.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.core.checkpoint import find
from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.interface import Interface
from clevrskills.core.observer import Observer
from clevrskills.core.suite import (
    EpisodeOracle,
    MomentRenderer,
    Suite,
    TaskInfo,
    find_interface,
    load_suite,
    make_renderer,
)
from clevrskills.dataset_tools.layout import POLICY

POLICY_STEPS, ORACLE_STEPS = (5, 30), (10, 40)
"""Ranges of the length of a turn, in control steps: 0.25 s to 2 s."""
_ORACLE_FINISHES = 0.6
"""Fraction of the step limit after which the oracle acts until the end."""


class DaggerOracle:
    """Oracle of a recorded episode: the policy and the oracle act in turns, the policy first.

    Args:
        env: The environment, with the cameras of the policy.
        policy: The policy, batched.
        oracle: The oracle.
        interface: Action interface of both.
    """

    def __init__(self, env: Env, policy: Any, oracle: EpisodeOracle, interface: Interface) -> None:
        self._env, self._oracle, self._policy, self._read = env, oracle, policy, interface.read
        self._observer = Observer(env, policy.observation)

    def reset(self) -> None:
        """Begin an episode."""
        seed = crc32(np.asarray(self._env.get_state()).tobytes())  # determined by the episode
        self._policy.reset({0: self._observer.begin(seed)})
        self._chunk: list[np.ndarray] = []
        self._generator = np.random.default_rng(seed)
        self._steps, self._left, self._begun = 0, 0, 0
        self._runs: list[tuple[int, int]] = []
        self._oracle_acts = True
        self.subtask = self.step = "Follow the policy"
        self.subgoal, self.predicate, self.skill = -1, "", POLICY
        self.action_class, self.attempt = POLICY, 0

    @property
    def failed(self) -> list[tuple[int, int]]:
        """Ranges of steps that are not targets: those of the policy, failed ones of the oracle."""
        return self._runs + self._turn_failed()

    def act(self) -> np.ndarray:
        """Return the next action, (7,).

        Raises:
            ClevrSkillsError: The oracle gave up.
        """
        if not self._left:
            self._change()
        observation = self._observer.look()  # its history includes turns of the oracle
        if self._oracle_acts or self._begun == self._steps or not self._chunk:
            self._chunk = list(self._read(self._policy.act({0: observation})[0]))
        policy_action = self._chunk.pop(0)
        self._left -= 1
        self._steps += 1
        if not self._oracle_acts:
            return policy_action
        action = self._oracle.act()
        for name in ("subtask", "step", "subgoal", "predicate", "skill", "action_class", "attempt"):
            setattr(self, name, getattr(self._oracle, name))
        return action

    def _change(self) -> None:
        """Begin the next turn."""
        self._runs += self._turn_failed()
        self._oracle_acts = not self._oracle_acts or self._late
        self._begun = self._steps
        low, high = ORACLE_STEPS if self._oracle_acts else POLICY_STEPS
        self._left = int(self._generator.integers(low, high + 1))
        if self._oracle_acts:
            self._left = self._env.task.max_steps if self._late else self._left
            self._oracle.reset()
        else:
            self.step = "Follow the policy"
            self.skill = self.action_class = POLICY

    @property
    def _late(self) -> bool:
        return self._steps >= _ORACLE_FINISHES * self._env.task.max_steps

    def _turn_failed(self) -> list[tuple[int, int]]:
        """Return the ranges of steps of this turn that are not targets."""
        if not self._oracle_acts:
            return [(self._begun, self._steps)]
        if self._begun == self._steps:
            return []
        return [(self._begun + start, self._begun + stop) for start, stop in self._oracle.failed]


@dataclass(frozen=True)
class DaggerSuite(Suite):
    """Suite in whose environments a policy and the oracle act in turns."""

    checkpoint: Path  # folder of the policy's checkpoint
    # suite of the environments, oracles and renderers
    suite: Suite = field(default_factory=load_suite)

    @property
    def name(self) -> str:
        return self.suite.name

    @property
    def title(self) -> str:
        return self.suite.title

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        return self.suite.tasks

    def criteria(self) -> Sequence[str]:
        return self.suite.criteria()

    def check(self, config: EnvConfig) -> None:
        self.suite.check(config)

    def draw(self, *args: Any, **kwargs: Any) -> Episode:
        return self.suite.draw(*args, **kwargs)

    def read_episode(self, data: Mapping[str, Any]) -> Episode:
        return self.suite.read_episode(data)

    def frozen(self, task: str, split: str) -> FrozenEpisodes[Episode]:
        return self.suite.frozen(task, split)

    def trajectory_renderer(self, config: EnvConfig) -> MomentRenderer | None:
        return make_renderer(self.suite, config)

    def make(self, config: EnvConfig) -> Env:
        """Build an environment with the cameras of the policy."""
        from clevrskills.baselines.checkpoint import describe

        options = describe(find(self.checkpoint)).spec.observation
        size_px, look = options.size_px, options.look
        return self.suite.make(replace(config, cameras=options.cameras, size_px=size_px, look=look))

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        """Return the oracle of an environment, which takes turns with the policy."""
        from clevrskills.baselines.checkpoint import load

        policy, interface = load(self.checkpoint), interface or find_interface(self.suite)
        return DaggerOracle(env, policy, self.suite.oracle(env), interface)
