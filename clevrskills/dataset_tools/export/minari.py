"""Minari datasets of oracle and random policy for each task and split, written without Minari in
the format of its ``HDF5Storage``; see ``docs/formats.md``.

State observations come from replaying the recorded actions. The random policy starts from the same
seeds.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import gymnasium
import numpy as np

from clevrskills import env_id
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import step_interface
from clevrskills.dataset_tools.export.lerobot.features import write_json
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.core.interface import Turn
    from clevrskills.dataset_tools.dataset import Episode

NAMESPACE = "clevrskills"
VERSION = "0.5.0"
"""First compatible version of Minari."""
ORACLE, RANDOM = "oracle", "random"


def write(selection: Selection, out: Path) -> None:
    """Write all episodes of ``selection`` into the empty root folder ``out``.

    Raises:
        ClevrSkillsError: A task has no state observations.
        DatasetError: An episode is damaged, or its replay does not solve the task.
    """
    from clevrskills.envs.state_observation import Observed

    header, suite = selection.header, selection.suite
    for (task, split), episodes in groupby(selection, lambda e: (e.info["task"], e.info["split"])):
        arguments = header.task_args.get(task, {})
        config = EnvConfig(task, split, header.robot, header.criteria, task_args=arguments)
        folder, suffix = out / NAMESPACE / task, "v0" if split == "train" else f"{split}-v0"
        env = suite.make(config)
        try:
            if not isinstance(env, Observed):
                raise ClevrSkillsError(f"{task} has no state observations, which Minari needs")
            with (
                Storage(folder / f"{ORACLE}-{suffix}", config) as solved,
                Storage(folder / f"{RANDOM}-{suffix}", config) as aimless,
            ):
                for episode in episodes:
                    solved.add(episode, _again(env, episode))
                    aimless.add(episode, _at_random(env, episode))
        finally:
            env.close()
        scores = {"ref_min_score": aimless.mean_return, "ref_max_score": solved.mean_return}
        for storage, algorithm in ((solved, ORACLE), (aimless, RANDOM)):
            storage.describe(
                out,
                algorithm_name=algorithm,
                description=f"{selection.suite.tasks[task].sentence}; by the {algorithm} "
                f"policy, split {split}",
                num_episodes_average_score=storage.episodes,
                **scores,
            )


@dataclass
class Trajectory:
    """Episode of N steps; observations and progress have N + 1 entries."""

    observations: list[np.ndarray]  # state observations, (D,) float32
    progress: list[float]  # in [0, 1], 1 exactly on success
    actions: list[np.ndarray] = field(default_factory=list)  # (7,) float32
    dense_rewards: list[float] = field(default_factory=list)  # on the published scale
    success: bool = False  # whether the goal holds at the end

    @property
    def rewards(self) -> np.ndarray:
        """(N,) float32, the progress of each step, as in ``gym.make``."""
        return np.diff(np.array(self.progress, np.float32))


def _again(env: Any, episode: Episode) -> Trajectory:
    """Return the rollout of the recorded actions."""
    actions = iter(episode.actions)
    trajectory = _run(env, episode, lambda: next(actions), len(episode))
    if trajectory.success != bool(episode.info["success"]):
        raise DatasetError(f"{episode.id}: its replay does not solve the task on this machine")
    return trajectory


def _at_random(env: Any, episode: Episode) -> Trajectory:
    """Return a rollout of random actions until success or the step limit."""
    interface = step_interface(episode.suite)
    generator = np.random.default_rng(int(episode.info["seed"]))
    return _run(env, episode, lambda: interface.random(generator))


def _run(
    env: Any, episode: Episode, act: Callable[[], np.ndarray], limit: int | None = None
) -> Trajectory:
    from clevrskills.envs.state_observation import observe

    info = episode.info
    of = info["task"], info["split"], info["seed"], 0, info["robot"], info["task_args"]
    start = episode.suite.draw(*of, wording=None)
    env.reset(options={"episode": start})
    trajectory = Trajectory([observe(env)], [float(env.outcome.progress[0])])

    def keep(action: np.ndarray, turn: Turn) -> None:
        trajectory.actions.append(np.asarray(action, np.float32))
        trajectory.observations.append(observe(env))
        trajectory.progress.append(turn.progress)
        trajectory.dense_rewards.append(turn.reward)

    rollout = Rollout(env, limit)
    rollout.run(act, keep)
    trajectory.success = rollout.success
    return trajectory


class Storage:
    """Writer of one Minari dataset into ``clevrskills/TASK/NAME-v0``, a context manager."""

    def __init__(self, path: Path, config: EnvConfig) -> None:
        self._path, self._config = path, config
        self.episodes = self._steps = self._size = self._actions = 0
        self._return = 0.0

    @property
    def mean_return(self) -> float:
        """Mean return of the episodes."""
        return self._return / self.episodes

    def __enter__(self) -> Self:
        import h5py

        (self._path / "data").mkdir(parents=True)
        self._file = h5py.File(self._path / "data/main_data.hdf5", "w", track_order=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, episode: Episode, trajectory: Trajectory) -> None:
        """Append a trajectory that starts like a recorded episode."""
        steps = len(trajectory.actions)
        group = self._file.create_group(f"episode_{self.episodes}")
        group.attrs["id"] = self.episodes
        group.attrs["seed"] = int(episode.info["seed"])
        group.attrs["total_steps"] = steps
        group.attrs["source"] = episode.id
        group.attrs["instruction"] = str(episode.prompt["plain"])
        group.attrs["success"] = trajectory.success
        last = np.arange(steps) == steps - 1
        columns = {
            "observations": np.stack(trajectory.observations),
            "actions": np.stack(trajectory.actions),
            "rewards": trajectory.rewards,
            "terminations": last & trajectory.success,
            "truncations": last & (not trajectory.success),
            "infos/progress": np.array(trajectory.progress, np.float32),
            "infos/dense_reward": np.array([0.0, *trajectory.dense_rewards], np.float32),
        }
        for name, values in columns.items():
            group.create_dataset(name, data=values, compression="gzip", shuffle=True)
        self._size, self._actions = (columns[n].shape[1] for n in ("observations", "actions"))
        self._return += float(trajectory.rewards.sum())
        self._steps += steps
        self.episodes += 1

    def describe(self, root: Path, **metadata: Any) -> None:
        """Write ``metadata.json``; names of datasets are relative to ``root``."""
        config = self._config
        spec = copy.deepcopy(gymnasium.spec(env_id(config.task)))
        spec.kwargs |= {
            "obs_mode": "state",
            "split": config.split,
            "robot": config.robot,
            "criteria": config.criteria,
            "task_args": dict(config.task_args),
        }
        size = (self._path / "data/main_data.hdf5").stat().st_size
        write_json(
            self._path / "data/metadata.json",
            {
                "dataset_id": self._path.relative_to(root).as_posix(),
                "minari_version": VERSION,
                "data_format": "hdf5",
                "total_episodes": self.episodes,
                "total_steps": self._steps,
                "dataset_size": round(size / 1e6, 1),
                "observation_space": _box(np.inf, self._size),
                "action_space": _box(1.0, self._actions),
                "env_spec": spec.to_json(),
                "author": ["The ClevrSkills developers"],
                "requirements": ["clevrskills"],
                **metadata,
            },
        )


def _box(bound: float, size: int) -> str:
    """Return a box space as a JSON string of Minari."""
    bounds = {"low": [-bound] * size, "high": [bound] * size}
    return json.dumps({"type": "Box", "dtype": "float32", "shape": [size], **bounds})
