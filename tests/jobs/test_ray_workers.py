import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from fake_source import FakeSource
from runs import assert_complete, contents, leftovers, start, wait_for

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.manifest import read_manifest

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parents[1] / "support"
TROUBLE = {1: "fail", 3: "crash"}
TOKEN = "a-token-that-is-used-by-these-tests-only"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Tokens are on; modules of the tests can be found on all nodes, the user's token cannot."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "PYTHONPATH": str(SUPPORT),
        "HOME": str(tmp_path),
    }


@pytest.fixture
def cluster(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen, str]]:
    """A cluster of three nodes that asks for a token, and its address."""
    process = subprocess.Popen(
        [sys.executable, str(SUPPORT / "ray_cluster.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    yield process, process.stdout.readline().strip()
    process.communicate(timeout=60)
    assert workers() == []


def workers() -> list[int]:
    """The actors that do the work."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it just ended
            if b"ray::_Server" in (path / "cmdline").read_bytes() and (
                TOKEN.encode() in (path / "environ").read_bytes()
            ):
                found.append(int(path.name))
    return found


def undisturbed(root: Path, episodes: int) -> Path:
    args = GenerateArgs(tasks=("reach",), episodes=episodes, out=root, workers=2)
    assert generate(args, FakeSource(TROUBLE)) == 0
    return root


def test_a_worker_and_a_node_are_killed(
    tmp_path: Path, environment: Mapping[str, str], cluster: tuple[subprocess.Popen, str]
) -> None:
    process, address = cluster
    options = f"episodes=40, workers=3, driver='ray:{address}'"
    run, out = start(tmp_path, options, TROUBLE, environment)
    wait_for(3, out, run)
    os.kill(workers()[0], signal.SIGKILL)
    wait_for(10, out, run)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("kill\n")
    process.stdin.flush()
    assert process.stdout.readline().strip() == "killed"
    assert len(list(out.glob("reach/*"))) < 40
    _, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert contents(out) == contents(undisturbed(tmp_path / "whole", 40))
    assert_complete(out)
    assert {path.name for path in (out / "manifest").iterdir()} == {"ray.jsonl"}


def test_a_killed_run_ends_its_actors_and_can_be_continued_elsewhere(
    tmp_path: Path, environment: Mapping[str, str], cluster: tuple[subprocess.Popen, str]
) -> None:
    options = f"episodes=1000, workers=2, driver='ray:{cluster[1]}'"
    run, out = start(tmp_path, options, TROUBLE, environment)
    wait_for(3, out, run)
    run.kill()
    run.communicate()
    while workers():
        time.sleep(0.1)
    made = len({line.slot for line in read_manifest(out)}) + 2
    args = GenerateArgs(tasks=("reach",), episodes=made, out=out, workers=2)
    assert generate(args, FakeSource(TROUBLE)) == 0
    assert contents(out) == contents(undisturbed(tmp_path / "whole", made))
    assert_complete(out)


def test_a_cluster_of_its_own(tmp_path: Path, environment: Mapping[str, str]) -> None:
    """The wanted token is made; Ctrl-C and hanging attempts work as with processes."""
    plain = {**environment, "RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": ""}
    options = "episodes=1000, workers=2, driver='ray', timeout=1.5"
    run, out = start(tmp_path, options, {0: "hang"}, plain)
    wait_for(3, out, run)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "interrupted; what is finished is in" in err and "Traceback" not in err
    assert leftovers(out) == []
    assert len(Dataset(out)) >= 3
    failures = Dataset(out).failures()
    assert [(line.seed, line.kind) for line in failures] in ([], [(0, "timeout")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RAY_AUTH_TOKEN": "another-token-of-sufficient-length"}, "cannot join the Ray cluster"),
        ({"RAY_AUTH_TOKEN": ""}, "cannot join the Ray cluster at .*no authentication token"),
    ],
)
def test_without_the_token(
    tmp_path: Path,
    environment: Mapping[str, str],
    cluster: tuple[subprocess.Popen, str],
    change: dict[str, str],
    message: str,
) -> None:
    options = f"episodes=1, driver='ray:{cluster[1]}'"
    run, out = start(tmp_path, options, {}, {**environment, **change})
    _, err = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in err.splitlines()[-1]
    assert re.search(message, err)
    assert not list(out.glob("reach/*"))


def test_a_node_without_the_folder(tmp_path: Path) -> None:
    from clevrskills.jobs.pool import Ready, Refusal
    from clevrskills.jobs.ray_workers import _Server

    marker = tmp_path / "marker"
    marker.touch()
    server = _Server(lambda: str.upper, marker)
    assert server.ready() == Ready() and server.run("a").value == "A"
    shutil.rmtree(tmp_path)
    refusal = server.ready()
    assert isinstance(refusal, Refusal)
    assert f"does not see {tmp_path}: --out must be on storage that all nodes share" in str(refusal)
