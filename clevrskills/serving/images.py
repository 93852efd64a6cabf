"""Pictures on the wire: as they are, or as JPEG or PNG files."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from clevrskills.errors import UnknownNameError

COMPRESSIONS = ("none", "jpeg", "png")
JPEG_QUALITY = 95


def check_compression(name: str) -> str:
    """The name itself.

    Raises:
        UnknownNameError: There is no such compression.
    """
    if name not in COMPRESSIONS:
        raise UnknownNameError("compression", name, COMPRESSIONS)
    return name


def encode_file(picture: np.ndarray, form: str) -> bytes:
    """A picture (H, W, 3) uint8 as a JPEG (smaller, not quite the same) or PNG file (the same)."""
    from PIL import Image

    buffer = io.BytesIO()
    options = {"quality": JPEG_QUALITY} if form == "jpeg" else {"compress_level": 1}
    Image.fromarray(picture).save(buffer, format=form, **options)
    return buffer.getvalue()


def decode_file(file: bytes) -> np.ndarray:
    """The picture in a JPEG or PNG file, (H, W, 3) uint8; grey ones are (H, W)."""
    from PIL import Image

    return np.array(Image.open(io.BytesIO(file), formats=("JPEG", "PNG")))


def compressed(picture: np.ndarray, encode: Callable[[np.ndarray], Any]) -> Any:
    """A picture (H, W, 3) encoded; of a history (T, H, W, 3), a list of T such."""
    return [encode(part) for part in picture] if picture.ndim == 4 else encode(picture)


def received(picture: Any) -> np.ndarray:
    """What was sent of a camera: an array, a file, or a list of either, one for each step.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(picture, np.ndarray):
        return picture
    if isinstance(picture, bytes):
        return decode_file(picture)
    if isinstance(picture, list) and picture:
        return np.stack([received(part) for part in picture])
    raise ValueError(f"not a picture: {type(picture).__name__}")
