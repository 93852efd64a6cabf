"""Install lines of the pages: pip finds versions that fit together for each of them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINE = re.compile(r"(?:^|`)pip install ([^`\n]+?)\s*(?:#.*)?(?:`|$)", re.MULTILINE)
LINES = sorted({line for page in PAGES for line in _LINE.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if "--index-url" not in line])
def test_versions_are_found(line: str) -> None:
    """With the packages installed here, so that little has to be downloaded."""
    words = shlex.split(line)
    if any("lerobot" in word for word in words) and sys.version_info < (3, 12):
        pytest.skip("LeRobot needs Python 3.12")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    command = [*pip, "install", "--dry-run", "--quiet", *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_lines_name_existing_extras_and_files() -> None:
    """Of each requirement of this package the extras exist, and files that are named."""
    assert len(LINES) >= 10
    extras = set(re.findall(r"^(\S+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    for line in LINES:
        for word in shlex.split(line):
            for named in re.findall(r"^(?:clevrskills|\.)\[([^]]+)\]", word):
                assert set(named.split(",")) <= extras, line
            if word.startswith("./") or word == "constraints.txt":
                assert (ROOT / word).exists(), line
