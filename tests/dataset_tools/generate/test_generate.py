import contextlib
import errno
import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from fake_source import FakeSource
from runs import assert_complete, contents, leftovers, start, wait_for

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.manifest import latest_lines, read_manifest
from clevrskills.errors import ClevrSkillsError
from clevrskills.solvers import requirements

TROUBLE = {1: "fail", 3: "crash"}


def seeds(root: Path, task: str = "reach") -> list[int]:
    return [episode.info["seed"] for episode in Dataset(root).filter(task=task)]


def args_for(root: Path, **more: object) -> GenerateArgs:
    return GenerateArgs(**{"tasks": ("reach",), "episodes": 4, "out": root, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four episodes of an undisturbed run."""
    root = tmp_path_factory.mktemp("whole") / "data"
    assert generate(args_for(root), FakeSource(TROUBLE)) == 0
    return root


def test_successes_failures_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    args = args_for(tmp_path, level=("L1",), episodes=3, seed=1, json=True)
    assert generate(args, FakeSource(TROUBLE)) == 0
    assert seeds(tmp_path, "reach") == seeds(tmp_path, "visit") == [2, 10_000_001, 10_000_003]
    failures = {line.seed: line for line in Dataset(tmp_path).failures() if line.task == "visit"}
    assert (failures[1].kind, failures[1].reason, failures[1].steps) == (
        "skill",
        "cannot reach it",
        3,
    )
    assert (failures[3].kind, failures[3].slot, failures[3].number) == ("crash", 2, 0)
    assert failures[3].reason.startswith("ValueError: a bug in the oracle (fake_source.py:")
    line = latest_lines(tmp_path)["visit/train_10000003"]
    assert (line.slot, line.number, line.kind) == (2, 1, "")
    assert line.total_reward == Dataset(tmp_path).episode(line.id).info["return"]
    assert set(line.times_s) > {"reset", "plan", "physics", "render", "encode", "write"}
    assert_complete(tmp_path)
    summary = json.loads(capsys.readouterr().out)
    reach, visit = summary["tasks"]
    assert (reach["task"], reach["level"], visit["task"]) == ("reach", "L0", "visit")
    assert (reach["episodes"], reach["failures"]) == (3, 2)
    assert reach["kinds"] == {"skill": 1, "crash": 1}
    assert reach["success_rate"] == 0.6
    assert reach["interval"] == pytest.approx([0.231, 0.882], abs=1e-3)  # Wilson's, 3 of 5
    assert reach["mean_steps"] == np.mean([len(e) for e in Dataset(tmp_path).filter(task="reach")])
    steps = 3 * reach["mean_steps"]
    assert reach["cpu_s"] * 3 == pytest.approx(reach["cpu_s_per_step"] * steps)
    assert sum(reach["times_s"].values()) == pytest.approx(reach["cpu_s"] * 3, abs=1e-4)
    assert reach["episodes_per_h"] > 0


@pytest.mark.slow
def test_the_same_for_any_number_of_workers_though_one_is_killed(
    tmp_path: Path, whole: Path
) -> None:
    trouble = {**TROUBLE, 2: f"kill once {tmp_path / 'killed'}"}
    root = tmp_path / "data"
    assert generate(args_for(root, workers=2), FakeSource(trouble)) == 0
    assert (tmp_path / "killed").exists()
    assert contents(root) == contents(whole)
    assert_complete(root)


@pytest.mark.slow
def test_an_attempt_that_always_crashes_or_hangs_is_a_failure(tmp_path: Path) -> None:
    args = args_for(tmp_path, episodes=2, seed=4, timeout=1.5, workers=2)
    assert generate(args, FakeSource({4: "exit", 5: "hang"})) == 0
    failures = {line.seed: (line.kind, line.reason) for line in Dataset(tmp_path).failures()}
    assert failures[4] == ("crash", "worker died (exit code 3)")
    assert failures[5] == ("timeout", "not done after 1.5 s")
    assert seeds(tmp_path) == [10_000_004, 10_000_005]
    assert_complete(tmp_path)


def test_continuing(tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture) -> None:
    generate(args_for(tmp_path, episodes=2), FakeSource(TROUBLE))
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*")}
    generate(args_for(tmp_path, episodes=2), FakeSource(TROUBLE))
    assert " - " in capsys.readouterr().out  # no CPU time: nothing was made
    generate(args_for(tmp_path), FakeSource(TROUBLE))
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert contents(tmp_path) == contents(whole)


def test_folders_and_lines_are_reconciled(tmp_path: Path, whole: Path) -> None:
    """The manifest and an episode are lost in part: both come back as they were."""
    root = tmp_path / "data"
    shutil.copytree(whole, root)
    shutil.rmtree(root / "reach/train_00000000")
    manifest = root / "manifest/local.jsonl"
    kept = [t for t in manifest.read_text().splitlines(True) if json.loads(t)["seed"] in (0, 1)]
    manifest.write_text("".join(kept) + '{"task": "reach", "se')
    untouched = (root / "reach/train_00000002/episode.json").stat().st_mtime_ns
    assert generate(args_for(root), FakeSource(TROUBLE)) == 0
    assert contents(root)[0] == contents(whole)[0]
    assert {n.seed for n in read_manifest(root)} == {0, 1, 2, 3, 10_000_001, 10_000_003}
    assert (root / "reach/train_00000002/episode.json").stat().st_mtime_ns == untouched
    for line in latest_lines(root).values():
        assert line.files == latest_lines(whole)[line.id].files
        assert line.total_reward == latest_lines(whole)[line.id].total_reward


@pytest.mark.slow
def test_shards_at_the_same_time(tmp_path: Path, whole: Path) -> None:
    runs = [start(tmp_path, f"episodes=4, shard='{i}/3'", TROUBLE)[0] for i in range(3)]
    for run in runs:
        assert run.wait(timeout=60) == 0, run.stderr and run.stderr.read()
    root = tmp_path / "out"
    assert contents(root) == contents(whole)
    assert_complete(root)
    files = sorted(path.name for path in (root / "manifest").iterdir())
    assert files == [f"shard-{i}-of-3.jsonl" for i in range(3)]


def test_a_shard_without_work(tmp_path: Path) -> None:
    assert generate(args_for(tmp_path, episodes=2, shard="2/3"), FakeSource({})) == 0
    assert len(Dataset(tmp_path)) == 0


def fail_after(count: int, function: object, error: BaseException) -> object:
    """The function, which raises from the ``count``-th call on."""
    calls = iter(range(10**6))

    def wrapper(*args: object, **kwargs: object) -> object:
        if next(calls) >= count:
            raise error
        return function(*args, **kwargs)  # type: ignore[operator]

    return wrapper


@pytest.mark.parametrize(
    ("owner", "name", "count", "kind"),
    [
        (os, "fsync", 30, "full"),
        (os, "fsync", 30, "interrupt"),
        (os, "rename", 1, "full"),
        (pyarrow.parquet, "write_table", 4, "full"),
        (np, "savez_compressed", 1, "interrupt"),
    ],
)
def test_a_stop_anywhere_leaves_nothing_half_written(
    tmp_path: Path,
    whole: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    owner: object,
    name: str,
    count: int,
    kind: str,
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    error = full if kind == "full" else KeyboardInterrupt()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail_after(count, getattr(owner, name), error))
        if kind == "full":
            with pytest.raises(
                ClevrSkillsError, match="^the disk is full: cannot write to [^\n]*$"
            ):
                generate(args_for(tmp_path), FakeSource(TROUBLE))
        else:
            assert generate(args_for(tmp_path), FakeSource(TROUBLE)) == 130
            assert capsys.readouterr().err.count("interrupted; what is finished is in") == 1
    assert leftovers(tmp_path) == []
    assert 1 <= len(Dataset(tmp_path)) < 4
    assert generate(args_for(tmp_path), FakeSource(TROUBLE)) == 0
    assert contents(tmp_path) == contents(whole)
    assert_complete(tmp_path)


@pytest.mark.slow
def test_a_full_disk_in_a_worker_ends_the_run(tmp_path: Path) -> None:
    source = FakeSource({1: f"full once {tmp_path / 'was full'}"})
    root = tmp_path / "data"
    with pytest.raises(ClevrSkillsError, match="^cannot write to [^\n]*: File too large$"):
        generate(args_for(root, workers=2), source)
    assert leftovers(root) == []
    assert generate(args_for(root), source) == 0
    assert_complete(root)


@pytest.mark.slow
def test_a_folder_that_vanishes_is_not_made_again(tmp_path: Path) -> None:
    process, out = start(tmp_path, "episodes=1000, workers=2")
    wait_for(2, out, process)
    os.rename(out, tmp_path / "elsewhere")
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "No such file or directory" in err
    assert not out.exists()
    os.rename(tmp_path / "elsewhere", out)
    made = len(Dataset(out))
    assert generate(args_for(out, episodes=made + 2), FakeSource({})) == 0
    assert_complete(out)


def members(group: int) -> list[str]:
    """The living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it just ended
            state, _, pgid = path.read_text().rpartition(")")[2].split()[:3]
            if int(pgid) == group and state != "Z":
                found.append(path.parent.name)
    return found


def assert_no_process_is_left(group: int) -> None:
    for _ in range(100):
        if not members(group):
            break
        time.sleep(0.05)
    assert members(group) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_signals(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C goes to the whole group of processes, SIGTERM to the first one only."""
    process, out = start(tmp_path, "episodes=1000, workers=2")
    wait_for(2, out, process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what is finished is in" in err and "Traceback" not in err
    assert leftovers(out) == []
    assert 2 <= len(Dataset(out)) < 1000
    assert_no_process_is_left(process.pid)


@pytest.mark.slow
def test_a_killed_run_takes_its_workers_along_and_can_be_continued(tmp_path: Path) -> None:
    process, out = start(tmp_path, "episodes=1000, workers=2")
    wait_for(2, out, process)
    while not (unfinished := leftovers(out)):
        assert process.poll() is None
    process.kill()
    process.communicate(timeout=60)
    assert_no_process_is_left(process.pid)
    (out / unfinished[0]).mkdir(exist_ok=True)  # if it was finished in the meantime
    made = len(Dataset(out))
    assert generate(args_for(out, episodes=made + 1), FakeSource({})) == 0
    assert len(Dataset(out)) == made + 1
    assert_complete(out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ("juggle",)}, "unknown task 'juggle'; allowed: reach, visit, tour"),
        ({"level": ("L7",)}, "unknown level 'L7'; allowed: L0, L1, L2"),
        ({"split": "dev"}, "unknown split 'dev'; allowed: train, test"),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        ({"criteria": "mine"}, "unknown criteria 'mine'; allowed: paper, released"),
        ({"cameras": ("top",)}, "unknown camera 'top'; allowed: base_camera, hand_camera"),
        ({"driver": "slurm"}, "unknown driver 'slurm'; allowed: local, ray"),
        ({"episodes": 0}, "--episodes must be at least 1, not 0"),
        ({"seed": -1}, "--seed must be at least 0, not -1"),
        (
            {"seed": 9_999_999},
            "--seed and --episodes must not exceed 10,000,000 together, not 10,000,003",
        ),
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"size": 0}, "--size must be at least 1, not 0"),
        ({"timeout": 0.0}, "--timeout must be positive, not 0.0"),
        ({"timeout": float("nan")}, "--timeout must be positive, not nan"),
        ({"shard": "3/3"}, "--shard 3/3: allowed is i/n with i from 0 to n - 1"),
        ({"shard": "-1/3"}, "--shard -1/3: allowed is"),
        ({"shard": "x"}, "--shard x: allowed is"),
        ({"shard": "0/3", "driver": "ray"}, "--shard needs --driver local"),
        ({"arg": ("reach.speed=3",)}, "unknown argument of reach 'speed'; allowed: targets"),
        ({"arg": ("run.targets=3",)}, "unknown task in --arg 'run'; allowed: reach, visit, tour"),
        ({"arg": ("targets=3",)}, "--arg targets=3: allowed is TASK.NAME=VALUE"),
        ({"arg": ("reach.targets",)}, "--arg reach.targets: allowed is TASK.NAME=VALUE"),
        ({"tasks": ()}, "nothing to generate: name tasks, a level with --level, or --all"),
    ],
)
def test_bad_arguments(tmp_path: Path, change: dict, message: str) -> None:
    args = args_for(tmp_path / "out", **change)
    with pytest.raises(ClevrSkillsError) as error:
        generate(args, FakeSource({}))
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_suite_in_words_is_not_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "suites/toy_suite"))
    command = ["generate", "lamps_one", "--suite", "lamps:Lamps", "--out", str(tmp_path / "out")]
    assert main([*command, "--depth"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith("Lamps has no arm to film: name views with --view")
    assert not (tmp_path / "out").exists()


def test_bad_output_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    args = args_for(tmp_path)
    with pytest.raises(ClevrSkillsError, match="is not a dataset .* not empty"):
        generate(args, FakeSource({}))
    args.out = tmp_path / "file"
    with pytest.raises(ClevrSkillsError, match="is a file"):
        generate(args, FakeSource({}))
    args.out, args.episodes = tmp_path / "data", 1
    generate(args, FakeSource({}))
    args.robot = "panda"
    with pytest.raises(ClevrSkillsError, match="was made with robot xarm6, not panda"):
        generate(args, FakeSource({}))


def test_arguments_of_tasks(tmp_path: Path) -> None:
    args = args_for(tmp_path, episodes=1, arg=("reach.targets=[1,2]", "tour.targets=few"))
    assert generate(args, FakeSource({})) == 0
    given = {"reach": {"targets": [1, 2]}, "tour": {"targets": "few"}}
    assert Dataset(tmp_path).header.task_args == given
    assert Dataset(tmp_path)[0].info["task_args"] == {"targets": [1, 2]}
    assert generate(args, FakeSource({})) == 0
    args.arg = ("reach.targets=3",)
    with pytest.raises(ClevrSkillsError, match="was made with task_args"):
        generate(args, FakeSource({}))


def test_images(tmp_path: Path) -> None:
    args = args_for(tmp_path, episodes=1, size=32, depth=True, segmentation=True)
    assert generate(args, FakeSource({})) == 0
    (episode,) = Dataset(tmp_path)
    frames = len(episode) + 1
    assert episode.video("base_camera").shape == (frames, 32, 32, 3)
    assert episode.depth("hand_camera").shape == (frames, 32, 32)
    assert episode.segmentation("hand_camera").shape == (frames, 32, 32)
    header = Dataset(tmp_path).header
    assert (header.size_px, header.depth, header.segmentation) == (32, True, True)


def test_an_environment_that_cannot_be_built(tmp_path: Path) -> None:
    message = "cannot build the environment of reach: RuntimeError: no renderer"
    with pytest.raises(ClevrSkillsError, match=message):
        generate(args_for(tmp_path), FakeSource({}, broken=True))
    assert list(read_manifest(tmp_path)) == []


def test_giving_up(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    numbers = [j * 10_000_000 for j in range(100)]
    source = FakeSource(dict.fromkeys(numbers, "fail"))
    for _ in range(2):
        with pytest.raises(ClevrSkillsError, match=r"gave up on reach \(20 failures\)"):
            generate(args_for(tmp_path, no_cameras=True), source)
    assert len(list(read_manifest(tmp_path))) == 23
    assert seeds(tmp_path) == [1, 2, 3]
    assert "20 skill" in capsys.readouterr().out


class NoOracle(FakeSource):
    """A suite whose oracle cannot run here."""

    def oracle(self, env: object, interface: object = None) -> None:  # type: ignore[override]
        raise ClevrSkillsError("there is no planner")


def test_without_the_oracle_only_replay_works(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "planner_obstacle", lambda _="": "there is none")
    with pytest.raises(ClevrSkillsError, match="the oracle needs python-fcl, but there is none"):
        generate(args_for(tmp_path / "data"), NoOracle({}))
    assert not (tmp_path / "data").exists()
    report = check_dataset(whole, replay=2, suite=NoOracle(TROUBLE))
    assert report.replayed == 2 and report.faults == []
