from pathlib import Path

import numpy as np
import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.view.command import ViewArgs, view
from clevrskills.errors import ClevrSkillsError


@pytest.fixture(scope="module")
def episode(demos: Path) -> Episode:
    found: Episode = Dataset(demos)[1]
    return found


def test_what_rerun_reads(demos: Path, episode: Episode, tmp_path: Path) -> None:
    rerun = pytest.importorskip("rerun", reason="needs the extra viz")
    path = tmp_path / "episode.rrd"
    assert view(ViewArgs(dataset=demos, episode=episode.id, out=path)) == 0
    recording = rerun.dataframe.load_recording(path)
    assert recording.recording_id() == episode.id

    def read(contents: str) -> dict:
        columns = recording.view(index="step", contents=contents).select().read_pandas()
        return dict(columns.items())

    reward = read("/reward")
    assert reward["step"].tolist() == list(range(1, len(episode) + 1))
    assert np.concatenate(reward["/reward:Scalar"].tolist()) == pytest.approx(episode.rewards)
    action = read("/action/y")["/action/y:Scalar"]
    assert np.concatenate(action.tolist()) == pytest.approx(episode.actions[:, 1])
    held = read("/holds/sequence/0.reached")["/holds/sequence/0.reached:Scalar"]
    assert np.concatenate(held.tolist()) == pytest.approx(
        np.stack(episode.steps["holds"])[:, 1].astype(float)
    )
    camera = read("/world/hand_camera/**")
    frames = np.concatenate(camera["/world/hand_camera/video:VideoTimestamp"].tolist())
    assert (frames * 20 // 10**9).tolist() == list(range(len(episode) + 1))
    boxes = episode.boxes("hand_camera").astype(float)
    entity = "/world/hand_camera/video/boxes"
    for t, (middle, half, texts) in enumerate(
        zip(
            *(camera[f"{entity}:{name}"] for name in ("Position2D", "HalfSize2D", "Text")),
            strict=True,
        )
    ):
        there = boxes[t][boxes[t, :, 2] > boxes[t, :, 0]]
        assert np.stack(middle) - np.stack(half) == pytest.approx(there[:, :2])
        assert np.stack(middle) + np.stack(half) == pytest.approx(there[:, 2:])
        assert texts[0].startswith("red dot ")
    where = camera["/world/hand_camera:Translation3D"].iloc[3][0]
    turn = camera["/world/hand_camera:TransformMat3x3"].iloc[3][0].reshape(3, 3).T
    ahead = turn.T @ (episode.object_poses[3, 0, :3] - where)
    pixel = episode.info["cameras"]["hand_camera"]["intrinsic"] @ (ahead / ahead[2])
    assert pixel[:2] == pytest.approx(boxes[3, 0].reshape(2, 2).mean(0), abs=1.0)
    blob = camera["/world/hand_camera/video:Blob"].dropna().iloc[0][0]
    assert bytes(blob) == episode.video_file("hand_camera").read()
    texts = read("/labels/subtask")["/labels/subtask:Text"].dropna()
    assert [text[0] for text in texts] == ["Reach the red dot", "Reach the blue dot"]


def test_without_rerun(episode: Episode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clevrskills.dataset_tools.view.rerun_export import write_rerun

    monkeypatch.setitem(__import__("sys").modules, "rerun", None)
    with pytest.raises(ClevrSkillsError, match=r"pip install 'clevrskills\[viz\]'"):
        write_rerun(episode, tmp_path / "episode.rrd")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(episode: Episode) -> None:
    pytest.importorskip("rerun", reason="needs the extra viz")
    from clevrskills.dataset_tools.view.rerun_export import write_rerun

    with pytest.raises(ClevrSkillsError, match="cannot write to /proc/episode.rrd: "):
        write_rerun(episode, Path("/proc/episode.rrd"))
