"""``clevrskills play``: commands from a text, a file, the terminal; output and transcript."""

import json
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.play.command import PlayArgs, default_views, play
from clevrskills.evaluation.results import read_results, read_run
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import Puzzle

SUITE = load_suite("ivispar")
PUZZLE = Puzzle.from_json(SUITE.frozen("geoms", "base")[17].start["puzzle"])
SOLUTION = [f"move {PUZZLE.name_of[piece]} {DIRECTIONS[way]}" for piece, way in PUZZLE.optimal]


def played(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["play", "geoms", "--index", "17", "--json", *arguments]) == 0
    data: dict = json.loads(capsys.readouterr().out)
    return data


def test_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    data = played("--commands", "; ".join(SOLUTION), capsys=capsys)
    assert (data["episode"], data["limit"]) == ("geoms_base_017", 20)
    assert data["content_hash"] == SUITE.frozen("geoms", "base")[17].content_hash
    assert (data["success"], data["cause"], data["goal_fraction"]) == (True, "success", 1.0)
    assert [turn["action"] for turn in data["turns"]] == SOLUTION
    assert {turn["code"] for turn in data["turns"]} == {"MOVED"}
    assert [turn["turn"] for turn in data["turns"]] == [1, 2, 3]
    assert all(goal["holds"] and goal["text"].startswith("Move the ") for goal in data["goals"])
    assert data["measures"]["optimal"] == 1


def test_the_browser_shows_the_first_image_too() -> None:
    known = {"words": "text", "top": "image", "side": "image"}
    assert default_views(known, browser=False) == ("words",)
    assert default_views(known, browser=True) == ("top", "words")


def test_refused_turns_leave_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    commands = f"go; ; move orange cube up; {SOLUTION[0]}"
    data = played("--commands", commands, capsys=capsys)
    codes = [turn["code"] for turn in data["turns"]]
    assert codes == ["UNPARSABLE", "UNKNOWN_WORD", "MOVED"]  # an empty command is none
    hashes = [turn["state_hash"] for turn in data["turns"]]
    assert hashes[0] == hashes[1] != hashes[2]
    assert "orange" in data["turns"][1]["message"]
    unsaid = played("--commands", commands, "--feedback", "none", capsys=capsys)["turns"]
    assert {(turn["ok"], turn["code"], turn["message"]) for turn in unsaid} == {(True, "", "")}
    assert (data["success"], data["cause"]) == (False, "quit")


def test_a_file_or_the_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    file = tmp_path / "commands.txt"
    file.write_text("\n".join([*SOLUTION, ""]))
    first = played("--commands", str(file), capsys=capsys)
    monkeypatch.setattr("sys.stdin", io.StringIO(file.read_text()))
    assert played("--commands", "-", capsys=capsys) == first
    assert first["success"]


def test_a_listing_is_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("listing", "--commands", "A1 red cube; B4 blue sphere", "--json")
    assert main(["play", *words]) == 0
    (turn,) = json.loads(capsys.readouterr().out)["turns"]
    assert turn["code"] == "LISTED"


def test_at_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter(["?", "goals", "", "nonsense", SOLUTION[0], "quit"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    assert main(["play", "geoms", "--index", "17"]) == 0
    out = capsys.readouterr().out
    assert "(at most 20 turns)" in out and "text@goal" in out
    assert "one move of one piece in words" in out and "[ ] Move the " in out
    assert "\n  directions: left; right; up; down\n" in out
    assert "1: nonsense: UNPARSABLE Failure. That is no command of this board." in out
    assert f"2: {SOLUTION[0]}: MOVED Success." in out and out.endswith("not solved: quit\n")


def test_a_goal_that_reveals_hidden_states_is_shown_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter(["goals", "OPEN Fridge", "goals", "quit"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    assert main(["play", "put_away_food", "--suite", "asgardbench"]) == 0
    assert "[" not in capsys.readouterr().out.partition("1: ")[2].replace("[[", "")
    args = ["--suite", "asgardbench", "--json", "--commands", "FIND Fridge; OPEN Fridge"]
    assert main(["play", "put_away_food", *args]) == 0
    goals = {goal["text"]: goal["holds"] for goal in json.loads(capsys.readouterr().out)["goals"]}
    assert goals["The Fridge is not open"] is False and goals["The Toaster is not on"] is True


def test_recorded_for_reports(tmp_path: Path) -> None:
    out = tmp_path / "human"
    for index, commands in ((17, "; ".join(SOLUTION)), (3, "go")):
        args = ["--index", str(index), "--commands", commands, "--record", str(out)]
        assert main(["play", "geoms", *args]) == 0
    results = {result.index: result for result in read_results(out)}
    assert results[17].success_once and not results[3].success_once
    assert read_run(out).policy == "human" and read_run(out).track == "none"
    regret = results[17].curves["regret"]
    assert regret == [0.0] * (results[17].max_turns + 1)
    assert results[3].curves["regret"][:2] == [0.0, 1.0]  # a turn that is lost
    assert main(["report", str(out)]) == 0


def test_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    data = played("--interface", "index", "--commands", "0; 1 x2", capsys=capsys)
    assert len(data["turns"]) == 3
    for words in ("left", "1.5 2", "-1"):
        with pytest.raises(ClevrSkillsError, match="action"):
            play(PlayArgs(task="geoms", interface="index", commands=words))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "geom"}, "unknown task 'geom'"),
        ({"task": "sortt", "suite": "clevrskills"}, "unknown task 'sortt'; .*mean sort?"),
        ({"split": "test"}, "unknown split 'test'; allowed: train, val, base"),
        ({"view": ("side",)}, "unknown view 'side'"),
        ({"index": 300}, "--index 300: there are 300 frozen episodes"),
        ({"index": -1}, "--index must be at least 0"),
        ({"interface": "delta"}, "unknown interface 'delta'; allowed: text, index"),
        ({"robot": "none"}, "are for sampled episodes: give a --seed"),
        ({"criteria": "mine"}, "unknown criteria 'mine'; allowed: paper, released"),
    ],
)
def test_bad_arguments(change: dict, said: str) -> None:
    with pytest.raises(ClevrSkillsError, match=said):
        play(PlayArgs(**{"task": "geoms", "suite": "ivispar", "commands": "", **change}))


@pytest.mark.slow
def test_the_arm(capsys: pytest.CaptureFixture[str]) -> None:
    commands = "0 0 1 0 0 0 -1 x3; 0 0 0 0 0 0 -1"
    assert main(["play", "pick", "--seed", "5", "--json", "--commands", commands]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["turns"]) == 4 and len({t["state_hash"] for t in data["turns"]}) == 4
    assert data["goals"][0]["holds"] is False and data["cause"] == "quit"
