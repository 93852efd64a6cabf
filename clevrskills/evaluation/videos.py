"""Videos of episodes: one camera, one frame for each state."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.evaluation.results import VIDEOS_DIR
from clevrskills.jobs.files import PARTIAL_PREFIX, storage_errors, sync
from clevrskills.sim.render.video import VideoWriter
from clevrskills.sim.robots.delta_action import CONTROL_HZ

if TYPE_CHECKING:
    from clevrskills.core.suite import Environment, TrajectoryRenderer


def video_path(root: Path, episode: str) -> Path:
    """Where the video of an episode is."""
    return root / VIDEOS_DIR / f"{episode}.mp4"


class EpisodeVideo:
    """Films an episode; the file appears when it is complete.

    Args:
        film: Draws the images; it has one camera.
        path: The file.
        root: The folder of the run, in which to write aside.
        writer: Who writes, see :func:`clevrskills.jobs.files.remove_partial`.

    Raises:
        StorageError: The disk refused, here or in any method.
    """

    def __init__(self, film: TrajectoryRenderer, path: Path, root: Path, writer: str) -> None:
        self._film, self._path = film, path
        self._aside = root / f"{PARTIAL_PREFIX}{writer}-{uuid.uuid4().hex}.mp4"
        self._video: VideoWriter | None = None

    def open(self, env: Environment) -> None:
        """Film the first state."""
        self._film.open(env.scene_description())
        self.add(env)

    def add(self, env: Environment) -> None:
        """Film the present state."""
        qpos = env.proprioception()["qpos"]
        (view,) = self._film.render(qpos, env.object_poses(), env.textures).values()
        if self._video is None:
            height, width = view.color.shape[:2]
            self._video = VideoWriter(self._aside, width, height, CONTROL_HZ)
        self._video.write(view.color)

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
