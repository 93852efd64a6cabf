"""Runs of ``generate`` and their expected files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.manifest import file_hashes, latest_lines, read_manifest


def contents(root: Path) -> tuple[dict, list]:
    """All that must not depend on who made it, nor when: the files and most of the manifest."""
    files = {k: v for k, v in file_hashes(root).items() if not k.startswith((".lock", "manifest/"))}
    lines = [
        (n.task, n.seed, n.slot, n.number, n.success, n.kind, n.reason, n.steps, n.total_reward)
        for n in read_manifest(root)
    ]
    return files, sorted(lines)


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".partial")]


def assert_complete(root: Path) -> None:
    """Every episode is whole, has one line, and its files are those of the line."""
    lines = latest_lines(root)
    assert set(lines) == set(Dataset(root).ids)
    for episode in Dataset(root):
        found = {name: list(value) for name, value in file_hashes(episode.path).items()}
        assert found == lines[episode.id].files
        assert len(episode.video("base_camera")) == len(episode.states) == len(episode.steps) + 1
    made = [line.id for line in read_manifest(root) if line.success]
    assert len(made) == len(set(made))
    assert leftovers(root) == []


def start(
    directory: Path,
    arguments: str,
    trouble: Mapping[int, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[subprocess.Popen, Path]:
    """Start ``generate`` for the fake task "reach", into ``directory / "out"``, in a process group
    of its own; ``arguments`` are more of those of ``GenerateArgs``.
    """
    out, here = directory / "out", Path(__file__).parent
    script = directory / f"script{len(list(directory.glob('script*')))}.py"
    script.write_text(
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from pathlib import Path\n"
        "from fake_source import FakeSource\n"
        "from clevrskills.dataset_tools.generate.command import GenerateArgs, generate\n"
        "from clevrskills.errors import ClevrSkillsError\n"
        f"args = GenerateArgs(tasks=('reach',), out=Path(sys.argv[3]), {arguments})\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        f"        sys.exit(generate(args, FakeSource({trouble or {}}, delay_s=0.02)))\n"
        "    except ClevrSkillsError as error:\n"
        "        sys.exit(str(error))\n"
    )
    process = subprocess.Popen(
        [*map(str, [sys.executable, script, here, here.parents[1], out])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
        # a shell that runs the tests in the background makes them ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return process, out


def wait_for(episodes: int, out: Path, process: subprocess.Popen) -> None:
    """Wait until a run has made some episodes."""
    while len(list(out.glob("reach/*"))) < episodes:
        if process.poll() is not None:
            raise AssertionError(f"ended too early: {process.communicate()[1]}")
        time.sleep(0.02)
