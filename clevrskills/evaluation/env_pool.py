"""Environment pool of an evaluation worker: environments, frozen episodes and films, reused."""

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
"""Frames per second of videos of turns that take no time themselves."""


@dataclass(frozen=True)
class WorkerConfig:
    """Configuration common to all workers of an evaluation; picklable."""

    root: Path  # folder of the run, an absolute path
    suite: Suite  # where environments and episodes come from
    policy: PolicySource  # where the policy comes from
    run: Run  # what is recorded of the run, but for what the policy is shown and the renderer
    batch: int = 1  # episodes that a worker runs at the same time
    writer: str = ""  # name of the writer, see `evaluation.results`
    controller: PolicySource | None = None  # where what carries out its commands comes from


@dataclass(frozen=True)
class EpisodeRef:
    """An episode that is to be evaluated."""

    task: str
    split: str
    index: int  # its number among those of the task and split
    seed: int | None = None  # the seed that it is drawn from; `None`: it is a frozen one
    # arguments of the task, if it is drawn
    task_args: Mapping[str, Any] = field(default_factory=dict)
    film: bool = False  # whether a video is made of it
    counts: bool = False  # whether its result stands already, and it is done again to be filmed
    starts: int = 1  # how often it was started, this time included
    repeat: int = 0  # how often it is run besides, before this time
    part: str = ""  # what of it the policy does, see `evaluation.handover.parts`; empty: all
    salt: str = ""  # salt of the seeds that the policy is given; empty: that of the run

    @property
    def id(self) -> str:
        """Its name, e.g. ``sort_test_007``."""
        name = episode_name(self.task, self.split, self.index, self.repeat, self.seed)
        return part_name(name, self.part)


def episode_of(
    config: WorkerConfig,
    ref: EpisodeRef,
    frozen: Callable[[str, str], Sequence[Episode]] | None = None,
) -> Episode:
    """Return an episode: drawn, or a frozen one as the axes of the run perturb it.

    Args:
        config: What all workers have in common.
        ref: Which one.
        frozen: Gives the frozen episodes of a task and split; ``None``: the suite does.

    Raises:
        ClevrSkillsError: There is no such episode, or it cannot be perturbed.
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
    """Pool of environments: starts episodes in slots; what it builds is used again as long as it
    fits.

    Args:
        config: What all workers have in common.
        options: What the policy is shown.
        rollout: Class of what is started.

    Attributes:
        controllers: What carries out the commands of the policy; ``None``: the interface does.

    Raises:
        ClevrSkillsError: The controller cannot be made.
    """

    def __init__(
        self,
        config: WorkerConfig,
        options: ObservationOptions,
        rollout: type[PolicyRollout] = PolicyRollout,
    ) -> None:
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
        """Start an episode in a slot in which none is running.

        Raises:
            ClevrSkillsError: There is no such environment or episode.
            Exception: The environment broke down; it is not used again.
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
            # takes the images of the policy, as its controller is shown others
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
            )
        except Exception:
            self.abandon(slot)
            if video is not None:
                video.discard()
            raise

    def abandon(self, slot: int) -> None:
        """Do not use the environment of a slot again."""
        self._envs.pop(slot, None)

    def _robot(self, episode: Episode) -> str:
        """Return the robot of an episode, which an axis may have replaced."""
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
        # turns in words that an arm carries out are filmed at each of its control steps
        names = self._run.interface, None
        interfaces = [find_interface(worker.suite, name) for name in names]
        rates = [i.spec["rate_hz"] for i in interfaces if "rate_hz" in i.spec]
        rate_hz = next(iter(rates), TURNS_PER_S)
        return EpisodeVideo(self._films[slot], path, worker.root, worker.writer, rate_hz)
