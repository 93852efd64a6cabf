"""Checking recordings of the real simulation."""

from pathlib import Path

import pandas as pd
import pytest
from damage import edit_values, put, sign

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.modes import recorded_episodes
from clevrskills.solvers.requirements import planner_obstacle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle())),
]

FILES = ("episode.json", "steps.parquet", "states.npz")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("real") / "demos"
    args = GenerateArgs(tasks=("pick", "sort", "trace"), episodes=2, out=out, no_cameras=True)
    assert generate(args) == 0
    return out


def test_recordings_are_sound_and_can_be_replayed(recorded: Path) -> None:
    report = check_dataset(recorded, replay=3)
    assert (report.episodes, report.replayed, report.faults) == (6, 3, [])


def test_perturbed_recordings_can_be_replayed_and_have_events(tmp_path: Path) -> None:
    out, axes = tmp_path / "varied", ("disturbance:5", "robot_start:2", "language:3")
    args = GenerateArgs(tasks=("sort",), episodes=2, out=out, no_cameras=True, axis=axes)
    assert generate(args) == 0
    dataset = Dataset(out)
    levels = {"disturbance": 5, "robot_start": 2, "language": 3}
    assert dataset.header.axes == levels
    for episode in dataset:
        assert episode.info["scene"]["conditions"]["axes"] == levels
        assert episode.info["trajectory"]["path_m"] > 0
        assert all({"kind", "step"} <= {*event} for event in episode.info["events"])
    report = check_dataset(out, replay=2)
    assert (report.replayed, report.faults) == (2, [])
    with pytest.raises(ClevrSkillsError, match="perturbed along .*disturbance:5.*; allowed"):
        recorded_episodes(out, ["sort"], ["train"], None)


def test_watching_leaves_no_trace_in_the_states(recorded: Path) -> None:
    """A recording equals an environment without a recorder."""
    assert all("events" in episode.info for episode in Dataset(recorded))
    assert check_dataset(recorded, replay=6).faults == []


def test_the_tables_of_all_episodes_make_one(recorded: Path) -> None:
    files = sorted(recorded.glob("*/*/steps.parquet"))
    lengths = [len(pd.read_parquet(file)) for file in files]
    assert len(files) == 6 and len(pd.read_parquet(files)) == sum(lengths)


@pytest.mark.parametrize(
    ("column", "row", "value", "said"),
    [
        ("terms", (4, 0), 0.125, "replay: state 5 differs in terms by up to "),
        ("ee_pose", (3, 1), 0.25, "replay: state 3 differs in ee_pose by up to "),
        ("object_poses", (2, 0), 0.5, "replay: state 2 differs in object_poses by up to "),
        ("action", (1, 0), 0.75, "replay: state 2 differs in articulations/"),
    ],
)
def test_each_wrong_value_is_named(
    recorded: Path, tmp_path: Path, column: str, row: tuple, value: float, said: str
) -> None:
    root = tmp_path / "copy"
    name = "pick/train_00000001"
    for part in ("dataset.json", "manifest/local.jsonl", *(f"{name}/{file}" for file in FILES)):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).write_bytes((recorded / part).read_bytes())
    edit_values(column, put(row, value), episode=name)(root)
    sign(root, name)
    found = [f for f in check_dataset(root, replay=1).faults if f.what.startswith("replay")]
    assert [fault.episode for fault in found] == [name]
    assert found[0].what.startswith(said)
