"""Pages of the curriculum's results and of composition, from result files.

A measured folder is kept as ``results/curriculum/NAME``: output of ``clevrskills
curriculum``, ``clevrskills evaluate --handover`` (named ``handover-...``) or ``clevrskills
evaluate`` on compositional splits (named ``splits-...``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from clevrskills.core.suite import all_levels, load_suite
from clevrskills.evaluation.report.tables import markdown
from clevrskills.suites.clevrskills import curriculum_tables
from clevrskills.suites.clevrskills.curriculum_tables import Line, Results, paper_tables
from clevrskills.suites.clevrskills.stages import CURRICULUM_FILE
from pages import DOCS, kept_results
from pages import composition as composition_page
from pages.trainings import PART

PAGE, COMPOSITION = DOCS / "curriculum_results.md", DOCS / "composition.md"
FIGURE = DOCS / "composition.svg"


def page(text: str, root: Path) -> str:
    """Return the page with its tables rewritten from the results unpacked in a folder."""
    parts = [*_parts(root)]
    return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)


def composition(text: str, root: Path) -> str:
    """Return the page of composition with its tables rewritten."""
    parts = [*composition_page.known(composition_page.handovers(root))]
    return PART.sub(lambda found: "\n\n".join([found[1], *parts, found[2]]), text)


def figure(root: Path) -> str:
    """Return the figure of composition."""
    return composition_page.image(composition_page.handovers(root))


def numbers(root: Path) -> str:
    """Return the tables of levels, with rewards, as CSV."""
    tables = paper_tables(_curricula(root))
    frame = curriculum_tables.numbers(tables)
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _curricula(root: Path) -> list[Results]:
    levels = all_levels(load_suite())
    found = [path.parent for path in sorted(root.glob(f"*/{CURRICULUM_FILE}"))]
    return [curriculum_tables.read_results(folder, levels) for folder in found]


def _parts(root: Path) -> Iterator[str]:
    curricula = _curricula(root)
    for table in paper_tables(curricula):
        lines = tuple(line for line in table.lines if _is_mixed(line))
        if any(line.source == "here" for line in lines):
            texts = curriculum_tables.frame(replace(table, lines=lines))
            texts = texts[[c for c in texts if c[1] not in curriculum_tables.MEASURES[1:]]]
            texts.columns = pd.Index([group or name for group, name in texts.columns])
            published = texts.pop("numbers") == "published"
            texts["model"] += published.map({True: " (published)", False: ""})
            yield f"### {table.title}"
            yield markdown(texts).rstrip()
    remarks = [remark for one in curricula for remark in one.remarks]
    if remarks:
        yield "\n".join(f"- {remark}" for remark in remarks)
    yield from composition_page.splits(root)
    yield from composition_page.learned(composition_page.handovers(root))


def _is_mixed(line: Line) -> bool:
    """Return whether some episodes were solved and others were not."""
    return any(0 < entry.success.value < 1 for entry in line.entries.values())


def write(measured: Path | None = None) -> None:
    """Write the pages and their figure; a given folder of results is first kept under its name."""
    if measured:
        kept_results.take_in(measured, measured.name)
    with kept_results.unpacked() as root:
        (kept_results.FOLDER / "tables.csv").write_text(numbers(root), encoding="utf-8")
        for path, written in ((PAGE, page), (COMPOSITION, composition)):
            path.write_text(written(path.read_text(encoding="utf-8"), root), encoding="utf-8")
        FIGURE.write_text(figure(root), encoding="utf-8")
