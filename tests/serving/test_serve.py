"""The command ``serve``."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clevrskills.cli import main
from clevrskills.core.policy import PolicyError
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving import connect
from tests.serving.servers import observation, prompt, started


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "oracle"], "the policy oracle needs the environment itself"),
        (["--policy", "best"], "unknown policy 'best'; allowed: oracle, zero"),
        (["--policy", "json:Best"], "unknown attribute of json 'Best'"),
        (["--policy", "no_such_module:Best"], "there is no module no_such_module"),
        (
            ["--policy", "zero", "--policy-arg", "seed"],
            "'seed' is not an argument; allowed: NAME",
        ),
        (
            ["--policy", "zero", "--policy-arg", "seed=3"],
            "cannot make the policy zero: got an unexpected keyword argument 'seed'",
        ),
        (["--policy", "zero", "--api-key-env", "NO_SUCH"], "no API key in the variable NO_SUCH"),
        (["--policy", "replay:/no/such"], "/no/such is not a dataset: it has no dataset.json"),
    ],
)
def test_bad_input_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["serve", "--port", "0", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("clevrskills: ")
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--policy", "zero", "--port", str(port)]) == 2
    assert f"cannot listen at 127.0.0.1:{port}: " in capsys.readouterr().err


def test_arguments_of_a_policy() -> None:
    given = ["size=3", "path=a/b=c", "names=[1, 2]", "flag=true", "empty="]
    expected = {"size": 3, "path": "a/b=c", "names": [1, 2], "flag": True, "empty": ""}
    assert policy_arguments(given) == expected
    for wrong in (["size"], ["=3"], ["a b=3"], ["size=3", "size=4"]):
        with pytest.raises(ClevrSkillsError, match="allowed: NAME=VALUE, each name once"):
            policy_arguments(wrong)


@pytest.mark.parametrize(
    ("name", "dialect"), [("msgpack", "openpi"), ("websockets", "openpi"), ("zmq", "gr00t")]
)
def test_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, dialect: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    said = re.escape(f"policy servers need {name}: pip install 'clevrskills[serve]'")
    with pytest.raises(ClevrSkillsError, match=said):
        connect(f"{dialect}://localhost")


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("dialect", ["openpi", "vla-eval"])
def test_from_start_to_end(dialect: str, end: signal.Signals) -> None:
    arguments = ["serve", "--policy", "random", "--dialect", dialect, "--port", "0"]
    command = [sys.executable, "-m", "clevrskills", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(rf"serving random at ({dialect}://127\.0\.0\.1:\d+) \(health: http", line)
        assert found, line
        policy = connect(found.group(1))
        policy.reset(prompt(3))
        expected = np.random.default_rng(3).uniform(-1, 1, 7).astype(np.float32)
        np.testing.assert_array_equal(policy.act(observation()).ravel(), expected)
        process.send_signal(end)
        assert process.stdout.read() == "stopped\n"
        assert process.wait() == 0


@pytest.mark.slow
def test_a_second_signal_ends_a_policy_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(
        "import threading\n"
        "class Hanging:\n"
        "    def reset(self, prompt): ...\n"
        "    def act(self, observation): threading.Event().wait()\n"
    )
    arguments = ["serve", "--policy", "hanging:Hanging", "--port", "0"]
    command = [sys.executable, "-m", "clevrskills", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        policy = started(process.stdout.readline().split()[3])
        policy.ask(observation())
        process.send_signal(signal.SIGINT)
        with pytest.raises(PolicyError, match="closed the connection"):
            policy.answer()
        process.send_signal(signal.SIGINT)
        assert process.wait() == -signal.SIGINT
