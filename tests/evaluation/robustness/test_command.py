"""Command ``robustness``: the whole protocol with a real policy."""

import json

import pytest

from clevrskills.cli import main


@pytest.mark.slow
@pytest.mark.render
def test_axes_a_policy_cannot_act_along_are_left_out_and_told(tmp_path, capfd):
    arguments = [
        *("robustness", "throw_topple", "--policy", "checkpoint:zoo/bc-compact-l0"),
        *("--axis", "robot_start", "--axis", "embodiment", "--episodes", "1"),
        *("--out", str(tmp_path / "robust"), "--json"),
    ]
    assert main(arguments) == 1
    told = capfd.readouterr()
    assert "embodiment 1 is left out: " in told.err and "6 numbers of qpos, not 7" in told.err
    (drop,) = json.loads(told.out)["axes"]
    assert drop["axes"] == "robot_start 3" and drop["pairs"] == 1
    assert (tmp_path / "robust" / "report" / "report.html").exists()
