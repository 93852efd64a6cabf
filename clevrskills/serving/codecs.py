"""Codecs of messages with arrays as msgpack, one for each dialect.

The dialects encode arrays in different ways: openpi as maps with byte keys (``b"__ndarray__"``),
vla-eval as maps with text keys, GR00T N1.6 as .npy files and N1.7 like the package msgpack-numpy.
vla-eval also has images as PNG or JPEG files, see :mod:`~clevrskills.serving.message_fields`. Only
numbers are read, never objects.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np

from clevrskills.serving.message_fields import decode_file

KINDS = "biuf"
"""Kinds of numbers in arrays: bool, integer, unsigned, float."""


class CodecError(ValueError):
    """Error of bytes that are not a message, or of data that cannot be sent."""


@dataclass(frozen=True)
class Codec:
    """Codec of a dialect."""

    to_map: Callable[[Any], Any]  # encodes an array or a numpy number
    from_map: Callable[[dict[Any, Any]], Any]  # decodes a map

    def pack(self, data: Any) -> bytes:
        """Encode a message.

        Raises:
            CodecError: The data cannot be sent.
        """
        try:
            packed: bytes = msgpack.packb(data, default=self.to_map)
        except (ValueError, TypeError, OverflowError) as error:
            raise CodecError(f"cannot be sent: {error}") from error
        return packed

    def unpack(self, message: bytes | str) -> Any:
        """Decode a message.

        Raises:
            CodecError: The message is damaged.
        """
        if isinstance(message, str):
            raise CodecError(f"a text: {message[:200]!r}")
        try:
            return msgpack.unpackb(message, object_hook=self.from_map)
        except Exception as error:  # anything that foreign bytes may cause
            raise CodecError(f"{len(message)} bytes are not a message: {error}") from error


def _array_map(value: Any, key: Callable[[str], Any]) -> dict[Any, Any]:
    """Return the map of an array; the dialects differ in its keys."""
    layout = {"dtype": _dtype(value).str, "shape": value.shape}
    entries = {"__ndarray__": True, "data": value.tobytes(), **layout}
    return {key(name): entry for name, entry in entries.items()}


def _openpi_map(value: Any) -> Any:
    if isinstance(value, np.generic):
        dtype = _number(value.dtype).str
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": dtype}
    return _array_map(value, str.encode)


def _from_openpi_map(data: dict[Any, Any]) -> Any:
    if b"__ndarray__" in data:
        return _array(data[b"data"], data[b"dtype"], data[b"shape"])
    if b"__npgeneric__" in data:
        return _number(np.dtype(data[b"dtype"])).type(data[b"data"])
    return data


def _vla_eval_map(value: Any) -> Any:
    if isinstance(value, np.generic):
        _number(value.dtype)
        return value.item()
    return _array_map(value, str)


def _from_vla_eval_map(data: dict[Any, Any]) -> Any:
    if "__image__" in data and data["format"] != "raw":
        return decode_file(data["data"])
    if "__ndarray__" in data or "__image__" in data:
        return _array(data["data"], data["dtype"], data["shape"])
    return data


def _npy_map(value: Any) -> dict[str, Any]:
    _dtype(value)
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return {"__ndarray_class__": True, "as_npy": file.getvalue()}


def _descriptor_map(value: Any) -> dict[bytes, Any]:
    dtype = _dtype(value).str
    marks = {b"nd": True, b"type": dtype, b"kind": b""}
    return {**marks, b"shape": value.shape, b"data": value.tobytes()}


def _from_gr00t_map(data: dict[Any, Any]) -> Any:
    if "__ndarray_class__" in data:
        array = np.load(io.BytesIO(data["as_npy"]), allow_pickle=False)
        _number(array.dtype)
        return array
    if b"nd" in data:
        # a number has b"nd" false and no shape
        return _array(data[b"data"], data[b"type"], data[b"shape"] if data[b"nd"] else [])
    return data


def _array(data: bytes, dtype: str, shape: list[int]) -> np.ndarray:
    """Return an array with its own memory, so that policies may change it."""
    return np.frombuffer(data, dtype=_number(np.dtype(dtype))).reshape(shape).copy()


def _dtype(value: Any) -> np.dtype:
    """Return the dtype of a numeric array."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"not data: {type(value).__name__}")
    return _number(value.dtype)


def _number(dtype: np.dtype) -> np.dtype:
    if dtype.kind not in KINDS:
        raise TypeError(f"an array of {dtype}, not of numbers")
    return dtype


OPENPI = Codec(_openpi_map, _from_openpi_map)
VLA_EVAL = Codec(_vla_eval_map, _from_vla_eval_map)
GR00T_N16, GR00T_N17 = Codec(_npy_map, _from_gr00t_map), Codec(_descriptor_map, _from_gr00t_map)
"""Codecs of both versions of GR00T; each decodes messages of either."""
