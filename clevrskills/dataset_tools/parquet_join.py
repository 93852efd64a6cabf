"""Concatenation of Parquet files, followed by a footer for all of them.

The result is a Parquet file with the row groups of all files, and the byte range of each file stays
readable on its own. Only the offsets in the footers change. A footer is a message of Thrift's
compact protocol, see ``parquet.thrift`` of https://github.com/apache/parquet-format.
"""

from collections.abc import Iterable
from typing import Any

Struct = dict[int, tuple[int, Any]]
"""Type and value of each field by number; a list is the type of its items and the items."""

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST = range(1, 10)
_STRUCT = 12
_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4  # of FileMetaData
_COLUMNS, _GROUP_ROWS = 1, 3  # of RowGroup
_GROUP_PLACE, _COMPRESSED, _ORDINAL = range(5, 8)
_META = 3  # of ColumnChunk
_CHUNK_PLACES, _META_PLACES = (2, 4, 6), (9, 10, 11, 14)
"""Fields that hold file offsets; 0: none."""


class FooterJoin:
    """Builder of the common footer of concatenated files."""

    def __init__(self) -> None:
        self._first: Struct = {}
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, content: bytes, start: int) -> None:
        """Add a file that begins at byte ``start``.

        Raises:
            ValueError: It is not a Parquet file, or has other columns than the first one.
        """
        if content[-4:] != _MAGIC:
            raise ValueError("not a Parquet file")
        size = int.from_bytes(content[-8:-4], "little")
        footer = _FooterReader(content[-8 - size : -8]).struct()
        self._first = self._first or footer
        if footer[_SCHEMA] != self._first[_SCHEMA]:
            raise ValueError("other columns than in the episodes before")
        for group in footer[_ROW_GROUPS][1][1]:
            _shift(group, (_GROUP_PLACE,), start)
            for column in group[_COLUMNS][1][1]:
                _shift(column, _CHUNK_PLACES, start)
                _shift(column[_META][1], _META_PLACES, start)
            group.pop(_ORDINAL, None)
            self._groups.append(_written(_STRUCT, group))
            self._rows += group[_GROUP_ROWS][1]

    def footer(self) -> bytes:
        """Return the footer of the concatenated file."""
        groups = _STRUCT, self._groups
        more = {_NUM_ROWS: (_I64, self._rows), _ROW_GROUPS: (_LIST, groups)}
        data = _written(_STRUCT, self._first | more)
        return data + len(data).to_bytes(4, "little") + _MAGIC


def _shift(struct: Struct, fields: Iterable[int], by: int) -> None:
    for number in fields:
        kind, place = struct.get(number, (_I64, 0))
        if place:
            struct[number] = kind, place + by


class _FooterReader:
    """Parser of a message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> Struct:
        found: Struct = {}
        number = 0
        while head := self._take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self._signed_varint()
            kind = head & 15
            found[number] = kind, b"" if kind <= _FALSE else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind <= _BYTE:
            return self._take(1)
        if kind <= _I64:
            return self._signed_varint()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind != _LIST:
            raise ValueError(f"the footer has a value of unknown type {kind}")
        head = self._take(1)[0]
        count, kind = head >> 4, head & 15
        return kind, [self._value(kind) for _ in range(self._varint() if count == 15 else count)]

    def _take(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _signed_varint(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def _written(kind: int, value: Any) -> bytes:
    """Return an encoded value; bytes of other types than binary are encoded already."""
    if isinstance(value, bytes):
        return varint(len(value)) + value if kind == _BINARY else value
    if isinstance(value, int):
        return varint(value << 1 ^ value >> 63)
    if isinstance(value, tuple):
        kind, items = value
        head = bytes([min(len(items), 15) << 4 | kind])
        count = varint(len(items)) if len(items) >= 15 else b""
        return head + count + b"".join(_written(kind, item) for item in items)
    parts, before = [], 0
    for number, (inner, content) in sorted(value.items()):
        step = number - before
        parts.append(
            bytes([step << 4 | inner]) if step < 16 else bytes([inner]) + _written(_I64, number)
        )
        parts.append(_written(inner, content))
        before = number
    return b"".join(parts) + b"\0"


def varint(value: int) -> bytes:
    """Return a non-negative integer as a varint of Thrift and protocol buffers."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
