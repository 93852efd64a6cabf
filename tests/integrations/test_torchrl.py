"""The environments in TorchRL, where scripts/setup_clients.sh has installed that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.readers
@pytest.mark.slow
def test_rollouts_in_torchrl():
    package = ROOT / ".venv-clients" / "torchrl"
    if not package.is_dir():
        pytest.skip("no torchrl; make it with scripts/setup_clients.sh")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).parent / "torchrl_probe.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(package)))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [[80], [85], [2, 80]]
