"""Rollouts of DAgger: a policy acts, and the oracle or a teacher shows what to do where it gets to.

The oracle plans a path from rest, so what it does next in a state is not one action but the way it
goes on from there. So it is not asked for its first action in every state that the policy reached,
as DAgger has it (Ross et al. 2011), but takes over now and then for a while, as experts do in
HG-DAgger (Kelly et al. 2019). What the policy did is marked as given up: it is seen in training,
not learned.

A teacher whose actions follow from the state alone, such as one that reinforcement learning found,
is asked in every state, as DAgger has it. What is recorded is what was done, and beside it what the
teacher would have done; training learns the latter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.core.checkpoint import find
from clevrskills.core.env import Env, Episode, RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.interface import Interface
from clevrskills.core.observer import Observer
from clevrskills.core.policy_loader import LoadedPolicy, PolicySource
from clevrskills.core.suite import (
    Oracle,
    Suite,
    TaskInfo,
    TrajectoryRenderer,
    find_interface,
    load_suite,
    make_renderer,
)
from clevrskills.dataset_tools.layout import POLICY, TEACHER
from clevrskills.errors import ClevrSkillsError

POLICY_STEPS, ORACLE_STEPS = (5, 30), (10, 40)
"""Range of the length of a turn, in control steps: a quarter of a second to two seconds."""
_ORACLE_FINISHES = 0.6
"""Share of the step limit after which the oracle acts to the end."""
TEACHER_STARTS = (0.1, 0.5)
"""Range of the share of the step limit after which a teacher acts itself, to the end: as in all
datasets, only solved episodes are kept."""


class Student:
    """The policy that is to be corrected, in one environment.

    Args:
        env: The environment; it has the cameras that the policy is shown.
        policy: The policy, batched.
        interface: What it acts by.
    """

    def __init__(self, env: Env, policy: Any, interface: Interface) -> None:
        self._env, self._policy, self._read = env, policy, interface.read
        self._observer = Observer(env, policy.observation)

    def reset(self) -> np.random.Generator:
        """Begin an episode; return a generator of its own."""
        seed = crc32(np.asarray(self._env.get_state()).tobytes())  # the episode's own
        self._policy.reset({0: self._observer.begin(seed)})
        self._chunk: list[np.ndarray] = []
        return np.random.default_rng(seed)

    def act(self, afresh: bool) -> np.ndarray:
        """Return its next action, (7,): of the current chunk, unless it is asked afresh."""
        observation = self._observer.look()
        if afresh or not self._chunk:
            self._chunk = list(self._read(self._policy.act({0: observation})[0]))
        return self._chunk.pop(0)


class DaggerOracle:
    """Oracle of a recorded episode: the policy and the oracle act in turns, the policy first.

    Args:
        env: The environment; it has the cameras that the policy is shown.
        policy: The policy, batched.
        oracle: The oracle.
        interface: What both act by.
    """

    def __init__(self, env: Env, policy: Any, oracle: Oracle, interface: Interface) -> None:
        self._env, self._oracle = env, oracle
        self._student = Student(env, policy, interface)

    def reset(self) -> None:
        """Begin an episode."""
        self._generator = self._student.reset()
        self._steps, self._left, self._begun = 0, 0, 0
        self._runs: list[tuple[int, int]] = []
        self._oracle_acts = True
        self.subtask = self.step = "Follow the policy"
        self.subgoal, self.predicate, self.skill = -1, "", POLICY
        self.action_class, self.attempt = POLICY, 0

    @property
    def failed(self) -> list[tuple[int, int]]:
        """Runs of steps that are not to be learned: the policy's, and what the oracle gave up."""
        return self._runs + self._turn_failed()

    def act(self) -> np.ndarray:
        """Return the next action, (7,).

        Raises:
            ClevrSkillsError: The oracle gave up.
        """
        if not self._left:
            self._change()
        afresh = self._oracle_acts or self._begun == self._steps
        policy_action = self._student.act(afresh)  # it sees the oracle's turns too
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
        """Return the runs of steps of this turn that are not to be learned."""
        if not self._oracle_acts:
            return [(self._begun, self._steps)]
        if self._begun == self._steps:
            return []
        return [(self._begun + start, self._begun + stop) for start, stop in self._oracle.failed]


class TaughtOracle:
    """Oracle of a recorded episode: the policy acts, a teacher says what it would do in each state,
    and at last acts itself.

    Args:
        env: The environment; it has the cameras that the policy is shown.
        policy: The policy, batched.
        teacher: The teacher, a privileged policy whose actions follow from the state alone.
        interface: What both act by.

    Attributes:
        teacher_action: What the teacher would do in the state before the action given last, (7,).
    """

    def __init__(
        self, env: RecordableEnv, policy: Any, teacher: LoadedPolicy, interface: Interface
    ) -> None:
        self._env, self._teacher, self._read = env, teacher, interface.read
        self._student = Student(env, policy, interface)

    def reset(self) -> None:
        """Begin an episode."""
        generator = self._student.reset()
        env = self._env
        episode = SimpleNamespace(task=env.task.key, robot=env.robot_name)
        self._teacher.reset(None, env, episode)
        share = generator.uniform(*TEACHER_STARTS)
        self._left = max(1, round(share * env.task.max_steps))
        self.attempt, self._policy_steps = 0, 0
        self._say()

    def act(self) -> np.ndarray:
        """Return the next action, (7,)."""
        self._say()
        told = self._teacher.act({"images": {}})
        (self.teacher_action,) = (np.asarray(a, np.float32) for a in self._read(told))
        if not self._left:
            return self.teacher_action
        self._left -= 1
        self._policy_steps += 1
        return self._student.act(afresh=False)

    @property
    def failed(self) -> list[tuple[int, int]]:
        """The policy's steps, which are not to be learned as they were done."""
        return [(0, self._policy_steps)]

    def _say(self) -> None:
        """Set the labels: what is to be achieved in this state, and who acts."""
        goal = self._env.goal
        leaf = goal.next_leaf(self._env.outcome)
        known = [k for k, other in enumerate(goal.leaves()) if other is leaf]
        self.subgoal = known[0] if known else -1
        self.subtask = self.predicate = ""
        if leaf is not None:
            self.subtask, self.predicate = leaf.describe(self._env.world), leaf.name
        self.skill = self.action_class = POLICY if self._left else TEACHER
        self.step = f"Follow the {self.skill}"


def make_teacher(name: str) -> LoadedPolicy:
    """Make a policy that can teach.

    Args:
        name: Its name, such as ``rl:DIR``.

    Raises:
        ClevrSkillsError: It cannot be made, or its actions do not follow from the state of the
            simulation, or it does not say which task it is for.
    """
    teacher = PolicySource(name).make()
    observed = teacher.info.observation
    if not teacher.info.privileged or (observed and observed.cameras):
        raise ClevrSkillsError(f"{name} is no teacher: it does not act by states; allowed: rl:DIR")
    if not teacher.info.only_task:
        raise ClevrSkillsError(f"{name} is no teacher: it does not say for which task")
    return teacher


@dataclass(frozen=True)
class DaggerSuite(Suite):
    """A suite in whose environments a policy and the oracle act in turns, or a teacher says what
    the policy should have done.

    Attributes:
        checkpoint: Folder of the policy's checkpoint.
        teachers: Names of teachers by task; at the others the oracle teaches.
        suite: Where environments, oracles and films come from.
    """

    checkpoint: Path
    teachers: Mapping[str, str] = field(default_factory=dict)
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

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        return make_renderer(self.suite, config)

    def make(self, config: EnvConfig) -> Env:
        """Build an environment with the cameras of the policy."""
        from clevrskills.baselines.checkpoint import describe

        options = describe(find(self.checkpoint)).spec.observation
        size_px, look = options.size_px, options.look
        return self.suite.make(replace(config, cameras=options.cameras, size_px=size_px, look=look))

    def oracle(self, env: Env, interface: Interface | None = None) -> Oracle:
        """Return the policy with what corrects it in an environment."""
        from clevrskills.baselines.checkpoint import load

        policy, interface = load(self.checkpoint), interface or find_interface(self.suite)
        if env.task.key in self.teachers:
            assert isinstance(env, RecordableEnv), "it is recorded"
            return TaughtOracle(env, policy, make_teacher(self.teachers[env.task.key]), interface)
        return DaggerOracle(env, policy, self.suite.oracle(env), interface)
