"""Generate the parts of pages that depend on code or results, and their images.

    python docs/build.py                       # everything
    python docs/build.py tasks api policy      # some parts
    python docs/build.py learning --measured runs/states/results.json
    python docs/build.py learned --measured scores/compact
    python docs/build.py composition --measured runs/quitter
    python docs/build.py oracle --measured results.json

Results are kept in results/. ``--measured`` adds a file of ``clevrskills rl --protocol states``, or
a folder of ``clevrskills evaluate``. The page of the oracle is written from files of
``benchmarks/oracle.py --json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import tyro
from pages import (
    DOCS,
    ROOT,
    api,
    architecture,
    benchmark,
    composition,
    gallery,
    household,
    images,
    leaderboard,
    learned,
    lohoravens,
    oracle,
    scaling,
    trainings,
)
from pages import tasks as tasks_page

from clevrskills.dataset_tools.view.gallery import card, solve
from clevrskills.errors import UnknownNameError
from clevrskills.tasks import tasks

STEP_LIMITS = ROOT / "clevrskills" / "tasks" / "step_limits.json"
TOY_SUITES = ROOT / "tests" / "suites" / "toy_suite"
SUITES_PAGE = DOCS / "suites.md"


def suites_page(text: str) -> str:
    """Return the page of suites with the current code of the toy suite."""
    code = (TOY_SUITES / "lamps.py").read_text(encoding="utf-8")
    head, _, rest = text.partition("<!-- lamps.py -->")
    _, end, tail = rest.partition("<!-- end of lamps.py -->")
    return f"{head}<!-- lamps.py -->\n\n```python\n{code}```\n\n{end}{tail}"


def prompts_of_the_page() -> dict[str, str]:
    """Return the prompts on the current page of tasks, by task key."""
    text = tasks_page.PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^## (\w+)\n.*?^Prompt, in words: (.*?)$", text, re.DOTALL | re.MULTILINE)
    return dict(found)


def limits() -> str:
    """Return the table of step limits as JSON."""
    steps = {key: task.max_steps for key, task in tasks().items()}
    return json.dumps(steps, indent=1) + "\n"


def episodes() -> None:
    """Film new episodes of all tasks for the README, the gallery and the page of tasks."""
    solved = [solve(key, 0) for key in tasks()]
    images.film(solved)
    for episode in solved:
        card(episode).save(DOCS / "tasks" / f"{episode.key}.jpg", quality=82)
        gallery.film(episode)
    prompts = {episode.key: episode.prompt for episode in solved}
    tasks_page.PAGE.write_text(tasks_page.page(prompts, "tasks"), encoding="utf-8")
    gallery.draw()


def text_of(path: Path, page: Callable[[], str]) -> Callable[[], None]:
    """Return a function that writes a file."""

    def write() -> None:
        path.write_text(page(), encoding="utf-8")

    return write


def part_of(path: Path, edit: Callable[[str], str]) -> Callable[[], None]:
    """Return a function that rewrites a part of a page."""
    return text_of(path, lambda: edit(path.read_text(encoding="utf-8")))


PARTS: Mapping[str, Callable[[], None]] = {
    "episodes": episodes,
    "tasks": text_of(tasks_page.PAGE, lambda: tasks_page.page(prompts_of_the_page(), "tasks")),
    "gallery": text_of(gallery.PAGE, gallery.page),
    "api": text_of(api.PAGE, api.page),
    "architecture": text_of(architecture.DRAWING, architecture.drawing),
    "benchmark": text_of(benchmark.PAGE, benchmark.page),
    "leaderboard": text_of(leaderboard.PAGE, leaderboard.page),
    "limits": text_of(STEP_LIMITS, limits),
    "suites": part_of(SUITES_PAGE, suites_page),
    "scaling": part_of(scaling.PAGE, scaling.page),
    "lohoravens": lohoravens.write,
    "household": household.write,
    "policy": images.policy,
    "sort": images.sort,
    "objects": images.objects,
    "looks": images.looks,
    "viewer": images.viewer,
}
MEASURED: Mapping[str, Callable[[Path | None], None]] = {
    "learning": trainings.publish,
    "composition": composition.write,
    "learned": learned.write,
}
"""Parts that take further results."""
ORACLE = "oracle"
"""Part that is written only from given results."""


def main(
    *parts: Annotated[str, tyro.conf.Positional],
    measured: tuple[Path, ...] = (),
) -> None:
    """Generate pages and images.

    Args:
        parts: Parts to generate; default: all.
        measured: Results to add; needs exactly one part.
    """
    known = (*PARTS, *MEASURED, ORACLE)
    for part in parts:
        if part not in known:
            raise SystemExit(str(UnknownNameError("part", part, known)))
    if measured and not (len(parts) == 1 and parts[0] not in PARTS):
        raise SystemExit(f"--measured needs one part: {', '.join((*MEASURED, ORACLE))}")
    if (ORACLE in parts) != bool(measured and parts[0] == ORACLE):
        raise SystemExit("oracle needs --measured")
    for part in parts or (*PARTS, *MEASURED):
        if part in PARTS:
            PARTS[part]()
        elif part == ORACLE:
            oracle.write(measured)
        else:
            for path in measured or (None,):
                MEASURED[part](path)


if __name__ == "__main__":
    tyro.cli(main)
