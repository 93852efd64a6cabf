"""An episode as a recording for the Rerun viewer (extra ``viz``): ``rerun episode.rrd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrskills.core.suite import step_interface
from clevrskills.dataset_tools.view.page_data import drawn
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode

_TEXTS = ("subtask", "instruction", "action_class")
_NUMBERS = ("reward", "progress", "subgoal", "attempt")
_VELOCITY = ("x", "y", "z", "rx", "ry", "rz")
_OUTCOMES = ("reward", "progress", "holds", "terms")


def write_rerun(episode: Episode, path: Path) -> None:
    """Write videos, boxes, poses, rewards, goal tree, labels, signals and turns of an episode.

    The timelines are ``step``, counted as frames and states are, and ``time`` in seconds; of turns
    also ``turn``, the only one where there is no arm.

    Raises:
        ClevrSkillsError: Rerun is not installed.
        DatasetError: A file of the episode is missing or damaged.
        StorageError: The file cannot be written.
    """
    try:
        import rerun as rr
    except ImportError as error:
        raise ClevrSkillsError("Rerun is missing: pip install 'clevrskills[viz]'") from error
    recording = rr.RecordingStream("clevrskills", recording_id=episode.id)
    with storage_errors(path), path.open("wb"):
        pass  # Rerun's own message for a file that cannot be written has no reason in it
    recording.save(str(path), default_blueprint=_blueprint(rr, episode))
    log = _Log(rr, recording, episode)
    recording.log("prompt", rr.TextDocument(episode.prompt["plain"]), static=True)
    if episode.has_steps:
        for name in episode.cameras:
            log.camera(name)
        log.objects()
        log.labels()
        log.numbers()
    if episode.has_turns:
        log.turns()
    recording.flush()


class _Log:
    """Logger of an episode's columns; those of N rows at steps 0 to N - 1 or 1 to N."""

    def __init__(self, rr: Any, recording: Any, episode: Episode) -> None:
        self.rr, self.recording, self.episode = rr, recording, episode

    def send(self, entity: str, columns: Any, first: int = 0, count: int | None = None) -> None:
        """Send one value per step from ``first`` on, ``count`` or else one for each state."""
        steps = np.arange(first, first + (len(self.episode) + 1 if count is None else count))
        seconds, column = steps / self.episode.info["fps"], self.rr.TimeColumn
        indexes = [column("step", sequence=steps), column("time", duration=seconds)]
        self.rr.send_columns(entity, indexes, columns, recording=self.recording)

    def camera(self, name: str) -> None:
        """Log video, boxes with names, and the pose of the camera."""
        rr, episode = self.rr, self.episode
        entity, facts = f"world/{name}", episode.info["cameras"][name]
        extrinsic, fps = episode.extrinsics(name), episode.info["fps"]
        turn = extrinsic[:, :, :3].transpose(0, 2, 1)  # camera -> world
        place = -np.einsum("nij,nj->ni", turn, extrinsic[:, :, 3])
        self.send(entity, rr.Transform3D.columns(translation=place, mat3x3=turn))
        pinhole = rr.Pinhole(
            image_from_camera=facts["intrinsic"],
            resolution=[facts["width"], facts["height"]],
            camera_xyz=rr.ViewCoordinates.RDF,
            image_plane_distance=0.1,
        )
        self.recording.log(entity, pinhole, static=True)
        video = rr.AssetVideo(contents=episode.video_file(name).read(), media_type="video/mp4")
        self.recording.log(f"{entity}/video", video, static=True)
        moments_ns = ((np.arange(len(episode) + 1) + 0.5) / fps * 1e9).astype(np.int64)
        self.send(f"{entity}/video", rr.VideoFrameReference.columns_nanos(moments_ns))
        boxes, visible = episode.boxes(name), episode.visible(name)
        existing = boxes[..., 2] > boxes[..., 0]
        _, which = np.nonzero(existing)
        labels = [
            f"{episode.objects[k]['name']} {share:.0%}"
            for k, share in zip(which, visible[existing], strict=True)
        ]
        low, high = boxes[existing][:, :2], boxes[existing][:, 2:]
        shapes = rr.Boxes2D.columns(
            centers=(low + high) / 2,
            half_sizes=(high - low) / 2,
            labels=labels,
            class_ids=1 + which,
        )
        self.send(f"{entity}/video/boxes", shapes.partition(existing.sum(1)))

    def objects(self) -> None:
        """Log poses of objects and end effector, with a labelled point at each origin."""
        episode, rr = self.episode, self.rr
        poses = {o["key"]: episode.object_poses[:, k] for k, o in enumerate(episode.objects)}
        poses["end_effector"] = episode.proprioception("ee_pose")
        for k, (key, pose) in enumerate(poses.items()):
            columns = rr.Transform3D.columns(
                translation=pose[:, :3], quaternion=pose[:, [4, 5, 6, 3]]
            )
            self.send(f"world/{key}", columns)
            point = rr.Points3D([[0.0] * 3], radii=0.015, labels=[key], class_ids=1 + k)
            self.recording.log(f"world/{key}", point, static=True)

    def labels(self) -> None:
        """Log subgoal, step and action class, each where it changes; failed steps as warnings."""
        steps = self.episode.steps
        levels = np.where(steps["failed"], "WARN", "INFO")
        for name in _TEXTS:
            for step in np.flatnonzero(steps[name].ne(steps[name].shift())):
                self.recording.set_time("step", sequence=int(step))
                self.recording.set_time("time", duration=step / self.episode.info["fps"])
                text = self.rr.TextLog(steps[name].iloc[step], level=levels[step])
                self.recording.log(f"labels/{name}", text)

    def numbers(self) -> None:
        """Log rewards and the goal tree at the states that they are about, signals at theirs."""
        steps, paths = self.episode.steps, [node["path"] for node in self.episode.nodes]
        parts: dict[str, Sequence[Any]] = {
            "action": step_interface(self.episode.suite).labels,
            "ee_velocity": _VELOCITY,
            "qpos": range(1, 20),
            "holds": paths,
            "terms": paths,
        }
        for name in filter(steps.__contains__, (*_NUMBERS, *self.episode.flags, *parts)):
            values = np.stack(steps[name].to_numpy()).astype(float).reshape(len(steps), -1)
            for k in range(values.shape[1]):
                entity = f"{name}/{parts[name][k]}" if name in parts else name
                scalars = self.rr.Scalars.columns(scalars=values[:, k])
                self.send(entity, scalars, int(name in _OUTCOMES), len(steps))

    def turns(self) -> None:
        """Log the command and outcome of each turn; the views before it and at the end; numbers
        after it.
        """
        rr, table = self.rr, self.episode.turns.to_dict("records")
        for k in range(len(table) + 1):
            self._at_turn(k, table)
            for name, view in self.episode.seen(k).items():
                is_text = isinstance(view, str)
                seen = rr.TextDocument(view) if is_text else rr.Image(drawn(view)).compress()
                self.recording.log(f"views/{name}", seen)
            if k == len(table):
                break
            row = table[k]
            text = f"{row['action']} -> {row['code']}. {row['message']}".rstrip(". ")
            self.recording.log("turns", rr.TextLog(text, level="INFO" if row["ok"] else "WARN"))
            self._at_turn(k + 1, table)
            for name in ("reward", "progress"):
                self.recording.log(f"turn/{name}", rr.Scalars(float(row[name])))

    def _at_turn(self, turn: int, table: Sequence[Mapping[Any, Any]]) -> None:
        """Set the times to the beginning of a turn, or to the end of the last one."""
        self.recording.set_time("turn", sequence=turn)
        if self.episode.has_steps:
            starts = [int(row["step_start"]) for row in table] + [int(table[-1]["step_stop"])]
            self.recording.set_time("step", sequence=starts[turn])
            self.recording.set_time("time", duration=starts[turn] / self.episode.info["fps"])


def _blueprint(rr: Any, episode: Episode) -> Any:
    """Return videos, views and scene above, curves, labels and turns below."""
    import rerun.blueprint as rrb

    above = [rrb.Spatial2DView(origin=f"world/{c}/video", name=c) for c in episode.cameras]
    curves: Sequence[str] = ("reward", "progress", "holds", "action") if episode.has_steps else ()
    below = [rrb.TextLogView(origin="labels")] if episode.has_steps else []
    if episode.has_turns:
        for name, view in episode.seen(0).items():
            kind = rrb.TextDocumentView if isinstance(view, str) else rrb.Spatial2DView
            above.append(kind(origin=f"views/{name}", name=name))
        curves, below = (*curves, "turn"), [*below, rrb.TextLogView(origin="turns")]
    if episode.has_steps:
        above.append(rrb.Spatial3DView(origin="world"))
    series = [
        rrb.TimeSeriesView(origin="/", contents=[f"/{name}/**"], name=name) for name in curves
    ]
    return rrb.Blueprint(
        rrb.Vertical(rrb.Horizontal(*above), rrb.Horizontal(rrb.Tabs(*series), *below))
    )
