"""Rollout of a policy: one episode, as the policy asks for it, and its result."""

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
"""Word by which a policy declares that it is done, and cause of the end of the episode."""


@dataclass(frozen=True)
class Rules:
    """Rules by which episodes are run."""

    # whether an episode ends when the goal holds; else at the step limit
    stop_on_success: bool = True
    chunk: int | None = None  # how many actions of a chunk are executed, at most; ``None``: all
    clip: bool = True  # whether actions out of range are clipped; else they are errors
    declared: bool = False  # whether an episode ends only when the policy says so, or at the limit
    feedback: Mode = "simple"  # what turns in words tell of themselves
    interface: str | None = None  # name of what the policy acts by; ``None``: the suite's first one

    @classmethod
    def of(cls, run: Run) -> Self:
        """Return the rules of the episodes of a run."""
        declared, feedback = run.stop == "declared", cast(Mode, run.feedback)
        return cls(run.stop_on_success, run.chunk, run.clip, declared, feedback, run.interface)


class Views:
    """Images of an episode that a film takes, of which the environment takes none.

    Args:
        film: Draws them.
        env: The environment; its episode has begun.
    """

    def __init__(self, film: MomentRenderer, env: Env) -> None:
        assert isinstance(env, RecordableEnv), "only they are filmed"
        self._film, self._env = film, env
        film.open(env.scene_description())

    def capture(self) -> Mapping[str, np.ndarray]:
        """Return the images of the present state, (H, W, 3) uint8, by camera."""
        env = self._env
        qpos = env.proprioception()["qpos"]
        views = self._film.render(qpos, env.object_poses(), env.textures)
        return {name: np.ascontiguousarray(v.color[..., :3]) for name, v in views.items()}


class EpisodeVideo:
    """Video of an episode; the file appears when it is complete.

    Args:
        film: Draws the images; it has one camera.
        path: The file.
        root: The folder of the run, in which to write aside.
        writer: Who writes, see :func:`clevrskills.jobs.files.remove_partial`.
        rate_hz: Frames per second.

    Raises:
        StorageError: The disk refused, here or in any method.
    """

    def __init__(
        self, film: MomentRenderer, path: Path, root: Path, writer: str, rate_hz: int
    ) -> None:
        self._film, self._path, self._rate_hz = film, path, rate_hz
        self._aside = root / f"{PARTIAL_PREFIX}{writer}-{uuid.uuid4().hex}.mp4"
        self._video: VideoWriter | None = None

    def open(self, env: Env) -> None:
        """Film the first state."""
        self._views = Views(self._film, env)
        self.add(env)

    def add(self, env: Env) -> None:
        """Film the present state."""
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
        """Remove what was written."""
        if self._video is not None:
            self._video.abandon()
        self._aside.unlink(missing_ok=True)


class PolicyRollout(Rollout):
    """One episode, from its start in an environment to its end.

    Attributes:
        transcript: What was said, turn by turn, as JSON data; nothing of policies without words.
        reprompted: Whether the policy is to begin again, as its prompt has changed.
        usage: What its requests took so far, by name; nothing of policies without words.

    Args:
        env: The environment; it is reset.
        episode: The episode.
        options: What the policy is shown.
        rules: How it is run.
        suite: What the environment is of: its interfaces and the words for turns.
        video: Films it; ``None``: it is not filmed.
        repeat: How often the episode was run before.
        salt: Salt of the seeds that the policy is given, see :func:`policy_seed`.
        prompt: The prompt that the policy is given; ``None``: that of the episode.
        wording: What it says, one of :data:`~clevrskills.core.suite.WORDINGS`.
        director: Leads an episode of which the policy does a part; ``None``: it does all of it.
        controller: Carries out its commands; ``None``: the interface does.
        film: Takes the images that the policy is shown, where those of the environment are the
            controller's; ``None``: the environment does.
        drawn: Whether the episode was drawn from its seed for this run.
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
        # as they are taken, as they were given, and whether they were out of range
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
            self._capture = None if film is None else Views(film, env).capture
            self._show_prompt(prompt)
            self.observation: Observation = self._look()
            if video is not None:
                video.open(env)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the time spent inside as that of the environment."""
        start_s = time.perf_counter()
        try:
            yield
        finally:
            self._env_s += time.perf_counter() - start_s

    def waited(self, seconds: float) -> None:
        """Take note of time spent waiting for the policy."""
        self._policy_s += seconds

    def go_on(self, answer: Any) -> None:
        """Do what the policy says, up to where it is asked again or the episode ends.

        Raises:
            PolicyError: These are no actions.
        """
        interface = self._interface
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
        """Feedback on the last turn; empty: there is none."""
        return self._turns[-1]["message"] if self._turns else ""

    def step(self, action: Any) -> Turn:
        """Take one turn."""
        env, step = self.env, super().step(action)
        if self.cause == STOPPED and not self._rules.stop_on_success:
            self.cause = ""  # an episode that goes on to its limit does so whatever is said
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
        # only what the policy will be shown: images cost more than a step
        if len(self._actions) < self._history and not self.ended:
            self.observation = self._look()
        return step

    def _show_prompt(self, prompt: Prompt | None) -> None:
        """Give the policy a prompt; ``None``: that of the episode."""
        part = "" if self._director is None else self._director.seed
        self.observer = Observer(self.env, self.options, prompt, self._capture)
        seed = policy_seed(self.episode, self._salt, self._repeat, part)
        self.prompt: PromptInput = self.observer.begin(seed)

    def _follow(self, director: SubgoalSchedule) -> None:
        """End with the part that the policy does; tell it what comes next."""
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
        """Film the control step."""
        if self.video is not None:
            self.video.add(self.env)

    def _note(self, answer: TextAction) -> None:
        """Take note of what was said, for the transcript and the result."""
        for name, value in answer.usage.items():
            self.usage[name] = self.usage.get(name, 0) + value
        entry: dict[str, Any] = {
            "reply": answer.reply,
            "action": answer.action,
            "stop": answer.stop,
        }
        if answer.plan:
            entry["plan"] = [*answer.plan]
        self.env.hear(answer)
        self.transcript.append(
            {"turn": self.turns, **answer.record, **entry, "usage": answer.usage}
        )

    def _look(self) -> Observation:
        """Return the observation; that of a policy that acts by words has its turns too."""
        observation = self.observer.look()
        if not isinstance(self._interface, TextInterface):
            return observation
        turns = {"turn": self.turns, "turns": tuple(self._turns), "feedback": self._rules.feedback}
        return {**observation, "interface": self._interface.spec, **turns}

    def result(self, cause: str = "", error: str = "", reason: str = "") -> EpisodeResult:
        """Return the result of the episode.

        Args:
            cause: Why it ended; empty: as the environment says.
            error: What broke down.
            reason: Why the policy gave up.
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
        """Return failure events, and measures of the arm's movement."""
        if self._watcher is None:
            return [], {}
        self._watcher.finish()
        events = [event.to_json() for event in self._watcher.events]
        return events, dict(self._watcher.trajectory())


def policy_seed(episode: Episode, salt: str = "", repeat: int = 0, part: str = "") -> int:
    """Return a seed for what a policy draws at random in an episode; it differs between tasks,
    splits, repeats and parts of an episode. Without the salt of the run, it does not tell which
    episode it is.
    """
    words = (episode.task, episode.split, "policy", *([part] * bool(part)))
    entropy = (episode.seed, *(crc32(word.encode()) for word in words), *([repeat] * bool(repeat)))
    if salt:
        entropy = (int.from_bytes(sha256(f"{salt} {entropy}".encode()).digest()),)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])
