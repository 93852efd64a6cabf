"""ManiSkill's trajectory files, one HDF5 and one JSON file for each task and split, with the fields
of its ``RecordEpisode`` and the batched environment; see ``docs/formats.md``.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills import BATCHED, env_id
from clevrskills.dataset_tools.export.lerobot.features import task_sentences, write_json
from clevrskills.dataset_tools.export.selection import Selection

if TYPE_CHECKING:
    import h5py

    from clevrskills.dataset_tools.dataset import Episode

CONTROL_MODE = "pd_ee_delta_pose"
"""ManiSkill's name for end-effector deltas."""
_OUTCOMES = ("terminated", "truncated", "success")


def write(selection: Selection, out: Path) -> None:
    """Write all episodes of ``selection`` into the empty folder ``out``."""
    import h5py

    for (task, split), episodes in groupby(selection, lambda e: (e.info["task"], e.info["split"])):
        folder = out / task
        folder.mkdir(exist_ok=True)
        entries = []
        with h5py.File(folder / f"{split}.h5", "w") as file:
            for number, episode in enumerate(episodes):
                _write_trajectory(file.create_group(f"traj_{number}", track_order=True), episode)
                entries.append(_entry(number, episode))
        info = {
            "env_info": _environment(selection, task, split),
            "commit_info": None,
            "episodes": entries,
            "source_type": "motionplanning",
            "source_desc": "The oracle of ClevrSkills: skills on top of a motion planner",
        }
        write_json(folder / f"{split}.json", info)


def _write_trajectory(group: h5py.Group, episode: Episode) -> None:
    """Write the arrays of an episode; slashes in names of states create groups."""
    group["actions"] = episode.actions
    for name in _OUTCOMES:
        group[name] = episode.steps[name].to_numpy(bool)
    group["rewards"] = episode.rewards
    states = group.create_group("env_states", track_order=True)
    for part in episode.state_layout:
        states[part["name"]] = episode.states[:, part["start"] : part["stop"]]


def _entry(number: int, episode: Episode) -> dict[str, Any]:
    seed = int(episode.info["seed"])
    return {
        "episode_id": number,
        "episode_seed": seed,
        "control_mode": CONTROL_MODE,
        "elapsed_steps": len(episode),
        "reset_kwargs": {"seed": seed, "options": {}},
        "success": bool(episode.info["success"]),
        "wordings": task_sentences(episode),
    }


def _environment(selection: Selection, task: str, split: str) -> dict[str, Any]:
    """Return arguments of ``gym.make``; the module before the colon registers the environments."""
    header = selection.header
    kwargs: dict[str, Any] = {
        "split": split,
        "robot_name": header.robot,
        "criteria_name": header.criteria,
        "task_args": header.task_args.get(task, {}),
        "obs_mode": "none",
        "control_mode": CONTROL_MODE,
        "reward_mode": "dense",
    }
    if header.cameras:
        kwargs["cameras"] = list(header.cameras)
    return {
        "env_id": f"clevrskills:{env_id(task, BATCHED)}",
        "env_kwargs": kwargs,
        "max_episode_steps": selection.suite.tasks[task].details["max_steps"],
    }
