"""``clevrskills new-task``: a template for a task, its predicate and its skill."""

import importlib.util
import keyword
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from string import Template

from clevrskills import task_keys
from clevrskills.core.registry import PROJECT, entry_points_at, project_name
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors
from clevrskills.jobs.options import Positional

TEMPLATES = Path(__file__).parent / "templates"
ROOMS = {
    "tasks": "Tasks: each file is one, of its key.",
    "predicates": "Predicates: one file each.",
    "skills": "Skills: how each predicate is achieved; one file each.",
}
"""Packages of a distribution for its entry points, with their docstrings."""
_KEY = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(kw_only=True)
class NewTaskArgs:
    """Write a task, a predicate and a skill with tests into your own distribution, as a working
    example to modify.
    """

    name: Positional[str]
    """Key of the task in snake case, e.g. `put_beside`."""
    package: Path
    """Folder of the distribution; created if missing."""
    predicate: str = ""
    """Key of the predicate, e.g. `beside`, also the name of its class and files; by default the
    key of the task with `_done`."""


def new_task(args: NewTaskArgs) -> int:
    """Write the files.

    Raises:
        ClevrSkillsError: A name or the folder is not allowed, or a file exists already.
    """
    from clevrskills.predicates import predicate_types

    _check_key("task", args.name, task_keys())
    predicate = args.predicate or f"{args.name}_done"
    _check_key("predicate", predicate, predicate_types())
    if predicate == args.name:
        raise ClevrSkillsError(f"{predicate!r} cannot be both task and predicate; rename one")
    root = args.package
    rooms, written = _distribution(root)
    names = {
        "key": args.name,
        "Task": _camel(args.name),
        "predicate": predicate,
        "Predicate": _camel(predicate),
        "package": rooms["tasks"][0].rpartition(".")[0],
    }
    files = {
        rooms["tasks"][1] / f"{args.name}.py": "task.py",
        rooms["predicates"][1] / f"{predicate}.py": "predicate.py",
        rooms["skills"][1] / f"{predicate}.py": "skill.py",
        root / "tests" / f"test_{args.name}.py": "test.py",
    }
    for path in files:
        if path.exists():
            raise ClevrSkillsError(f"{path} exists already; choose another name")
    for kind, (module, folder) in rooms.items():
        for place, text in (
            (folder.parent, f"Tasks for ClevrSkills: {module.partition('.')[0]}."),
            (folder, ROOMS[kind]),
        ):
            if not (place / "__init__.py").exists():
                written[place / "__init__.py"] = f'"""{text}"""\n'
    written |= {path: _filled(template, names) for path, template in files.items()}
    for path, text in written.items():
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(path)
    print(_next(args.name, root))
    return 0


def _next(key: str, root: Path) -> str:
    """Return instructions for the written files."""
    place = quote(str(root))
    return (
        "\nThe example puts one object to the left of another. Change layout, goal and prompts of\n"
        "the task, the fields, evaluate and realize of the predicate, and the skill.\n"
        "\nNext:\n"
        f"  pip install --no-deps --no-build-isolation -e {place}    # once\n"
        f"  clevrskills check-task {key}\n"
        f"  python -m pytest {place}/tests\n"
        f"  clevrskills generate {key} --episodes 3 --out demo_{key}\n"
        f"  clevrskills view demo_{key} --out demo.html    # does the prompt match the goal?\n"
        f"  clevrskills freeze {key} --package {place}    # episodes for evaluation, per split\n"
        f"  clevrskills evaluate --policy oracle {key} --episodes 10 --out results_{key}"
    )


def _check_key(kind: str, name: str, known: Collection[str]) -> None:
    if not _KEY.fullmatch(name) or keyword.iskeyword(name):
        raise ClevrSkillsError(
            f"{name!r} is not a valid key of a {kind}; allowed: lowercase letters and digits with "
            "underscores, e.g. put_beside"
        )
    if name in known:
        raise ClevrSkillsError(f"there is a {kind} {name!r} already; choose another name")


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _filled(template: str, names: dict[str, str]) -> str:
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(names)


def _distribution(root: Path) -> tuple[dict[str, tuple[str, Path]], dict[Path, str]]:
    """Return module and folder of the tasks, predicates and skills of an existing or new
    distribution, and the files to write: ``pyproject.toml`` if it is new or lacks entry points, and
    with a new one ``README.md``.
    """
    path, written = root / PROJECT, {}
    if root.exists() and not path.exists() and (not root.is_dir() or any(root.iterdir())):
        raise ClevrSkillsError(
            f"{root} has no pyproject.toml; give a new folder or that of a distribution"
        )
    if path.exists():
        text, package = path.read_text(encoding="utf-8"), ""
    else:
        package = root.resolve().name.replace("-", "_").lower()
        _check_package(package)
        names = {"package": package, "distribution": package.replace("_", "-")}
        text = _filled("pyproject.toml", names)
        written[root / "README.md"] = _filled("README.md", names)
    package = package or re.sub(r"[-.]+", "_", project_name(root)).lower()
    rooms, added = {}, ""
    for kind in ROOMS:
        group = f"clevrskills.{kind}"
        values = entry_points_at(root, kind).values() if path.exists() else ()
        module = next((str(value) for value in values if ":" not in value), "")
        if not module and values:
            raise ClevrSkillsError(
                f'{path}: the entry points of "{group}" have no package; add the line '
                f'{package} = "{package}.{kind}"'
            )
        if not module:
            module = f"{package}.{kind}"
            added += f'\n[project.entry-points."{group}"]\n{package} = "{module}"\n'
        top, *inner = module.split(".")
        source = root / "src" if (root / "src" / top).is_dir() else root
        rooms[kind] = module, source.joinpath(top, *inner)
    return rooms, written | ({path: text + added} if added else {})


def _check_package(package: str) -> None:
    if not _KEY.fullmatch(package) or keyword.iskeyword(package):
        raise ClevrSkillsError(
            f"{package!r} is not a package name; name the folder with lowercase letters, digits, "
            "- and _, e.g. my-tasks"
        )
    spec = importlib.util.find_spec(package)
    taken = package in sys.stdlib_module_names or (spec is not None and spec.origin is not None)
    if taken or package in ("tests", "tasks", "predicates", "skills"):
        raise ClevrSkillsError(
            f"there is a package {package!r} already, here or installed; rename the folder"
        )
