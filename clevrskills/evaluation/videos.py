"""Videos of episodes: one camera, one frame for each state."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.jobs.files import PARTIAL_PREFIX, storage_errors, sync
from clevrskills.sim.render.video import VideoWriter

if TYPE_CHECKING:
    from clevrskills.core.suite import Environment, TrajectoryRenderer


class EpisodeVideo:
    """Films an episode; the file appears when it is complete.

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
        self, film: TrajectoryRenderer, path: Path, root: Path, writer: str, rate_hz: int
    ) -> None:
        self._film, self._path, self._rate_hz = film, path, rate_hz
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
            self._video = VideoWriter(self._aside, width, height, self._rate_hz)
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
