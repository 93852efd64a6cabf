"""The documentation is true: its code runs, its tables and links fit the package."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

import clevrskills
from clevrskills.cli import COMMANDS
from clevrskills.core.registry import is_own
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.view.gallery import CARD_PX
from clevrskills.predicates import predicate_types
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.tasks import LEVELS, tasks

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TASKS_PAGE = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
ENVIRONMENT = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
DOCS_LIMIT_BYTES = 6_000_000
EXAMPLE_LIMIT_LINES = 60

needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def table(text: str, first_column: str) -> list[list[str]]:
    """The rows, as cells, of the table whose first column has a name."""
    after = text.split(f"\n| {first_column} |", 1)[1]  # the heading's other cells are cut off
    lines = after.split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


# --- README


@pytest.mark.render
@needs_oracle
def test_the_python_of_the_readme_solves_the_episode(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = blocks(README, "python")[0]
    names: dict[str, object] = {}
    exec(compile(first, "README.md", "exec"), names)
    assert names["terminated"] and not names["truncated"]
    assert capsys.readouterr().out.splitlines()[-1].startswith("True 1.0 {'set': ")


def test_the_python_of_the_environment_page(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(blocks(ENVIRONMENT, "python")[0], "environment.md", "exec"), {})
    assert capsys.readouterr().out.endswith(" set\n")


def test_levels_list_every_task() -> None:
    rows = {row[0].split(",")[0]: quoted(row[1]) for row in table(TASKS_PAGE, "level")}
    for level in LEVELS:
        assert rows[level] == sorted(key for key, kind in tasks().items() if kind.level == level)
    assert sum(map(len, rows.values())) == len(clevrskills.task_keys()) == 33


def test_the_page_of_tasks_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the prompts and images of its episodes."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    tasks_page = import_module("pages.tasks")
    written = re.findall(r"^Prompt, in words: (.*)$", TASKS_PAGE, re.MULTILINE)
    prompts = dict(zip(tasks(), written, strict=True))
    assert tasks_page.page(prompts, "tasks") == TASKS_PAGE, "run python docs/build.py tasks"
    for key in clevrskills.task_keys():
        with Image.open(ROOT / "docs" / "tasks" / f"{key}.jpg") as image:
            assert image.size == CARD_PX


def test_the_gallery_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    gallery = import_module("pages.gallery")
    text = gallery.PAGE.read_text(encoding="utf-8")
    assert gallery.page() == text, "run python docs/build.py gallery"
    films = {f"films/{file.name}" for file in gallery.FILMS.iterdir()}
    assert films == {*re.findall(r"films/\w+\.webp", text)}


def test_predicates_robots_and_tolerances() -> None:
    for name, kind in predicate_types().items():
        if not is_own(kind) or ".suites." in kind.__module__:
            continue  # other suites have their own
        assert f"\n### {name}\n" in TASKS_PAGE
    assert "`position_m` | 0.05 | 0.05 |" in TASKS_PAGE and "Args:" not in TASKS_PAGE
    assert [quoted(row[0])[0] for row in table(ENVIRONMENT, "name | arm")] == list(ROBOTS)


def test_pages_name_every_command() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    real = {name for commands in COMMANDS.values() for name in commands}
    assert real <= {*re.findall(r"clevrskills ([a-z-]+)", pages + CONTRIBUTING)}


def test_the_readme_comes_to_a_command_soon() -> None:
    assert len(README.split("```bash")[0].split()) <= 90


def test_every_extra_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [quoted(row[0])[0] for row in table(INSTALL, "extra")] == [
        *sorted(project["optional-dependencies"], key=extras_order)
    ]


def extras_order(name: str) -> int:
    """In the order of the table."""
    return INSTALL.index(f"\n| `{name}` |")


def test_files_of_docs_are_small() -> None:
    files = [file for file in (ROOT / "docs").rglob("*") if file.is_file()]
    files = [file for file in files if "__pycache__" not in file.parts]
    assert sum(file.stat().st_size for file in files) < DOCS_LIMIT_BYTES


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("docs") / "demo"
    assert generate(GenerateArgs(tasks=("pick",), episodes=1, out=path, no_cameras=True)) == 0
    return path


# --- examples


def run_example(name: str, *arguments: object) -> None:
    sys.argv = [name, *map(str, arguments)]
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")


@pytest.fixture
def elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Path, pytest.CaptureFixture[str]]]:
    """A folder to write into, and the printed output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    yield tmp_path, capsys


def test_examples_are_short_and_all_listed() -> None:
    files = sorted((ROOT / "examples").glob("*.*"))
    assert {row[0] for row in table(INSTALL, "example")} == {
        f"[{file.name}](../examples/{file.name})" for file in files
    }
    notebook, *programs = sorted(files, key=lambda file: file.suffix != ".ipynb")
    for file in programs:
        assert len(file.read_text().splitlines()) <= EXAMPLE_LIMIT_LINES, file
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.slow
@pytest.mark.render
@needs_oracle
def test_the_notebook(tmp_path: Path) -> None:
    program = """if True:
        import json, sys
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for cell in json.load(open(sys.argv[1]))["cells"]:
            if cell["cell_type"] == "code":
                shell.run_cell("".join(cell["source"])).raise_error()
                assert not shell.user_ns.get("_exit_code"), cell["source"]
    """
    command = [sys.executable, "-c", program, str(ROOT / "examples" / "quickstart.ipynb")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "Inside: Put the tiled mug" in done.stdout and "success True" in done.stdout
    (levels,) = tmp_path.glob("quickstart_*/report/levels.csv")
    assert {row.split(",")[0] for row in levels.read_text().splitlines()[1:]} == {
        *("zero", "rl:zoo/touch-topple", "my_policy:MyPolicy")
    }


@pytest.mark.render
def test_first_steps(elsewhere) -> None:
    folder, capsys = elsewhere
    run_example("first_steps.py")
    assert (folder / "first_steps.png").stat().st_size > 10_000
    assert "{obj:object_0}: image (256, 256, 3)" in capsys.readouterr().out


@pytest.mark.render
@needs_oracle
def test_oracle_episode(elsewhere) -> None:
    folder, capsys = elsewhere
    run_example("oracle_episode.py", "pick", 3)
    assert (folder / "oracle_episode.mp4").stat().st_size > 5_000
    assert "success True after " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.render
def test_my_policy(elsewhere) -> None:
    run_example("my_policy.py")
    assert "0 of 3 solved" in elsewhere[1].readouterr().out


@pytest.mark.render
def test_goal_images(elsewhere) -> None:
    folder, capsys = elsewhere
    run_example("goal_images.py")
    images = sorted(folder.glob("keystep_*.png"))
    assert len(images) == 5
    assert len({image.read_bytes() for image in images}) == 5
    assert "keystep_1.png: Put the " in capsys.readouterr().out


@pytest.mark.slow
@needs_oracle
def test_read_dataset(elsewhere, dataset: Path) -> None:
    run_example("read_dataset.py", dataset)
    printed = elsewhere[1].readouterr().out
    assert "pick/train_00000000: " in printed and "reward |" in printed and "@|" in printed


# --- CONTRIBUTING

CHECK = """
import gymnasium as gym
import torch
from clevrskills.predicates import from_json, predicate_types
from clevrskills.sim.tensor_world import TensorWorld

torch.set_num_threads(1)
env = gym.make("ClevrSkills/PutBeside-v1", obs_mode="none", split=SPLIT)
for seed in range(5):
    obs, info = env.reset(seed=seed)
    assert not info["success"] and info["prompt"].plain()
    base = env.unwrapped.base_env
    goal, world = base.goal, TensorWorld.snapshot(base.world)
    goal.realize(world)
    outcome = goal.evaluate(world, {})
    assert outcome.holds.all() and outcome.reward == 6.0 and outcome.progress == 1.0
    assert from_json(goal.to_json(), predicate_types()).evaluate(world, {}).holds.all()
    for shift in ((0.06, 0, 0), (0, 0.07, 0), (0, -0.07, 0), (0, 0, 0.01)):
        moved = world.pose(goal.object) + torch.tensor([*shift, 0, 0, 0, 0])
        other = TensorWorld.snapshot(world)
        other.set_body_pose(goal.object, moved)
        assert not goal.evaluate(other, {}).holds.any(), shift
    goal.realize(base.world)
    for _ in range(10):
        info = env.step([0, 0, 0, 0, 0, 0, -1])[-1]
        if info["success"]:
            break
    assert info["success"] and info["progress"] == 1.0
"""
SOLVE = """
from clevrskills.solvers.oracle import Oracle

obs, info = env.reset(seed=0)
oracle = Oracle(env)
while not oracle.done:
    assert not env.step(oracle.act())[3], "step limit"
assert oracle.env.world.held[0] == -1
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package to which the files of CONTRIBUTING.md, and nothing else, were added."""
    root: Path = tmp_path_factory.mktemp("extended")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "clevrskills", root / "clevrskills", ignore=ignored)
    found = re.findall(
        r"^`(clevrskills/\S+\.py)`:\n\n```python\n(.*?)^```$", CONTRIBUTING, re.M | re.S
    )
    assert len(found) == 3 == len(blocks(CONTRIBUTING, "python"))
    for name, source in found:
        assert not (root / name).exists()
        (root / name).write_text(source)
    return root


def run_in(root: Path, *arguments: str) -> str:
    """Run Python with the package of a folder; returns what it printed."""
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.slow
def test_the_added_task_is_listed(extended: Path) -> None:
    printed = run_in(extended, "-m", "clevrskills", "tasks", "--json")
    assert '"key": "put_beside"' in printed
    assert '"id": "ClevrSkills/PutBeside-v1"' in printed
    assert "put_beside" not in clevrskills.task_keys()


@pytest.mark.slow
@needs_oracle
@pytest.mark.parametrize("split", ["train", pytest.param("test", marks=pytest.mark.slow)])
def test_the_added_predicate_holds_where_it_should_and_the_added_skill_solves_it(
    extended: Path, split: str
) -> None:
    run_in(extended, "-c", f"SPLIT = {split!r}\n{CHECK}\n{SOLVE}")
