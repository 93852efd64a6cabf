"""A small language model, served by transformers as its users do, plays every suite in words."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.freeze import frozen
from clevrskills.evaluation.results import read_results
from clevrskills.suites.symbolic import SymbolicEpisode

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-agents/bin/python"
MODEL = ROOT / ".venv-agents/smollm2"
SERVE = "from transformers.cli.transformers import main; main()"
EPISODES, TURNS, MOST, TOKENS = 2, 2, 8, 24
CASES = [
    ("ivispar", "text", "geoms", "base"),
    ("asgardbench", "state_text", "turn_on_tv", "test"),
    ("lohoravens", "explicit", "pick_place_color", "test"),
    ("clevrskills", "words", "pick", "test"),
]
"""Suite, preset, task and split."""
pytestmark = [pytest.mark.readers, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the model, once it is loaded."""
    if not MODEL.is_dir():
        pytest.skip("no SmolLM2; make it with scripts/setup_agents.sh")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    options = ["--port", str(port), "--host", "127.0.0.1", "--device", "cpu"]
    with log.open("w") as given:
        running = subprocess.Popen(
            [PYTHON, "-c", SERVE, "serve", MODEL, *options],
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            stdout=given,
            stderr=given,
        )
    try:
        while not _answers(f"http://127.0.0.1:{port}/health"):
            assert running.poll() is None, log.read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        running.wait(60)


def _answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except (OSError, urllib.error.URLError):
        return False


def shortened(suite: str, task: str, split: str, folder: Path) -> None:
    """Freeze the first episodes of a task once more, those of symbols with a limit of few turns."""
    known = load_suite(suite).frozen(task, split)
    episodes = [
        replace(episode, limit=TURNS) if isinstance(episode, SymbolicEpisode) else episode
        for episode in islice(known, EPISODES)
    ]
    steps, limits = known.header.oracle_steps[:EPISODES], known.header.limits[:EPISODES]
    shorter = {"episodes": EPISODES, "oracle_steps": steps, "rejected": ()}
    head = replace(known.header, **shorter, limits=limits and (TURNS,) * EPISODES)
    frozen.write(folder, head, episodes)


@pytest.mark.parametrize(("suite", "preset", "task", "split"), CASES)
def test_its_transcripts_are_verified(
    server: str, suite: str, preset: str, task: str, split: str, tmp_path: Path
) -> None:
    shortened(suite, task, split, tmp_path / "frozen")
    given = {"model": MODEL, "max_tokens": TOKENS, "timeout_s": 600, "retries": 0}
    command = ["evaluate", task, "--suite", suite, "--preset", preset, "--split", split]
    command += ["--frozen", str(tmp_path / "frozen"), "--episodes", str(EPISODES)]
    command += ["--policy", f"chat:{server}", "--out", str(tmp_path / "run")]
    for name, value in given.items():
        command += ["--policy-arg", f"{name}={value}"]
    assert main(command) == 0
    results = [*read_results(tmp_path / "run")]
    assert len(results) == EPISODES
    for result in results:
        assert result.error == "" and 0 < result.turns <= MOST
        assert 0 < result.usage["completion_tokens"] <= TOKENS * result.usage["requests"]
    assert main(["reverify", str(tmp_path / "run"), "--frozen", str(tmp_path / "frozen")]) == 0
