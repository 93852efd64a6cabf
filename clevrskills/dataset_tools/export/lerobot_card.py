"""The README.md of an exported LeRobot dataset, which the Hugging Face hub shows as its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clevrskills.dataset_tools.export.selection import Selection

_CARD = """---
license: apache-2.0
task_categories:
- robotics
tags:
- LeRobot
- clevrskills
configs:
- config_name: default
  data_files: data/*/*.parquet
---

# ClevrSkills demonstrations

Made by the ClevrSkills oracle in simulation and exported as LeRobotDataset {version}: \
{episodes} episodes, {frames} frames at {fps} Hz, {sentences} different task sentences, robot \
`{robot}`, success criteria `{criteria}`.

| task | episodes |
|---|---|
{tasks}

Splits, by episode index: {splits}. They draw from different objects and textures.

- `action`, in [-1, 1]: translation `dx dy dz` (unit 0.1 m) and rotation vector `drx dry drz`
  (unit 0.1 rad) of the end effector in its own frame, from where it was last commanded to be, and
  `gripper`, whose suction is on above 0.
- `observation.state`: joint positions (rad), pose of the end effector in the world (m, quaternion
  w x y z), whether the vacuum is on, whether something is held.
- `next.reward`, `next.progress`, `next.success`, `next.done`: of the state after the action.
- Frame t was seen before action t; the picture of the final state is left out.

Made with {packages}.
"""


def card(selection: Selection, info: Mapping[str, Any]) -> str:
    """The page, with the metadata that the hub reads.

    Args:
        selection: The episodes.
        info: The content of ``info.json``.
    """
    tasks = Counter(name.partition("/")[0] for name in selection.ids)
    return _CARD.format(
        version=info["codebase_version"],
        episodes=info["total_episodes"],
        frames=info["total_frames"],
        sentences=info["total_tasks"],
        fps=info["fps"],
        robot=selection.header.robot,
        criteria=selection.header.criteria,
        tasks="\n".join(f"| `{task}` | {count} |" for task, count in tasks.items()),
        splits=", ".join(f"{name} {range_}" for name, range_ in info["splits"].items()),
        packages=", ".join(f"{name} {v}" for name, v in selection.header.versions.items() if v),
    )
