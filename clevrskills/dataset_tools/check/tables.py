"""Checks of the tables, states, videos and images of an episode."""

import io
from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
from PIL import Image

from clevrskills.dataset_tools.layout import POSE
from clevrskills.dataset_tools.record.camera_tracks import IMAGE_TYPE
from clevrskills.dataset_tools.record.columns import OWNER, owner
from clevrskills.jobs.files import StoredFile

_FLAG, _REAL, _WHOLE = pa.bool_(), pa.float32(), pa.int32()
RETURN_TOLERANCE = 1e-5  # of a sum of float32, relative
_ROTATION_TOLERANCE = 1e-4
_TEXTS = "subtask instruction subtask_text instruction_text predicate skill action_class".split()
_FLAGS = "success terminated truncated failed keystep".split()
_MAY_BE_EMPTY = ("predicate", "skill")
_PIXELS = {"video": "yuv420p", "depth": "gray16le", "segmentation": "gray"}
_IMAGES = {**OWNER, "name": pa.string(), "image": IMAGE_TYPE}

Table = dict[str, np.ndarray]
"""Columns by name; vectors as (rows, length)."""


def steps_faults(
    file: StoredFile, info: Mapping[str, Any], in_turns: bool = False
) -> Iterator[str]:
    """Check ``steps.parquet``; with turns, the goal may hold before the last step."""
    lengths = {name: len(info["nodes"]) for name in ("holds", "terms")}
    lengths["object_poses"] = len(POSE) * len(info["objects"])
    columns = _steps_columns(info) | OWNER
    table = yield from _read(file, int(info["steps"]), columns, lengths)
    if table is None:
        return
    yield from _owner_faults(table, info)
    nodes = {node["leaf"]: node["predicate"] for node in info["nodes"] if node["leaf"] is not None}
    rows = np.arange(len(table["step"]))
    reached = {keystep["step"] - 1 for keystep in info["keysteps"]}
    predicates = np.array([nodes.get(leaf, "") for leaf in table["subgoal"].tolist()], object)
    last = rows == len(rows) - 1
    ends = last | (table["success"] & in_turns)
    wrong = {
        "step is not the number of the row": table["step"] != rows,
        "timestamp is not step / fps": ~np.isclose(table["timestamp"], rows / info["fps"]),
        "action is outside [-1, 1]": ~(np.abs(table["action"]) <= 1).all(1),
        "reward is not finite": ~np.isfinite(table["reward"]),
        "progress is outside [0, 1]": ~((table["progress"] >= 0) & (table["progress"] <= 1)),
        "progress and success disagree: it is 1 exactly on success": (table["progress"] == 1)
        != table["success"],
        "success is not at the last step, or not only there": table["success"] != ends,
        "terminated is not at the last step, or not only there": table["terminated"] != ends,
        "truncated in a solved episode": table["truncated"],
        "holds of the whole goal and success disagree": table["holds"][:, 0] != table["success"],
        "terms are not finite": ~np.isfinite(table["terms"]).all(1),
        "subgoal is no leaf of the goal": ~np.isin(table["subgoal"], [-1, *nodes]),
        "predicate is not that of the leaf subgoal": table["predicate"] != predicates,
        "attempt is negative": table["attempt"] < 0,
        "keystep and the key-steps of episode.json disagree": table["keystep"]
        != np.isin(rows, list(reached)),
        "object_poses are not finite": ~np.isfinite(table["object_poses"]).all(1),
    }
    for name in _TEXTS:
        if name not in _MAY_BE_EMPTY:
            wrong[f"{name} is empty"] = table[name] == ""
    for name in info["final"]["proprioception"]:
        values = table[name].reshape(len(rows), -1).astype(float)
        wrong[f"{name} is not finite"] = ~np.isfinite(values).all(1)
    yield from _rows(wrong)
    for level, runs in info["segments"].items():
        for run in runs:
            if (table[f"{level}_text"][run["start"] : run["stop"]] != run["text"]).any():
                yield f"{level}_text of rows {run['start']} to {run['stop'] - 1} is another one"
                break
    total = float(table["reward"].sum(dtype=np.float64))
    off = abs(total - info["return"])  # of turns, it is the sum of their rewards
    if not in_turns and off > RETURN_TOLERANCE * np.abs(table["reward"]).sum():
        yield f"rewards add up to {total:.6g}, return is {info['return']:.6g}"


def cameras_faults(file: StoredFile, info: Mapping[str, Any]) -> Iterator[str]:
    """Check ``cameras.parquet``."""
    count = len(info["objects"])
    columns: dict[str, pa.DataType] = {**OWNER, "step": _WHOLE}
    lengths: dict[str, int] = {}
    for camera in info["cameras"]:
        columns[f"{camera}/extrinsic"] = pa.list_(_REAL, 12)
        columns[f"{camera}/boxes"] = pa.list_(pa.int16())
        columns[f"{camera}/visible"] = pa.list_(_REAL)
        lengths |= {f"{camera}/boxes": 4 * count, f"{camera}/visible": count}
    table = yield from _read(file, int(info["steps"]) + 1, columns, lengths)
    if table is None:
        return
    yield from _owner_faults(table, info)
    wrong = {"step is not the number of the row": table["step"] != np.arange(len(table["step"]))}
    for camera, facts in info["cameras"].items():
        rows = len(table[f"{camera}/extrinsic"])
        rotation = table[f"{camera}/extrinsic"].reshape(rows, 3, 4)[:, :, :3].astype(float)
        product = rotation @ rotation.transpose(0, 2, 1) - np.eye(3)
        proper = np.abs(product).max((1, 2)) < _ROTATION_TOLERANCE
        wrong[f"{camera}/extrinsic is no rotation"] = ~(proper & (np.linalg.det(rotation) > 0))
        boxes = table[f"{camera}/boxes"].reshape(rows, count, 4)
        low, high = boxes[..., :2], boxes[..., 2:]
        inside = (low >= 0) & (high > low) & (high <= (facts["width"], facts["height"]))
        absent = (boxes == -1).all(-1)
        wrong[f"{camera}/boxes are not in the image"] = ~(inside.all(-1) | absent).all(1)
        visible = table[f"{camera}/visible"]
        wrong[f"{camera}/visible is outside [0, 1]"] = ~((visible >= 0) & (visible <= 1)).all(1)
        wrong[f"{camera}/visible is not 0 without a box"] = ((visible > 0) & absent).any(1)
    yield from _rows(wrong)


def images_faults(file: StoredFile, info: Mapping[str, Any]) -> Iterator[str]:
    """Check ``images.parquet``."""
    expected = {*info["prompt"]["images"].values()}
    expected |= {keystep["image"] for keystep in info["keysteps"]} - {None}
    own = "turns/"  # of turns, which are checked with them
    table = yield from _read(file, None, _IMAGES)
    if table is None:
        return
    yield from _owner_faults(table, info)
    names = table["name"].tolist()
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name} is there {names.count(name)} times"
    for name in sorted(expected - set(names)):
        yield f"{name} is missing"
    for name in sorted(name for name in set(names) - expected if not name.startswith(own)):
        yield f"{name} is no image of the prompt or of a key-step"
    for name, image in zip(names, table["image"], strict=True):
        if not name.startswith(own):
            yield from image_faults(name, image["bytes"])


def states_faults(file: StoredFile, info: Mapping[str, Any]) -> Iterator[str]:
    """Check ``states.npz``."""
    try:
        with np.load(io.BytesIO(file.read()), allow_pickle=False) as arrays:
            names, states = arrays.files, arrays["states"]
    except Exception as error:  # zipfile, zlib and numpy raise many types
        yield f"damaged: {_line(error)}"
        return
    if names != ["states"]:
        yield f"holds {', '.join(names)}, not only states"
    shape = (info["steps"] + 1, info["state_layout"][-1]["stop"])
    if states.shape != shape or states.dtype.kind != "f":
        yield f"states are {states.shape} {states.dtype}, not {shape} of floating numbers"
    else:
        yield from _rows({"states are not finite": ~np.isfinite(states).all(1)})


def video_faults(
    file: StoredFile, kind: str, camera: Mapping[str, Any], info: Mapping[str, Any], decode: bool
) -> Iterator[str]:
    """Check a video of kind ``video``, ``depth`` or ``segmentation``; with ``decode`` all frames,
    else the first and the last one.
    """
    frames = info["steps"] + 1
    try:
        with av.open(file.url) as container:
            if not container.streams.video:
                yield "not a readable video: no video stream"
                return
            stream = container.streams.video[0]
            expected = {
                "width": (stream.width, camera["width"]),
                "height": (stream.height, camera["height"]),
                "frames per second": (stream.average_rate, info["fps"]),
                "pixel format": (stream.pix_fmt, _PIXELS[kind]),
            }
            for name, (found, correct) in expected.items():
                if found != correct:
                    yield f"{name} {found}, not {correct}"
            stamps = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
            if len(stamps) != frames:
                yield f"{len(stamps)} frames, not {frames}"
            elif len(set(stamps)) < frames:
                yield "frames with the same time"
            if stamps:
                yield from _undecodable(container, stream, sorted(stamps), decode)
    except (av.FFmpegError, OSError) as error:
        yield f"not a readable video: {_line(error)}"


def _undecodable(container: Any, stream: Any, stamps: list[int], decode: bool) -> Iterator[str]:
    stream.thread_count = 1
    stream.codec_context.options = {"err_detect": "explode"}
    missing = set(stamps) if decode else {stamps[0], stamps[-1]}
    for start in (stamps[0],) if decode else sorted(missing):
        container.seek(start, stream=stream)
        for frame in container.decode(stream):
            missing.discard(frame.pts)
            if not decode and frame.pts >= start:
                break
    if missing:
        numbers = ", ".join(str(stamps.index(stamp)) for stamp in sorted(missing)[:3])
        yield f"frame {numbers} cannot be decoded"


def image_faults(name: str, data: bytes | None, *forms: str) -> Iterator[str]:
    """Check an image, a JPEG unless other forms are allowed."""
    forms = forms or ("JPEG",)
    try:
        with Image.open(io.BytesIO(data or b"")) as image:
            if image.format not in forms:
                yield f"{name} is {image.format}, not {' or '.join(forms)}"
            image.load()
    except Exception as error:  # Pillow raises OSError, SyntaxError, ValueError and others
        yield f"{name} is not a readable image: {_line(error)}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _steps_columns(info: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """Return the types of the columns of ``steps.parquet``."""
    columns = {name: _WHOLE for name in ("step", "subgoal", "attempt")}
    columns |= {name: _REAL for name in ("timestamp", "reward", "progress")}
    columns |= {name: pa.string() for name in _TEXTS} | {name: _FLAG for name in _FLAGS}
    columns["action"] = pa.list_(_REAL, *info["action_spec"]["shape"])
    columns["holds"] = pa.list_(_FLAG)
    columns["terms"] = columns["object_poses"] = pa.list_(_REAL)
    for name, value in info["final"]["proprioception"].items():
        flat = pa.float32() if not isinstance(value, bool) else _FLAG
        columns[name] = pa.list_(_REAL, len(value)) if isinstance(value, list) else flat
    return columns


def _read(
    file: StoredFile,
    rows: int | None,
    columns: Mapping[str, pa.DataType],
    lengths: Mapping[str, int] = MappingProxyType({}),
) -> Generator[str, None, Table | None]:
    """Read a table with the expected rows (``None``: any number), columns, and lengths of lists;
    yield faults and return ``None`` if there are any.
    """
    try:
        table = pq.read_table(pa.BufferReader(file.read()))
    except (OSError, pa.ArrowException) as error:
        yield f"damaged: {_line(error)}"
        return None
    faults = list(_table_faults(table, rows, columns, lengths))
    yield from faults
    return None if faults else {name: _array(table[name]) for name in columns}


def _owner_faults(table: Table, info: Mapping[str, Any]) -> Iterator[str]:
    """Yield columns whose rows belong to another episode."""
    for name, value in owner(info).items():
        if (table[name] != value).any():
            yield f"{name} is not {value} in all rows"


def _table_faults(
    table: pa.Table,
    rows: int | None,
    columns: Mapping[str, pa.DataType],
    lengths: Mapping[str, int],
) -> Iterator[str]:
    if rows is not None and len(table) != rows:
        yield f"{len(table)} rows, not {rows}"
    types = {field.name: field.type for field in table.schema}
    for name, expected in columns.items():
        if name not in types:
            yield f"column {name} is missing"
        elif types[name] != expected:
            yield f"column {name} is {types[name]}, not {expected}"
        elif table[name].null_count:
            yield f"column {name} has gaps"
        elif name in lengths:
            found = pa.compute.list_value_length(table[name]).unique().to_pylist()
            if found != [lengths[name]]:
                yield f"column {name} has lists of {found}, not {lengths[name]}"
    for name in types:
        if name not in columns:
            yield f"unknown column {name}"


def _array(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as an array; vectors as (rows, length)."""
    values = column.combine_chunks()
    if isinstance(values, pa.ListArray | pa.FixedSizeListArray):
        flat = values.flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat).reshape(len(values), len(flat) // max(len(values), 1))
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _rows(wrong: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield faults with their first row and count."""
    for what, where in wrong.items():
        if where.any():
            count = int(where.sum())
            more = f" and {count - 1} more" if count > 1 else ""
            yield f"{what}: row {int(np.flatnonzero(where)[0])}{more}"
