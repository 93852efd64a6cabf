"""Command ``robustness``: the whole protocol with a real policy."""

import json
from pathlib import Path

import pytest

from clevrskills.baselines import checkpoint
from clevrskills.baselines.registry import build, configuration
from clevrskills.baselines.spec import PolicySpec
from clevrskills.cli import main
from clevrskills.core.policy import ObservationOptions


def six_joint_policy(folder: Path) -> str:
    """Write an untrained policy that needs six joint angles, and return its name."""
    config = configuration("bc", "tiny", {"cameras": []})
    sizes = {"state": 6, "action": 7}
    statistics = {name: {"mean": [0.0] * n, "std": [1.0] * n} for name, n in sizes.items()}
    spec = PolicySpec(ObservationOptions(cameras=()), {"qpos": 6}, statistics)
    about = checkpoint.CheckpointDescription("bc", config, spec, {})
    folder.mkdir()
    checkpoint.write(folder, build("bc", config, spec), about)
    return f"checkpoint:{folder}"


@pytest.mark.slow
@pytest.mark.render
def test_axes_a_policy_cannot_act_along_are_skipped_with_a_message(tmp_path, capfd):
    arguments = [
        *("robustness", "throw_topple", "--policy", six_joint_policy(tmp_path / "policy")),
        *("--axis", "robot_start", "--axis", "embodiment", "--episodes", "1"),
        *("--out", str(tmp_path / "robust"), "--json"),
    ]
    assert main(arguments) == 1
    printed = capfd.readouterr()
    assert "embodiment 1 is skipped: " in printed.err and "6 numbers of qpos, not 7" in printed.err
    (drop,) = json.loads(printed.out)["axes"]
    assert drop["axes"] == "robot_start 3" and drop["pairs"] == 1
    assert (tmp_path / "robust" / "report" / "report.html").exists()
