"""Recorded rollout of an oracle, and base class of recorders."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import episode_id
from clevrskills.core.interface import Interface, Step, Turn
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import EpisodeOracle, Labels
from clevrskills.dataset_tools.record.camera_tracks import cpu_timer
from clevrskills.jobs.files import PartialDirectory

_RECORDING = ("render", "encode", "write")


class EpisodeRecorder(ABC):
    """Recorder of one episode, which :meth:`commit` moves to ``<root>/<task>/<split>_<seed>``; as a
    context manager it removes an episode that was not committed.

    Attributes:
        times_s: CPU time by phase: ``reset``, ``plan`` (oracle), ``physics`` (control steps, goal
            and reward), ``render`` (images and annotations), ``encode`` (videos and images),
            ``write`` (all else).

    Raises:
        StorageError: A write failed, here or in any method.
    """

    def __init__(
        self, root: Path, config: EnvConfig, episode: Episode, interface: Interface, writer: str
    ) -> None:
        self.config, self.episode, self.interface = config, episode, interface
        self.times_s = dict.fromkeys(_RECORDING, 0.0)
        final = root / episode_id(config.task, config.split, episode.seed)
        self._directory = PartialDirectory(root, final, writer)
        self._info: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def _described(self, env: Env) -> dict[str, Any]:
        """Return the metadata common to all episodes, after the reset."""
        config, prompt = self.config, env.prompt
        return {
            "task": config.task,
            "level": env.task.level,
            "split": config.split,
            "seed": self.episode.seed,
            "robot": config.robot,
            "criteria": config.criteria,
            "task_args": dict(config.task_args),
            "prompt": {
                "text": prompt.text,
                "plain": prompt.plain(),
                "images": {},
                "data": prompt.to_json(),
            },
        }

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of recorded turns or control steps."""

    @abstractmethod
    def start(self, env: Any, limit: int) -> None:
        """Record the start of the episode; ``limit`` is the limit of turns."""

    def begin(self, env: Any, action: Any, oracle: Labels) -> None:  # noqa: B027
        """Set the labels of the next turn."""

    def record_step(self, env: Any, step: Step) -> None:  # noqa: B027
        """Record a control step of the turn."""

    @abstractmethod
    def record(self, env: Any, action: Any, oracle: Labels, turn: Turn) -> None:
        """Record a turn, given the environment after it, the action, its labels and outcome."""

    def end(self, oracle: EpisodeOracle) -> None:  # noqa: B027
        """Record the oracle's labels of the whole episode."""

    @abstractmethod
    def commit(self, success: bool) -> Path:
        """Complete the files and move the episode into place; return its directory."""

    def discard(self) -> None:
        """Remove the files, if they were not committed."""
        self._directory.discard()


class RecordedRollout(Rollout):
    """Rollout whose turns and control steps are recorded.

    Attributes:
        reason: Reason of a failure; empty on success.
        kind: Kind of the failure, see :mod:`clevrskills.dataset_tools.manifest`.
    """

    reason = kind = ""
    watches = True

    def __init__(
        self, env: Env, oracle: EpisodeOracle, recorder: EpisodeRecorder, limit: int | None = None
    ) -> None:
        super().__init__(env, limit, actuator=recorder.interface.begin(env))
        self._oracle, self._recorder = oracle, recorder

    def record(self) -> None:
        """Run the oracle until success, failure or the limit."""
        self._recorder.start(self.env, self.limit)
        self.reason, self.kind = self.run(self._act, self._add)
        self._recorder.end(self._oracle)

    def _act(self) -> Any:
        with cpu_timer(self._recorder.times_s, "plan"):
            action = self._oracle.act()
        self._recorder.begin(self.env, action, self._oracle)
        return action

    def _add(self, action: Any, turn: Turn) -> None:
        self._recorder.record(self.env, action, self._oracle, turn)

    def on_control_step(self, step: Step) -> None:
        self._recorder.record_step(self.env, step)

    def step(self, action: Any) -> Turn:
        times_s = self._recorder.times_s
        recorded_s = -sum(times_s[name] for name in _RECORDING)
        with cpu_timer(times_s, "physics"):
            turn = super().step(action)
        recorded_s += sum(times_s[name] for name in _RECORDING)
        times_s["physics"] -= recorded_s
        return turn


def rollout(
    env: Env, oracle: EpisodeOracle, recorder: EpisodeRecorder, limit: int | None = None
) -> RecordedRollout:
    """Return the rollout of an oracle in the recorder's episode; the caller commits it.

    A skill that gives up is a failure with a reason, not an exception.
    """
    with cpu_timer(recorder.times_s, "reset"):
        env.reset(options={"episode": recorder.episode})
        oracle.reset()
    recorded = RecordedRollout(env, oracle, recorder, limit)
    recorded.record()
    return recorded
