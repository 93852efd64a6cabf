"""LeRobotDataset v2.1: a table and a video for each camera of each episode, as openpi reads it.

With ``meta/modality.json``, which says what is where in state and action, and ``meta/stats.json``
it is also what GR00T reads. As GR00T wants it, sub-tasks are numbered together with the tasks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot_features import (
    IMAGES_PER_EPISODE,
    Numbering,
    Sentences,
    by_split,
    card,
    columns,
    features,
    image_key,
    state_parts,
    table,
    task_sentences,
    write_json,
)
from clevrskills.dataset_tools.export.remux import JoinedVideo, open_recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.export.statistics import Statistics, as_lists
from clevrskills.jobs.files import to_json

EPISODES_PER_CHUNK = 1000
_CHUNK = "chunk-{episode_chunk:03d}"
DATA_PATH = f"data/{_CHUNK}/episode_{{episode_index:06d}}.parquet"
VIDEO_PATH = f"videos/{_CHUNK}/{{video_key}}/episode_{{episode_index:06d}}.mp4"


def write(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v2.1.

    Raises:
        DatasetError: A file of an episode is missing or damaged.
    """
    selection, splits = by_split(selection)
    (out / "meta").mkdir()
    with contextlib.ExitStack() as stack:
        episodes, stats = (
            stack.enter_context((out / f"meta/{name}.jsonl").open("w", encoding="utf-8"))
            for name in ("episodes", "episodes_stats")
        )
        writer = _Writer(out, selection, episodes, stats)
        for episode in selection:
            writer.add(episode)
    writer.finish(splits)


class _Writer:
    """Writes episodes one by one and, at the end, what is said of all of them."""

    def __init__(self, out: Path, selection: Selection, episodes: IO[str], stats: IO[str]) -> None:
        self.out, self.selection = out, selection
        self._episodes, self._stats = episodes, stats
        self.first = selection.first()
        self.fps = int(self.first.info["fps"])
        self.sentences = Sentences()
        self.episodes = self.frames = 0
        self._statistics = Statistics()

    def add(self, episode: Episode) -> None:
        """Write an episode."""
        sentence = task_sentences(episode)[0]
        place = Numbering(self.episodes, self.frames, self.sentences.index(sentence))
        data = columns(episode, place, self.sentences)
        stats = self._statistics.add_numbers(data)
        for camera in self.first.cameras:
            key = image_key(camera)
            with open_recording(episode.video_path(camera), len(episode)) as recording:
                images = recording.images(IMAGES_PER_EPISODE)
                stats[key] = self._statistics.add_images(key, images)
                video = JoinedVideo(self._path(VIDEO_PATH, video_key=key), recording, self.fps)
                video.append(recording)
                video.close()
        pq.write_table(table(data), self._path(DATA_PATH), compression="snappy")
        row = {
            "episode_index": self.episodes,
            "tasks": [sentence],
            "length": len(episode),
            "source": episode.id,
        }
        self._episodes.write(to_json(row) + "\n")
        row = {"episode_index": self.episodes, "stats": as_lists(stats)}
        self._stats.write(to_json(row) + "\n")
        self.episodes += 1
        self.frames += len(episode)

    def _path(self, template: str, **names: str) -> Path:
        chunk = self.episodes // EPISODES_PER_CHUNK
        path = self.out / template.format(episode_chunk=chunk, episode_index=self.episodes, **names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def finish(self, splits: Mapping[str, str]) -> None:
        """Write what is said of all episodes."""
        meta, cameras = self.out / "meta", self.first.cameras
        info = {
            "codebase_version": "v2.1",
            "robot_type": self.selection.header.robot,
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": len(self.sentences.indices),
            "total_videos": self.episodes * len(cameras),
            "total_chunks": -(-self.episodes // EPISODES_PER_CHUNK),
            "chunks_size": EPISODES_PER_CHUNK,
            "fps": self.fps,
            "splits": dict(splits),
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if cameras else None,
            "features": features(self.first),
        }
        write_json(meta / "info.json", info)
        write_json(meta / "stats.json", as_lists(self._statistics.total()))
        write_json(meta / "modality.json", modality(self.first))
        tasks = ({"task_index": i, "task": s} for s, i in self.sentences.indices.items())
        text = "".join(f"{to_json(task)}\n" for task in tasks)
        (meta / "tasks.jsonl").write_text(text, encoding="utf-8")
        (self.out / "README.md").write_text(card(self.selection, info), encoding="utf-8")


def modality(episode: Episode) -> dict[str, Any]:
    """The content of ``modality.json``: the parts of state and action, the cameras, the texts."""
    state, start = {}, 0
    for part, size in state_parts(episode).items():
        if part == "ee_pose":
            state["end_effector_position"] = _part("observation.state", start, 3)
            rotation = _part("observation.state", start + 3, 4)
            state["end_effector_rotation"] = {**rotation, "rotation_type": "quaternion"}
        else:
            name = "joint_position" if part == "qpos" else part
            state[name] = _part("observation.state", start, size)
        start += size
    rotation = {**_part("action", 3, 3), "absolute": False, "rotation_type": "axis_angle"}
    return {
        "state": state,
        "action": {
            "end_effector_position_delta": {**_part("action", 0, 3), "absolute": False},
            "end_effector_rotation_delta": rotation,
            "gripper": _part("action", 6, 1),
        },
        "video": {name: {"original_key": image_key(name)} for name in episode.cameras},
        "annotation": {
            "human.task_description": {"original_key": "task_index"},
            "human.subtask": {"original_key": "subtask_index"},
        },
    }


def _part(key: str, start: int, size: int) -> dict[str, Any]:
    return {"original_key": key, "start": start, "end": start + size}
