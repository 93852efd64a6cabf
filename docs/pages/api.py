"""Page of the public API: names in ``__all__`` of the public modules, with their docstrings."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pages import DOCS, ROOT

PAGE = DOCS / "api.md"
GROUPS: Mapping[str, str] = {
    "Run an environment": (
        "clevrskills envs.environment core.env_config envs.scene_sampling sim.prompt_images "
        "sim.render.video sim.robots.delta_action errors"
    ),
    "Let the oracle solve it": "solvers.oracle",
    "Write a policy": "core.policy core.observer serving",
    "Read demonstrations": "dataset_tools dataset_tools.torch_dataset",
    "Evaluate": "evaluation.results",
    "Train a policy": (
        "baselines baselines.policy baselines.spec baselines.batch baselines.prompts rl.policy"
    ),
    "Use other software": "integrations.lerobot_env integrations.sb3",
    "Add a task": (
        "tasks sim.body assets assets.solids sim.cameras sim.robots.description "
        "suites.clevrskills.check_task"
    ),
    "Add a predicate": "predicates predicates.shaping sim.world sim.tensor_world",
    "Add a skill": (
        "solvers.skills solvers.motion solvers.skills.pick solvers.skills.place "
        "solvers.skills.put_down"
    ),
    "Add a suite": (
        "core.suite core.interface core.goal.context core.goal.predicate suites.symbolic "
        "suites.tabletop"
    ),
}
"""Modules below ``clevrskills`` by use case."""
EXTRAS = "clevrskills.integrations"
"""Its modules need extras, so they are parsed, not imported."""
INTRODUCTION = """\
# Public API

Which names may programs, tasks, policies and suites import? Those below; [CHANGELOG.md](../CHANGELOG.md) announces
changes. Everything else may change at any time. `help(NAME)` in Python shows the whole documentation: shapes, units,
errors.
"""  # noqa: E501


def page() -> str:
    """Return the page in Markdown."""
    lines = [INTRODUCTION]
    for heading in GROUPS:
        lines += [f"## {heading}", ""]
        for module in modules(heading):
            lines += [f"### {module}", "", _first_sentence(ast.get_docstring(_tree(module))), ""]
            lines += [*_names(module), ""]
    return "\n".join(lines)


def modules(heading: str) -> list[str]:
    """Return the modules under a heading."""
    return [f"clevrskills.{m}".removesuffix(".clevrskills") for m in GROUPS[heading].split()]


def public(module: str) -> list[str]:
    """Return the names in ``__all__`` of a module."""
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


def docstring(module: str, name: str) -> str | None:
    """Return the docstring of a name in a module or in the module it is imported from."""
    body = _tree(module).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            if "overload" in map(ast.unparse, node.decorator_list):
                continue
            return ast.get_docstring(node)
        if isinstance(node, ast.ImportFrom) and name in (alias.name for alias in node.names):
            return docstring(node.module or "", name)
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == name and isinstance(after, ast.Expr):
            return str(ast.literal_eval(after.value))
    value = getattr(import_module(module), name)
    return value.__doc__ if inspect.isroutine(value) else None


def _names(module: str) -> Iterator[str]:
    """Yield a line for each name of a module and each member of a class."""
    for name in public(module):
        text = _first_sentence(docstring(module, name))
        if module.startswith(EXTRAS):
            yield f"- `{name}`: {text}"
            continue
        value = getattr(import_module(module), name)
        home = getattr(value, "__module__", "")
        home = home if home.startswith("clevrskills") else ""
        if home not in ("", module) and name in public(home):
            yield f"- `{name}`: see [{home}](#{home.replace('.', '')})"
            continue
        yield f"- `{name}{_signature(value)}`: {text}"
        if inspect.isclass(value):
            yield from (f"    - `{member}`: {text}" for member, text in _members(value))


class _Default:
    """Placeholder for a default value that is not plain data."""

    def __repr__(self) -> str:
        return "…"


def _signature(value: Any, own: int = 0) -> str:
    """Return the names of the arguments after the first ``own``, with their defaults."""
    value = inspect.unwrap(value)
    protocol = getattr(value, "_is_protocol", False)
    if protocol or not (inspect.isfunction(value) or inspect.isclass(value)):
        return ""
    if inspect.isclass(value) and issubclass(value, Exception):
        return ""
    nothing = inspect.Parameter.empty
    parameters = []
    for parameter in list(inspect.signature(value).parameters.values())[own:]:
        default = parameter.default
        plain = default is None or default is nothing or isinstance(default, bool | int | float)
        default = default if plain or isinstance(default, str | tuple) else _Default()
        if not parameter.name.startswith("_"):
            parameters.append(parameter.replace(annotation=nothing, default=default))
    return str(inspect.Signature(parameters))


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield attributes that are not arguments, properties and methods of a class, with sentences.

    Includes those of base classes that are not on the page themselves.
    """
    own = [k for k in kind.__mro__ if k.__module__.startswith("clevrskills")]
    own = [k for k in own if k is kind or k.__name__ not in public(k.__module__)]
    arguments = {} if issubclass(kind, Exception) else inspect.signature(kind).parameters
    found: dict[str, str] = {}
    for k in own:
        section = inspect.cleandoc(k.__doc__ or "").partition("Attributes:\n")[2].split("\n\n")[0]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section, re.MULTILINE):
            if name not in arguments:
                found.setdefault(name, text)
        for name, value in vars(k).items():
            of_class = isinstance(value, classmethod)
            inner = value.__func__ if of_class or isinstance(value, staticmethod) else value
            if name.startswith("_") or not isinstance(inner.__doc__, str):
                continue
            if isinstance(inner, property):
                found.setdefault(name, inner.__doc__)
            elif inspect.isfunction(inner):
                bound = int(not isinstance(value, staticmethod))
                found.setdefault(f"{name}{_signature(inner, bound)}", inner.__doc__)
    yield from ((name, _first_sentence(text)) for name, text in found.items())


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring, as Markdown on one line."""
    line = " ".join((text or "").split("\n\n")[0].split())
    line = re.sub(r":\w+:`~?([^`]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", line)
    sentence = re.split(r"(?<=\.)(?<!e\.g\.)\s", line.replace("``", "`"))[0]
    return sentence.rstrip(":.") + "."


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.exists()), None)


@cache
def _tree(module: str) -> ast.Module:
    file = _file(module)
    assert file is not None, module
    return ast.parse(file.read_text(encoding="utf-8"))
