"""Episodes in words as inspect_ai and OpenEnv run them, where scripts/setup_agents.sh was run."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import read_results
from clevrskills.integrations.word_episodes import make_policy, word_request

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-agents/bin/python"
DRIVER = Path(__file__).parent / "harness_driver.py"
COUNT = 12
CASES = [
    ("ivispar", "text", "geoms", COUNT),
    ("asgardbench", "state_text", "turn_on_tv", 3),
    ("clevrskills", "words", "pick", 1),  # of each of two splits
]
"""Suite, preset, task and number of episodes."""
READER = "tests.support.readers.{}:reply"
"""Function that solves the episodes of a suite from what a model is sent."""


@pytest.fixture(scope="module")
def python() -> Path:
    if not PYTHON.exists():
        pytest.skip("no inspect_ai; make it with scripts/setup_agents.sh")
    return PYTHON


def drive(python: Path, *arguments: str, home: Path, **more: str) -> Any:
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT), **more}
    done = subprocess.run(
        [python, DRIVER, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module", params=CASES, ids=[case[0] for case in CASES])
def case(request: pytest.FixtureRequest) -> tuple[str, str, str, int]:
    return request.param


@pytest.fixture(scope="module")
def ours(case: tuple[Any, ...], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of the command with the same scripted model, by episode."""
    suite, preset, task, count = case
    out = tmp_path_factory.mktemp("ours") / "out"
    command = ["evaluate", task, "--suite", suite, "--preset", preset]
    command += [
        "--policy",
        f"chat:{READER.format(suite)}",
        "--episodes",
        str(count),
        "--out",
        str(out),
    ]
    assert main(command) == 0
    return {result.id: result for result in read_results(out)}


def same(result: dict[str, Any], ours: Any) -> bool:
    names = (
        "success_at_end",
        "cause",
        "turns",
        "refused",
        "codes",
        "measures",
        "episode",
        "curves",
    )
    return all(result[name] == getattr(ours, name) for name in names)


@pytest.mark.readers
@pytest.mark.slow
def test_inspect_gives_the_results_of_the_command(
    python: Path, case: tuple[Any, ...], ours: dict[str, Any], tmp_path: Path
) -> None:
    suite, preset, task, count = case
    given = drive(
        *(python, "inspect", suite, preset, task, str(count), str(tmp_path / "logs")),
        home=tmp_path,
        READER=READER.format(suite),
    )
    assert given["results"].keys() == ours.keys() and len(ours) in (count, 2 * count)
    assert all(same(result, ours[name]) for name, result in given["results"].items())
    rate = sum(result.success_at_end for result in ours.values()) / len(ours)
    assert given["means"]["success"] == rate == 1.0
    assert given["means"].get("optimal", 1.0) == 1.0
    usage = {name: result["usage"]["prompt_tokens"] for name, result in given["results"].items()}
    assert usage == {name: 3 * result.turns for name, result in ours.items()}


@pytest.mark.readers
@pytest.mark.slow
def test_inspect_sends_images_and_counts_unreadable_replies(python: Path, tmp_path: Path) -> None:
    given = drive(
        *(python, "inspect", "ivispar", "schematic", "geoms", "2", str(tmp_path / "logs")),
        home=tmp_path,
        REPLY="I cannot see.",
    )
    assert given["images"] == ["data:image/png;base64,"] and given["means"]["success"] == 0
    assert {r["codes"]["UNPARSABLE"] for r in given["results"].values()} == {20}


@pytest.fixture
def server(python: Path, case: tuple[Any, ...], tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    module = "clevrskills.integrations.openenv_server"
    suite, preset, task, count = case
    options = ["--suite", suite, "--tasks", task, "--preset", preset, "--port", str(port)]
    options += ["--count", str(count)]
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    log = (tmp_path / "log").open("w")
    running = subprocess.Popen(
        [python, "-m", module, *options], cwd=ROOT, env=environment, stdout=log, stderr=log
    )
    while running.poll() is None:  # until it listens
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    assert running.poll() is None, (tmp_path / "log").read_text()
    yield f"http://127.0.0.1:{port}"
    running.terminate()
    running.wait(20)


@pytest.mark.readers
@pytest.mark.slow
def test_openenv_gives_the_results_of_the_command(
    python: Path, server: str, case: tuple[Any, ...], ours: dict[str, Any], tmp_path: Path
) -> None:
    given = drive(
        python, "openenv", server, str(len(ours)), home=tmp_path, READER=READER.format(case[0])
    )
    assert given["results"].keys() == ours.keys()
    assert all(same(result, ours[name]) for name, result in given["results"].items())
    assert all(abs(r - ours[name].total_reward) < 1e-6 for name, r in given["rewards"].items())
    refused = given["refused"]
    no_feedback = case[0] == "ivispar"  # the suite's default
    code = "" if no_feedback else "UNPARSABLE"
    assert (refused["ok"], refused["code"], refused["success"]) == (no_feedback, code, False)
    assert refused["progress"] < 0.5 and "\n" not in refused["message"]
    assert len(given["errors"]) == 2
    assert all("either a command or a reply" in error for error in given["errors"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suite": "chess"}, "suite"),
        ({"suite": "ivispar", "tasks": "geom"}, "geom"),
        ({"suite": "ivispar", "preset": "blurred"}, "preset"),
        ({"suite": "ivispar", "interface": "index"}, "is numeric"),
        ({"suite": "ivispar", "policy_arg": "colour=red"}, "colour"),
        ({"suite": "clevrskills", "tasks": "pick"}, "is numeric"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        make_policy(word_request(**options))


def test_names_may_be_a_list_or_a_text() -> None:
    one, other = (
        word_request("ivispar", tasks=t, count=3) for t in ("geoms, tiles", ["geoms", "tiles"])
    )
    assert one.episodes == other.episodes and len(one.episodes) == 6
    drawn = word_request("ivispar", tasks="geoms", split="train", seed=4, count=2)
    assert [ref.id for ref in drawn.episodes] == [f"geoms_train_0000000{k}" for k in (4, 5)]
