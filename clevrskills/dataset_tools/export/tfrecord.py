"""TFRecord files of ``tf.train.Example`` messages, written without TensorFlow.

A record is its length (uint64) with a checksum, and its bytes with a checksum; numbers are little
endian, checksums are CRC-32C, rotated and offset (``tensorflow/core/lib/hash/crc32c.h``). Messages
are protocol buffers as described in ``tensorflow/core/example/{example,feature}.proto``.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

import google_crc32c
import numpy as np

SHARD_BYTES = 256 << 20
"""A shard is full once it has so many bytes."""
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


class ShardWriter:
    """Writer of records into numbered files ``<name>-00000-of-00003``, named so when it is closed.

    Args:
        folder: Where to write.
        name: Begin of the names, as in ``clevrskills-train.tfrecord``.
        shard_bytes: A new file is begun once the last one has so many bytes.
    """

    def __init__(self, folder: Path, name: str, shard_bytes: int = SHARD_BYTES) -> None:
        self.folder, self.name, self.shard_bytes = folder, name, shard_bytes
        self.lengths: list[int] = []
        """Number of records in each file."""
        self.size_bytes = 0
        """Size of all records' contents."""
        self._file: BinaryIO | None = None
        self._left = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close_file()
        if kind is None:
            for number in range(len(self.lengths)):
                self._path(number).rename(
                    self.folder / f"{self.name}-{number:05d}-of-{len(self.lengths):05d}"
                )

    def write(self, content: bytes) -> None:
        """Append a record."""
        if self._file is None:
            self._file = self._path(len(self.lengths)).open("wb")
            self._left = self.shard_bytes
            self.lengths.append(0)
        self._file.writelines(record(content))
        self.lengths[-1] += 1
        self.size_bytes += len(content)
        self._left -= len(content)
        if self._left <= 0:
            self._close_file()

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.name}-{number:05d}"

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
