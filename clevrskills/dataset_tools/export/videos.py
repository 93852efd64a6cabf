"""Videos that are known to be whole before they are exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.dataset_tools.export.remux import open_recording

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode


def whole_video(episode: Episode, camera: str) -> Path:
    """The file of a video, which has a frame for every state.

    Raises:
        DatasetError: It is missing, damaged or too short.
    """
    path = episode.video_path(camera)
    with open_recording(path, len(episode) + 1):
        return path
