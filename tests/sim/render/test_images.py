import io

import numpy as np
import pytest
from PIL import Image

from clevrskills.sim.render.images import encode_image


@pytest.mark.parametrize(
    ("form", "pixels"),
    [
        ("PNG", np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),
        ("PNG", np.arange(32, dtype=np.uint8).reshape(2, 4, 4)[..., :3]),
        ("TIFF", np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)),
    ],
)
def test_lossless_encodings_are_read_back(form: str, pixels: np.ndarray) -> None:
    with Image.open(io.BytesIO(encode_image(pixels, form))) as image:
        assert image.format == form
        assert np.array_equal(np.asarray(image), pixels)
