"""TFRecord files of ``tf.train.Example`` messages, written without TensorFlow.

A record is its length (uint64) with a checksum, and its bytes with a checksum; numbers are little
endian, checksums are CRC-32C, rotated and offset (``tensorflow/core/lib/hash/crc32c.h``). Messages
are protocol buffers as described in ``tensorflow/core/example/{example,feature}.proto``.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence

import google_crc32c
import numpy as np

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3  # fields of the message Feature


def example(features: Mapping[str, np.ndarray | Sequence[bytes]]) -> bytes:
    """Return a message with lists of numbers or byte strings by name.

    Args:
        features: Arrays of floats, integers or bools are flattened; floats become float32.
    """
    entries = (_field(1, name.encode()) + _field(2, _feature(v)) for name, v in features.items())
    return _field(1, b"".join(_field(1, entry) for entry in entries))


def _feature(values: np.ndarray | Sequence[bytes]) -> bytes:
    if not isinstance(values, np.ndarray):
        return _field(_BYTES_LIST, b"".join(_field(1, value) for value in values))
    if values.dtype.kind == "f":
        return _field(_FLOAT_LIST, _field(1, values.astype("<f4").tobytes()))
    if values.dtype.kind not in "bi":
        raise TypeError(f"cannot write an array of {values.dtype}")
    return _field(_INT64_LIST, _field(1, b"".join(map(_varint, values.ravel().tolist()))))


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a message with a length before its content."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Return an integer of 64 bits, seven bits a byte."""
    value &= (1 << 64) - 1
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def record(content: bytes) -> Iterable[bytes]:
    """Return the parts of a record with that content."""
    length = struct.pack("<Q", len(content))
    return length, _checksum(length), content, _checksum(content)


def _checksum(content: bytes) -> bytes:
    crc = google_crc32c.value(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
