"""The page on reinforcement learning is true."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clevrskills.jobs.options import parse
from clevrskills.rl.command import RLArgs
from clevrskills.rl.run import PPOConfig

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rl.md").read_text(encoding="utf-8")


def test_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(RLArgs, ["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = PAGE.split("| option | meaning |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"--[a-z-]+[a-z]", table)) <= known


@pytest.mark.slow
def test_the_vector_environment_of_the_page() -> None:
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "rl.md", "exec"), names)
    assert names["reward"].shape == (16,) and len(names["observation"]) == 16
    names["envs"].close()


def test_options_of_ppo_are_those_of_the_command() -> None:
    args = parse(RLArgs, "trace --out x --gamma 0.9 --hidden 8 8".split())
    assert args.ppo == replace(PPOConfig(), gamma=0.9, hidden=(8, 8))
