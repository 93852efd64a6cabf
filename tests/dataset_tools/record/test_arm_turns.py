"""Turns of an arm that are recorded: commands, and the control steps that each took."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.card import write_card
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.layout import Header
from clevrskills.dataset_tools.manifest import latest_lines
from clevrskills.dataset_tools.record.turns import COLUMNS
from clevrskills.dataset_tools.view.command import page
from clevrskills.jobs.pool import InlinePool

COMMAND = ["generate", "pick", "--suite", "clevrskills", "--split", "test", "--no-cameras"]


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen episode, demonstrated in words that skills carry out."""
    out: Path = tmp_path_factory.mktemp("turns") / "spoken"
    given = ["--interface", "skills", "--view", "state", "--frozen", "--seed", "3"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*COMMAND, *given, "--episodes", "1", "--out", str(out)]) == 0
    return out


def test_commands_are_recorded_beside_the_control_steps_that_they_took(spoken: Path) -> None:
    header = Header.read(spoken)
    assert (header.format_version, header.interface, header.fps) == (1, "skills", 20)
    assert header.in_turns and header.in_steps and header.robot == "xarm6"
    (episode,) = Dataset(spoken)
    assert {path.name for path in episode.path.iterdir()} == {
        *("episode.json", "turns.parquet", "steps.parquet", "states.npz"),
    }
    turns, steps = episode.turns, episode.steps
    assert turns["step_start"][0] == 0 and turns["step_stop"].iloc[-1] == len(steps) > 5
    assert turns["action"][0].startswith("pick up ") and turns["pose"][0] is None
    assert turns["reward"].sum() == pytest.approx(steps["reward"].sum(), rel=1e-5)
    assert set(steps["action_class"]) >= {"pick"} and (steps["predicate"] == "picked").all()
    assert (steps["subgoal"] == 0).all() and np.abs(episode.actions).max() <= 1
    assert json.loads(turns["texts"][0])["state"] == episode.views(0)["state"]
    assert episode.views(0)["state"] != episode.views(len(turns))["state"]
    assert latest_lines(spoken)[episode.id].steps == len(turns)


def test_frozen_episodes_are_demonstrated_as_they_are(spoken: Path) -> None:
    (episode,) = Dataset(spoken)
    frozen = load_suite().frozen("pick", "test")[3]
    assert episode.info["content_hash"] == frozen.content_hash
    assert episode.info["seed"] == frozen.seed


def test_more_frozen_episodes_than_there_are_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*COMMAND, "--frozen", "--seed", "95", "--out", str(out)]) == 2
    assert "pick has 100 frozen episodes of test, not 105" in capsys.readouterr().err
    assert not out.exists()


def test_it_is_sound_and_replays_state_by_state(spoken: Path) -> None:
    report = check_dataset(spoken, replay=1)
    assert (report.episodes, report.replayed, report.faults) == (1, 1, [])


def test_a_wrong_table_is_named(spoken: Path, tmp_path: Path) -> None:
    root = tmp_path / "spoken"
    shutil.copytree(spoken, root)
    folder = Dataset(root)[0].path
    rows = pq.read_table(folder / "turns.parquet").to_pylist()
    rows[0] |= {"pose": [1.0], "step_stop": 3}
    table = pa.Table.from_pylist(rows, pa.schema(list(COLUMNS.items())))
    pq.write_table(table, folder / "turns.parquet")
    found = " ".join(fault.what for fault in check_dataset(root).faults)
    assert "pose is not of six numbers" in found and "3 control steps, not" in found


def test_turns_are_shown_beside_the_steps(spoken: Path) -> None:
    (episode,) = Dataset(spoken)
    html = page([episode], "spoken", 1)
    data = html.partition('class="episode"')[2].partition(">")[2].partition("</script>")[0]
    shown = json.loads(data)
    (run,) = shown["lanes"]["turn"]
    assert (run["start"], run["stop"]) == (0, shown["steps"])
    assert [turn.get("action") for turn in shown["turns"]] == [run["label"], None]


def test_it_is_exported_as_conversations_and_as_steps(spoken: Path, tmp_path: Path) -> None:
    assert main(["export", str(spoken), "--to", "chat", "--out", str(tmp_path / "chat")]) == 0
    (line,) = (tmp_path / "chat" / "conversations.jsonl").read_text().splitlines()
    reply = json.loads(line)["messages"][-1]
    assert reply["content"] == Dataset(spoken)[0].turns["action"][0]
    assert main(["export", str(spoken), "--to", "lerobot", "--out", str(tmp_path / "steps")]) == 0
    (data,) = (tmp_path / "steps" / "data").rglob("*.parquet")
    assert len(pq.read_table(data)) == len(Dataset(spoken)[0])


def test_croissant_describes_turns_and_control_steps(spoken: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(spoken, tmp_path / "copy"))
    write_card(root)
    data = json.loads((root / "croissant.json").read_text())
    columns: dict[str, set[str]] = {
        records["name"]: {field["name"].partition("/")[2] for field in records["field"]}
        for records in data["recordSet"]
    }
    (episode,) = Dataset(root)
    assert columns["turns"] <= {*episode.turns} and columns["steps"] <= {*episode.steps}
    assert "symbols" not in data["rai:dataLimitations"]
