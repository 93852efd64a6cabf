"""Checks of videos and images."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import av
from PIL import Image

_PIXELS = {"video": "yuv420p", "depth": "gray16le", "segmentation": "gray"}


def video_faults(
    path: Path, kind: str, camera: Mapping[str, Any], info: Mapping[str, Any], decode: bool
) -> Iterator[str]:
    """Check a video.

    Args:
        path: The file.
        kind: What it shows: ``video``, ``depth`` or ``segmentation``.
        camera: Description of its camera in ``episode.json``.
        info: Content of ``episode.json``.
        decode: Decode every frame, not only the first and the last.
    """
    frames = info["steps"] + 1
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                yield "not a readable video: it holds none"
                return
            stream = container.streams.video[0]
            expected = {
                "width": (stream.width, camera["width"]),
                "height": (stream.height, camera["height"]),
                "frames per second": (stream.average_rate, info["fps"]),
                "pixel format": (stream.pix_fmt, _PIXELS[kind]),
            }
            for name, (found, correct) in expected.items():
                if found != correct:
                    yield f"{name} {found}, not {correct}"
            stamps = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
            if len(stamps) != frames:
                yield f"{len(stamps)} frames, not {frames}"
            elif len(set(stamps)) < frames:
                yield "frames with the same time"
            if stamps:
                yield from _undecodable(container, stream, sorted(stamps), decode)
    except (av.FFmpegError, OSError) as error:
        yield f"not a readable video: {_line(error)}"


def _undecodable(container: Any, stream: Any, stamps: list[int], decode: bool) -> Iterator[str]:
    stream.thread_count = 1
    stream.codec_context.options = {"err_detect": "explode"}
    missing = set(stamps) if decode else {stamps[0], stamps[-1]}
    for start in (stamps[0],) if decode else sorted(missing):
        container.seek(start, stream=stream)
        for frame in container.decode(stream):
            missing.discard(frame.pts)
            if not decode and frame.pts >= start:
                break
    if missing:
        numbers = ", ".join(str(stamps.index(stamp)) for stamp in sorted(missing)[:3])
        yield f"frame {numbers} cannot be decoded"


def image_faults(name: str, data: bytes | None) -> Iterator[str]:
    """Check a JPEG image."""
    try:
        with Image.open(io.BytesIO(data or b"")) as image:
            if image.format != "JPEG":
                yield f"{name} is {image.format}, not JPEG"
            image.load()
    except Exception as error:  # Pillow raises OSError, SyntaxError, ValueError and others
        yield f"{name} is not a readable image: {_line(error)}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
