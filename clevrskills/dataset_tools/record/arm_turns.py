"""Recorder of an arm's control steps and turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrskills.core.env import Episode, RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface, Step, Turn
from clevrskills.core.suite import Labels, MomentRenderer, Suite
from clevrskills.dataset_tools.record.camera_tracks import write_images
from clevrskills.dataset_tools.record.recorder import Recorder
from clevrskills.dataset_tools.record.turns import TurnLog


@dataclass
class StepLabels:
    """Labels of a control step, see :class:`~clevrskills.core.suite.Labels`."""

    subtask: str
    step: str
    subgoal: int
    predicate: str
    skill: str
    action_class: str
    attempt: int


class ArmTurnRecorder(Recorder):
    """Recorder of an episode whose turns take many control steps: adds the table of turns, with
    ``views``, to a :class:`~clevrskills.dataset_tools.record.recorder.Recorder`.
    """

    def __init__(
        self,
        root: Path,
        config: EnvConfig,
        episode: Episode,
        suite: Suite,
        interface: Interface,
        views: Sequence[str] = (),
        images: Sequence[str] = (),
        film: MomentRenderer | None = None,
        writer: str = "local",
    ) -> None:
        super().__init__(root, config, episode, suite, film, writer, interface)
        self.log = TurnLog(suite, interface, views, images, self.times_s)
        self._has_images = bool(images)
        self._refused: Counter[int] = Counter()  # failed turns by subgoal
        self._labels = StepLabels("", "", -1, "", "", "", 0)

    def start(self, env: RecordableEnv, limit: int) -> None:
        super().start(env, limit)
        self._info |= self.log.start_facts(self.episode, limit)
        self.log.look(env)

    def begin(self, env: RecordableEnv, action: Any, oracle: Labels) -> None:
        """Set the labels of the next turn; by default the subgoal is the first open leaf."""
        subgoal, predicate, subtask = oracle.subgoal, oracle.predicate, oracle.subtask
        attempt = oracle.attempt
        if subgoal < 0:
            leaf = env.goal.next_leaf(env.outcome)
            if leaf is not None:
                leaves = list(env.goal.leaves())
                subgoal = next(k for k, other in enumerate(leaves) if other is leaf)
                predicate, attempt = leaf.name, self._refused[subgoal]
        command = action if isinstance(action, str) else ""
        self._labels = StepLabels(
            subtask or command or "Wait",
            oracle.step or command or subtask or "Wait",
            *(subgoal, predicate, oracle.skill, oracle.action_class, attempt),
        )

    def record_step(self, env: RecordableEnv, step: Step) -> None:
        """Record a control step of the turn."""
        of = self._labels
        action_class = step.action_class or of.action_class or "act"
        labels = replace(of, step=step.doing or of.step, action_class=action_class)
        super().record(env, step.action, labels, step)

    def record(self, env: RecordableEnv, action: Any, oracle: Labels, turn: Turn) -> None:  # type: ignore[override]
        """Record a turn after its control steps."""
        labels = self._labels
        start = self.log.rows[-1]["step_stop"] if self.log.rows else 0
        if not turn.ok:
            self._refused[labels.subgoal] += 1
            self.give_up([(start, start + turn.steps)])
        self.log.add(env, action, labels, turn, self._pose(action, oracle))

    def _pose(self, action: Any, oracle: Labels) -> Any:
        """Return pick and place in the world, if oracle or action has them."""
        pose = getattr(oracle, "pose", None)
        spec = self.interface.spec
        in_world = spec.get("frame") == "world" and spec.get("shape") == [6]
        return action if pose is None and in_world else pose

    def _other_images(self) -> Mapping[str, bytes]:
        return self.log.images

    def _write_more(self, path: Path) -> None:
        self.log.write(path, self._info)
        if self._has_images and self._film is None:
            write_images(path, self.log.images, self._info)

    def _summary(self, success: bool, cameras: Mapping[str, Any]) -> dict[str, Any]:
        found = super()._summary(success, cameras)
        return {
            **found,
            "turns": len(self.log.rows),
            "return": float(sum(row["reward"] for row in self.log.rows)),
            "final": {**found["final"], **self.log.seen},
        }
