"""Messages with arrays as msgpack, as each dialect writes them.

The dialects mark an array in different ways: openpi by a map with byte keys (``b"__ndarray__"``),
vla-eval by one with text keys. vla-eval also knows images as PNG or JPEG files, see
:mod:`~clevrskills.serving.message_fields`. GR00T N1.6 sends arrays as .npy files, N1.7 as
the package msgpack-numpy does. Only numbers are read, never objects.
"""

import io
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np

from clevrskills.serving.message_fields import decode_file

KINDS = "biuf"
"""Kinds of numbers an array may hold: bool, integer, unsigned, float."""


class CodecError(ValueError):
    """Bytes that are no message, or data that no message can hold."""


def pack_openpi(data: Any) -> bytes:
    """Return a message in the openpi dialect."""
    return _pack(data, _openpi_map)


def unpack_openpi(message: bytes | str) -> Any:
    """Read what :func:`pack_openpi` or openpi wrote.

    Raises:
        CodecError: It is damaged.
    """
    return _unpack(message, _from_openpi_map)


def pack_vla_eval(data: Any) -> bytes:
    """Return a message in the vla-eval dialect."""
    return _pack(data, _vla_eval_map)


def unpack_vla_eval(message: bytes | str) -> Any:
    """Read what :func:`pack_vla_eval` or vla-eval wrote; images are decoded.

    Raises:
        CodecError: It is damaged.
    """
    return _unpack(message, _from_vla_eval_map)


def pack_gr00t(data: Any, npy: bool) -> bytes:
    """Return a message in the dialect of GR00T.

    Args:
        data: The message.
        npy: Whether arrays are .npy files, as in N1.6, or as in N1.7.
    """
    return _pack(data, _npy_map if npy else _descriptor_map)


def unpack_gr00t(message: bytes | str) -> Any:
    """Read what :func:`pack_gr00t` or GR00T wrote, of either version.

    Raises:
        CodecError: It is damaged.
    """
    return _unpack(message, _from_gr00t_map)


def _pack(data: Any, to_map: Callable[[Any], Any]) -> bytes:
    try:
        packed: bytes = msgpack.packb(data, default=to_map)
    except (ValueError, TypeError, OverflowError) as error:
        raise CodecError(f"cannot be sent: {error}") from error
    return packed


def _unpack(message: bytes | str, from_map: Callable[[dict[Any, Any]], Any]) -> Any:
    if isinstance(message, str):
        raise CodecError(f"a text: {message[:200]!r}")
    try:
        return msgpack.unpackb(message, object_hook=from_map)
    except Exception as error:  # whatever strangers' bytes lead to
        raise CodecError(f"{len(message)} bytes that are no message: {error}") from error


def _array_map(value: Any, key: Callable[[str], Any]) -> dict[Any, Any]:
    """Return the map that marks an array; the dialects differ in its keys."""
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
        # a number is marked as an array that is none, and has no shape
        return _array(data[b"data"], data[b"type"], data[b"shape"] if data[b"nd"] else [])
    return data


def _array(data: bytes, dtype: str, shape: list[int]) -> np.ndarray:
    """Return an array of its own memory, as policies may want to change it."""
    return np.frombuffer(data, dtype=_number(np.dtype(dtype))).reshape(shape).copy()


def _dtype(value: Any) -> np.dtype:
    """Return the type of the numbers of an array.

    Raises:
        TypeError: It is no array, or not of numbers.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError(f"not data: {type(value).__name__}")
    return _number(value.dtype)


def _number(dtype: np.dtype) -> np.dtype:
    if dtype.kind not in KINDS:
        raise TypeError(f"an array of {dtype}, which are no numbers")
    return dtype
