"""RLDS dataset of ``tensorflow_datasets`` for Open X-Embodiment trainers, written without
TensorFlow; see ``docs/formats.md``.

Step t has the observation before action t, the action and its outcome; the observation after the
last action is left out. Episodes are in a fixed random order. Images are JPEG.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import RecordedName
from clevrskills.core.suite import all_views, image_views, step_interface
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import task_sentences, write_json
from clevrskills.dataset_tools.export.parts import PartWriter, move
from clevrskills.dataset_tools.export.remux import whole_video
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.export.tfrecord import example, record
from clevrskills.dataset_tools.layout import POSE
from clevrskills.sim.render.images import encode_image
from clevrskills.sim.render.video import iterate_frames
from clevrskills.sim.state_vector import state_parts

NAME, VERSION = "clevrskills", "1.0.0"
JPEG_QUALITY = 95
_COUNTS_FILE = "counts.json"
IMAGE_NAMES = ("image", "wrist_image")
"""Names that trainers expect for a suite's first cameras; those of others end in ``_image``."""
_CLASSES = "tensorflow_datasets.core.features."


@dataclass(frozen=True)
class Feature:
    """Type and description of a feature."""

    dtype: str  # ``float32``, ``int32``, ``int64``, ``bool``, ``text`` or ``image``
    doc: str
    shape: tuple[int, ...] = ()  # empty for scalars and text

    def to_json(self) -> dict[str, Any]:
        """Return the entry in ``features.json``."""
        shape = {"dimensions": [str(size) for size in self.shape]} if self.shape else {}
        if self.dtype == "text":
            kind: dict[str, Any] = {"text": {}}
            name = "text_feature.Text"
        elif self.dtype == "image":
            kind = {"image": {"dtype": "uint8", "encodingFormat": "jpeg", "shape": shape}}
            name = "image_feature.Image"
        else:
            kind = {"tensor": {"dtype": self.dtype, "encoding": "none", "shape": shape}}
            name = "tensor_feature.Tensor" if self.shape else "scalar.Scalar"
        return {"pythonClassName": _CLASSES + name, "description": self.doc, **kind}


STEP = {
    "reward": Feature("float32", "Dense reward of the state after the action"),
    "discount": Feature("float32", "0 if the action ended the task, else 1"),
    "progress": Feature("float32", "Progress in [0, 1] after the action, 1 exactly on success"),
    "success": Feature("bool", "Whether the task is solved after the action"),
    "is_first": Feature("bool", "Whether it is the first step"),
    "is_last": Feature("bool", "Whether it is the last step"),
    "is_terminal": Feature("bool", "Whether the action ended the task"),
    "language_instruction": Feature("text", "The task, in plain words"),
    "subtask": Feature("text", "Current subgoal, in plain words"),
    "instruction": Feature("text", "Instruction for the arm, in plain words"),
    "subgoal": Feature("int32", "Index of the goal's leaf that is being solved, -1 for none"),
    "predicate": Feature("text", "Type of that leaf"),
    "skill": Feature("text", "Name of the skill that acts"),
    "action_class": Feature("text", "Kind of action: move, pick, lift, place, push ..."),
    "attempt": Feature("int32", "Number of earlier attempts at the leaf"),
    "failed": Feature("bool", "Whether the step belongs to a failed attempt"),
}
METADATA = {
    "file_path": Feature("text", "Name of the episode within the source dataset"),
    "task": Feature("text", "Key of the task"),
    "level": Feature("text", "Level of the task: L0, L1 or L2"),
    "split": Feature("text", "Split of objects and textures: train or test"),
    "seed": Feature("int64", "Seed of the episode"),
    "robot": Feature("text", "Name of the robot"),
    "success": Feature("bool", "Whether the task was solved"),
    "prompt": Feature("text", "The task with placeholders for objects, textures and key-steps"),
    "wordings": Feature("text", "Ways to ask for the task in plain words, as a JSON list"),
}
_COMPUTED = ("discount", "is_first", "is_last", "is_terminal", "language_instruction")


class Rlds(PartWriter):
    """Writer of TFRecord files, one for each split in a part; see :class:`PartWriter`."""

    @staticmethod
    def order(selection: Selection) -> list[str]:
        ids = list(selection.ids)
        random.Random(0).shuffle(ids)
        return ids

    def files(self) -> int:
        split_of = [RecordedName.parse(name).split for name in self.plan.ids]
        parts = map(self.plan.episodes, range(len(self.plan.stops)))
        return 2 + sum(len({split_of[number] for number in part}) for part in parts)

    def write_part(self, part: int, path: Path) -> None:
        features, shard_counts = step_features(self.selection), dict[str, list[int]]()
        for number in self.plan.episodes(part):
            name = self.plan.ids[number]
            episode = Episode(self.selection.root / name, self.selection.header)
            content = example(dict(_values(episode, features)))
            counts = shard_counts.setdefault(str(episode.info["split"]), [0, 0])
            with (path / f"{episode.info['split']}.tfrecord").open("ab") as file:
                file.writelines(record(content))
            counts[0] += 1
            counts[1] += len(content)
        write_json(path / _COUNTS_FILE, shard_counts)

    def assemble(self, parts: Sequence[Path], out: Path) -> None:
        folder = out / NAME / VERSION
        folder.mkdir(parents=True, exist_ok=True)
        counts: dict[str, list[list[int]]] = {}
        sources: dict[str, list[Path]] = {}
        for part in parts:
            for split, shard_counts in json.loads((part / _COUNTS_FILE).read_bytes()).items():
                counts.setdefault(split, []).append(shard_counts)
                sources.setdefault(split, []).append(part / f"{split}.tfrecord")
        for split, paths in sources.items():
            for number, source in enumerate(paths):
                name = f"{NAME}-{split}.tfrecord-{number:05d}-of"
                before = next(folder.glob(f"{name}-*"), source)  # of fewer parts
                move(before, folder / f"{name}-{len(paths):05d}")
        content = features_json(
            {"episode_metadata": METADATA, "steps": step_features(self.selection)}
        )
        entries = content["featuresDict"]["features"]
        entries["steps"] = {
            "pythonClassName": _CLASSES + "dataset_feature.Dataset",
            "sequence": {"feature": entries["steps"], "length": "-1"},
        }
        write_json(folder / "features.json", content)
        write_json(folder / "dataset_info.json", _dataset_info(counts))


def step_features(selection: Selection) -> dict[str, Any]:
    """Return the features of a step, with those of the observation nested."""
    episode, interface = selection.first(), step_interface(selection.suite)
    flag = state_parts()[episode.flags[0]].meaning
    joints = episode.proprioception("qpos").shape[1]
    features = {
        "state": Feature(
            "float32",
            f"End effector in the world: position (m), quaternion wxyz; {flag}",
            (len(POSE) + 1,),
        ),
        "joint_position": Feature("float32", "Angles of the arm's joints (rad)", (joints,)),
        "joint_velocity": Feature("float32", "Speeds of the arm's joints (rad/s)", (joints,)),
    }
    for camera in episode.cameras:
        data = episode.info["cameras"][camera]
        shape = (int(data["height"]), int(data["width"]), 3)
        features[_image_name(episode, camera)] = Feature("image", f"Picture of {camera}", shape)
    action = Feature("float32", interface.sentence, tuple(interface.spec["shape"]))
    return {"action": action, **STEP, "observation": features}


def features_json(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``features.json`` of a tree of features."""
    entries = {
        name: feature.to_json() if isinstance(feature, Feature) else features_json(feature)
        for name, feature in sorted(features.items())
    }
    return {
        "pythonClassName": _CLASSES + "features_dict.FeaturesDict",
        "featuresDict": {"features": entries},
    }


def _values(
    episode: Episode, features: Mapping[str, Any]
) -> Iterator[tuple[str, np.ndarray | list[bytes]]]:
    """Yield the values of an episode by name, as in a ``tf.train.Example``."""
    info, steps, count = episode.info, episode.steps, len(episode)
    metadata = {
        **{name: info[name] for name in METADATA if name in info},
        "file_path": episode.id,
        "prompt": episode.prompt["text"],
        "wordings": json.dumps(task_sentences(episode)),
    }
    for name, feature in METADATA.items():
        yield f"episode_metadata/{name}", _encoded(feature, [metadata[name]])
    last = np.arange(count) == count - 1
    columns = {
        "action": episode.actions,
        **{name: steps[name].to_numpy() for name in STEP if name not in _COMPUTED},
        "is_first": np.arange(count) == 0,
        "is_last": last,
        "is_terminal": steps["terminated"].to_numpy() & last,
        "discount": 1.0 - (steps["terminated"].to_numpy() & last),
        "language_instruction": task_sentences(episode)[:1] * count,
    }
    for name in ("action", *STEP):
        yield f"steps/{name}", _encoded(features[name], columns[name])
    flag = episode.proprioception(episode.flags[0]).reshape(count + 1, 1)
    states = {
        "state": np.hstack([episode.proprioception("ee_pose"), flag]),
        "joint_position": episode.proprioception("qpos"),
        "joint_velocity": episode.proprioception("qvel"),
    }
    for name, values in states.items():
        encoded = _encoded(features["observation"][name], values[:count])
        yield f"steps/observation/{name}", encoded
    for camera in episode.cameras:
        frames = islice(iterate_frames(whole_video(episode, camera)), count)
        name = f"steps/observation/{_image_name(episode, camera)}"
        options = {"quality": JPEG_QUALITY, "subsampling": 0}
        yield name, [encode_image(frame, "JPEG", **options) for frame in frames]


def _encoded(feature: Feature, values: Any) -> np.ndarray | list[bytes]:
    if feature.dtype == "text":
        return [str(value).encode() for value in values]
    return np.asarray(values).astype(feature.dtype)


def _image_name(episode: Episode, camera: str) -> str:
    tasks, task = episode.suite.tasks, episode.info["task"]
    views = tasks[task].views if task in tasks else all_views(episode.suite)
    known = dict(zip(image_views(views), IMAGE_NAMES, strict=False))
    return known.get(camera, camera.removesuffix("_camera") + "_image")


def _dataset_info(counts: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Any]:
    return {
        "name": NAME,
        "version": VERSION,
        "description": "Demonstrations of ClevrSkills tasks by a scripted oracle in simulation.",
        "fileFormat": "tfrecord",
        "splits": [
            {
                "name": split,
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                "numBytes": str(sum(size for _, size in files)),
                "shardLengths": [str(count) for count, _ in files],
            }
            for split, files in sorted(counts.items())
        ],
    }
