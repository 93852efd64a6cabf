"""Benchmark for vla-eval 0.8, https://github.com/allenai/vla-evaluation-harness.

A configuration of vla-eval names the class::

    benchmarks:
      - benchmark: "clevrskills.integrations.vla_eval:ClevrSkillsBenchmark"
        episodes_per_task: 100
        params: {level: L0, split: test}

Episode k of a task is the frozen episode k, as in ``clevrskills evaluate``. Actions and
observations are those of remote policies in this dialect.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.render import configure_sapien_render
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.suite import (
    all_cameras,
    all_robots,
    all_splits,
    default_cameras,
    find_interface,
)
from clevrskills.errors import ClevrSkillsError, whole_number
from clevrskills.evaluation.selection import choose_tasks, count_episodes
from clevrskills.jobs.arguments import check_names
from clevrskills.serving.message_fields import DIM_STATE, action_dims
from clevrskills.sim.state_vector import state_parts

# no import at the top loads SAPIEN, which would choose the renderer too early
if TYPE_CHECKING:
    from clevrskills.core.env import Env, Episode
    from clevrskills.evaluation.rollout import PolicyRollout


ICD_VARIABLE = "CLEVRSKILLS_LAVAPIPE_ICD"
"""Environment variable with the path of the driver for ``render: cpu``."""
EPISODE = ("episode", "seed")
"""Further fields that identify an episode."""
METRICS = ("success", "success_at_end", "goal_fraction", "progress", "total_reward", "clipped")


class ClevrSkillsBenchmark(StepBenchmark):
    """Benchmark of tasks on their frozen episodes.

    Servers may set arguments that the configuration leaves out, as ``clevrskills serve`` does for
    the observations of its policy.

    Args:
        tasks: Keys of tasks; ``None``: those of the levels.
        level: One or several of L0, L1, L2; ``None``: all. With text-only prompts, tasks that need
            images are left out.
        split: Name of the split; ``None``: the first one of the suite.
        episodes: Number of frozen episodes of a task; ``None``: all.
        robot: Name of the robot; ``None``: the first one of the suite.
        criteria: Name of the success criteria; ``None``: the first ones of the suite.
        prompt: ``multimodal`` with images, or ``language`` with text only.
        prompt_images: Whether the images of the prompt are shown with the ``first`` observation
            of an episode or ``always``.
        cameras: Names of cameras; ``None``: those of the suite.
        size_px: Width and height of their images; ``None``: 256.
        history: Number of control steps in each observation; if several, the first dimension of
            images and state, the latest last.
        send_state: Whether proprioception is sent.
        stop_on_success: Whether success ends an episode; otherwise the step limit does.
        frozen: Folder of the frozen episodes; ``None``: those of the package.
        identify: Whether observations name the episode, for servers that replay recorded actions.

    Raises:
        ClevrSkillsError: A name or value is not allowed.
    """

    render_backends: ClassVar[frozenset[str]] = frozenset({"gpu", "cpu"})
    _render_backend: ClassVar[str | None] = None  # that of the machine
    _ALL_RECORD_FIELDS = frozenset({"action", "reward", "success", "progress"})

    def __init__(
        self,
        tasks: Sequence[str] | None = None,
        level: str | Sequence[str] | None = None,
        split: str | None = None,
        episodes: int | None = None,
        robot: str | None = None,
        criteria: str | None = None,
        prompt: Literal["multimodal", "language"] = "multimodal",
        prompt_images: Literal["first", "always"] = "first",
        cameras: Sequence[str] | None = None,
        size_px: int | None = None,
        history: int = 1,
        send_state: bool = True,
        stop_on_success: bool = True,
        frozen: str | None = None,
        identify: bool = False,
    ) -> None:
        from clevrskills.core.suite import load_suite
        from clevrskills.evaluation.rollout import Rules
        from clevrskills.serving.client import PROMPT_IMAGES

        super().__init__()
        self._suite = suite = load_suite(folder=Path(frozen) if frozen else None)
        cameras = tuple(default_cameras(suite) if cameras is None else cameras)
        check_names(
            **{"value of prompt_images": ((prompt_images,), PROMPT_IMAGES)},
            camera=(cameras, all_cameras(suite)),
            robot=((robot,), all_robots(suite)),
            criteria=((criteria,), suite.criteria()),
        )
        self._options = ObservationOptions(cameras, size_px, history, send_state, prompt)
        self._rules = Rules(stop_on_success)
        self._tasks = choose_tasks(suite, tasks, level, prompt == "language")
        split, robot = split or all_splits(suite)[0], robot or all_robots(suite)[0]
        criteria = criteria or suite.criteria()[0]
        self._config = EnvConfig("", split, robot, criteria, self._options.cameras, size_px)
        self._episodes = min(
            count_episodes(suite, task, split, robot, episodes) for task in self._tasks
        )
        self._identify, self._salt = identify, secrets.token_hex(16)
        self._always_shown = prompt_images == "always"
        self._env: Env | None = None
        self._rollout: PolicyRollout | None = None
        self._frozen: tuple[str, Sequence[Episode]] = "", ()

    def get_tasks(self) -> list[dict[str, Any]]:
        """Return the tasks, with their levels as suites."""
        split, of = self._config.split, self._suite.tasks
        return [{"name": task, "suite": of[task].level, "split": split} for task in self._tasks]

    def get_metadata(self) -> dict[str, Any]:
        """Return step limits and settings of the episodes.

        The harness has one limit for all tasks, but each task ends at its own.
        """
        limits = {task: self._suite.tasks[task].details["max_steps"] for task in self._tasks}
        split = self._config.split
        return {
            "max_steps": max(limits.values()),
            "max_episodes_per_task": self._episodes,
            "task_max_steps": limits,
            "episode_hashes": {
                task: self._suite.frozen(task, split).content_hash for task in self._tasks
            },
            "stop_on_success": self._rules.stop_on_success,
            "observation": asdict(self._options),
            "split": split,
            "robot": self._config.robot,
            "criteria": self._config.criteria,
        }

    def get_metric_keys(self) -> dict[str, str]:
        """Return the averaged metrics."""
        return dict.fromkeys(METRICS, "mean")

    def get_action_spec(self) -> dict[str, DimSpec]:
        """Return the spec of the actions."""
        spec = find_interface(self._suite).spec
        parts = {part["name"]: part for part in spec["parts"]}
        frame, form = spec["frame"], parts["rotation"]["form"]
        meanings = {
            "position": f"{parts['translation']['scale']} m per unit; frame: {frame}",
            "rotation": f"{form}; {parts['rotation']['scale']} rad per unit; frame: {frame}",
            "gripper": f"suction on {parts['gripper']['on']}, off {parts['gripper']['off']}",
        }
        return {
            name: replace(_spec(part), description=meanings[name])
            for name, part in action_dims().items()
        }

    def get_observation_spec(self) -> dict[str, DimSpec]:
        """Return the spec of the observations."""
        specs = {"language": LANGUAGE, **dict.fromkeys(self._options.cameras, IMAGE_RGB)}
        if self._options.cameras:
            specs["image"] = IMAGE_RGB  # servers ask for images by this name
        if self._options.proprioception:
            parts = state_parts(self._config.robot)
            names = ", ".join(parts)
            meaning = f"{names}: joints in rad, world pose in m and quaternion w, x, y, z"
            size = sum(part.size for part in parts.values())
            specs["state"] = replace(_spec(DIM_STATE), dims=size, description=meaning)
        return specs

    def reset(self, task: Mapping[str, Any]) -> Any:
        """Start the frozen episode ``task["episode_idx"]``.

        Raises:
            ClevrSkillsError: There is no such episode.
        """
        from clevrskills.evaluation.rollout import PolicyRollout

        name, index = task["name"], whole_number("episode_idx", task.get("episode_idx", 0))
        if index >= self._episodes:
            raise ClevrSkillsError(
                f"episode {index} of {name}; allowed: 0 to {self._episodes - 1}, "
                f"so episodes_per_task is {self._episodes} at most"
            )
        if self._frozen[0] != name:
            self.cleanup()
            self._frozen = name, self._suite.frozen(name, self._config.split)
        if self._env is None:
            backend = self._render_backend
            self._env = self._suite.make(replace(self._config, task=name, render_backend=backend))
        self._rollout = PolicyRollout(
            self._env,
            self._frozen[1][index],
            self._options,
            self._rules,
            self._suite,
            salt=self._salt,
        )
        self._earned, self._gave_up = 0.0, False
        self._film()
        return self._rollout.observation

    def step(self, action: Mapping[str, Any]) -> StepResult:
        """Run one control step with an action (A,).

        Raises:
            ClevrSkillsError: The action is invalid.
        """
        rollout = self._rollout
        assert rollout is not None, "no episode was started"
        if "gave_up" in action:  # as servers of `clevrskills serve` may say
            self._gave_up = True
        elif "actions" not in action:
            raise ClevrSkillsError(
                f"an answer without actions, of {', '.join(action) or 'nothing'}"
            )
        else:
            values = np.asarray(action["actions"])
            (size,) = find_interface(self._suite).spec["shape"]
            if values.size != size:
                raise ClevrSkillsError(f"an action of shape {values.shape}; allowed: ({size},)")
            rollout.go_on(values.reshape(size))
            self._film()
        result = rollout.result()
        reward = result.total_reward - self._earned
        self._earned = result.total_reward
        self._recorder.record_step(
            action=np.asarray(action.get("actions", ())),
            reward=reward,
            success=result.success_at_end,
            progress=result.progress,
        )
        done = rollout.ended or self._gave_up
        return StepResult(rollout.observation, reward, done, asdict(result))

    def make_obs(self, raw_obs: Any, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return the message of an observation: ``images`` by camera, ``task_description``,
        ``states``, ``proprioception`` by name, ``step``, ``seed`` and optionally ``prompt_images``
        and ``episode``.
        """
        from clevrskills.serving.message_fields import identity
        from clevrskills.serving.vla_eval import to_payload

        assert self._rollout is not None, "no episode was started"
        prompt = self._rollout.prompt
        if raw_obs["step"] > 0 and not self._always_shown:
            prompt = replace(prompt, images={})
        name = identity(self._rollout.episode) if self._identify else {}
        return {**to_payload(raw_obs, prompt), **name}

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        """Return the result of the episode."""
        info = step_result.info
        names = (*METRICS[1:], "depth", "depth_of", "steps", "max_steps", *EPISODE)
        cause = "gave up" if self._gave_up else info["cause"]
        metrics = {name: info[name] for name in names}
        return {"success": info["success_once"], **metrics, "cause": cause}

    def get_hold_action(self, last_action: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the action that stays in place with the suction of the last action."""
        interface = find_interface(self._suite)
        before = last_action["actions"] if last_action else [interface.spec["low"]]
        after = np.broadcast_to(np.asarray(before).reshape(-1), interface.spec["shape"])
        return {"actions": interface.none(after)}

    def cleanup(self) -> None:
        """Close the environment."""
        env, self._env, self._rollout = self._env, None, None
        if env is not None:
            env.close()

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        """Choose the renderer: ``gpu`` for that of the machine, ``cpu`` for Mesa's lavapipe."""
        applied: dict[str, str] = configure_sapien_render(mode, ICD_VARIABLE)
        cls._render_backend = "cpu" if mode == "cpu" else None
        return applied

    def render(self) -> np.ndarray | None:
        """Return the image of the first camera, (H, W, 3) uint8; ``None``: there is none."""
        if self._rollout is None:
            return None
        return next(iter(self._rollout.observation["images"].values()), None)

    def _film(self) -> None:
        self._recorder.record_video(self.render())


def _spec(data: Mapping[str, Any]) -> DimSpec:
    return DimSpec.from_dict(dict(data))
