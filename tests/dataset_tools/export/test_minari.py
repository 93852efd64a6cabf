"""Exports as Minari datasets, read again by Minari in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError

ROOT = Path(__file__).parents[3]
MINARI = ROOT / ".venv-clients/minari"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode of each split of the real simulation."""
    out = tmp_path_factory.mktemp("minari") / "demos"
    for split in ("train", "test"):
        args = GenerateArgs(tasks=("pick",), episodes=1, split=split, out=out, no_cameras=True)
        assert generate(args) == 0
    return out


@pytest.fixture(scope="module")
def exported(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "out"
    write_dataset(select(Dataset(recorded)), "minari", out)
    return out


@pytest.mark.slow
def test_outcomes_of_actions_are_exported(recorded: Path, exported: Path) -> None:
    names = ("oracle-test-v0", "oracle-v0", "random-test-v0", "random-v0")
    folder = exported / "clevrskills/pick"
    assert sorted(path.name for path in folder.iterdir()) == [*names]
    described = {
        name: json.loads((folder / name / "data/metadata.json").read_text()) for name in names
    }
    (episode,) = Dataset(recorded).filter(split="test")
    spec = gym.envs.registration.EnvSpec.from_json(described["oracle-test-v0"]["env_spec"])
    env = gym.make(spec)
    for name in ("oracle-test-v0", "random-test-v0"):
        with h5py.File(folder / name / "data/main_data.hdf5") as file:
            (group,) = file.values()
            said, seen = (
                dict(group.attrs),
                {name: group[name][:] for name in group if name != "infos"},
            )
            infos = {name: values[:] for name, values in group["infos"].items()}
        assert (said["source"], said["seed"]) == (episode.id, episode.info["seed"])
        assert said["instruction"] == episode.prompt["plain"]
        assert said["total_steps"] == described[name]["total_steps"] == len(seen["actions"])
        observation, _ = env.reset(seed=int(said["seed"]))
        assert np.array_equal(observation, seen["observations"][0])
        for step, action in enumerate(seen["actions"]):
            observation, *outcome, info = env.step(action)
            assert np.array_equal(observation, seen["observations"][step + 1])
            assert [
                seen[key][step] for key in ("rewards", "terminations", "truncations")
            ] == outcome
            assert infos["progress"][step + 1] == info["progress"]
        assert said["success"] == info["success"] == name.startswith("oracle")
        if said["success"]:
            assert np.array_equal(seen["actions"], episode.actions)
            assert np.array_equal(infos["dense_reward"][1:], episode.rewards)
        low, high = (described[name][f"ref_{which}_score"] for which in ("min", "max"))
        assert np.isclose(seen["rewards"].sum(), high if said["success"] else low)
    env.close()


def test_actions_that_solve_nothing_are_no_demonstration(recorded: Path, tmp_path: Path) -> None:
    changed = tmp_path / "demos"
    shutil.copytree(recorded, changed)
    path = changed / "pick/train_00000000/steps.parquet"
    table = pq.read_table(path)
    still = pa.array(
        np.zeros((len(table), 7), np.float32).tolist(), table.schema.field("action").type
    )
    table = table.set_column(
        table.column_names.index("action"), table.schema.field("action"), still
    )
    pq.write_table(table, path)
    with pytest.raises(ClevrSkillsError, match="its replay does not solve the task"):
        write_dataset(select(Dataset(changed)), "minari", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.readers
def test_minari_reads_them_and_recovers_the_environment(exported: Path, tmp_path: Path) -> None:
    if not MINARI.exists():
        pytest.skip(f"{MINARI.relative_to(ROOT)} is missing; make it with scripts/setup_clients.sh")
    root = tmp_path / "datasets"
    shutil.copytree(exported, root)
    script = Path(__file__).parent / "readers/minari_reader.py"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{MINARI}"}
    command = [sys.executable, script, root, tmp_path / "seen.npz"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report.pop("mixed") == 2
    kinds = ("oracle-test", "oracle", "random-test", "random")
    assert sorted(report) == sorted(f"clevrskills/pick/{kind}-v0" for kind in kinds)
    with np.load(tmp_path / "seen.npz") as seen:
        for name, given in report.items():
            (source,) = given["episodes"]
            assert given["algorithm"] == name.rpartition("/")[2].partition("-")[0]
            assert given["scores"] == [0.0, 1.0]
            for one, other in (("observations", "environment"), ("rewards", "earned")):
                written, found = (seen[f"{name}:{source}:{key}"] for key in (one, other))
                assert np.array_equal(written, found)
