"""A third-party distribution: its task, predicate, skill, objects, texture, camera, robot and
policy are used by every command, with nothing of the package edited.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.solvers.requirements import planner_obstacle
from tests.support.foreign import installed

ROOT = Path(__file__).parents[1]
needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Where the distribution of ``tests/foreign`` is installed."""
    folder = tmp_path_factory.mktemp("foreign") / "site"
    shutil.copytree(ROOT / "tests" / "foreign", folder)
    return folder


def clevrskills(site: Path, *arguments: object, code: int = 0) -> str:
    """Run a command where the distribution is installed; what it printed."""
    return python(site, "-m", "clevrskills", *arguments, code=code)


def python(site: Path, *arguments: object, code: int = 0) -> str:
    """Run Python where the distribution is installed; what it printed."""
    run = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout + run.stderr


def test_its_task_is_listed_behind_those_of_the_package(capsys):
    with installed(ROOT / "tests" / "foreign"):
        assert main(["tasks", "--json"]) == main(["tasks", "--json", "--level", "L1"]) == 0
    printed = capsys.readouterr().out
    rows, end = json.JSONDecoder().raw_decode(printed)
    of_level = json.loads(printed[end:])
    assert [row["key"] for row in rows][-1] == "serve_tea" and len(rows) == 34
    assert rows[-1]["id"] == "ClevrSkills/ServeTea-v1" and rows[-1]["predicates"] == ["served"]
    assert rows[-1]["level"] == "tea_tasks" and rows[0]["level"] == "L0"
    assert "serve_tea" not in [row["key"] for row in of_level]  # a level is always the same tasks


LOOK = """
from clevrskills.core.goal.predicate import from_json
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import all_cameras, all_robots, load_suite
from clevrskills.envs.environment import make_env
from clevrskills.predicates import predicate_types

suite = load_suite()
assert suite.tasks["serve_tea"].level == "tea_tasks" and suite.tasks["sort"].level == "L1"
assert all_robots(suite) == ("xarm6", "panda", "low_panda")
assert all_cameras(suite) == ("base_camera", "hand_camera", "render_camera", "side_camera")
env = make_env(EnvConfig("serve_tea", robot="low_panda", cameras=()))
env.reset(seed=0)
names = [body.name for body in env.layouts[0].bodies]
assert names[0] == "linen tea caddy" and names[1].endswith("saucer"), names
data = env.goal.to_json()
assert data["predicate"] == "served" and type(from_json(data, predicate_types())) is type(env.goal)
assert not env.outcome.holds[0] and env.agent.description.name == "low_panda"
make_env(EnvConfig("sort", robot="low_panda", cameras=())).reset(seed=0)
"""


@pytest.mark.slow
def test_its_plugins_make_an_environment(site):
    python(site, "-c", LOOK)


@pytest.mark.slow
@needs_oracle
def test_its_task_passes_the_checks(site):
    printed = clevrskills(site, "check-task", "serve_tea", "--episodes", 1, "--json")
    (report,) = json.loads(printed)
    assert report["ok"] and report["task"] == "serve_tea"
    missed = [check["check"] if "check" in check else check["name"] for check in report["checks"]]
    assert {"starts", "oracle", "zero", "random", "realize", "perturb", "determinism"} <= {*missed}


@pytest.mark.slow
@pytest.mark.render
@needs_oracle
def test_its_task_is_generated_checked_viewed(site):
    cameras = ("--cameras", "base_camera", "side_camera")
    clevrskills(
        site, "generate", "serve_tea", "--episodes", 2, "--workers", 2, "--out", "demos", *cameras
    )
    assert "2 replayed: no faults" in clevrskills(site, "check", "demos", "--replay", 2)
    clevrskills(site, "view", "demos", "--out", "demos.html")
    assert "serve_tea" in (site.parent / "demos.html").read_text()
    videos = {path.stem for path in (site.parent / "demos").rglob("*.mp4")}
    assert {"base_camera", "side_camera"} <= videos


@pytest.mark.slow
@needs_oracle
def test_its_task_is_evaluated_by_seed_and_frozen(site):
    given = ("--episodes", 1, "--split", "train")
    clevrskills(
        site, "evaluate", "serve_tea", "--policy", "oracle", "--seed", 3, *given, "--out", "a"
    )
    clevrskills(
        site, "evaluate", "serve_tea", "--policy", "waiter", "--seed", 3, *given, "--out", "b"
    )
    printed = clevrskills(site, "report", "a", "b", "--json", "--out", "report.html")
    assert '"tea_tasks"' in printed
    printed = clevrskills(
        site, "evaluate", "serve_tea", "--policy", "zero", *given, "--out", "c", code=2
    )
    assert "no frozen episodes" in printed
    (site / "pyproject.toml").write_text(
        "[project]\nname = 'tea-tasks'\n"
        "[project.entry-points.'clevrskills.tasks']\ntea = 'tea_tasks.tasks'\n"
    )
    clevrskills(site, "freeze", "--package", site, "--episodes", 2, "--workers", 2)
    frozen = {path.name for path in (site / "tea_tasks" / "episodes").glob("*.jsonl.gz")}
    splits = ("train", "val", "test", "paper_test")  # those that every task has
    assert frozen == {f"serve_tea_{split}.jsonl.gz" for split in splits}
    clevrskills(site, "evaluate", "serve_tea", "--policy", "zero", *given, "--out", "d")


@pytest.mark.slow
@needs_oracle
def test_a_new_task_is_installed_and_solved_at_once(tmp_path):
    """In an environment of its own that has what this one has, and in which pip installs it."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (place / "lib" / version / "site-packages" / "all.pth").write_text(
        "\n".join([str(ROOT), *packages]) + "\n"
    )
    inside = place / "bin" / "python"

    def run(*command: object) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    written = run(inside, "-m", "clevrskills", "new-task", "hang_up", "--package", "my-tasks")
    assert "check-task hang_up" in written
    install = ("install", "--no-deps", "--no-build-isolation", "-e", "my-tasks")
    run(sys.executable, "-m", "pip", "--python", inside, *install)
    # one more file of each kind is all that a further task needs
    run(inside, "-m", "clevrskills", "new-task", "lay_aside", "--package", "my-tasks")
    listed = json.loads(run(inside, "-m", "clevrskills", "tasks", "--json"))
    assert [row["key"] for row in listed][-2:] == ["hang_up", "lay_aside"]
    for key in ("hang_up", "lay_aside"):
        one = ("--episodes", 1, "--out", key, "--no-cameras")
        run(inside, "-m", "clevrskills", "generate", key, *one)
    checked = run(inside, "-m", "clevrskills", "check-task", "lay_aside", "--episodes", 1)
    assert "lay_aside: passes" in checked
    run(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "my-tasks/tests/test_hang_up.py")
