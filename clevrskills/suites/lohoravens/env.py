"""Environment of LoHoRavens: turns, noise, height map and captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from clevrskills.core.interface import in_range
from clevrskills.core.suite import ViewKind
from clevrskills.core.threads import single_threaded
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_text import STATE_VIEW
from clevrskills.jobs.arguments import check_names
from clevrskills.suites.lohoravens.captions import CAPTIONS, CaptionState, true_statements
from clevrskills.suites.lohoravens.episode import turn_limit
from clevrskills.suites.lohoravens.measures import EpisodeMetrics
from clevrskills.suites.lohoravens.noise import CLEAN, Noise, noise_generator
from clevrskills.suites.lohoravens.tasks.base import STEPS_PER_TURN

HEIGHT_VIEW = "height"
"""View of the heights in the map, (128, 256) float32 in meters."""
VIEWS: Mapping[str, ViewKind] = {
    HEIGHT_VIEW: "array",
    **dict.fromkeys((*CAPTIONS, STATE_VIEW), "text"),
}
"""Views other than images of cameras, and their kinds."""


Actor = Callable[[str], Any]
"""Returns the :class:`~clevrskills.suites.lohoravens.interfaces.actuator.Request` of an
instruction."""


class LoHoRavensEnv(ClevrSkillsEnv):
    """Environment of a task of the suite.

    Args:
        task_key: Key of the task.
        noise: Noise of images, heights, actions and grip.
        kwargs: As of :class:`~clevrskills.envs.environment.ClevrSkillsEnv`.

    Attributes:
        turns: Number of turns so far.
        account: Metrics of the episode.
        judges: Whether instructions and reports are judged.
        actor: Actor of instructions in words; ``None`` for a perfect actor.
        memory: Memory of captions.
    """

    def __init__(self, task_key: str, *, noise: Noise = CLEAN, **kwargs: Any) -> None:
        self.noise = noise
        self.actor: Actor | None = None
        self.judges = self._gliding = False
        super().__init__(task_key, **kwargs)

    def _start(self, options: dict[str, Any]) -> None:
        super()._start(options)
        self.turns = 0
        self.memory = CaptionState(self)
        covering = [body.slot for body in self.memory.covering_at_start]
        self.account = EpisodeMetrics(self, covering)

    @property
    def turn_limit(self) -> int:
        """Limit of turns of the episode."""
        return turn_limit(self.task.level, int(self.layouts[0].roles["n_min"]))

    def _default_limit(self) -> int:
        return STEPS_PER_TURN * self.turn_limit  # of an episode without turns

    def begin_turn(self) -> None:
        """Record the scene before a turn."""
        self.memory.note(self)

    def end_turn(self, code: str) -> None:
        """Count a turn with the code of its outcome."""
        self.turns += 1
        self.account.turn(code)

    @single_threaded
    @torch.inference_mode()
    def step_without_goal(self, action: np.ndarray) -> None:
        """Make a control step (7,) without evaluating the goal.

        The outcome and the goal state are outdated until :meth:`look_again`.
        """
        self._gliding = True
        try:
            self._step_action(in_range(action)[0])
        finally:
            self._gliding = False
        self._elapsed_steps += 1

    def advance_goal(self) -> None:
        if not self._gliding:
            super().advance_goal()
            return
        for look in self.after_step:
            look()

    @single_threaded
    @torch.inference_mode()
    def look_again(self) -> None:
        """Evaluate the goal after :meth:`step_without_goal`."""
        self._evaluate_goal()
        self.goal_state = self.outcome.state

    def check_report(self, report: str) -> None:
        """Judge the statements of a report that have the form of captions."""
        truth = self.memory.caption(self, CAPTIONS[1])
        self.account.judge("reporter", *true_statements(report, truth))

    def measures(self) -> Mapping[str, float]:
        """Return the measures so far, see :mod:`clevrskills.suites.lohoravens.measures`."""
        return self.account.measures()

    def _noise(self, name: str) -> np.random.Generator:
        """Return the generator of the present noise of a view."""
        return noise_generator(self.episode_seed, name, self.turns, int(self.elapsed_steps[0]))

    def capture(self) -> dict[str, np.ndarray]:
        """Return a noisy image (H, W, 3) uint8 of every camera."""
        images = super().capture()
        return {name: self.noise.on_image(p, self._noise(name)) for name, p in images.items()}

    def look(self, views: Sequence[str]) -> Mapping[str, Any]:
        """Return some of :data:`VIEWS`.

        Raises:
            UnknownNameError: There is no such view.
            ClevrSkillsError: ``height`` is requested, but the map is not among the cameras.
        """
        check_names(view=(views, VIEWS))
        return {view: self._look(view) for view in views}

    def _look(self, view: str) -> Any:
        if view == HEIGHT_VIEW:
            return self.noise.on_heights(self.height_map("map"), self._noise(view))
        return self.memory.caption(self, view) if view in CAPTIONS else super().look((view,))[view]
