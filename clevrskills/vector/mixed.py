"""Mixed vector environment: all tasks of a level side by side, for one learner of many tasks.

Each environment has one task for good; those of one task are neighbors. All are observed by one
vector of the same layout: first ``task``, which task it is, one entry for each; then every entry of
:mod:`clevrskills.envs.state_observation` that one of the tasks has, under the same name in the same
place for all, so that the robot's joints, ``bodies/object_0`` or ``next/position`` mean the same
whatever the task. Where an entry is shorter at a task, or missing, zeros follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from clevrskills.core.registry import is_own
from clevrskills.errors import ClevrSkillsError
from clevrskills.tasks import tasks
from clevrskills.vector.scene_batch import Arrays, SceneBatch
from clevrskills.vector.spec import VectorSpec

TASK = "task"
STATES = ("obs/state", "final_obs/state")


@dataclass(frozen=True)
class MixedSpec:
    """Configuration of a mixed batch, the same in every process; picklable."""

    specs: tuple[VectorSpec, ...]  # of each task
    # where each entry of an observation stands: name, start, stop
    layout: tuple[Mapping[str, Any], ...]
    layouts: tuple[tuple[Mapping[str, Any], ...], ...]  # where each entry stands at each task alone
    # why goals can become unsolvable, the first of which is that they are not
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, keys: Sequence[str], **options: Any) -> MixedSpec:
        """Return the spec of some tasks.

        Args:
            keys: Their keys.
            options: Attributes of :class:`~clevrskills.vector.spec.VectorSpec`, of all alike.

        Raises:
            ClevrSkillsError: A value is not allowed, or is of a single task.
        """
        if options.get("task_args"):
            raise ClevrSkillsError("task_args; allowed with a single task")
        specs = tuple(VectorSpec(task=key, **options) for key in keys)
        layouts, reasons = [], [""]
        for spec in specs:
            batch = SceneBatch(spec, 1)
            layouts.append(tuple(batch.layout))
            reasons += [reason for reason in batch.reasons if reason not in reasons]
            batch.close()
        sizes = {TASK: len(specs)}
        for entry in (entry for layout in layouts for entry in layout):
            name, size = entry["name"], entry["stop"] - entry["start"]
            sizes[name] = max(sizes.get(name, 0), size)
        stops = np.cumsum(list(sizes.values())).tolist()
        common = tuple(
            {"name": name, "start": stop - size, "stop": stop}
            for (name, size), stop in zip(sizes.items(), stops, strict=True)
        )
        return cls(specs, common, tuple(layouts), tuple(reasons))

    @property
    def images(self) -> tuple[str, ...]:
        """The cameras that are looked through."""
        return self.specs[0].images

    @property
    def render_mode(self) -> str | None:
        """Content of ``render``."""
        return self.specs[0].render_mode

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """Time when the next episode begins."""
        return self.specs[0].autoreset_mode

    @property
    def step_limit(self) -> int:
        """Control steps after which the longest episodes are cut off."""
        return max(spec.step_limit for spec in self.specs)

    def task_of(self, count: int) -> np.ndarray:
        """Return the task of each of so many environments, (count,) int.

        Raises:
            ClevrSkillsError: There are fewer environments than tasks.
        """
        if count < len(self.specs):
            raise ClevrSkillsError(
                f"num_envs={count}; allowed: {len(self.specs)} and more, one for each task"
            )
        return np.arange(count) * len(self.specs) // count

    def places(self, task: int) -> np.ndarray:
        """Return the places of the numbers of a task's own observation, (D,) int."""
        starts = {entry["name"]: entry["start"] for entry in self.layout}
        parts = [
            starts[entry["name"]] + np.arange(entry["stop"] - entry["start"])
            for entry in self.layouts[task]
        ]
        return np.concatenate(parts)


class MixedBatch:
    """Some environments of several tasks in one process; see
    :class:`~clevrskills.vector.scene_batch.SceneBatch`.

    Args:
        spec: What they are.
        which: Which task each has, (n,), those of one task side by side.
    """

    terms: tuple[str, ...] = ()  # trees of goals differ

    def __init__(self, spec: MixedSpec, which: np.ndarray) -> None:
        self.reasons, self.layout = list(spec.reasons), list(spec.layout)
        self._width, self._count = spec.layout[-1]["stop"], len(which)
        self._parts: list[_Part] = []
        for task in np.unique(which).tolist():
            rows = (which == task).nonzero()[0]
            self._parts.append(_Part(spec, task, slice(rows[0], rows[-1] + 1)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays to report in, filled with zeros, for as many environments as there are."""
        first = self._parts[0].own
        arrays = {
            name: np.zeros((self._count, *values.shape[1:]), values.dtype)
            for name, values in first.items()
        }
        arrays["reward_terms"] = np.zeros((self._count, 0), np.float32)
        return arrays | {name: np.zeros((self._count, self._width), np.float32) for name in STATES}

    def reset(self, seeds: Sequence[int | None], out: Arrays) -> None:
        """Begin episodes of some seeds; ``None``: the next one of what was seeded before."""
        for part in self._parts:
            part.batch.reset(seeds[part.rows], part.own)
            part.report(out)

    def step(self, actions: np.ndarray, out: Arrays) -> None:
        """Run one control step with actions (n, 7); where it ends an episode, begin the next."""
        for part in self._parts:
            part.batch.step(actions[part.rows], part.own)
            part.report(out)

    def render(self, out: Arrays) -> None:
        """Film all environments."""
        for part in self._parts:
            part.batch.render(part.own)
            out["frames"][part.rows] = part.own["frames"]

    def close(self) -> None:
        """Give up the scenes."""
        for part in self._parts:
            part.batch.close()


class _Part:
    """The environments of one task in a batch."""

    def __init__(self, spec: MixedSpec, task: int, rows: slice) -> None:
        self.rows, self._task = rows, task
        self.batch = SceneBatch(spec.specs[task], rows.stop - rows.start)
        self.own = self.batch.arrays()
        self._places = spec.places(task)
        self._reasons = np.array([spec.reasons.index(r) for r in self.batch.reasons])

    def report(self, out: Arrays) -> None:
        """Tell what this part's own arrays say."""
        for name, values in self.own.items():
            if name in STATES:
                row = out[name][self.rows]
                row[:, self._places] = values
                row[:, self._task] = 1.0
            elif name == "unsolvable":
                out[name][self.rows] = self._reasons[values]
            elif name not in ("reward_terms", "frames"):
                out[name][self.rows] = values


Spec = VectorSpec | MixedSpec


def tasks_of(level: str) -> list[str]:
    """Return keys of the package's own tasks of a level."""
    return [key for key, kind in tasks().items() if kind.level == level and is_own(kind)]


def make_batch(spec: Spec, rows: tuple[int, int], num_envs: int) -> SceneBatch | MixedBatch:
    """Return the environments of one process: those from one to before another of all."""
    if isinstance(spec, MixedSpec):
        return MixedBatch(spec, spec.task_of(num_envs)[slice(*rows)])
    return SceneBatch(spec, rows[1] - rows[0])
