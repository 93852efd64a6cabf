"""Worker that renders the scenes of some episodes of a task into one part of a folder."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import ATTEMPTS, SUBSTITUTE, episode_id
from clevrskills.core.suite import KeptEnv, MomentRenderer, Suite, make_renderer
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.record.camera_tracks import write_images
from clevrskills.dataset_tools.scenes.drawing import EpisodeDrawing, ImageStore
from clevrskills.dataset_tools.scenes.scene_set import write_tables
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PartialDirectory, storage_errors, to_json
from clevrskills.jobs.process_setup import return_freed_memory, trim_heap
from clevrskills.sim.setting import Setting

MOST_SUBGOALS = 12
"""Maximum number of rendered subgoals of a demonstration."""


@dataclass(frozen=True)
class ScenePart:
    """Episodes of a task whose scenes are rendered together."""

    task: str  # key of the task
    split: str
    seeds: tuple[int, ...]  # seeds, replaced by substitutes if no scene can be drawn

    @property
    def id(self) -> str:
        """Name of its directory, e.g. ``pick/train_400000000``."""
        return episode_id(self.task, self.split, self.seeds[0])


@dataclass(frozen=True)
class DrawnPart:
    """Result of a part."""

    scenes: int  # number of scenes
    cpu_s: float  # CPU time


class SceneWorker:
    """Worker that renders parts, of episodes at their start or of the subgoals of the dataset
    ``demonstrations``, and keeps the environment while the task stays the same.
    """

    def __init__(
        self, root: Path, suite: Suite, config: EnvConfig, demonstrations: Path | None
    ) -> None:
        return_freed_memory()
        torch.set_num_threads(1)
        self._root, self._suite, self._config = root, suite, config
        self._demonstrations = demonstrations
        self._kept = KeptEnv(self._make)
        self._stores: dict[Setting, ImageStore] = {}

    def __call__(self, part: ScenePart) -> DrawnPart:
        """Render a part.

        Raises:
            ClevrSkillsError: An episode cannot be drawn, or a write failed.
        """
        cpu_s = time.process_time()
        if (self._root / part.id).is_dir():  # of a worker that died before it reported
            return DrawnPart(0, 0.0)
        env, film = self._kept(replace(self._config, task=part.task, split=part.split))
        drawings = [self._draw(part, seed, env, film) for seed in part.seeds]
        scenes = [row for drawing in drawings for row in drawing.scenes]
        images = {name: image for each in drawings for name, image in each.images.items()}
        with PartialDirectory(self._root, self._root / part.id) as directory:
            with storage_errors(directory.path):
                write_tables(directory.path, [each.episode for each in drawings], scenes)
                write_images(directory.path, images)
            directory.commit()
        trim_heap()
        return DrawnPart(len(scenes), time.process_time() - cpu_s)

    def _make(self, config: EnvConfig) -> tuple[Any, MomentRenderer]:
        env = self._suite.make(replace(config, cameras=()))
        film = make_renderer(self._suite, config)
        assert film is not None, "there is a camera"
        return env, film

    def _draw(self, part: ScenePart, seed: int, env: Any, film: MomentRenderer) -> EpisodeDrawing:
        """Render the scenes of an episode, or of its first substitute that can be drawn."""
        reason = ""
        for number in range(1 if self._demonstrations else ATTEMPTS):
            tried = seed + number * SUBSTITUTE
            try:
                start = self._suite.draw(
                    part.task, part.split, tried, 0, self._config.robot, wording=None
                )
            except ClevrSkillsError as error:  # no scene fits
                reason = str(error)
                continue
            env.reset(options={"episode": start})
            name = episode_id(part.task, part.split, tried)
            setting = env.prompt.setting
            if setting not in self._stores:
                self._stores[setting] = ImageStore(setting)
            drawing = EpisodeDrawing(env, film, self._stores[setting], name)
            entropy = tried, crc32(part.task.encode()), crc32(b"arm")
            elsewhere = np.random.default_rng(np.random.SeedSequence(entropy))
            for step, leaf, done in self._moments(env, name):
                drawing.add(step, leaf, done, elsewhere if elsewhere.random() < 0.5 else None)
            return drawing
        raise ClevrSkillsError(f"{part.task}: no scene of seed {seed} can be drawn: {reason}")

    def _moments(self, env: Any, name: str) -> Iterator[tuple[int, int, int]]:
        """Put the environment at the start of each subgoal; yield step, leaf and subgoals done."""
        if self._demonstrations is None:
            yield 0, int(env.goal.next_index(env.outcome)[0]), 0
            return
        episode = Episode(self._demonstrations / name)
        now = json.loads(to_json([env.scene_description(), env.goal.to_json()]))
        if now != [episode.info["scene"], episode.info["goal"]]:
            raise ClevrSkillsError(f"{episode.path}: its seed gives another scene or goal now")
        reached = [each["step"] for each in episode.keysteps if each["subgoal"] is not None]
        starts = [s for s in episode.segments["subtask"] if s.get("subgoal", -1) >= 0]
        for segment in starts[:MOST_SUBGOALS]:
            step = int(segment["start"])
            if step:
                env.set_state(torch.as_tensor(episode.states[step][None]))
            yield step, int(segment["subgoal"]), sum(at <= step for at in reached)


def cut(part: ScenePart, size: int) -> list[ScenePart]:
    """Split a part into parts of at most ``size`` episodes."""
    starts = range(0, len(part.seeds), size)
    return [replace(part, seeds=tuple(part.seeds[k : k + size])) for k in starts]
