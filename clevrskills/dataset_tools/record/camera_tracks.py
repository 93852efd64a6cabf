"""Camera tracks: videos, their annotations and single images of an episode.

They depend on recorded numbers only, so rendering during the episode or later gives the same files.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import MomentRenderer
from clevrskills.dataset_tools.layout import CAMERAS_FILE, IMAGES_FILE, VIDEO_SUFFIXES
from clevrskills.dataset_tools.record.annotations import Annotator
from clevrskills.dataset_tools.record.columns import owned, vectors
from clevrskills.jobs.files import storage_errors
from clevrskills.sim.cameras import CameraImage
from clevrskills.sim.render.images import encode_image
from clevrskills.sim.render.video import DepthWriter, SegmentationWriter, VideoWriter

_WRITERS: dict[str, tuple[type[VideoWriter], str]] = {
    "video": (VideoWriter, "color"),
    "depth": (DepthWriter, "depth_mm"),
    "segmentation": (SegmentationWriter, "segmentation"),
}
"""Writer of each kind of video, and its attribute of a camera image."""
IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""Type of images in tables."""


class CameraTracks:
    """Writer of the camera tracks of one episode; a state is rendered during the next control step,
    and encoded while the next one is rendered. CPU times are added to ``times_s``.
    """

    def __init__(
        self,
        directory: Path,
        film: MomentRenderer,
        scene: Mapping[str, Any],
        fps: int,
        config: EnvConfig,
        keystep_camera: str,
        times_s: dict[str, float],
    ) -> None:
        self._directory, self._film, self._fps = directory, film, fps
        filmed = {"video": True, "depth": config.depth, "segmentation": config.segmentation}
        self._kinds = [kind for kind in _WRITERS if filmed[kind]]
        self._keystep_camera, self._times_s = keystep_camera, times_s
        self._views: Mapping[str, CameraImage] = {}  # of the last state
        self._videos: dict[str, VideoWriter] = {}
        self._images: dict[str, bytes] = {}
        self._rows: dict[str, list[np.ndarray]] = {}
        self._drawn: np.ndarray | None = None  # poses of the state being rendered
        self._others_s = _cpu_s_of_other_threads()
        with cpu_timer(times_s, "render"):
            self._annotator = Annotator(film.open(scene), film.cameras)

    def add(self, qpos: np.ndarray, object_poses: np.ndarray, textures: Mapping[str, str]) -> None:
        """Start to render a state.

        Args:
            qpos: Joint angles (n,).
            object_poses: Positions and quaternions w, x, y, z, (K, 7).
            textures: Replaced textures of objects, by key.
        """
        poses = self._wait()
        with cpu_timer(self._times_s, "render"):
            self._film.draw(qpos, object_poses, textures)
        self._drawn = object_poses
        if poses is not None:
            self._write(poses)

    def _wait(self) -> np.ndarray | None:
        """Wait for the state being rendered, if any; return its poses."""
        poses, self._drawn = self._drawn, None
        if poses is not None:
            with cpu_timer(self._times_s, "render"):
                self._views = self._film.views()
        return poses

    def _complete(self) -> None:
        """Finish the last state."""
        if (poses := self._wait()) is not None:
            self._write(poses)

    def _write(self, poses: np.ndarray) -> None:
        """Annotate and encode the images of a state."""
        with cpu_timer(self._times_s, "render"):
            for name, sighting in self._annotator.look(poses, self._views).items():
                for key, value in (
                    ("extrinsic", self._views[name].extrinsic.astype(np.float32)),
                    ("boxes", sighting.boxes),
                    ("visible", sighting.visible),
                ):
                    self._rows.setdefault(f"{name}/{key}", []).append(value.reshape(-1))
        with cpu_timer(self._times_s, "encode"):
            for name, view in self._views.items():
                for kind in self._kinds:
                    writer, attribute = _WRITERS[kind]
                    file, image = name + VIDEO_SUFFIXES[kind], getattr(view, attribute)
                    if file not in self._videos:
                        height, width = image.shape[:2]
                        path = self._directory / file
                        self._videos[file] = writer(path, width, height, self._fps)
                    self._videos[file].write(image)

    def keep(self, index: int) -> str | None:
        """Store the last state's image as key-step ``index``; return its name, ``None`` without the
        camera.
        """
        self._complete()
        view = self._views.get(self._keystep_camera)
        return None if view is None else self._keep(f"keysteps/{index:02d}", view.color)

    def keep_prompt(self, prompt: Mapping[str, Any]) -> dict[str, str]:
        """Store the images of a prompt, given as JSON data; return their names by placeholder."""
        with cpu_timer(self._times_s, "render"):
            images = self._film.prompt_images(prompt)
        names = {key: "_".join(re.findall(r"[A-Za-z0-9]+", key)) for key in images}
        return {key: self._keep(f"prompt/{names[key]}", image) for key, image in images.items()}

    def _keep(self, name: str, pixels: np.ndarray) -> str:
        with cpu_timer(self._times_s, "encode"):
            image = encode_image(pixels[..., :3], "JPEG", quality=92, subsampling=0)
            self._images[name] = image
        return name

    def close(
        self, others: Mapping[str, bytes], info: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Complete the files; return the metadata of each camera.

        Args:
            others: Other encoded images to store, by name.
            info: Task, split and seed of the episode.
        """
        self._complete()
        self._times_s["render"] += _cpu_s_of_other_threads() - self._others_s
        with cpu_timer(self._times_s, "encode"):
            for video in self._videos.values():
                video.close()
        with cpu_timer(self._times_s, "write"), storage_errors(self._directory):
            columns = {
                name: vectors(rows, varies=not name.endswith("/extrinsic"))
                for name, rows in self._rows.items()
            }
            steps = pa.array(range(len(next(iter(columns.values())))), pa.int32())
            table = owned({"step": steps, **columns}, info)
            pq.write_table(table, self._directory / CAMERAS_FILE, compression="zstd")
            write_images(self._directory, {**self._images, **others}, info)
        return {
            name: {
                **{kind: name + VIDEO_SUFFIXES[kind] for kind in self._kinds},
                "fps": self._fps,
                "frames": self._videos[f"{name}.mp4"].frames,
                **camera.to_json(),
                "renderer": self._film.renderer,
            }
            for name, camera in self._film.cameras.items()
        }

    def abandon(self) -> None:
        """Close the files without completing them."""
        self._wait()
        for video in self._videos.values():
            video.abandon()


def write_images(
    directory: Path, images: Mapping[str, bytes], info: Mapping[str, Any] | None = None
) -> None:
    """Write encoded images by name; ``info`` has task, split and seed of their episode."""
    kinds = {b"\xff\xd8": "jpg", b"\x89P": "png", b"II": "tif", b"RI": "webp"}
    rows = [{"bytes": d, "path": f"{name}.{kinds[d[:2]]}"} for name, d in images.items()]
    names = pa.array(list(images), pa.string())
    columns = {"name": names, "image": pa.array(rows, type=IMAGE_TYPE)}
    table = pa.table(columns) if info is None else owned(columns, info)
    pq.write_table(table, directory / IMAGES_FILE, compression="none")


@contextmanager
def cpu_timer(times_s: dict[str, float], phase: str) -> Iterator[None]:
    """Add the CPU time of this thread to a phase."""
    start = time.thread_time()
    try:
        yield
    finally:
        times_s[phase] = times_s.get(phase, 0.0) + time.thread_time() - start


def _cpu_s_of_other_threads() -> float:
    """Return the CPU time of the other threads, which render without a GPU."""
    return time.process_time() - time.thread_time()
