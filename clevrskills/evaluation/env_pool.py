"""Where a worker's episodes take place: environments, frozen episodes and films, kept for reuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.policy_loader import PolicySource
from clevrskills.core.suite import Environment, Episode, Film, Suite
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.evaluation.messages import Case
from clevrskills.evaluation.rollout import PolicyRollout, Rules
from clevrskills.evaluation.videos import EpisodeVideo, video_path


@dataclass(frozen=True)
class Workplace:
    """What all workers of an evaluation have in common; picklable.

    Attributes:
        root: Folder of the run, an absolute path.
        suite: Where environments and episodes come from.
        policy: Where the policy comes from.
        rules: How episodes are run.
        batch: Episodes that a worker runs at the same time.
        robot: Key of the robot.
        criteria: Name of the success criteria.
        writer: Name of the writer, see :mod:`clevrskills.evaluation.results`.
        video_camera: What videos are filmed with.
    """

    root: Path
    suite: Suite
    policy: PolicySource
    rules: Rules = Rules()
    batch: int = 1
    robot: str = "xarm6"
    criteria: str = "paper"
    writer: str = "local"
    video_camera: str = "base_camera"


class Venue:
    """Starts episodes in slots; what it builds is used again as long as it fits.

    Args:
        place: What all workers have in common.
        options: What the policy is shown.
    """

    def __init__(self, place: Workplace, options: ObservationOptions) -> None:
        self._place, self._options = place, options
        self._config: EnvConfig | None = None
        self._envs: dict[int, Environment] = {}
        self._films: dict[int, Film] = {}
        self._frozen: tuple[tuple[str, str], Sequence[Episode]] = ("", ""), ()

    def start(self, slot: int, case: Case) -> PolicyRollout:
        """Start an episode in a slot in which none is running.

        Raises:
            ClevrSkillsError: There is no such environment or episode.
            Exception: The environment broke down; it is not used again.
        """
        place, episode = self._place, self._episode(case)
        env = self._env(slot, episode)
        video = self._video(slot, case) if case.film else None
        try:
            return PolicyRollout(
                env, episode, self._options, place.rules, place.suite.interface(), video
            )
        except Exception:
            self.abandon(slot)
            if video is not None:
                video.discard()
            raise

    def abandon(self, slot: int) -> None:
        """Do not use the environment of a slot again."""
        self._envs.pop(slot, None)

    def _episode(self, case: Case) -> Episode:
        suite = self._place.suite
        if case.seed is not None:
            return suite.draw(
                case.task, case.split, case.seed, case.index, self._place.robot, case.task_args
            )
        key = case.task, case.split
        if self._frozen[0] != key:
            self._frozen = key, suite.frozen(*key)
        return self._frozen[1][case.index]

    def _env(self, slot: int, episode: Episode) -> Environment:
        place, options = self._place, self._options
        config = EnvConfig(
            episode.task,
            episode.split,
            place.robot,
            place.criteria,
            cameras=options.cameras,
            size_px=options.size_px,
            task_args=episode.task_args,
        )
        if config != self._config:
            for env in self._envs.values():
                env.close()
            self._envs, self._config = {}, config
        if slot not in self._envs:
            try:
                self._envs[slot] = place.suite.make(config)
            except ClevrSkillsError:
                raise
            except Exception as error:
                raise ClevrSkillsError(
                    f"cannot build the environment of {config.task}: {one_line(error)}"
                ) from error
        return self._envs[slot]

    def _video(self, slot: int, case: Case) -> EpisodeVideo:
        place = self._place
        if slot not in self._films:  # each shows one scene at a time
            film = place.suite.film(
                EnvConfig(case.task, robot=place.robot, cameras=(place.video_camera,))
            )
            assert film is not None, "there is a camera"
            self._films[slot] = film
        path = video_path(place.root, case.id)
        return EpisodeVideo(self._films[slot], path, place.root, place.writer)
