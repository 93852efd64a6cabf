"""Environment pool of an evaluation worker: reused environments, episodes and video renderers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import episode_name
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.policy_loader import PolicySource
from clevrskills.core.suite import (
    MomentRenderer,
    Suite,
    Worded,
    building,
    find_interface,
    image_views,
    make_renderer,
    perturbed,
    unsupported,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.handover.controller import CommandExecutor, Controllers
from clevrskills.evaluation.handover.director import SubgoalSchedule
from clevrskills.evaluation.results import Run, part_name, video_path
from clevrskills.evaluation.rollout import EpisodeVideo, PolicyRollout, Rules, policy_seed

TURNS_PER_S = 2
"""Frames per second of videos of turns without a duration."""


@dataclass(frozen=True)
class WorkerConfig:
    """Configuration common to all workers of an evaluation; picklable."""

    root: Path  # absolute path of the run folder
    suite: Suite
    policy: PolicySource
    run: Run  # without observation options and renderer
    batch: int = 1  # concurrent episodes per worker
    writer: str = ""  # name of the writer, see `evaluation.results`
    controller: PolicySource | None = None  # executes the commands of the policy
    # files of frozen episodes that are in memory only, by their former paths
    held: Mapping[Path, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class EpisodeRef:
    """Reference to an episode to be evaluated."""

    task: str
    split: str
    index: int  # index within the task and split
    seed: int | None = None  # seed that it is sampled from; `None`: it is frozen
    task_args: Mapping[str, Any] = field(default_factory=dict)  # of a sampled episode
    film: bool = False  # whether to record a video
    counts: bool = False  # whether its result is final, and it is only run again for a video
    starts: int = 1  # number of starts, including this one
    repeat: int = 0  # index of the repetition
    part: str = ""  # part done by the policy, see `evaluation.handover.parts`; empty: all
    salt: str = ""  # salt of the policy seeds; empty: that of the run

    @property
    def id(self) -> str:
        """Name of the episode, e.g. ``sort_test_007``."""
        name = episode_name(self.task, self.split, self.index, self.repeat, self.seed)
        return part_name(name, self.part)


def episode_of(
    config: WorkerConfig,
    ref: EpisodeRef,
    frozen: Callable[[str, str], Sequence[Episode]] | None = None,
) -> Episode:
    """Return an episode: sampled, or frozen and perturbed along the axes of the run.

    Args:
        config: Configuration of the worker.
        ref: The episode.
        frozen: Function that returns the frozen episodes of a task and split; ``None``: that of
            the suite.

    Raises:
        ClevrSkillsError: The episode does not exist or cannot be perturbed.
    """
    suite, run = config.suite, config.run
    if ref.seed is not None:
        return suite.draw(ref.task, ref.split, ref.seed, ref.index, run.robot, ref.task_args)
    clean = (frozen or suite.frozen)(ref.task, ref.split)[ref.index]
    episode = perturbed(suite, clean, run.axes)
    if isinstance(episode, str):
        raise ClevrSkillsError(f"episode {ref.id} cannot be perturbed: {episode}")
    return episode


class EnvPool:
    """Pool of environments that starts episodes in slots and reuses environments while their
    configuration stays the same.

    Args:
        config: Configuration of the worker.
        options: Observation options of the policy.
        rollout: Class of the rollouts.
        on_demand: Whether images are rendered when the policy reads them, except with noise.

    Attributes:
        controllers: Controllers that execute the commands of the policy, if any.

    Raises:
        ClevrSkillsError: The controller cannot be created.
    """

    def __init__(
        self,
        config: WorkerConfig,
        options: ObservationOptions,
        rollout: type[PolicyRollout] = PolicyRollout,
        on_demand: bool = False,
    ) -> None:
        self._on_demand = on_demand and not config.run.noise
        self._worker, self.options, self._rollout = config, options, rollout
        self._run, self._rules = config.run, Rules.of(config.run)
        self.controllers: Controllers | None = None
        if config.controller is not None:
            self.controllers = Controllers(
                *(config.controller, config.suite, config.run.clip, config.run.chunk),
                *(config.batch, config.run.action_limit_s),
            )
        self._config: EnvConfig | None = None
        self._envs: dict[int, Env] = {}
        self._films: dict[int, MomentRenderer] = {}
        self._frozen = lru_cache(1)(config.suite.frozen)

    def start(self, slot: int, ref: EpisodeRef) -> PolicyRollout:
        """Start an episode in a free slot.

        Raises:
            ClevrSkillsError: The environment or episode does not exist.
            Exception: The environment failed; it is discarded.
        """
        worker, episode = self._worker, episode_of(self._worker, ref, self._frozen)
        env = self._env(slot, episode)
        wording, prompt = self._run.wording, None
        if wording != "own":
            number, look = ref.index + ref.repeat, self.options.look
            if not isinstance(worker.suite, Worded):
                raise unsupported(worker.suite, "wordings but its own")
            prompt = worker.suite.prompt_variant(episode, wording, number, look)
        video = self._video(slot, ref, self._robot(episode)) if ref.film else None
        controller, film, salt = None, None, ref.salt or self._run.salt
        if self.controllers is not None:
            seed = partial(policy_seed, episode, salt, ref.repeat)
            controller = CommandExecutor(self.controllers, slot, env, episode, seed)
            # renders the images of the policy; those of the environment are the controller's
            film = make_renderer(worker.suite, self._config_of(episode, self.options))
        try:
            return self._rollout(
                *(env, episode, self.options, self._rules, worker.suite, video, ref.repeat),
                salt=salt,
                prompt=prompt,
                wording=wording,
                director=SubgoalSchedule(worker.suite, ref.part) if ref.part else None,
                controller=controller,
                film=film,
                drawn=ref.seed is not None,
                on_demand=self._on_demand and not episode.axes,
            )
        except Exception:
            self.abandon(slot)
            if video is not None:
                video.discard()
            raise

    def abandon(self, slot: int) -> None:
        """Discard the environment of a slot."""
        self._envs.pop(slot, None)

    def _robot(self, episode: Episode) -> str:
        """Return the robot of an episode; an axis may have replaced that of the run."""
        return episode.robot if self._run.axes else self._run.robot

    def _config_of(self, episode: Episode, options: ObservationOptions) -> EnvConfig:
        return EnvConfig(
            episode.task,
            episode.split,
            self._robot(episode),
            self._run.criteria,
            cameras=options.cameras,
            size_px=options.size_px,
            look=options.look,
            task_args=episode.task_args,
            noise=self._run.noise,
        )

    def _env(self, slot: int, episode: Episode) -> Env:
        worker, shown = self._worker, self.controllers or self
        config = self._config_of(episode, shown.options)
        if config != self._config:
            for env in self._envs.values():
                env.close()
            self._envs, self._config = {}, config
        if slot not in self._envs:
            with building(config.task):
                self._envs[slot] = worker.suite.make(config)
        return self._envs[slot]

    def _video(self, slot: int, ref: EpisodeRef, robot: str) -> EpisodeVideo:
        worker = self._worker
        if slot not in self._films:  # each shows one scene at a time
            camera = image_views(worker.suite.tasks[ref.task].views)[0]
            config = EnvConfig(ref.task, robot=robot, cameras=(camera,))
            film = make_renderer(worker.suite, config)
            assert film is not None, "there is a camera"
            self._films[slot] = film
        path = video_path(worker.root, ref.id)
        # text actions that an arm executes are recorded at control rate
        names = self._run.interface, None
        interfaces = [find_interface(worker.suite, name) for name in names]
        rates = [i.spec["rate_hz"] for i in interfaces if "rate_hz" in i.spec]
        rate_hz = next(iter(rates), TURNS_PER_S)
        return EpisodeVideo(self._films[slot], path, worker.root, worker.writer, rate_hz)
