import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damage import (
    EPISODE,
    cut,
    edit_info,
    edit_json,
    edit_lines,
    edit_table,
    edit_values,
    flip,
    line_of,
    put,
    refilm,
    scale,
    sign,
    spoil_frame,
    states,
)
from fake_source import FakeSource

from clevrskills.cli import main
from clevrskills.dataset_tools import Episode
from clevrskills.dataset_tools.check.command import CheckArgs, check, check_dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError

SOURCE = FakeSource({})
Change = Callable[[Path], None]


@pytest.fixture
def copy(demos: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demos, tmp_path / "copy"))


def faults(root: Path, **options: object) -> list[str]:
    return [str(fault) for fault in check_dataset(root, suite=SOURCE, **options).faults]  # type: ignore[arg-type]


def lines(edit: Callable[[list[dict]], object]) -> Change:
    def change(root: Path) -> None:
        def edited(all_lines: list[dict]) -> list[dict]:
            edit(all_lines)
            return all_lines

        edit_lines(root, edited)

    return change


def both(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def test_a_good_dataset_has_no_faults(demos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = CheckArgs(dataset=demos, replay=3, decode=True)
    assert check(args, SOURCE) == 0
    assert capsys.readouterr().out == f"{demos}: 6 episodes, 3 replayed: no faults\n"


# what is changed -> what is said of it; hashes fit the changed files
CONTENT: dict[str, tuple[Change, str]] = {
    "no JSON": (cut("episode.json", 0.5), "episode.json: damaged: "),
    "key is missing": (
        edit_info(lambda info: info.pop("nodes")),
        "episode.json: 'nodes' is a required property",
    ),
    "wrong type": (
        edit_info(lambda info: info["keysteps"][1].update(step="1")),
        "episode.json: keysteps[1].step: '1' is not of type 'integer'",
    ),
    "another seed": (
        edit_info(lambda info: info.update(seed=7)),
        "episode.json: seed is 7, but 2 in the directory",
    ),
    "another robot": (
        edit_info(lambda info: info.update(robot="panda")),
        "episode.json: robot is 'panda', but 'xarm6' in the dataset",
    ),
    "segment beyond the end": (
        edit_info(lambda info: info["segments"]["subtask"][-1].update(stop=info["steps"] + 1)),
        "episode.json: segments of subtask do not cover the steps",
    ),
    "key-step beyond the end": (
        edit_info(lambda info: info["keysteps"][-1].update(step=info["steps"] + 1)),
        "episode.json: keysteps are at steps",
    ),
    "no such leaf": (
        edit_info(lambda info: info["keysteps"][-1].update(subgoal=9)),
        "episode.json: subgoal 9 of key-step 2 is no leaf",
    ),
    "no such image": (
        edit_info(lambda info: info["keysteps"][-1].update(image="keysteps/77")),
        "images.parquet: keysteps/77 is missing",
    ),
    "footer": (cut("steps.parquet", 0.9), "steps.parquet: damaged: "),
    "column": (
        edit_table("steps.parquet", lambda table: table.drop_columns(["reward"])),
        "steps.parquet: column reward is missing",
    ),
    "other column": (
        edit_table("steps.parquet", lambda table: table.append_column("x", table["step"])),
        "steps.parquet: unknown column x",
    ),
    "type of a column": (
        edit_table(
            "steps.parquet",
            lambda table: table.set_column(
                table.column_names.index("step"), "step", table["step"].cast("int64")
            ),
        ),
        "steps.parquet: column step is int64, not int32",
    ),
    "of another episode": (
        edit_values("seed", put(0, 7)),
        "steps.parquet: seed is not 2 in all rows",
    ),
    "length of lists": (
        edit_info(lambda info: info["objects"].append({**info["objects"][0], "key": "other"})),
        "steps.parquet: column object_poses has lists of [14], not 21",
    ),
    "row": (
        edit_table("steps.parquet", lambda table: table.slice(1)),
        "steps.parquet: {less} rows, not {steps}",
    ),
    "action": (
        edit_values("action", put((3, 6), 1.5)),
        "steps.parquet: action is outside [-1, 1]: row 3",
    ),
    "reward": (
        edit_values("reward", scale(slice(None), 2)),
        "steps.parquet: rewards add up to ",
    ),
    "success": (
        edit_values("success", put(-1, False)),
        "steps.parquet: success is not at the last step, or not only there: row {less}",
    ),
    "progress": (
        edit_values("progress", put([4, 5], 1.0)),
        "steps.parquet: progress and success disagree: it is 1 exactly on success: row 4 and 1",
    ),
    "subgoal": (
        edit_values("subgoal", put(2, 5)),
        "steps.parquet: subgoal is no leaf of the goal: row 2",
    ),
    "label": (
        edit_values("subtask_text", put(1, "Sleep")),
        "steps.parquet: subtask_text of rows 0 to ",
    ),
    "key-step": (
        edit_values("keystep", put(0, True)),
        "steps.parquet: keystep and the key-steps of episode.json disagree: row 0",
    ),
    "not finite": (
        edit_values("qpos", put((2, 1), np.nan)),
        "steps.parquet: qpos is not finite: row 2",
    ),
    "state is missing": (states(lambda s: s[1:]), "states.npz: states are ({steps}, 7)"),
    "no archive": (cut("states.npz", 0.5), "states.npz: damaged: "),
    "another array": (states(lambda s: s, more=np.zeros(1)), "states.npz: holds states, more"),
    "row of cameras": (
        edit_table("cameras.parquet", lambda table: table.slice(1)),
        "cameras.parquet: {steps} rows, not {more}",
    ),
    "camera's episode": (
        edit_values("seed", put(2, 77), "cameras.parquet"),
        "cameras.parquet: seed is not 2 in all rows",
    ),
    "image's episode": (
        edit_values("seed", put(0, 77), "images.parquet"),
        "images.parquet: seed is not 2 in all rows",
    ),
    "box": (
        edit_values("base_camera/boxes", put((3, slice(0, 4)), (5, 5, 4, 9)), "cameras.parquet"),
        "cameras.parquet: base_camera/boxes are not in the image: row 3",
    ),
    "share": (
        edit_values("hand_camera/visible", put((0, 0), 1.5), "cameras.parquet"),
        "cameras.parquet: hand_camera/visible is outside [0, 1]: row 0",
    ),
    "extrinsic": (
        edit_values("hand_camera/extrinsic", put((1, 0), 7.0), "cameras.parquet"),
        "cameras.parquet: hand_camera/extrinsic is no rotation: row 1",
    ),
    "image": (
        edit_table("images.parquet", lambda table: table.slice(1)),
        "images.parquet: ",
    ),
    "frame": (refilm(-1, None), "hand_camera.mp4: {steps} frames, not {more}"),
    "size": (refilm(None, 32), "hand_camera.mp4: width 32, not 64"),
    "video": (cut("base_camera.mp4", 0.02), "base_camera.mp4: not a readable video: "),
    "end of a video": (cut("base_camera.mp4", 0.6), "base_camera.mp4: "),
}


@pytest.mark.parametrize("name", CONTENT)
def test_damaged_content_is_named_even_with_valid_hashes(copy: Path, name: str) -> None:
    change, expected = CONTENT[name]
    steps = len(Episode(copy / EPISODE))
    expected = expected.format(less=steps - 1, steps=steps, more=steps + 1)
    change(copy)
    sign(copy)
    found = faults(copy)
    assert any(fault.startswith(f"{EPISODE}: {expected}") for fault in found), found
    assert all(fault.startswith(EPISODE) for fault in found)


@pytest.mark.parametrize("number", [0, 7, -1])
def test_frames_are_decoded(copy: Path, number: int) -> None:
    spoil_frame(number)(copy)
    sign(copy)
    found = faults(copy, decode=True)
    assert len(found) == 1 and found[0].startswith(f"{EPISODE}: hand_camera.mp4: "), found
    assert (faults(copy) != []) == (number != 7)


CATALOGUE: dict[str, tuple[Change, str]] = {
    "a bit": (
        flip("hand_camera.mp4", 0.8),
        f"{EPISODE}: hand_camera.mp4: its SHA-256 is not that of the manifest",
    ),
    "bytes": (cut("states.npz", 0.9), f"{EPISODE}: states.npz: "),
    "file": (
        lambda root: (root / EPISODE / "images.parquet").unlink(),
        f"{EPISODE}: images.parquet: is missing",
    ),
    "other file": (
        lambda root: (root / EPISODE / "notes.txt").touch(),
        f"{EPISODE}: notes.txt: is not part of an episode",
    ),
    "line": (
        lambda root: edit_lines(root, lambda ls: [x for x in ls if x is not line_of(ls)]),
        f"{EPISODE}: is not in the manifest",
    ),
    "directory": (
        lambda root: shutil.rmtree(root / EPISODE),
        f"{EPISODE}: is in the manifest, but missing",
    ),
    "line twice": (
        lines(lambda ls: ls.append(line_of(ls))),
        "manifest/local.jsonl line 9: the same attempt as manifest/local.jsonl line ",
    ),
    "two writers": (
        lambda root: shutil.copy(
            root / "manifest" / "local.jsonl", root / "manifest" / "shard-1-of-2.jsonl"
        ),
        "manifest/shard-1-of-2.jsonl line 1: the same attempt as manifest/local.jsonl line 1",
    ),
    "torn line": (
        lambda root: (root / "manifest" / "local.jsonl").open("a").write('{"task":'),
        "manifest/local.jsonl line 9: is incomplete",
    ),
    "damaged line": (
        lambda root: (root / "manifest" / "local.jsonl").open("a").write("nonsense\n"),
        "manifest/local.jsonl line 9: damaged: ",
    ),
    "line without a key": (
        lines(lambda ls: ls[0].pop("kind")),
        "manifest/local.jsonl line 1: 'kind' is a required property",
    ),
    "failure of another kind": (
        lines(lambda ls: next(x for x in ls if not x["success"]).update(kind="bad luck")),
        "kind: 'bad luck' is not one of",
    ),
    "attempt before": (
        lines(lambda ls: line_of(ls).update(attempt=1, seed=10_000_002)),
        "attempt 1, but no line of attempt 0",
    ),
    "other steps": (
        lines(lambda ls: line_of(ls).update(steps=99)),
        f"{EPISODE}: episode.json: steps is 21, but 99 in the manifest",
    ),
    "partial": (
        lambda root: (root / ".partial-local-0").mkdir(),
        ".partial-local-0: left by an interrupted",
    ),
    "stray": (lambda root: (root / "notes.txt").touch(), "notes.txt: is not part of a dataset"),
    "no task": (lambda root: (root / "juggle").mkdir(), "juggle: is no task"),
    "no episode": (
        lambda root: (root / "visit" / "train_1").mkdir(),
        "visit/train_1: is no episode",
    ),
    "header": (
        edit_json("dataset.json", lambda data: data.update(fps="20")),
        "dataset.json: fps: '20' is not of type 'integer'",
    ),
    "cameras of the header": (
        edit_json("dataset.json", lambda data: data.update(cameras=["base_camera"])),
        f"{EPISODE}: hand_camera.mp4: is not part of an episode",
    ),
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_inconsistent_values_are_named(copy: Path, name: str) -> None:
    change, expected = CATALOGUE[name]
    change(copy)
    found = faults(copy)
    assert any(expected in fault for fault in found), found


@pytest.mark.parametrize(
    "options",
    [
        {"no_cameras": True},
        {"cameras": ("hand_camera",), "size": 32},
        {"depth": True, "segmentation": True},
    ],
)
def test_all_kinds_of_datasets_are_known(tmp_path: Path, options: dict) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=1, out=tmp_path / "demos", **options)
    assert generate(args, SOURCE) == 0
    assert faults(args.out, replay=1, decode=True) == []


def test_depth_is_no_segmentation(tmp_path: Path) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=1, out=tmp_path / "demos")
    args.depth = args.segmentation = True
    assert generate(args, SOURCE) == 0
    (path,) = (args.out / "reach").iterdir()
    shutil.copy(path / "hand_camera.segmentation.mkv", path / "hand_camera.depth.mkv")
    sign(args.out, f"reach/{path.name}")
    assert faults(args.out) == [
        f"reach/{path.name}: hand_camera.depth.mkv: pixel format gray, not gray16le"
    ]


def test_broken_episodes_are_removed_and_made_again(copy: Path, demos: Path) -> None:
    flip("states.npz", 0.5)(copy)
    assert [fault.split(": ")[0] for fault in faults(copy)] == [EPISODE] * 2
    shutil.rmtree(copy / EPISODE)
    args = GenerateArgs(tasks=("reach", "visit"), episodes=3, out=copy)
    assert generate(args, FakeSource({1: "fail"})) == 0
    assert faults(copy) == []
    for path in (demos / EPISODE).iterdir():
        assert (copy / EPISODE / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_all_faults_are_named_and_processes_find_the_same(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = both(
        flip("states.npz", 0.5),
        cut("hand_camera.mp4", 0.5),
        edit_table("steps.parquet", lambda table: table.slice(1), "reach/train_00000000"),
        lambda root: (root / "reach" / "train_00000002" / "episode.json").unlink(),
    )
    changes(copy)
    found = faults(copy)
    named = {": ".join(fault.split(": ")[:2]) for fault in found}
    assert named == {
        f"{EPISODE}: states.npz",
        f"{EPISODE}: hand_camera.mp4",
        "reach/train_00000000: steps.parquet",
        "reach/train_00000002: episode.json",
    }
    assert check(CheckArgs(dataset=copy, workers=2, json=True), SOURCE) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["episodes"] == 6
    assert [": ".join(filter(None, fault.values())) for fault in data["faults"]] == found


def test_replays_notice_another_action(copy: Path) -> None:
    edit_values("action", scale(5, -1))(copy)
    sign(copy)
    assert faults(copy) == []
    found = faults(copy, replay=6)
    assert len(found) == 1
    assert found[0].startswith(f"{EPISODE}: states.npz: replay: state 6 differs in point by up to")


def test_bad_arguments(demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ClevrSkillsError, match="--replay must be at least 0, not -1"):
        check(CheckArgs(dataset=demos, replay=-1))
    with pytest.raises(ClevrSkillsError, match="--workers must be at least 1, not 0"):
        check(CheckArgs(dataset=demos, workers=0))
    assert main(["check", str(tmp_path)]) == 2
    assert "is not a dataset" in capsys.readouterr().err
