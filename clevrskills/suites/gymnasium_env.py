"""Gymnasium environments of symbolic suites: a step is a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from string import printable
from typing import Any

import gymnasium as gym
import numpy as np

from clevrskills.core.env import Episode, LifeCycle
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FROZEN, TRAINING, as_seed, episode_name
from clevrskills.core.interface import MODES, Mode, TextInterface, turn_feedback
from clevrskills.core.policy import PolicyError
from clevrskills.core.suite import building, default_splits, load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError, whole_number
from clevrskills.jobs.arguments import check_names

TEXT_LENGTH = 20_000
"""Maximum number of characters of an observed text."""
COMMAND_LENGTH = 400
"""Maximum number of characters of a command sampled from the action space."""


class SymbolicGymnasiumEnv(gym.Env[dict[str, Any], Any]):
    """Gymnasium environment of a task of a symbolic suite.

    An observation has ``prompt`` (instruction), ``message`` (feedback on the last turn) and an
    entry for each view: text, or an image (H, W, 3) uint8. The reward of a step is the increase of
    the goal's reward. ``info`` has ``success``, ``is_success``, ``progress``, and ``ok`` and
    ``code`` of the turn. After a reset, ``info["episode_id"]`` has the name of the episode, by its
    seed unless it is frozen.

    ``reset(seed=s)`` draws the episode of a seed. ``reset(options={"index": i})`` loads frozen
    episode i of the split, ``reset(options={"episode": e})`` a given episode.

    A copy by ``pickle`` or ``deepcopy`` is constructed from the arguments and must be reset.

    Args:
        suite: Name of the suite, or ``module:Class``.
        task: Key of the task.
        split: Name of the split; ``None``: the default split of evaluation.
        views: Names of the views to observe; ``None``: all text views.
        interface: Name of the action interface; ``None``: text commands.
        feedback: Amount of feedback on each turn.
        criteria: Success criteria; ``None``: the suite's default.
        render_mode: ``rgb_array`` or ``None``.

    Attributes:
        base_env: The suite's environment.

    Raises:
        ClevrSkillsError: A name is unknown.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        suite: str,
        task: str,
        split: str | None = None,
        views: Sequence[str] | None = None,
        interface: str | None = None,
        feedback: Mode = "simple",
        criteria: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "suite": suite,
            "task": task,
            "split": split,
            "views": views,
            "interface": interface,
            "feedback": feedback,
            "criteria": criteria,
            "render_mode": render_mode,
        }
        self._life, self._suite = LifeCycle(), load_suite(suite)
        found = self._suite
        check_names(task=((task,), found.tasks))
        info = found.tasks[task]
        images = [name for name, kind in info.views.items() if kind == "image"]
        texts = [name for name, kind in info.views.items() if kind == "text"]
        self._task, self._split = task, split or default_splits(found)[0]
        self._views, self._feedback = tuple(texts if views is None else views), feedback
        check_names(
            split=((self._split,), info.splits),
            view=(self._views, info.views),
            interface=((interface,), info.interfaces),
            criteria=((criteria,), found.criteria()),
            feedback=((feedback,), MODES),
        )
        self._interface = info.interfaces[interface or next(iter(info.interfaces))]
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UnknownNameError("render_mode", render_mode, self.metadata["render_modes"])
        if render_mode and not images:
            raise ClevrSkillsError(f"suite {suite} has no images; render_mode must be None")
        self.render_mode = render_mode
        shown = tuple(name for name in self._views if name in images)
        # views are rendered on demand; cameras only select the names of drawn shapes
        config = EnvConfig(
            task, self._split, criteria=criteria or found.criteria()[0], cameras=shown
        )
        with building(task):
            self.base_env: Any = found.make(config)
        self._film = next((n for n in self._views if n in images), images[0] if images else "")
        text = gym.spaces.Text(TEXT_LENGTH, min_length=0, charset=printable)
        self.action_space: gym.Space[Any] = gym.spaces.Text(
            COMMAND_LENGTH, min_length=0, charset=printable
        )
        if not isinstance(self._interface, TextInterface):
            self.action_space = gym.spaces.Discrete(self._interface.spec["most"])
        spaces: dict[str, gym.Space[Any]] = {"prompt": text, "message": text}
        for name in self._views:
            spaces[name] = self._image_space(name) if name in images else text
        self.observation_space = gym.spaces.Dict(spaces)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._arguments), (), {"spec": self.spec}

    def _image_space(self, name: str) -> gym.spaces.Box:
        """Return the space of an image, with the size that the first drawn episode has."""
        episode = self._suite.draw(self._task, self._split, 0)
        self.base_env.reset(options={"episode": episode})
        return gym.spaces.Box(0, 255, self.base_env.look((name,))[name].shape, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; without a seed or options, draw a new one.

        Raises:
            ClevrSkillsError: The option, seed or frozen episode does not exist.
            ClosedError: The environment is closed.
        """
        with self._life.reset():
            seed = None if seed is None else as_seed(seed)
            super().reset(seed=seed)
            options = options or {}
            check_names(option=(tuple(options), ("index", "episode")))
            episode = self._chosen(seed, options)
            self.base_env.reset(options={"episode": episode})
            self._actuator = self._interface.begin(self.base_env)
        drawn = not options or ("index" not in options and episode.seed < FROZEN.start)
        seed = episode.seed if drawn else None
        name = episode_name(episode.task, episode.split, episode.index, seed=seed)
        info = {"episode_id": name, **self._info()}
        return self._observation(""), info

    def _chosen(self, seed: int | None, options: Mapping[str, Any]) -> Episode:
        if "episode" in options:
            episode: Episode = options["episode"]
            return episode
        if "index" in options:
            frozen = self._suite.frozen(self._task, self._split)
            return frozen[whole_number("index", options["index"], len(frozen) - 1)]
        drawn = int(self.np_random.integers(TRAINING.stop)) if seed is None else seed
        return self._suite.draw(self._task, self._split, drawn)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Execute a command; an invalid or impossible command uses up the turn.

        Raises:
            ActionError: The action is not in the action space of the interface.
            ResetNeededError: No episode is running.
            ClosedError: The environment is closed.
        """
        self._life.check_step()
        (command,) = self._interface.read(action)
        try:
            turn = self._actuator.act(command)
        except PolicyError:  # the number denotes no action in this episode
            turn = self._actuator.act("")
        message = turn_feedback(self._interface, turn, self._feedback)
        info = {"ok": turn.ok, "code": turn.code, **self._info()}
        if turn.ended:
            info["ended"] = turn.ended
        ended = turn.terminated or bool(turn.ended)
        if ended or turn.truncated:
            self._life.end()
        return self._observation(message), turn.reward, ended, turn.truncated, info

    def _info(self) -> dict[str, Any]:
        outcome = self.base_env.outcome
        success = bool(outcome.holds[0])
        return {"success": success, "is_success": success, "progress": float(outcome.progress[0])}

    def _observation(self, message: str) -> dict[str, Any]:
        shown = {"prompt": self.base_env.prompt.plain(), "message": message}
        return {**shown, **self.base_env.look(self._views)}

    def oracle_action(self) -> str:
        """Return the oracle's next command; raise GaveUp if there is none."""
        return str(self.base_env.solve())

    def render(self) -> Any:
        """Return the first image among the views, else the task's first image, (H, W, 3) uint8."""
        return self.base_env.look((self._film,))[self._film] if self.render_mode else None

    def close(self) -> None:
        """Release the environment."""
        self._life.close()
        self.base_env.close()
