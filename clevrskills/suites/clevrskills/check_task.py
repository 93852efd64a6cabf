"""``clevrskills check-task``: the checks of this package's tasks, for any task."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.options import Positional

if TYPE_CHECKING:
    from clevrskills.suites.clevrskills.task_checks import TaskCheck

__all__ = ["report"]

STATES = {True: "ok", False: "NO", None: "--"}
"""Marks of checks that passed, failed, or were not run."""


@dataclass(kw_only=True)
class CheckTaskArgs:
    """Run the required and recommended checks of a task, and print how to fix failures."""

    task: Positional[str]
    """Key of a task, or a module or file that defines tasks."""
    episodes: int = 5
    """Number of episodes of each split."""
    seed: int = 0
    """Seed of the first episode."""
    robot: str = "xarm6"
    """Robot: xarm6 or panda."""
    json: bool = False
    """Print the checks as JSON."""


@dataclass(frozen=True)
class TaskReport:
    """Results of the checks of a task."""

    task: str  # key of the task
    checks: tuple[TaskCheck, ...]  # results

    @property
    def ok(self) -> bool:
        """``True`` if all required checks pass."""
        return all(check.ok for check in self.checks if check.grade == "must")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"task": self.task, "ok": self.ok, "checks": [asdict(c) for c in self.checks]}

    def __str__(self) -> str:
        lines = [f"{self.task}: {'passes' if self.ok else 'does not pass'}"]
        for check in self.checks:
            lines.append(f"  {check.grade:<6}  {check.name:<11}  {STATES[check.ok]}  {check.found}")
            if check.ok is False:
                lines.append(f"{'mend: ':>29}{check.mend}")
        return "\n".join(lines)


def report(
    task: str, episodes: int = 5, seed: int = 0, robot: str = "xarm6", defined_in: str = ""
) -> TaskReport:
    """Run the checks of a task.

    Args:
        task: Key of the task.
        episodes: Number of episodes of each split.
        seed: Seed of the first episode.
        robot: Name of the robot.
        defined_in: Module or file that defines the task, unless it has an entry point.

    Raises:
        ClevrSkillsError: There is no such task or robot.
    """
    from clevrskills.suites.clevrskills.task_checks import run_checks

    seeds = range(seed, seed + episodes)
    return TaskReport(task, tuple(run_checks(task, seeds, robot, defined_in)))


def check_task(args: CheckTaskArgs) -> int:
    """Check tasks.

    Returns:
        Exit code: 0 if all required checks pass, otherwise 1.

    Raises:
        ClevrSkillsError: There is no such task or module, or an argument is not allowed.
    """
    from clevrskills.suites.clevrskills.task_checks import keys_in

    check_least(args, episodes=1, seed=0)
    reports = []
    for key in keys_in(args.task):
        reports.append(report(key, args.episodes, args.seed, args.robot, args.task))
        if not args.json:
            print(reports[-1], flush=True)
    if args.json:
        print(json.dumps([one.to_json() for one in reports], indent=1))
    return 0 if all(one.ok for one in reports) else 1
