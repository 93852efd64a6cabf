"""Environment of LoHoRavens: turns and their limit, noise, height map and captions."""

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
"""Name of the view of heights in the map, (128, 256) float32 in metres."""
VIEWS: Mapping[str, ViewKind] = {
    HEIGHT_VIEW: "array",
    **dict.fromkeys((*CAPTIONS, STATE_VIEW), "text"),
}
"""What it shows beside the images of cameras, and of which kind that is."""


Actor = Callable[[str], Any]
"""Carries out an instruction: what to ask the arm for, a
:class:`~clevrskills.suites.lohoravens.interfaces.actuator.Request`.
"""


class LoHoRavensEnv(ClevrSkillsEnv):
    """Environment of a task of the suite; ``roles["n_min"]`` of its layout is the least number of
    moves.

    Args:
        task_key: Key of the task.
        noise: Noise of images, heights, actions and grip.
        kwargs: As of :class:`~clevrskills.envs.environment.ClevrSkillsEnv`.

    Attributes:
        noise: That.
        turns: Turns taken.
        account: What is counted of the episode.
        judges: Whether instructions and reports are judged.
        actor: What carries out instructions in words; ``None``: a perfect actor.
        memory: What captions remember of the episode.
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
        covering = [thing.slot for thing in self.memory.covering_at_start]
        self.account = EpisodeMetrics(self, covering)

    @property
    def turn_limit(self) -> int:
        """Turns after which an episode ends."""
        return turn_limit(self.task.level, int(self.layouts[0].roles["n_min"]))

    def _default_limit(self) -> int:
        return STEPS_PER_TURN * self.turn_limit  # of an episode without turns

    def begin_turn(self) -> None:
        """Take note of where everything is; to be called before a turn."""
        self.memory.note(self)

    def end_turn(self, code: str) -> None:
        """Count a turn, of which a code tells what came."""
        self.turns += 1
        self.account.turn(code)

    @single_threaded
    @torch.inference_mode()
    def step_without_goal(self, action: np.ndarray) -> None:
        """Make a control step (7,) without a look at the goal, which remembers nothing of what came
        between: until :meth:`look_again`, what is said of it is of before.
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
        """Look at the goal after control steps without that."""
        self._evaluate_goal()
        self.goal_state = self.outcome.state

    def check_report(self, report: str) -> None:
        """Judge what somebody reports: of each statement in the form of captions, whether it is
        true.
        """
        truth = self.memory.caption(self, CAPTIONS[1])
        right, of = true_statements(report, truth)
        self.account.judge("reporter", right, of)

    def measures(self) -> Mapping[str, float]:
        """Return episode's measures so far, see :mod:`clevrskills.suites.lohoravens.measures`."""
        return self.account.measures()

    def _noise(self, name: str) -> np.random.Generator:
        """Return the generator of a view's noise now."""
        return noise_generator(self.episode_seed, name, self.turns, int(self.elapsed_steps[0]))

    def capture(self) -> dict[str, np.ndarray]:
        """Take an image (H, W, 3) uint8 with every camera, with noise."""
        images = super().capture()
        return {name: self.noise.on_image(p, self._noise(name)) for name, p in images.items()}

    def look(self, views: Sequence[str]) -> Mapping[str, Any]:
        """Return the views beside the images of cameras, see :data:`VIEWS`.

        Raises:
            UnknownNameError: There is no such view.
            ClevrSkillsError: Heights are asked for, but the map is not among the cameras.
        """
        check_names(view=(views, VIEWS))
        found: dict[str, Any] = {}
        for view in views:
            if view == HEIGHT_VIEW:
                heights = self.height_map("map")
                found[view] = self.noise.on_heights(heights, self._noise(view))
            elif view in CAPTIONS:
                found[view] = self.memory.caption(self, view)
            else:
                found |= super().look((view,))
        return found
