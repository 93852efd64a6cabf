"""What was written before version 0.3 is read as it was, body for body."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from clevrskills.assets import shape
from clevrskills.cli import main
from clevrskills.core.episode import FrozenHeader
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.evaluation.freeze.frozen import write
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

OLD = Path(__file__).parent / "data" / "before_0_3"
FROZEN = sorted(
    tuple(path.name.split(".")[0].rsplit("_", 1)) for path in (OLD / "episodes").iterdir()
)
EDGE_M, HEX_M = 0.05, 0.06062
"""Widths of a cube and a hexagon of before, which had no size of their own."""


@pytest.mark.parametrize(("task", "split"), FROZEN)
def test_old_frozen_episodes_start_with_the_bodies_that_they_had(task, split):
    suite = ClevrSkillsSuite(OLD / "episodes")
    assert suite.frozen(task, split).header.benchmark == 0
    env = ClevrSkillsEnv(task, split=split, obs_mode="none")
    for spec in suite.frozen(task, split):
        env.reset(options={"episode": spec})
        for slot, body in enumerate(spec.layout.bodies):
            if body is None or body.size is not None:
                continue
            own = np.array(shape(body.shape).half_extents)
            points = env.world.solids.points[0, slot].numpy()
            assert np.allclose(np.abs(points).max(axis=0), own, atol=1e-4)
    env.close()


def test_primitives_of_old_episodes_are_as_small_as_they_were():
    bodies = {
        body.shape: body.geometry
        for spec in ClevrSkillsSuite(OLD / "episodes").frozen("push", "train")
        for body in spec.layout.bodies
        if body
    }
    for name, width_m in (("cube", EDGE_M), ("hexagon", HEX_M)):
        if name in bodies:
            assert 2 * min(bodies[name].half_extents[:2]) == pytest.approx(width_m, abs=1e-4)
    assert set(bodies) <= {"cube", "cylinder", "triangle", "hexagon"} and len(bodies) >= 2


def test_an_old_dataset_is_read_checked_and_has_its_bodies(tmp_path):
    folder = shutil.copytree(OLD / "dataset", tmp_path / "dataset")
    (episode,) = Dataset(folder)
    info = json.loads((folder / "push" / "train_00000000" / "episode.json").read_text())
    bodies = info["scene"]["bodies"]
    assert episode.info["scene"]["bodies"] == bodies
    assert bodies and all(body["size"] is None for body in bodies)
    assert main(["check", str(folder)]) == 0


def test_old_frozen_episodes_are_evaluated_but_not_mixed_with_new_ones(tmp_path, capsys):
    old, new = tmp_path / "old", tmp_path / "new"
    run = ["evaluate", "--policy", "zero", "push", "--split", "train", "--episodes", "1"]
    assert main([*run, "--frozen", str(OLD / "episodes"), "--out", str(old)]) == 0
    assert json.loads((old / "run.json").read_text())["benchmark"] == 0
    head = FrozenHeader("push", "train", "xarm6", 1, 200, (20,), benchmark=1)
    write(tmp_path, head, [EpisodeSpec.draw("push", "train", 1)])
    assert main([*run, "--frozen", str(tmp_path), "--out", str(new)]) == 0
    assert json.loads((new / "run.json").read_text())["benchmark"] == 1
    for command in (["compare", str(old), str(new)], ["report", str(new), str(old)]):
        assert main(command) != 0
        assert (
            f"{old} is on version 0 of the benchmark, {new} on version 1" in capsys.readouterr().err
        )
