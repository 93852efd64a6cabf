"""LeRobotDataset v3.0 on disk; as read by lerobot: test_lerobot_readers.py."""

import json
import shutil
from pathlib import Path
from typing import Any

import av
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from clevrskills.dataset_tools import Dataset, DatasetError, Episode
from clevrskills.dataset_tools.export import parts
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.lerobot import v30 as lerobot
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.sim.render.video import VideoWriter, read_video

BASE = "observation.images.base_camera"


def info_of(root: Path) -> dict[str, Any]:
    return json.loads((root / "meta/info.json").read_text())


def frames_of(root: Path) -> pd.DataFrame:
    return pd.concat(map(pd.read_parquet, sorted(root.glob("data/*/*.parquet"))), ignore_index=True)


def episodes_of(root: Path) -> pd.DataFrame:
    tables = map(pd.read_parquet, sorted(root.glob("meta/episodes/*/*.parquet")))
    return pd.concat(tables, ignore_index=True)


def check_videos(root: Path, episodes: list[Episode], camera: str) -> None:
    """Each recorded frame but the last is where the table of episodes says, bit for bit."""
    key, fps = f"observation.images.{camera}", info_of(root)["fps"]
    for row, episode in zip(episodes_of(root).to_dict("records"), episodes, strict=True):
        place = [row[f"videos/{key}/{name}_index"] for name in ("chunk", "file")]
        path = root / "videos" / key / "chunk-{:03d}/file-{:03d}.mp4".format(*place)
        start, stop = (row[f"videos/{key}/{end}_timestamp"] for end in ("from", "to"))
        found = read_video(path)[round(start * fps) : round(stop * fps)]
        assert stop - start == pytest.approx(len(episode) / fps)
        np.testing.assert_array_equal(found, episode.video(camera)[:-1])


@pytest.mark.slow
def test_info(exported: dict[str, Path], in_order: list[Episode]) -> None:
    info = info_of(exported["lerobot"])
    frames = sum(map(len, in_order))
    expected = {
        "codebase_version": "v3.0",
        "robot_type": "xarm6",
        "fps": 20,
        "total_episodes": 8,
        "total_frames": frames,
        "total_tasks": 3,  # sub-tasks are numbered with them
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "splits": {"train": "0:6", "test": "6:8"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }
    assert {name: info[name] for name in expected} == expected
    features = info["features"]
    pose = [f"end_effector_{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    names = ["joint_1", "joint_2", "joint_3", *pose, "vacuum_on", "holding"]
    state = {"dtype": "float32", "shape": [12], "names": names}
    assert features["observation.state"] == state
    action = ["dx", "dy", "dz", "drx", "dry", "drz", "gripper"]
    assert features["action"] == {"dtype": "float32", "shape": [7], "names": action}
    assert features[BASE]["shape"] == [64, 64, 3]
    video = read_info(exported["lerobot"] / "videos" / BASE / "chunk-000/file-000.mp4")
    assert {name: features[BASE]["info"][name] for name in video} == video


def read_info(path: Path) -> dict[str, Any]:
    """What the file itself says of a video."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return {
            "video.codec": stream.codec_context.name,
            "video.pix_fmt": stream.codec_context.pix_fmt,
            "video.height": stream.height,
            "video.width": stream.width,
            "video.fps": stream.average_rate,
            "has_audio": bool(container.streams.audio),
        }


def test_columns_have_the_types_of_the_features(exported: dict[str, Path]) -> None:
    root = exported["lerobot"]
    schema = pq.read_schema(root / "data/chunk-000/file-000.parquet")
    features = {k: v for k, v in info_of(root)["features"].items() if v["dtype"] != "video"}
    assert schema.names == list(features)
    for name, feature in features.items():
        dtype = feature["dtype"].replace("float32", "float")
        vector = feature["shape"] != [1]
        if vector:
            dtype = f"fixed_size_list<element: {dtype}>[{feature['shape'][0]}]"
        assert str(schema.field(name).type) == dtype, name


def test_frames(exported: dict[str, Path], in_order: list[Episode]) -> None:
    root = exported["lerobot"]
    rows = frames_of(root)
    steps = pd.concat([episode.steps for episode in in_order], ignore_index=True)
    lengths = [len(episode) for episode in in_order]
    assert rows["index"].tolist() == list(range(sum(lengths)))
    assert rows["episode_index"].tolist() == np.repeat(range(8), lengths).tolist()
    assert rows["frame_index"].tolist() == steps["step"].tolist()
    np.testing.assert_array_equal(rows["timestamp"], steps["timestamp"])
    np.testing.assert_array_equal(np.stack(rows["action"]), np.stack(steps["action"]))
    proprio = [np.stack(steps["qpos"]), np.stack(steps["ee_pose"]), steps[["vacuum_on", "holding"]]]
    state = np.concatenate(proprio, axis=1).astype(np.float32)
    np.testing.assert_array_equal(np.stack(rows["observation.state"]), state)
    for name in ("reward", "progress", "success", "truncated"):
        assert rows[f"next.{name}"].tolist() == steps[name].tolist()
    assert np.flatnonzero(rows["next.done"]).tolist() == (np.cumsum(lengths) - 1).tolist()
    for name in ("instruction", "predicate", "skill", "action_class", "failed", "keystep"):
        assert rows[f"label.{name}"].tolist() == steps[name].tolist()
    for name, expected in {
        "task": [e.prompt["plain"] for e in in_order for _ in range(len(e))],
        "subtask": steps["subtask"].tolist(),
    }.items():
        table = pd.read_parquet(root / f"meta/{name}s.parquet")
        assert table[f"{name}_index"].tolist() == list(range(len(table)))
        assert table.index[rows[f"{name}_index"]].tolist() == expected


def test_episodes(exported: dict[str, Path], in_order: list[Episode]) -> None:
    rows = episodes_of(exported["lerobot"])
    stops = np.cumsum([len(episode) for episode in in_order])
    assert rows["source"].tolist() == [episode.id for episode in in_order]
    assert rows["tasks"].map(list).tolist() == [[e.prompt["plain"]] for e in in_order]
    assert rows["dataset_to_index"].tolist() == stops.tolist()
    assert rows["dataset_from_index"].tolist() == [0, *stops[:-1]]
    assert (rows["length"] == rows["dataset_to_index"] - rows["dataset_from_index"]).all()
    for row, episode in zip(rows.to_dict("records"), in_order, strict=True):
        np.testing.assert_allclose(row["stats/action/mean"], episode.actions.mean(0), atol=1e-7)
        assert row["stats/action/count"].tolist() == [len(episode)]
        assert np.stack([np.stack(each) for each in row[f"stats/{BASE}/q50"]]).shape == (3, 1, 1)


def test_videos(exported: dict[str, Path], in_order: list[Episode]) -> None:
    for camera in ("base_camera", "hand_camera"):
        check_videos(exported["lerobot"], in_order, camera)


def test_statistics(exported: dict[str, Path], in_order: list[Episode]) -> None:
    stats = json.loads((exported["lerobot"] / "meta/stats.json").read_text())
    actions = np.concatenate([episode.actions for episode in in_order])
    np.testing.assert_allclose(stats["action"]["std"], actions.std(0), atol=1e-7)
    np.testing.assert_allclose(stats["action"]["q99"], np.quantile(actions, 0.99, axis=0))
    features = info_of(exported["lerobot"])["features"]
    assert set(stats) == {name for name, f in features.items() if f["dtype"] != "string"}
    # all images differ from the sampled ones only by the place of the dot
    images = np.concatenate([episode.video("base_camera")[:-1] for episode in in_order]) / 255
    np.testing.assert_allclose(np.ravel(stats[BASE]["mean"]), images.mean((0, 1, 2)), atol=0.01)


def test_card(exported: dict[str, Path]) -> None:
    card = (exported["lerobot"] / "README.md").read_text()
    assert card.startswith("---\n") and "\n- LeRobot\n" in card
    assert "| `reach` | 5 |" in card and "train 0:6, test 6:8" in card


def test_full_files_are_followed_by_others(
    both_splits: Path,
    in_order: list[Episode],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    exported: dict[str, Path],
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 100_000)
    monkeypatch.setattr(lerobot, "FILES_PER_CHUNK", 2)
    monkeypatch.setattr(lerobot, "PARTS_PER_FILE", 2)
    out = tmp_path / "out"
    write_dataset(select(Dataset(both_splits)), "lerobot", out)
    for place in ("data", f"videos/{BASE}"):
        names = sorted(str(path.relative_to(out / place)) for path in (out / place).glob("*/*"))
        first = ["chunk-000/file-000", "chunk-000/file-001", "chunk-001/file-000"]
        assert [name.partition(".")[0] for name in names][:3] == first
    for camera in ("base_camera", "hand_camera"):
        check_videos(out, in_order, camera)
    whole_rows = frames_of(exported["lerobot"])
    pd.testing.assert_frame_equal(frames_of(out), whole_rows)
    for row in episodes_of(out).to_dict("records"):
        name = f"chunk-{row['data/chunk_index']:03d}/file-{row['data/file_index']:03d}.parquet"
        assert row["episode_index"] in set(pd.read_parquet(out / "data" / name)["episode_index"])


def test_recordings_that_cannot_be_joined_go_to_another_file(
    both_splits: Path, in_order: list[Episode], tmp_path: Path
) -> None:
    copy = tmp_path / "demos"
    shutil.copytree(both_splits, copy)
    recode(copy / in_order[3].id / "base_camera.mp4")
    write_dataset(select(Dataset(copy)), "lerobot", tmp_path / "out")
    key = f"videos/{BASE}/file_index"
    assert episodes_of(tmp_path / "out")[key].tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    check_videos(tmp_path / "out", [Episode(copy / e.id) for e in in_order], "base_camera")


def recode(path: Path) -> None:
    """Encode a video again with other parameters."""

    class Other(VideoWriter):
        options = {**VideoWriter.options, "refs": "4", "crf": "30"}

    frames = read_video(path)
    writer = Other(path, frames.shape[2], frames.shape[1], 20)
    for frame in frames:
        writer.write(frame)
    writer.close()


def test_without_cameras(tmp_path: Path) -> None:
    from fake_source import FakeSource

    args = GenerateArgs(tasks=("reach",), episodes=2, out=tmp_path / "demos", no_cameras=True)
    assert generate(args, FakeSource({})) == 0
    write_dataset(select(Dataset(tmp_path / "demos")), "lerobot-v3.1", tmp_path / "out")
    info = info_of(tmp_path / "out")
    assert info["video_path"] is None and not (tmp_path / "out/videos").exists()
    assert not [name for name in info["features"] if "images" in name]
    assert frames_of(tmp_path / "out")["language_events"].map(len).sum() == 0


def test_a_short_video_is_an_error(both_splits: Path, tmp_path: Path) -> None:
    copy = tmp_path / "demos"
    shutil.copytree(both_splits, copy)
    episode = Dataset(copy)[2]
    short = VideoWriter(episode.video_file("hand_camera").path, 64, 64, 20)
    for frame in episode.video("hand_camera")[:4]:
        short.write(frame)
    short.close()
    with pytest.raises(DatasetError, match=r"hand_camera\.mp4 is damaged: it has 4 frames"):
        write_dataset(select(Dataset(copy)), "lerobot", tmp_path / "out")
