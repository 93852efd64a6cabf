"""Faults of a task with their fixes: exceptions in its code, and unfair scenes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from traceback import walk_tb

from clevrskills.envs.scene_sampling import ATTEMPTS, NeutralPose, is_fair, keystep_scenes, scene_of
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.tasks import LayoutError, Task

SHOWN = 3
"""Number of reasons shown, the most frequent first."""


class TaskFault(str):
    """Fault of a task in words.

    Attributes:
        mend: How to fix it; empty: as the check says.
    """

    mend: str

    def __new__(cls, text: str, mend: str = "") -> TaskFault:
        """Make a fault from its text and fix."""
        fault = super().__new__(cls, text)
        fault.mend = mend
        return fault

    @classmethod
    def of(cls, error: Exception, package: str) -> TaskFault:
        """Return the fault of an exception, with its last line in the package of the task."""
        places = [
            f"{_relative(frame.f_code.co_filename)}:{line}"
            for frame, line in walk_tb(error.__traceback__)
            if str(frame.f_globals.get("__name__", "")).partition(".")[0] == package
        ]
        is_reported = isinstance(error, ClevrSkillsError) or not places
        return cls(one_line(error), "" if is_reported else f"an error in your code at {places[-1]}")


def _relative(name: str) -> str:
    """Return the path of a file relative to the current folder, if it is inside."""
    path = Path(name).absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def unfair(task: Task, seed: int, split: str, robot: str) -> TaskFault | None:
    """Return why no fair scene of an episode was sampled, with counts; ``None`` if one was, or if
    there is another error.
    """
    counts: Counter[str] = Counter()
    mends: dict[str, str] = {}
    for attempt in range(ATTEMPTS):
        try:
            reason = _reason(task, seed, attempt, split, robot)
        except ClevrSkillsError:
            return None
        if reason is None:
            return None
        counts[reason] += 1
        mends[reason] = reason.mend
    first = counts.most_common(SHOWN)
    shown = "; ".join(f"{text} in {count}" for text, count in first)
    more = f"; {len(counts) - SHOWN} more reasons" if len(counts) > SHOWN else ""
    return TaskFault(f"no valid scene in {ATTEMPTS} attempts: {shown}{more}", mends[first[0][0]])


def _reason(task: Task, seed: int, attempt: int, split: str, robot: str) -> TaskFault | None:
    """Return why a sampled scene is unfair; ``None`` if it is fair."""
    try:
        layout, _ = task.draw(seed, attempt, split)
        scene = scene_of(task, layout, robot)
    except LayoutError as error:
        return TaskFault(
            f"layout() finds no place ({one_line(error)})",
            "layout(): fewer or smaller bodies, smaller gaps, or a larger part of the table",
        )
    goal, start = scene.goal, scene.start
    if is_fair(goal, start, None):
        if not task.shows_robot or is_fair(goal, start, NeutralPose.of(robot)):
            return None
        return TaskFault(
            "the arm is in the way of a body",
            "layout(): keep bodies clear of the arm at the start and where goal() puts it",
        )
    if bool(goal.evaluate(start, goal.initial_state(start)).holds.any()):
        return TaskFault(
            "the goal holds at the start",
            "layout(): start where goal() does not hold, or ask for more in goal()",
        )
    try:
        keystep_scenes(goal, start, layout)
    except ValueError as error:
        return TaskFault(
            f"realize() cannot reach the goal ({one_line(error)})",
            "realize(): put the bodies where there is room and in reach; layout(): keep that place "
            "free, or raise LayoutError where it is not",
        )
    return TaskFault(
        "realize() does not make the goal hold",
        "realize(): put the bodies where evaluate() holds, at rest and released, or in the gripper",
    )
