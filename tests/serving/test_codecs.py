import msgpack
import numpy as np
import pytest

from clevrskills.serving.codecs import OPENPI, VLA_EVAL, CodecError
from clevrskills.serving.message_fields import encode_file

CODECS = [(one.pack, one.unpack) for one in (OPENPI, VLA_EVAL)]
DATA = {
    "images": {"base_camera": np.arange(48, dtype=np.uint8).reshape(4, 4, 3)},
    "state": np.linspace(0, 1, 5, dtype=np.float32),
    "steps": [np.zeros((0, 7)), np.array(3), np.array([True, False])],
    "big-endian": np.arange(3, dtype=">i4"),
    "turned": np.arange(6, dtype=np.int64).reshape(2, 3).T,
    "prompt": "grün {obj:object_0}",
    "nothing": None,
    "number": 2**63,
    "bytes": b"\x00\x01",
}


def marked(file: bytes, form: str, shape: tuple[int, ...]) -> dict:
    """A compressed image as vla-eval marks it."""
    return {"__image__": True, "format": form, "data": file, "shape": shape}


def assert_equal(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_equal(found[key], value)
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize(("pack", "unpack"), CODECS)
def test_packed_messages_are_unpacked(pack, unpack):
    found = unpack(pack(DATA))
    assert_equal(found, DATA)
    found["state"][0] = 7  # its own memory


def test_numbers_of_numpy():
    numbers = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}
    found = OPENPI.unpack(OPENPI.pack(numbers))
    assert {name: type(value) for name, value in found.items()} == {
        "a": np.float32,
        "b": np.int64,
        "c": np.bool_,
    }
    assert found == numbers
    assert VLA_EVAL.unpack(VLA_EVAL.pack(numbers)) == {"a": 0.5, "b": 3, "c": True}


def test_how_arrays_are_marked():
    array = np.array([[1, 2]], dtype=np.int16)
    raw = b"\x01\x00\x02\x00"
    assert msgpack.unpackb(OPENPI.pack(array)) == {
        b"__ndarray__": True,
        b"data": raw,
        b"dtype": "<i2",
        b"shape": [1, 2],
    }
    assert msgpack.unpackb(VLA_EVAL.pack(array)) == {
        "__ndarray__": True,
        "data": raw,
        "dtype": "<i2",
        "shape": [1, 2],
    }


def test_images_of_vla_eval():
    image = np.full((8, 6, 3), 77, np.uint8)
    for form in ("png", "jpeg"):
        sent = marked(encode_file(image, form), form, image.shape)
        np.testing.assert_array_equal(VLA_EVAL.unpack(VLA_EVAL.pack(sent)), image)
    raw = {"__image__": True, "format": "raw", "data": image.tobytes(), "dtype": "|u1"}
    packed = msgpack.packb({**raw, "shape": list(image.shape)})
    np.testing.assert_array_equal(VLA_EVAL.unpack(packed), image)


@pytest.mark.parametrize(("pack", "unpack"), CODECS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda good: b"",
        lambda good: b"hello",
        lambda good: good[:-1],
        lambda good: good + b"\x00",
        lambda good: good.replace(b"<f4", b"|O8"),
        lambda good: good.replace(b"<f4", b"abc"),
        lambda good: good.replace(b"<f4", b"<f8"),
        lambda good: good.replace(b"shape", b"shade"),
        lambda good: b"\x91" * 100_000,
        lambda good: good.decode("latin-1"),
    ],
)
def test_damage_is_reported(pack, unpack, damage):
    good = pack({"a": np.ones(3, np.float32)})
    with pytest.raises(CodecError):
        unpack(damage(good))


@pytest.mark.parametrize(("pack", "unpack"), CODECS)
@pytest.mark.parametrize("thing", [object(), np.array([object()]), 1j, np.complex64(1), 2**64])
def test_only_data_is_sent(pack, unpack, thing):
    with pytest.raises(CodecError):
        pack({"a": thing})


def test_a_image_file_that_is_none():
    with pytest.raises(CodecError):
        VLA_EVAL.unpack(VLA_EVAL.pack(marked(b"GIF89a", "png", (1, 1, 3))))
