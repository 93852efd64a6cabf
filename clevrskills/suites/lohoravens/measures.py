"""Measures of an episode: share of the goal, number of turns, and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from clevrskills.core.goal.logical import Keeping
from clevrskills.core.goal.predicate import Predicate
from clevrskills.core.goal.tree import leaves_met
from clevrskills.core.report import Measure
from clevrskills.envs.recorder_view import RecorderView
from clevrskills.suites.lohoravens.field import MOVED_M
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.base import stack_roles

TIGHT = 2
"""Turns beyond ``n_min`` after which the original ends an episode."""
ABSENT = ("NO_SUCH_OBJECT", "UNKNOWN_COLOR")
"""Codes of turns that name absent objects, as a blind policy has to try."""
PRECISIONS = ("planner", "actor", "reporter")
"""Parts of an agent whose precision is measured."""
FREE = ("PLACED", "DONE", "NOTHING_PICKED", "DROPPED", "TIMED_OUT")
"""Codes of turns that were not refused."""
MEASURES = (
    Measure("success_tight", "tight success", "share", of_oracle=True),
    Measure("partial", "partial", "share"),
    Measure("partial_best", "best partial", "share"),
    Measure("followed", "steps followed", "share"),
    Measure("turns_per_move", "turns / n_min", digits=2, episodes="solved"),
    Measure("disturbed", "blocks disturbed", digits=2),
    Measure("drops", "drops", digits=2),
    Measure("missed", "missed picks", digits=2),
    Measure("refused_turns", "refused turns", digits=2),
    *(Measure(f"{part}_precision", f"{part} precision", "share") for part in PRECISIONS),
)


class EpisodeMetrics:
    """Metrics of an episode.

    Args:
        env: The environment, at the start of the episode.
        covering: Slots of the blocks that hide others.

    Attributes:
        codes: Number of turns by code.
        judged: For each part of an agent, how often it was right and how often it was judged.
    """

    def __init__(self, env: RecorderView, covering: Sequence[int] = ()) -> None:
        self._env, self.codes = env, Counter[str]()
        self.judged = {part: [0, 0] for part in PRECISIONS}
        self.turns, self._solved_at, self._best = 0, -1, 0.0
        self._from = env.world.body_pose[0, :, :3].clone()
        goal, task = env.goal.child if isinstance(env.goal, Keeping) else env.goal, env.task
        self._others = env.world.solids.movable[0].clone()  # neither moved by the goal nor hiding
        self._others[[*moved_by(goal), *covering]] = False
        steps = task.followed(stack_roles(env.layouts)) if isinstance(task, RavensTask) else None
        self._steps, self._followed = steps, False
        self._steps_state = steps.initial_state(env.world) if steps else {}

    def turn(self, code: str) -> None:
        """Count a turn with the code of its outcome."""
        self.turns += 1
        self.codes[code] += 1
        self._best = max(self._best, self.partial())
        if self._steps is not None and not self._followed:
            seen = self._steps.evaluate(self._env.world, self._steps_state)
            self._steps_state, self._followed = seen.state, bool(seen.holds[0])
        if self._solved_at < 0 and bool(self._env.outcome.holds[0]):
            self._solved_at = self.turns

    def judge(self, part: str, right: int | bool, of: int = 1) -> None:
        """Count how often a part of an agent was right."""
        self.judged[part][0] += int(right)
        self.judged[part][1] += of

    def partial(self) -> float:
        """Return the share of the goal's weight that is met now."""
        met, of = leaves_met(self._env.goal, self._env.outcome)
        return met / of

    def disturbed(self) -> int:
        """Return the number of moved blocks that the goal does not move."""
        moved_m = (self._env.world.body_pose[0, :, :3] - self._from).norm(dim=-1)
        return int((moved_m[self._others] > MOVED_M).sum())

    def measures(self) -> Mapping[str, float]:
        """Return the values of :data:`MEASURES` so far, without parts that were not judged."""
        env, partial = self._env, self.partial()
        n_min = int(env.layouts[0].roles["n_min"])
        tight = 0 <= self._solved_at <= n_min + TIGHT and not any(self.codes[c] for c in ABSENT)
        found = {"partial": partial, "partial_best": max(self._best, partial)}
        found["disturbed"] = float(self.disturbed())
        if not self.turns:  # it acts in control steps
            return found
        return {
            **found,
            **({"followed": float(self._followed)} if self._steps is not None else {}),
            "success_tight": float(tight),
            "turns_per_move": self.turns / n_min,
            "drops": float(self.codes["DROPPED"]),
            "missed": float(self.codes["NOTHING_PICKED"]),
            "refused_turns": float(sum(n for code, n in self.codes.items() if code not in FREE)),
            **{f"{k}_precision": right / of for k, (right, of) in self.judged.items() if of},
        }


def moved_by(goal: Predicate) -> set[int]:
    """Return slots of the bodies that the leaves of a goal put somewhere."""
    return {
        slot
        for leaf in goal.leaves()
        for name in ("object", "objects", "top")
        for slot in (getattr(leaf, name)[0].flatten().tolist() if hasattr(leaf, name) else ())
        if slot >= 0
    }
