"""Files of images."""

import io
from typing import Any

import numpy as np


def encode_image(pixels: np.ndarray, form: str, **options: Any) -> bytes:
    """Encode an image (H, W, 3) uint8, or numbers (H, W) float32, in a format of Pillow.

    Args:
        pixels: The image.
        form: Name of the format, such as ``PNG``.
        options: Options of the format, such as ``quality``.
    """
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(file, form, **options)
    return file.getvalue()
