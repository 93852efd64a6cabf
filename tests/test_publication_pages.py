"""What is said for those who publish: where everything comes from, and what to cite."""

import re
from pathlib import Path

import yaml

from clevrskills.assets import texture_names
from clevrskills.assets.objects import CATALOGUE, FITTINGS
from clevrskills.core.suite import load_suite, suite_names
from clevrskills.tasks import tasks

ROOT = Path(__file__).parents[1]
PROVENANCE = (ROOT / "docs/provenance.md").read_text(encoding="utf-8")


def test_provenance_counts_everything() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \| ([^|]+) \|", PROVENANCE, re.MULTILINE)
    counts = {what: int(count) for what, count, _ in rows}
    objects = [counts[what] for what, _, origin in rows if "clevrskills/assets/objects/" in origin]
    assert sum(objects) == len(CATALOGUE) + len(FITTINGS)
    assert counts["textures"] == len(texture_names())
    shaders = [*(ROOT / "clevrskills/sim/render/glsl").iterdir()]
    assert counts["shaders"] == len(shaders)
    described = [load_suite("clevrskills").describe(key)["wordings"] for key in tasks()]
    assert counts["sentences of tasks"] == sum(w["seen"] + w["held_out"] for w in described)


def test_no_file_is_of_another_kind_than_provenance_knows() -> None:
    kinds = {path.suffix for path in (ROOT / "clevrskills").rglob("*") if path.is_file()}
    text = {".py", ".pyc", ".css", ".js", ".html", ".md", ".txt", ".json", ".typed", ""}
    assert kinds - text == {".glsl", ".frag", ".gz"}


def test_what_is_re_implemented_is_cited() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    papers = [citation["preferred-citation"], *citation["references"]]
    assert all(paper["authors"] and paper["identifiers"] for paper in papers)
    cited = " ".join(paper["title"] for paper in papers)
    for name in suite_names():
        assert load_suite(name).title.removeprefix("re-implementation of ") in cited
