"""Image encoding."""

import io
from typing import Any

import numpy as np


def encode_image(pixels: np.ndarray, form: str, **options: Any) -> bytes:
    """Encode an image (H, W, 3) uint8 or (H, W) float32 in a format of Pillow such as ``PNG``, with
    options such as ``quality``.
    """
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, form, **options)
    return file.getvalue()
