import contextlib
import errno
import filecmp
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import tyro
from fake_source import FakeSource
from PIL import Image

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.generate import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError

TROUBLE = {1: "fail", 3: "crash"}


def trees_are_equal(a: Path, b: Path) -> bool:
    """Whether two datasets have the same files with the same bytes, up to the order of failures."""
    compared = filecmp.dircmp(a, b, ignore=["failures.jsonl", ".lock"])
    pending = [compared]
    while pending:
        node = pending.pop()
        _, different, odd = filecmp.cmpfiles(
            node.left, node.right, node.common_files, shallow=False
        )
        if node.left_only or node.right_only or odd or different not in ([], ["failures.jsonl"]):
            return False
        pending.extend(node.subdirs.values())
    return sorted(lines(a / "failures.jsonl")) == sorted(lines(b / "failures.jsonl"))


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".partial")]


def test_successes_failures_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    args = GenerateArgs(tasks=("reach",), level=("L1",), episodes=3, out=tmp_path, json=True)
    assert generate(args, FakeSource(TROUBLE)) == 0
    assert [e.info["seed"] for e in Dataset(tmp_path)] == [0, 2, 4, 0, 2, 4]
    failures = [json.loads(line) for line in lines(tmp_path / "failures.jsonl")]
    assert failures[0] == {
        "task": "reach",
        "split": "train",
        "seed": 1,
        "reason": "cannot reach it",
        "steps": 3,
    }
    assert failures[1]["reason"].startswith("crash: ValueError: a bug in the oracle (fake_source")
    summary = json.loads(capsys.readouterr().out)
    reach, visit = summary["tasks"]
    assert (reach["task"], reach["level"], visit["task"]) == ("reach", "L0", "visit")
    assert (reach["episodes"], reach["failures"]) == (3, 2)
    assert reach["success_rate"] == 0.6
    assert reach["interval"] == pytest.approx([0.231, 0.882], abs=1e-3)  # Wilson's, 3 of 5
    assert reach["mean_steps"] == np.mean([len(e) for e in Dataset(tmp_path).filter(task="reach")])
    assert reach["cpu_s"] > 0


def test_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    for workers in (1, 3):
        args = GenerateArgs(level=("L0", "L1"), episodes=4, out=tmp_path / str(workers))
        args.workers = workers
        assert generate(args, FakeSource(TROUBLE)) == 0
    assert trees_are_equal(tmp_path / "1", tmp_path / "3")


def test_a_killed_worker_costs_one_attempt(tmp_path: Path) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=4, out=tmp_path, workers=2)
    assert generate(args, FakeSource({2: "kill"})) == 0
    assert [e.info["seed"] for e in Dataset(tmp_path)] == [0, 1, 3, 4]
    (failure,) = Dataset(tmp_path).failures()
    assert (failure.seed, failure.reason) == (2, "worker died (killed by SIGKILL)")
    assert leftovers(tmp_path) == []


def test_continuing(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=2, out=tmp_path / "a")
    generate(args, FakeSource(TROUBLE))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "a").rglob("*") if p.is_file()}
    generate(args, FakeSource(TROUBLE))
    assert "-" in capsys.readouterr().out  # no CPU time: nothing was made
    args.episodes = 5
    generate(args, FakeSource(TROUBLE))
    after = {p: p.stat().st_mtime_ns for p in before if p.name not in ("failures.jsonl", ".lock")}
    assert after.items() <= before.items()
    whole = GenerateArgs(tasks=("reach",), episodes=5, out=tmp_path / "b")
    generate(whole, FakeSource(TROUBLE))
    assert trees_are_equal(tmp_path / "a", tmp_path / "b")


def fail_after(count: int, function: object, error: BaseException) -> object:
    """The function, which raises from the ``count``-th call on."""
    calls = iter(range(10**6))

    def wrapper(*args: object, **kwargs: object) -> object:
        if next(calls) >= count:
            raise error
        return function(*args, **kwargs)  # type: ignore[operator]

    return wrapper


@pytest.mark.parametrize(
    ("owner", "name", "count"),
    [
        (os, "fsync", 30),
        (os, "rename", 1),
        (Image.Image, "save", 7),
        (pyarrow.parquet, "write_table", 1),
        (np, "savez_compressed", 1),
    ],
)
@pytest.mark.parametrize("kind", ["full", "interrupt"])
def test_a_stop_anywhere_leaves_nothing_half_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    owner: object,
    name: str,
    count: int,
    kind: str,
) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=3, out=tmp_path / "a")
    full = OSError(errno.ENOSPC, "No space left on device")
    error = full if kind == "full" else KeyboardInterrupt()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail_after(count, getattr(owner, name), error))
        if kind == "full":
            with pytest.raises(
                ClevrSkillsError, match="^the disk is full: cannot write to [^\n]*$"
            ):
                generate(args, FakeSource(TROUBLE))
        else:
            assert generate(args, FakeSource(TROUBLE)) == 130
            assert capsys.readouterr().err.count("interrupted; what is finished is in") == 1
    assert leftovers(tmp_path / "a") == []
    for episode in Dataset(tmp_path / "a"):
        assert len(episode.video("base_camera")) == len(episode.states) == len(episode.steps) + 1
    assert len(Dataset(tmp_path / "a")) < 3
    assert generate(args, FakeSource(TROUBLE)) == 0
    assert (
        generate(
            GenerateArgs(tasks=("reach",), episodes=3, out=tmp_path / "b"), FakeSource(TROUBLE)
        )
        == 0
    )
    assert trees_are_equal(tmp_path / "a", tmp_path / "b")


def members(group: int) -> list[str]:
    """The living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it just ended
            state, _, pgid = path.read_text().rpartition(")")[2].split()[:3]
            if int(pgid) == group and state != "Z":
                found.append(path.parent.name)
    return found


def start(directory: Path, workers: int) -> tuple[subprocess.Popen, Path]:
    """A long run in a process group of its own; it has made two episodes when this returns."""
    script, out, here = directory / "script.py", directory / "out", Path(__file__).parent
    script.write_text(
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from pathlib import Path\n"
        "from fake_source import FakeSource\n"
        "from clevrskills.dataset_tools.generate import GenerateArgs, generate\n"
        "args = GenerateArgs(tasks=('reach',), episodes=100, out=Path(sys.argv[3]))\n"
        "args.workers = int(sys.argv[4])\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(generate(args, FakeSource({}, delay_s=0.02)))\n"
    )
    command = [sys.executable, script, here, here.parents[1], out, workers]
    process = subprocess.Popen(
        [*map(str, command)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell that runs the tests in the background makes them ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while len(list(out.glob("reach/*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    return process, out


def assert_no_process_is_left(group: int) -> None:
    for _ in range(100):
        if not members(group):
            break
        time.sleep(0.05)
    assert members(group) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_signals(tmp_path: Path, workers: int, number: signal.Signals) -> None:
    """Ctrl-C goes to the whole group of processes, SIGTERM to the first one only."""
    process, out = start(tmp_path, workers)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what is finished is in" in err and "Traceback" not in err
    assert leftovers(out) == []
    assert 2 <= len(Dataset(out)) < 100
    assert_no_process_is_left(process.pid)


def test_a_killed_run_takes_its_workers_along_and_can_be_continued(tmp_path: Path) -> None:
    process, out = start(tmp_path, workers=2)
    process.kill()
    process.communicate(timeout=60)
    assert_no_process_is_left(process.pid)
    made = len(Dataset(out))
    assert leftovers(out) != []
    assert generate(GenerateArgs(tasks=("reach",), episodes=made + 1, out=out), FakeSource({})) == 0
    assert leftovers(out) == []
    assert len(Dataset(out)) == made + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ("juggle",)}, "unknown task 'juggle'; allowed: reach, visit, tour"),
        ({"level": ("L7",)}, "unknown level 'L7'; allowed: L0, L1, L2"),
        ({"split": "dev"}, "unknown split 'dev'; allowed: train, test"),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        ({"criteria": "mine"}, "unknown criteria 'mine'; allowed: paper, released"),
        ({"cameras": ("top",)}, "unknown camera 'top'; allowed: base_camera, hand_camera"),
        ({"episodes": 0}, "--episodes must be at least 1, not 0"),
        ({"seed": -1}, "--seed must be at least 0, not -1"),
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"tasks": ()}, "nothing to generate: name tasks, or a level with --level"),
    ],
)
def test_bad_arguments(tmp_path: Path, change: dict, message: str) -> None:
    args = GenerateArgs(**{"tasks": ("reach",), "out": tmp_path / "out", **change})
    with pytest.raises(ClevrSkillsError) as error:
        generate(args, FakeSource({}))
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_bad_output_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    args = GenerateArgs(tasks=("reach",), out=tmp_path)
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


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_cannot_be_built(tmp_path: Path, workers: int) -> None:
    args = GenerateArgs(tasks=("reach",), out=tmp_path, workers=workers)
    message = "cannot build the environment of reach: RuntimeError: no renderer"
    with pytest.raises(ClevrSkillsError, match=message):
        generate(args, FakeSource({}, broken=True))
    assert lines(tmp_path / "failures.jsonl") == []


def test_giving_up(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = FakeSource(dict.fromkeys(range(100), "fail"))
    args = GenerateArgs(tasks=("reach",), episodes=2, out=tmp_path)
    for _ in range(2):
        with pytest.raises(ClevrSkillsError, match=r"gave up on reach \(21 failures\)"):
            generate(args, source)
    assert len(lines(tmp_path / "failures.jsonl")) == 21
    assert "reach" in capsys.readouterr().out


def test_no_cameras(tmp_path: Path) -> None:
    args = GenerateArgs(tasks=("reach",), episodes=1, out=tmp_path, no_cameras=True)
    assert generate(args, FakeSource({})) == 0
    assert Dataset(tmp_path)[0].cameras == ()


def test_command_line() -> None:
    words = "reach tour --level L0 --level L1 --episodes 3 --out data --cameras hand_camera --json"
    args = tyro.cli(GenerateArgs, args=words.split())
    assert args == GenerateArgs(
        tasks=("reach", "tour"),
        level=("L0", "L1"),
        episodes=3,
        out=Path("data"),
        cameras=("hand_camera",),
        json=True,
    )
    assert tyro.cli(GenerateArgs, args="reach --out data --no-cameras".split()).no_cameras
