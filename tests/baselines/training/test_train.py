"""``clevrskills train``: losses, files, and exact continuation."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from learned_policies import read_log

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.policies.bc.policy import BehaviorCloning, BehaviorCloningConfig
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.baselines.training.trainer import learning_rate
from clevrskills.baselines.training.training_config import open_training
from clevrskills.core.checkpoint import WEIGHTS_FILE, find, read_tensors
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.run_folder import locked

SMALL = ("batch_size=16", "vacuum_weight=0.2", "warm_up_steps=2")


def args_for(out: Path, demos: Path, **more: object) -> TrainArgs:
    given = {
        "policy": "bc",
        "configuration": "tiny",
        "set": SMALL,
        "steps": 9,
        "save_every": 3,
        "log_every": 2,
        "workers": 0,
        "cpu": True,
        **more,
    }
    return TrainArgs(data=(demos,), out=out, **given)  # type: ignore[arg-type]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return read_tensors(find(out) / WEIGHTS_FILE)


def logged(out: Path) -> dict[int, dict[str, float]]:
    """The log but for how long it took."""
    return {
        step: {name: value for name, value in line.items() if name != "seconds"}
        for step, line in read_log(out).items()
    }


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


@pytest.fixture(scope="module")
def undisturbed(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("training") / "undisturbed"
    assert train(args_for(out, demos)) == 0
    return out


def test_files_of_a_training_run(undisturbed: Path) -> None:
    kept = sorted(path.name for path in (undisturbed / "checkpoints").iterdir())
    assert kept == ["00000006", "00000009"]
    assert (undisturbed / "checkpoints/00000006/optimizer.safetensors").exists()
    assert not (undisturbed / "checkpoints/00000009/optimizer.safetensors").exists()
    log = read_log(undisturbed)
    assert list(log) == [2, 3, 4, 6, 8, 9]
    parts = {"loss", "motion", "vacuum"}
    assert set(log[2]) == {*parts, "gradient_norm", "learning_rate", "seconds"}
    assert 0 <= log[2]["seconds"] <= log[9]["seconds"]
    assert log[9]["loss"] < log[2]["loss"]
    assert list((undisturbed / "tensorboard").iterdir())
    about = checkpoint.describe(find(undisturbed))
    assert about.provenance["tasks"] == ["reach", "visit"] and about.provenance["seed"] == 0
    assert about.provenance["trained_parameters"] == about.provenance["parameters"] > 1e5
    assert load(undisturbed, "cpu").config.vacuum_weight == 0.2
    assert load(undisturbed, "cpu").track == "open (8 demonstrations)"


def test_a_finished_training_is_left_as_it_is(
    undisturbed: Path, demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in undisturbed.rglob("*.safetensors")}
    assert train(args_for(undisturbed, demos)) == 0
    assert {p: p.stat().st_mtime_ns for p in undisturbed.rglob("*.safetensors")} == before
    assert "trained for 9 steps" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_it_continues_as_if_undisturbed(
    undisturbed: Path, demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    loss, calls = BehaviorCloning.loss, 0

    def interrupted(self, batch):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        if calls == 6:
            for worker in multiprocessing.active_children():  # the whole group gets the signal
                subprocess.run(["kill", "-TERM", str(worker.pid)], check=True)
                wait([worker.sentinel], timeout=0.3)
            raise KeyboardInterrupt
        return loss(self, batch)

    args = args_for(tmp_path / "run", demos, workers=workers)
    monkeypatch.setattr(BehaviorCloning, "loss", interrupted)
    assert train(args) == 130
    assert find(args.out).name == "00000003"
    monkeypatch.undo()
    torch.rand(3)  # what else the process drew must not matter
    assert train(args) == 0
    assert logged(args.out) == logged(undisturbed)
    assert same(weights(args.out), weights(undisturbed))


def test_numbers_too_small_to_be_normal_count_as_0_in_training_alone(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, found = BehaviorCloning.loss, []
    small = torch.full((1,), 1e-30)

    def watched(self, batch):  # type: ignore[no-untyped-def]
        found.append(float(small * 1e-10))
        return loss(self, batch)

    monkeypatch.setattr(BehaviorCloning, "loss", watched)
    assert train(args_for(tmp_path / "run", demos, steps=1)) == 0
    assert found == [0.0] and float(small * 1e-10) > 0.0


def test_a_loss_that_is_no_number_ends_it_and_keeps_the_checkpoints(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, calls = BehaviorCloning.loss, 0

    def lost(self, batch):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        found = loss(self, batch)
        return found if calls < 5 else {**found, "loss": found["loss"] * torch.nan}

    monkeypatch.setattr(BehaviorCloning, "loss", lost)
    with pytest.raises(ClevrSkillsError, match=r"nan at step 6: .* the latest checkpoint is kept"):
        train(args_for(tmp_path / "run", demos))
    assert find(tmp_path / "run").name == "00000003"


def test_the_seed_decides(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    assert train(args_for(tmp_path / "same", demos)) == 0
    assert same(weights(tmp_path / "same"), weights(undisturbed))
    assert train(args_for(tmp_path / "other", demos, seed=1)) == 0
    assert not same(weights(tmp_path / "other"), weights(undisturbed))


def test_several_batches_to_a_step(demos: Path, tmp_path: Path) -> None:
    """Two batches of two are one of four, where all windows have equally many steps to learn."""
    sets = ("horizon=1", "execution_horizon=1")
    one = args_for(tmp_path / "one", demos, steps=2, set=(*sets, "batch_size=4"))
    two = args_for(tmp_path / "two", demos, steps=2, set=(*sets, "batch_size=2"), accumulate=2)
    assert train(one) == 0
    assert train(two) == 0
    first, second = weights(one.out), weights(two.out)
    assert max((first[n] - second[n]).abs().max() for n in first) < 1e-4


def test_from_a_checkpoint(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    args = args_for(
        tmp_path / "tuned",
        demos,
        from_=undisturbed,
        policy=None,
        configuration=None,
        set=("learning_rate=0.0", "weight_decay=0.0"),
        task=("visit",),
        steps=1,
    )
    assert train(args) == 0
    assert same(weights(args.out), weights(undisturbed))
    about = [checkpoint.describe(find(path)) for path in (args.out, undisturbed)]
    assert about[0].spec == about[1].spec  # though the mean action of this task is another
    assert about[0].provenance["tasks"] == ["visit"]
    assert about[0].provenance["from"] == str(undisturbed)
    tuned = load(args.out, "cpu")
    assert tuned.track == "open (12 demonstrations)"
    assert {*tuned.trained_tasks} == {*about[1].provenance["tasks"]} > {"visit"}


def test_from_a_checkpoint_with_another_configuration(
    undisturbed: Path, demos: Path, tmp_path: Path
) -> None:
    args = args_for(tmp_path / "run", demos, from_=undisturbed, set=("batch_size=2",), steps=1)
    assert train(args) == 0
    config = load(args.out, "cpu").config
    assert (config.batch_size, config.vacuum_weight) == (2, 0.1)  # the checkpoint has 0.2
    other = args_for(tmp_path / "other", demos, from_=undisturbed, configuration="default")
    with pytest.raises(ClevrSkillsError, match="is not a checkpoint of this policy: .* do not fit"):
        train(other)


def test_bfloat16(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    """In the process of a training of full precision, and followed by another such one."""
    assert train(args_for(tmp_path / "run", demos, bf16=True, accumulate=2, steps=4)) == 0
    assert read_log(tmp_path / "run")[4]["loss"] < 10
    assert {tensor.dtype for tensor in weights(tmp_path / "run").values()} == {torch.float32}
    assert train(args_for(tmp_path / "again", demos)) == 0
    assert same(weights(tmp_path / "again"), weights(undisturbed))


def test_beside_something_else_with_accelerate(demos: Path, tmp_path: Path) -> None:
    Accelerator(cpu=True)
    try:
        with pytest.raises(ClevrSkillsError, match="^this process already trains with accelerate"):
            train(args_for(tmp_path / "run", demos))
        assert AcceleratorState().initialized
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def test_words_alone(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="has text prompts only: add --prompt language"):
        train(args_for(tmp_path / "none", exported))
    assert not (tmp_path / "none").exists()
    args = args_for(tmp_path / "run", exported, prompt="language", steps=2)
    assert train(args) == 0
    assert load(args.out, "cpu").observation.prompt == "language"


def test_the_learning_rate() -> None:
    config = BehaviorCloningConfig(learning_rate=1.0, warm_up_steps=10)
    rates = [learning_rate(step, 110, config, config.learning_rate) for step in range(110)]
    assert rates[0] == pytest.approx(0.1) and rates[9] == pytest.approx(1.0)
    assert rates[60] == pytest.approx(0.55) and rates[109] == pytest.approx(0.1, abs=1e-3)
    assert all(a > b for a, b in zip(rates[10:], rates[11:], strict=False))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "--steps must be at least 1, not 0"),
        ({"save_every": 0}, "--save-every must be at least 1, not 0"),
        ({"policy": None}, "name a policy with --policy, or a checkpoint with --from"),
        ({"policy": "gpt"}, "unknown policy 'gpt'"),
        ({"configuration": "huge"}, "unknown configuration of bc 'huge'"),
        ({"set": ("width",)}, "'width' is not an argument; allowed: NAME=VALUE"),
        ({"set": ("wdth=3",)}, "unknown entry of BehaviorCloningConfig 'wdth'"),
        ({"task": ("sort",)}, "unknown task of the demonstrations 'sort'"),
        ({"weight": ("reach=much",)}, "--weight reach must be a number, not 'much'"),
        ({"from_": Path("nowhere"), "configuration": None}, "there is no folder nowhere"),
        ({"evaluate_every": 5}, "unknown task 'reach'"),
        ({"evaluate_workers": 0}, "--evaluate-workers must be at least 1, not 0"),
        ({"set": ("heads=3",)}, "policy bc cannot be built: embed_dim must be divisible by"),
        (
            {"policy": "json:loads"},
            "policy json:loads cannot be trained: it is not a subclass",
        ),
    ],
)
def test_bad_arguments(demos: Path, tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        train(args_for(tmp_path / "run", demos, **changes))


def test_a_run_without_checkpoint_starts_again(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(ClevrSkillsError, match="cannot be built"):
        train(args_for(out, demos, set=("heads=3",)))
    with locked(out), pytest.raises(ClevrSkillsError, match="another process is writing to"):
        train(args_for(out, demos, steps=1))
    assert train(args_for(out, demos, steps=1)) == 0


def test_other_files_of_the_same_names_are_another_training(
    undisturbed: Path, demos: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(undisturbed, tmp_path / "run"))
    path = out / "training.json"
    begun = json.loads(path.read_text())
    path.write_text(json.dumps({**begun, "files": "of another look"}))
    with pytest.raises(ClevrSkillsError, match="was trained with files"):
        train(args_for(out, demos))


def test_another_number_of_processes_is_another_training(tmp_path: Path) -> None:
    out = tmp_path / "run"
    open_training(out, {"seed": 0, "processes": 1})
    (out / "checkpoints" / "00000005").mkdir(parents=True)
    (out / "checkpoints" / "00000005" / "config.json").write_text("{}")
    open_training(out, {"seed": 0, "processes": 1})
    with pytest.raises(ClevrSkillsError, match="was trained with processes 1, not 2"):
        open_training(out, {"seed": 0, "processes": 2})


def test_no_data(tmp_path: Path) -> None:
    args = args_for(tmp_path / "run", tmp_path)
    args.data = ()
    with pytest.raises(ClevrSkillsError, match="name a folder with --data"):
        train(args)


def test_another_training(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    for change, message in (
        (
            {"seed": 3},
            "was trained with seed 0, not 3; give another folder; --from .*undisturbed",
        ),
        ({"steps": 10}, "was trained with steps 9, not 10"),
        ({"task": ("visit",)}, "was trained with demonstrations"),
    ):
        with pytest.raises(ClevrSkillsError, match=message):
            train(args_for(undisturbed, demos, **change))
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(
        ClevrSkillsError, match=r"is no training \(no training.json\) and not empty"
    ):
        train(args_for(tmp_path, demos))


def test_a_checkpoint_of_another_policy(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    args = args_for(
        tmp_path / "run", demos, policy="octo", configuration=None, from_=undisturbed, set=()
    )
    with pytest.raises(ClevrSkillsError, match="is a checkpoint of bc, not of octo"):
        train(args)


CODE = (
    "import json, sys, torch; torch.set_num_threads(1);"
    "sys.path[:0] = [sys.argv[1], f'{sys.argv[1]}/tests/support'];"
    "from pathlib import Path; from tests.baselines.training.test_train import args_for;"
    "from clevrskills.baselines.training.train import train;"
    "sys.exit(train(args_for(Path(sys.argv[2]), Path(sys.argv[3]), **json.loads(sys.argv[4]))))"
)


def command(args: TrainArgs, demos: Path, **more: object) -> list[str]:
    """Arguments of a Python that trains; see ``args_for``."""
    root = Path(__file__).parents[3]
    return ["-c", CODE, str(root), str(args.out), str(demos), json.dumps(more)]


@pytest.mark.slow
def test_killed(undisturbed: Path, demos: Path, tmp_path: Path) -> None:
    """Killed at any time, run again: the same losses and weights, bit for bit."""
    given = args_for(tmp_path / "run", demos)
    line = [sys.executable, *command(given, demos)]
    log = given.out / "log.jsonl"
    process = subprocess.Popen(line)
    while not (log.exists() and log.read_text().count("\n") >= 3):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert subprocess.run(line, check=False).returncode == 0
    assert logged(given.out) == logged(undisturbed)
    assert same(weights(given.out), weights(undisturbed))
    assert json.loads((given.out / "training.json").read_text())["steps"] == 9


@pytest.mark.slow
def test_two_processes(demos: Path, tmp_path: Path) -> None:
    """Two with batches of two are one with batches of four."""
    sets = ("horizon=1", "execution_horizon=1")
    one = args_for(tmp_path / "one", demos, set=(*sets, "batch_size=4"))
    assert train(one) == 0
    two = args_for(tmp_path / "two", demos)
    (tmp_path / "script.py").write_text(CODE)
    spread = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    words = command(two, demos, set=(*sets, "batch_size=2"))[2:]
    subprocess.run([*spread, str(tmp_path / "script.py"), *words], check=True)
    losses = [[line["loss"] for line in read_log(args.out).values()] for args in (one, two)]
    assert len(losses[0]) == 6
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
