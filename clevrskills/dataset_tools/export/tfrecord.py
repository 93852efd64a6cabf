"""TFRecord files of ``tf.train.Example`` messages, written without TensorFlow.

A record is its length (uint64) and its bytes, each with a checksum: CRC-32C, rotated and offset
(``tensorflow/core/lib/hash/crc32c.h``), little endian. Messages are protocol buffers, see
``tensorflow/core/example/{example,feature}.proto``.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence

import google_crc32c
import numpy as np

from clevrskills.dataset_tools.parquet_join import varint

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3  # fields of the message Feature
_INT64_MASK = (1 << 64) - 1


def example(features: Mapping[str, np.ndarray | Sequence[bytes]]) -> bytes:
    """Return a ``tf.train.Example``; arrays are flattened, and floats become float32."""
    entries = (_field(1, name.encode()) + _field(2, _feature(v)) for name, v in features.items())
    return _field(1, b"".join(_field(1, entry) for entry in entries))


def _feature(values: np.ndarray | Sequence[bytes]) -> bytes:
    if not isinstance(values, np.ndarray):
        return _field(_BYTES_LIST, b"".join(_field(1, value) for value in values))
    if values.dtype.kind == "f":
        return _field(_FLOAT_LIST, _field(1, values.astype("<f4").tobytes()))
    if values.dtype.kind not in "bi":
        raise TypeError(f"cannot write an array of {values.dtype}")
    unsigned = (value & _INT64_MASK for value in values.ravel().tolist())
    return _field(_INT64_LIST, _field(1, b"".join(map(varint, unsigned))))


def _field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field of a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(content: bytes) -> Iterable[bytes]:
    """Return the parts of a record."""
    length = struct.pack("<Q", len(content))
    return length, _checksum(length), content, _checksum(content)


def _checksum(content: bytes) -> bytes:
    crc = google_crc32c.value(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
