"""Checks of one episode."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.episode import RecordedName
from clevrskills.dataset_tools.check.fault import schema_faults
from clevrskills.dataset_tools.layout import (
    CAMERAS_FILE,
    EPISODE_FILE,
    IMAGES_FILE,
    POSE,
    STATES_FILE,
    STEPS_FILE,
    TURNS_FILE,
    VIDEO_SUFFIXES,
)
from clevrskills.dataset_tools.storage import episode_files

if TYPE_CHECKING:
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.dataset_tools.manifest import Attempt
    from clevrskills.jobs.files import StoredFile


def episode_faults(
    path: Path,
    header: Header,
    line: Attempt | None,
    keystep_camera: str,
    decode: bool,
    images: bool,
) -> Iterator[tuple[str, str]]:
    """Check all files of an episode and their consistency; yield names of files with faults.

    ``decode`` selects all frames of videos, ``images`` tells whether turns have image views.
    """
    from clevrskills.dataset_tools.check import turns

    expected = _files(header, images)
    existing = episode_files(path)
    for file in sorted(expected - set(existing)):
        yield file, "is missing"
    for file in sorted(set(existing) - expected):
        yield file, "is not part of an episode"
    if line is not None:
        yield from _hash_faults(line, existing)
    if EPISODE_FILE not in existing:
        return
    try:
        info = json.loads(existing[EPISODE_FILE].read())
    except (OSError, ValueError) as error:
        yield EPISODE_FILE, f"damaged: {error}"
        return
    schemas = ["turns"] * header.in_turns + ["episode"] * header.in_steps
    faults = [what for schema in schemas for what in schema_faults(schema, info)]
    if header.in_turns and not faults:
        faults = [*_origin_faults(info, path, header, line), *turns.info_faults(info)]
    yield from ((EPISODE_FILE, what) for what in faults)
    if faults:
        return  # the other checks rely on it
    if header.in_turns and TURNS_FILE in existing:
        yield from turns.table_faults(existing, info, header)
    if not header.in_steps:
        return
    for what in _info_faults(info, path, header, line, keystep_camera):
        yield EPISODE_FILE, what
    for file, check in _checks(header, info, decode).items():
        if file in existing:
            yield from ((file, what) for what in check(existing[file]))


def _files(header: Header, images: bool) -> set[str]:
    """Return the names of the expected files."""
    files = {EPISODE_FILE} | ({TURNS_FILE} if header.in_turns else set())
    files |= {IMAGES_FILE} if images else set()
    files |= {STEPS_FILE, STATES_FILE} if header.in_steps else set()
    if header.cameras:
        files |= {CAMERAS_FILE, IMAGES_FILE}
    for kind in header.films:
        files |= {camera + VIDEO_SUFFIXES[kind] for camera in header.cameras}
    return files


def _checks(
    header: Header, info: Mapping[str, Any], decode: bool
) -> dict[str, Callable[[StoredFile], Iterator[str]]]:
    """Return the checks of each file."""
    from clevrskills.dataset_tools.check import tables

    checks: dict[str, Callable[[StoredFile], Iterator[str]]] = {
        STEPS_FILE: partial(tables.steps_faults, info=info, in_turns=header.in_turns),
        STATES_FILE: partial(tables.states_faults, info=info),
    }
    if info["cameras"]:
        checks[CAMERAS_FILE] = partial(tables.cameras_faults, info=info)
        checks[IMAGES_FILE] = partial(tables.images_faults, info=info)
    for name, camera in info["cameras"].items():
        for kind in header.films:
            checks[name + VIDEO_SUFFIXES[kind]] = partial(
                tables.video_faults, kind=kind, camera=camera, info=info, decode=decode
            )
    return checks


def _hash_faults(line: Attempt, existing: Mapping[str, StoredFile]) -> Iterator[tuple[str, str]]:
    """Yield differences from the sizes and hashes of the manifest."""
    for file in sorted(set(existing) - set(line.files)):
        yield file, "is not in the manifest"
    for file, (size, sha256) in line.files.items():
        if file not in existing:
            continue
        try:
            data = existing[file].read()
        except OSError as error:
            yield file, f"cannot be read: {error.strerror or error}"
            continue
        if len(data) != size:
            yield file, f"{len(data)} bytes, not the {size} of the manifest"
        elif hashlib.sha256(data).hexdigest() != sha256:
            yield file, "its SHA-256 is not that of the manifest"


def _origin_faults(
    info: Mapping[str, Any], path: Path, header: Header, line: Attempt | None
) -> Iterator[str]:
    """Yield contradictions of ``episode.json`` with its directory, the header or the manifest."""
    name = RecordedName.parse(f"{path.parent.name}/{path.name}")
    facts: list[tuple[str, Any, str]] = [
        *((key, getattr(name, key), "directory") for key in ("task", "split", "seed")),
        ("success", True, "dataset"),
    ]
    if line is not None:
        counted = "turns" if header.in_turns else "steps"
        facts += [(counted, line.steps, "manifest"), ("return", line.total_reward, "manifest")]
    for key, value, where in facts:
        if info[key] != value:
            yield f"{key} is {info[key]!r}, but {value!r} in the {where}"
    yield from header.faults(info)


def _info_faults(
    info: Mapping[str, Any], path: Path, header: Header, line: Attempt | None, keystep_camera: str
) -> Iterator[str]:
    """Yield contradictions of ``episode.json`` with its directory, header, manifest or itself."""
    yield from _origin_faults(info, path, header, line)
    yield from _tree_faults(info, keystep_camera)
    for level, runs in info["segments"].items():
        edges = [0, *(run["stop"] for run in runs)]
        starts = [run["start"] for run in runs]
        if starts != edges[:-1] or edges != sorted(set(edges)) or edges[-1] != info["steps"]:
            yield f"segments of {level} do not cover the steps 0 to {info['steps'] - 1} one by one"
    layout = info["state_layout"]
    if [part["start"] for part in layout] != [0, *(part["stop"] for part in layout[:-1])]:
        yield "state_layout has gaps"


def _tree_faults(info: Mapping[str, Any], keystep_camera: str) -> Iterator[str]:
    """Yield faults of goal tree, key-steps and objects."""
    depths = [node["depth"] for node in info["nodes"]]
    steep = any(b > a + 1 or b == 0 for a, b in zip(depths, depths[1:], strict=False))
    if depths[0] != 0 or steep:
        yield "nodes are not a tree, each node before its parts"
    leaves = [node["leaf"] for node in info["nodes"] if node["leaf"] is not None]
    if leaves != sorted(set(leaves)):
        yield f"nodes count their leaves {leaves}"
    keysteps = info["keysteps"]
    steps = [keystep["step"] for keystep in keysteps]
    if [keystep["index"] for keystep in keysteps] != list(range(len(keysteps))):
        yield "keysteps are not counted 0, 1, 2, ..."
    if steps != sorted(steps) or steps[0] != 0 or steps[-1] > info["steps"]:
        yield f"keysteps are at steps {steps} of {info['steps']}"
    for keystep in keysteps:
        if keystep["subgoal"] is not None and keystep["subgoal"] not in leaves:
            yield f"subgoal {keystep['subgoal']} of key-step {keystep['index']} is no leaf"
        if bool(keystep["image"]) != (keystep_camera in info["cameras"]):
            yield f"key-step {keystep['index']} has the image {keystep['image']}"
    keys = [body["key"] for body in info["objects"]]
    if len(set(keys)) < len(keys):
        yield "objects with the same key"
    if len(info["final"]["object_poses"]) != len(POSE) * len(keys):
        yield f"final: {len(info['final']['object_poses'])} numbers for {len(keys)} object_poses"
