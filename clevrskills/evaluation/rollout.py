"""Rollout of a policy in one episode, and its result."""

import contextlib
import os
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from zlib import crc32

import numpy as np

from clevrskills.core.env import Env, Episode, Prompt, RecordableEnv
from clevrskills.core.goal.tree import depth, leaves_met
from clevrskills.core.interface import (
    BoxInterface,
    Mode,
    Step,
    TextInterface,
    Turn,
    in_range,
    turn_feedback,
)
from clevrskills.core.observer import Observer
from clevrskills.core.policy import (
    ImagesOnDemand,
    Observation,
    ObservationOptions,
    PolicyError,
    PromptInput,
    TextAction,
)
from clevrskills.core.rollout import STEP_LIMIT, Rollout
from clevrskills.core.suite import MomentRenderer, Suite, find_interface
from clevrskills.errors import one_line
from clevrskills.evaluation.action_sizes import ActionSizes
from clevrskills.evaluation.handover.director import SubgoalSchedule
from clevrskills.evaluation.results import POLICY_ERROR, EpisodeResult, Run
from clevrskills.jobs.files import PARTIAL_PREFIX, storage_errors, sync
from clevrskills.jobs.process_setup import now, worker_name
from clevrskills.sim.render.video import VideoWriter

if TYPE_CHECKING:
    from clevrskills.evaluation.handover.controller import CommandExecutor

DONE, STOPPED = "done", "stopped"
"""Action that declares the episode done, and the cause of its end."""


@dataclass(frozen=True)
class Rules:
    """Rules of episodes."""

    stop_on_success: bool = True  # whether the goal ends an episode; else the step limit
    chunk: int | None = None  # maximum number of actions executed per chunk; ``None``: all
    clip: bool = True  # whether actions out of range are clipped; else they are errors
    declared: bool = False  # whether only the policy or the limit ends an episode
    feedback: Mode = "simple"  # level of feedback on text actions
    interface: str | None = None  # action interface; ``None``: the suite's first

    @classmethod
    def of(cls, run: Run) -> Self:
        """Return the rules of a run."""
        declared, feedback = run.stop == "declared", cast(Mode, run.feedback)
        return cls(run.stop_on_success, run.chunk, run.clip, declared, feedback, run.interface)


class Views:
    """Images of an episode from a renderer outside the environment.

    Args:
        film: Renderer of the images.
        env: Environment, after its reset.
    """

    def __init__(self, film: MomentRenderer, env: Env) -> None:
        assert isinstance(env, RecordableEnv)
        self._film, self._env = film, env
        film.open(env.scene_description())

    def capture(self) -> Mapping[str, np.ndarray]:
        """Return the images of the current state, (H, W, 3) uint8, by camera."""
        env = self._env
        qpos = env.proprioception()["qpos"]
        views = self._film.render(qpos, env.object_poses(), env.textures)
        return {name: np.ascontiguousarray(v.color[..., :3]) for name, v in views.items()}


class EpisodeVideo:
    """Video of an episode; the file appears when it is complete.

    Args:
        film: Renderer with one camera.
        path: Path of the video.
        root: Run folder, for the partial file.
        writer: Name of the writer, see :func:`clevrskills.jobs.files.remove_partial`.
        rate_hz: Frames per second.

    Raises:
        StorageError: Writing failed, here or in any method.
    """

    def __init__(
        self, film: MomentRenderer, path: Path, root: Path, writer: str, rate_hz: int
    ) -> None:
        self._film, self._path, self._rate_hz = film, path, rate_hz
        self._aside = root / f"{PARTIAL_PREFIX}{writer}-{uuid.uuid4().hex}.mp4"
        self._video: VideoWriter | None = None

    def open(self, env: Env) -> None:
        """Record the first state."""
        self._views = Views(self._film, env)
        self.add(env)

    def add(self, env: Env) -> None:
        """Record the current state."""
        (image,) = self._views.capture().values()
        if self._video is None:
            height, width = image.shape[:2]
            self._video = VideoWriter(self._aside, width, height, self._rate_hz)
        self._video.write(image)

    def keep(self) -> None:
        """Complete the file."""
        assert self._video is not None
        self._video.close()
        with storage_errors(self._path):
            self._path.parent.mkdir(exist_ok=True)
            sync(self._aside)
            os.replace(self._aside, self._path)

    def discard(self) -> None:
        """Remove the partial file."""
        if self._video is not None:
            self._video.abandon()
        self._aside.unlink(missing_ok=True)


class PolicyRollout(Rollout):
    """Rollout of a policy in one episode.

    Attributes:
        transcript: Dialogue turn by turn as JSON data; empty for numeric policies.
        reprompted: Whether the prompt has changed, so that the policy must be reset.
        usage: Usage of language models so far, by name.

    Args:
        env: Environment; it is reset.
        episode: Episode.
        options: Observation options of the policy.
        rules: Rules of the episode.
        suite: Suite of the environment.
        video: Video to record, if any.
        repeat: Index of the repetition.
        salt: Salt of the policy seeds, see :func:`policy_seed`.
        prompt: Prompt of the policy; ``None``: that of the episode.
        wording: Wording of the prompt, one of :data:`~clevrskills.core.suite.WORDINGS`.
        director: Schedule of a partial episode; ``None``: the policy does all of it.
        controller: Executor of the policy's commands; ``None``: the interface.
        film: Renderer of the policy's images, if those of the environment are the controller's.
        drawn: Whether the episode was sampled for this run.
        on_demand: Whether images are rendered when the policy reads them.
    """

    def __init__(
        self,
        env: Env,
        episode: Episode,
        options: ObservationOptions,
        rules: Rules,
        suite: Suite,
        video: EpisodeVideo | None = None,
        repeat: int = 0,
        salt: str = "",
        prompt: Prompt | None = None,
        wording: str = "own",
        director: SubgoalSchedule | None = None,
        controller: "CommandExecutor | None" = None,
        film: MomentRenderer | None = None,
        drawn: bool = False,
        on_demand: bool = False,
    ) -> None:
        self._interface, self._controller = find_interface(suite, rules.interface), controller
        if controller is None:
            actuator = self._interface.begin(env)
        else:
            assert isinstance(self._interface, TextInterface)
            actuator = self._interface.hand_to(controller, env)
        super().__init__(env, 0, rules.stop_on_success, actuator)
        self.episode, self._rules, self.video, self._suite = episode, rules, video, suite
        data = (episode.prompt if prompt is None else prompt).wording
        self._wording = {"from": wording, **data} if data or wording != "own" else {}
        self._repeat, self._salt, self._turns = repeat, salt, list[dict[str, Any]]()
        self._drawn = drawn
        self._refused, self._codes = 0, Counter[str]()
        self._sizes = ActionSizes() if controller is None else controller.sizes
        self._history, self.options = options.history, options
        # pending actions: clipped, as given, and whether they were out of range
        self._actions: deque[tuple[Any, Any, bool]] = deque()
        self.transcript = list[dict[str, Any]]()
        self.usage = dict[str, float]()
        self._policy_s = self._env_s = 0.0
        self._began_s = time.perf_counter()
        with self._timed():
            env.reset(options={"episode": episode})
            self.limit = self._actuator.limit
            self._director, self.reprompted = director, False
            if director is not None:
                start = director.begin(env, self._actuator)
                self.limit, self.cause, prompt = start.limit, start.cause, start.prompt or prompt
            self._progress = float(env.outcome.progress[0])
            self._depth = depth(env.goal, env.outcome)
            self._watcher = env.watcher()
            self._capture = env.capture if film is None else Views(film, env).capture
            self._on_demand = on_demand
            self._show_prompt(prompt)
            self.observation: Observation = self._look()
            if video is not None:
                video.open(env)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the time of the block as environment time."""
        start_s = time.perf_counter()
        try:
            yield
        finally:
            self._env_s += time.perf_counter() - start_s

    def waited(self, seconds: float) -> None:
        """Count time spent waiting for the policy."""
        self._policy_s += seconds

    def _capture_timed(self) -> Mapping[str, np.ndarray]:
        """Return the images of the current state, at the cost of the environment."""
        began_s = self._env_s
        with self._timed():
            images = self._capture()
        self._policy_s -= self._env_s - began_s
        return images

    def go_on(self, answer: Any) -> None:
        """Execute the answer of the policy until the next request or the end of the episode.

        Raises:
            PolicyError: The answer has no valid actions.
        """
        interface = self._interface
        if isinstance(images := self.observation["images"], ImagesOnDemand):
            images.expire()
        try:
            if isinstance(interface, BoxInterface):
                asked = interface.numbers(answer)
                actions, outside = in_range(asked, self._rules.clip)
            else:
                actions = interface.read(answer, self._rules.clip)
                asked, outside = actions, [False] * len(actions)
            if isinstance(answer, TextAction):
                self._note(answer)
        except PolicyError:
            raise
        except Exception as error:
            raise PolicyError(f"an action that cannot be read: {one_line(error)}") from error
        stop = isinstance(answer, TextAction) and answer.stop
        stop = stop or (isinstance(interface, TextInterface) and [*actions] == [DONE])
        if self._rules.declared and stop:
            self.cause = STOPPED
            return
        self._actions.extend([*zip(actions, asked, outside, strict=True)][: self._rules.chunk])
        with self._timed():
            while self._actions and not self.ended:
                action, numbers, clipped = self._actions.popleft()
                if isinstance(interface, BoxInterface):
                    self._sizes.add(numbers, clipped)
                self.step(action)

    @property
    def message(self) -> str:
        """Feedback on the last turn, if any."""
        return self._turns[-1]["message"] if self._turns else ""

    def step(self, action: Any) -> Turn:
        """Take one turn."""
        env, step = self.env, super().step(action)
        if self.cause == STOPPED and not self._rules.stop_on_success:
            self.cause = ""  # the episode continues to its limit
        self._refused += not step.ok
        self._codes.update([step.code] if step.code else [])
        if self.transcript:
            self.transcript[-1] |= {"ok": step.ok, "code": step.code}
        if isinstance(action, str):
            message = turn_feedback(self._interface, step, self._rules.feedback)
            self._turns.append({"index": self.turns - 1, "action": action, "message": message})
        self._progress = max(self._progress, step.progress)
        if self._depth is not None:
            reached = depth(env.goal, env.outcome)
            assert reached is not None
            self._depth = max(self._depth, reached)
        if self._director is not None:
            self._follow(self._director)
        # skip observations that the policy never sees: images cost more than a step
        if len(self._actions) < self._history and not self.ended:
            self.observation = self._look()
        return step

    def _show_prompt(self, prompt: Prompt | None) -> None:
        """Set the prompt of the policy; ``None``: that of the episode."""
        part = "" if self._director is None else self._director.seed
        capture = self._capture_timed if self._on_demand else self._capture
        self.observer = Observer(self.env, self.options, prompt, capture, self._on_demand)
        seed = policy_seed(self.episode, self._salt, self._repeat, part)
        self.prompt: PromptInput = self.observer.begin(seed)

    def _follow(self, director: SubgoalSchedule) -> None:
        """Update success and prompt of a partial episode."""
        if director.achieved:
            self.success = self.success_once = True
        if not self.ended and (prompt := director.new_prompt()) is not None:
            self._actions.clear()
            self._show_prompt(prompt)
            self.reprompted = True

    @property
    def watches(self) -> bool:
        return self.video is not None

    def on_control_step(self, step: Step) -> None:
        """Record the control step."""
        if self.video is not None:
            self.video.add(self.env)

    def _note(self, answer: TextAction) -> None:
        """Add an answer to the transcript and the usage."""
        for name, value in answer.usage.items():
            self.usage[name] = self.usage.get(name, 0) + value
        entry = {"turn": self.turns, **answer.record, "reply": answer.reply}
        entry |= {"action": answer.action, "stop": answer.stop}
        if answer.plan:
            entry["plan"] = [*answer.plan]
        self.env.hear(answer)
        self.transcript.append({**entry, "usage": answer.usage})

    def _look(self) -> Observation:
        """Return the observation; that of a text interface includes the turns."""
        observation = self.observer.look()
        if not isinstance(self._interface, TextInterface):
            return observation
        turns = {"turn": self.turns, "turns": tuple(self._turns), "feedback": self._rules.feedback}
        return {**observation, "interface": self._interface.spec, **turns}

    def result(self, cause: str = "", error: str = "", reason: str = "") -> EpisodeResult:
        """Return the result of the episode.

        Args:
            cause: Cause of its end; empty: that of the environment.
            error: Error message.
            reason: Reason of the policy for giving up.
        """
        episode, task, reached = self.episode, self.env.task, self._depth or (None, None)
        met, of = leaves_met(self.env.goal, self.env.outcome)
        end = self.cause or STEP_LIMIT
        success, once = self.success, self.success_once
        if cause == POLICY_ERROR:
            success = once = False
        if self._rules.declared:
            success = once = success and end == STOPPED
            end = end if self.cause else "no stop"
        events, trajectory = self._watched()
        controller, labels = self._controller, self._interface.labels
        controller_s = 0.0 if controller is None else controller.spent_s
        if controller is not None:
            labels = find_interface(self._suite).labels
        known = self._suite.tasks
        return EpisodeResult(
            task=episode.task,
            level=known[task.key].level if task.key in known else task.level,
            split=episode.split,
            index=episode.index,
            episode=episode.content_hash,
            seed=episode.seed,
            cause=cause or ("success" if success else end),
            success_once=once,
            success_at_end=success,
            goal_fraction=met / of,
            depth=reached[0],
            depth_of=reached[1],
            total_reward=self.total_reward,
            progress=self._progress,
            steps=self.steps,
            max_steps=self.limit,
            error=error,
            reason=reason,
            policy_s=round(self._policy_s + controller_s, 6),
            env_s=round(self._env_s - controller_s, 6),
            wall_s=round(time.perf_counter() - self._began_s, 6),
            worker=worker_name(),
            ended=now(),
            suite=self._suite.name,
            interface=self._interface.name,
            turns=self.turns,
            max_turns=self.limit,
            refused=self._refused,
            codes=dict(self._codes),
            measures=dict(self.env.measures()),
            curves={name: [*curve] for name, curve in self.env.curves().items()},
            tags=dict(episode.tags),
            repeat=self._repeat,
            drawn=self._drawn,
            wording=self._wording,
            usage=self.usage,
            clipped=self._sizes.clipped,
            greatest=self._sizes.greatest(labels),
            events=events,
            trajectory=trajectory,
            axes=dict(episode.axes),
            twin=episode.twin,
            handover=self._director.record if self._director else {},
            controller="" if controller is None else controller.name,
        )

    def _watched(self) -> tuple[list[dict[str, Any]], dict[str, float]]:
        """Return the failure events and the measures of the trajectory."""
        if self._watcher is None:
            return [], {}
        self._watcher.finish()
        events = [event.to_json() for event in self._watcher.events]
        return events, dict(self._watcher.trajectory())


def policy_seed(episode: Episode, salt: str = "", repeat: int = 0, part: str = "") -> int:
    """Return the policy seed of an episode; it differs between tasks, splits, repetitions and
    parts, and does not identify the episode without the salt of the run.
    """
    words = (episode.task, episode.split, "policy", *([part] * bool(part)))
    entropy = (episode.seed, *(crc32(word.encode()) for word in words), *([repeat] * bool(repeat)))
    if salt:
        entropy = (int.from_bytes(sha256(f"{salt} {entropy}".encode()).digest()),)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])
