"""Ways to change a dataset, for tests that must notice it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.manifest import file_hashes

EPISODE = "visit/train_00000002"


def sign(root: Path, episode: str = EPISODE) -> None:
    """Make the manifest fit the files of an episode, whatever they hold."""

    def fit(line: dict[str, Any]) -> dict[str, Any]:
        if f"{line['task']}/{line['split']}_{line['seed']:08d}" == episode and line["success"]:
            line["files"] = file_hashes(root / episode)
        return line

    edit_lines(root, lambda lines: [fit(line) for line in lines])


def edit_lines(root: Path, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change the lines of the manifest."""
    (path,) = (root / "manifest").iterdir()
    lines = edit([json.loads(line) for line in path.read_text().splitlines()])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def line_of(lines: list[dict[str, Any]], episode: str = EPISODE) -> dict[str, Any]:
    """The line of an episode."""
    return next(
        line
        for line in lines
        if f"{line['task']}/{line['split']}_{line['seed']:08d}" == episode and line["success"]
    )


def edit_json(file: str, edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change a JSON file of the dataset."""

    def change(root: Path) -> None:
        data = json.loads((root / file).read_text())
        edit(data)
        (root / file).write_text(json.dumps(data))

    return change


def edit_info(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change ``episode.json``."""
    return edit_json(f"{EPISODE}/episode.json", edit)


def edit_table(
    name: str, edit: Callable[[pa.Table], pa.Table], episode: str = EPISODE
) -> Callable[[Path], None]:
    """Change a table."""

    def change(root: Path) -> None:
        path = root / episode / name
        pq.write_table(edit(pq.read_table(path)), path)

    return change


def edit_values(
    column: str,
    edit: Callable[[np.ndarray], object],
    file: str = "steps.parquet",
    episode: str = EPISODE,
) -> Callable[[Path], None]:
    """Change values of a column in place, its type stays; vectors are (rows, length)."""

    def change(table: pa.Table) -> pa.Table:
        old = table[column].combine_chunks()
        vectors = isinstance(old, pa.ListArray | pa.FixedSizeListArray)
        flat = old.flatten() if vectors else old
        values = np.array(flat.to_numpy(zero_copy_only=False))
        edit(values.reshape(len(old), -1) if vectors else values)
        new = pa.array(values, type=flat.type)
        if isinstance(old, pa.FixedSizeListArray):
            new = pa.FixedSizeListArray.from_arrays(new, type=old.type)
        elif vectors:
            new = pa.ListArray.from_arrays(old.offsets, new, type=old.type)
        return table.set_column(table.column_names.index(column), table.field(column), new)

    return edit_table(file, change, episode)


def put(row: Any, value: Any) -> Callable[[np.ndarray], None]:
    """Set some values."""

    def change(values: np.ndarray) -> None:
        values[row] = value

    return change


def scale(row: Any, factor: float) -> Callable[[np.ndarray], None]:
    """Multiply some values."""

    def change(values: np.ndarray) -> None:
        values[row] *= factor

    return change


def states(edit: Callable[[np.ndarray], np.ndarray], **more: Any) -> Callable[[Path], None]:
    """Change ``states.npz``."""

    def change(root: Path) -> None:
        path = root / EPISODE / "states.npz"
        with np.load(path) as arrays:
            changed = edit(arrays["states"].copy())
        np.savez(path, states=changed, **more)

    return change


def cut(name: str, share: float) -> Callable[[Path], None]:
    """Keep the first part of a file."""

    def change(root: Path) -> None:
        path = root / EPISODE / name
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])

    return change


def flip(name: str, at: float) -> Callable[[Path], None]:
    """Change one bit."""

    def change(root: Path) -> None:
        path = root / EPISODE / name
        data = bytearray(path.read_bytes())
        data[int(len(data) * at)] ^= 8
        path.write_bytes(bytes(data))

    return change


def refilm(frames: int | None, size: int | None, camera: str = "hand_camera") -> Any:
    """Write a video again with fewer frames or in another size."""

    def change(root: Path) -> None:
        from clevrskills.sim.render.video import VideoWriter, read_video

        path = root / EPISODE / f"{camera}.mp4"
        video = read_video(path)[:frames, :size, :size]
        writer = VideoWriter(path, video.shape[2], video.shape[1], fps=20)
        for frame in video:
            writer.write(frame)
        writer.close()

    return change


def spoil_frame(number: int, camera: str = "hand_camera") -> Callable[[Path], None]:
    """Overwrite the data of one frame with noise; the index of the file stays as it is."""

    def change(root: Path) -> None:
        path = root / EPISODE / f"{camera}.mp4"
        with av.open(str(path)) as container:
            packet = [p for p in container.demux(video=0) if p.pts is not None][number]
            start, size = packet.pos, packet.size
        data = bytearray(path.read_bytes())
        data[start : start + size] = np.random.default_rng(0).bytes(size)
        path.write_bytes(bytes(data))

    return change
