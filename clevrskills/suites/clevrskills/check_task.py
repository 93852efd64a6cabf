"""``clevrskills check-task``: the checks that a task of the package passes, for any task."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    from clevrskills.suites.clevrskills.task_checks import Check


@dataclass(kw_only=True)
class CheckTaskArgs:
    """Check a task as the package checks its own: what must hold, what should, and the mend."""

    task: tyro.conf.Positional[str]
    """Key of a task, or a module or a file in which tasks are defined."""
    episodes: int = 5
    """Episodes of each split."""
    seed: int = 0
    """Seed of the first."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the checks as JSON."""


@dataclass(frozen=True)
class Report:
    """The checks of a task.

    Attributes:
        task: Its key.
        checks: What was found.
    """

    task: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether all passes that must."""
        return all(check.ok for check in self.checks if check.grade == "must")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"task": self.task, "ok": self.ok, "checks": [asdict(c) for c in self.checks]}

    def __str__(self) -> str:
        lines = [f"{self.task}: {'passes' if self.ok else 'does not pass'}"]
        for check in self.checks:
            lines.append(
                f"  {check.grade:<6}  {check.name:<11}  {'ok' if check.ok else 'NO':<2}  "
                f"{check.found}"
            )
            if not check.ok:
                lines.append(f"{'mend: ':>29}{check.mend}")
        return "\n".join(lines)


def check_task(args: CheckTaskArgs) -> int:
    """Check tasks.

    Returns:
        Exit code: 0 if all passes that must, else 1.

    Raises:
        ClevrSkillsError: There is no such task or module, or an argument is not allowed.
    """
    from clevrskills.jobs.arguments import check_least
    from clevrskills.suites.clevrskills.task_checks import keys_in, run_checks

    check_least(args, episodes=1, seed=0)
    seeds = range(args.seed, args.seed + args.episodes)
    reports = []
    for key in keys_in(args.task):
        reports.append(Report(key, tuple(run_checks(key, seeds, args.robot, args.task))))
        if not args.json:
            print(reports[-1], flush=True)
    if args.json:
        print(json.dumps([report.to_json() for report in reports], indent=1))
    return 0 if all(report.ok for report in reports) else 1
