"""Papers that are cited."""

from pathlib import Path

import yaml

from clevrskills import __version__
from clevrskills.core.suite import load_suite, suite_names

ROOT = Path(__file__).parents[1]


def test_it_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__


def test_re_implemented_benchmarks_are_cited() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    papers = [citation["preferred-citation"], *citation["references"]]
    assert all(paper["authors"] and paper["identifiers"] for paper in papers)
    cited = " ".join(paper["title"] for paper in papers)
    for name in suite_names():
        assert load_suite(name).title.removeprefix("re-implementation of ") in cited
