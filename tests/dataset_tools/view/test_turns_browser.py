"""Pages of episodes of turns in a real browser: a folder, its index, its pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset
from clevrskills.jobs.pool import InlinePool

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of boards, drawn from above and in words."""
    out: Path = tmp_path_factory.mktemp("turns") / "boards"
    command = ["generate", "geoms", "--suite", "ivispar", "--split", "train", "--episodes", "2"]
    views = ["--view", "schematic", "--view", "text"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*command, "--out", str(out), *views]) == 0
    return out


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.slow
def test_a_folder_lists_episodes_and_leads_from_one_to_the_next(
    boards: Path, tmp_path: Path, browser: Browser
) -> None:
    out = tmp_path / "pages"
    assert main(["view", str(boards), "--out", str(out)]) == 0
    first, second = Dataset(boards)
    with browser.watched(1280, 900) as tab:
        tab.open(out / "index.html")
        assert tab.run("return $('count').textContent;") == "2 of 2"
        shown = tab.run("return [...document.querySelectorAll('#list a')].map((a) => a.innerText);")
        assert len(shown) == 2 and all("geoms" in text for text in shown)
        tab.follow("#list a")
        assert tab.run("return document.querySelector('h2').innerText;") == first.id
        tab.follow("a[rel=next]")
        assert tab.run("return document.querySelector('h2').innerText;") == second.id
        turns, given, images = tab.run(
            "const boxes = [...document.querySelectorAll('.turn')];"
            "return [boxes.length, boxes.map((box) => box.innerText),"
            "  [...document.images].every((image) => image.naturalWidth > 100)];"
        )
        assert turns == len(second.turns) + 1 and images
        for row, text in zip(second.turns.to_dict("records"), given, strict=False):
            assert row["action"] in text and row["code"] in text
            assert second.views(int(row["turn"]))["text"].splitlines()[0] in text
        goals = tab.run("return [...document.querySelectorAll('.goals')].map((g) => g.innerText);")
        assert goals[0].count("○") and not goals[-1].count("○") and goals[-1].count("✓")
        shade = "return getComputedStyle(document.body).backgroundColor;"
        before = tab.run(shade)
        tab.run("document.getElementById('theme').click();")
        assert tab.run(shade) != before
        tab.follow("nav a")
        assert tab.run("return $('count').textContent;") == "2 of 2"


@pytest.mark.slow
def test_a_page_is_searched(boards: Path, tmp_path: Path, browser: Browser) -> None:
    out, names = tmp_path / "page.html", [episode.id for episode in Dataset(boards)]
    assert main(["view", str(boards), "--out", str(out)]) == 0
    shown = (
        "return [...document.querySelectorAll('section:not([hidden]) h2')].map((h) => h.innerText);"
    )
    with browser.watched(1280, 900) as tab:
        tab.open(out)
        assert tab.run(shown) == names
        tab.run(
            "const box = document.getElementById('search');"
            f"box.value = '{names[1]}'; box.dispatchEvent(new Event('input'));"
        )
        assert tab.run(shown) == names[1:]
        tab.run("$('search').value = 'nowhere'; $('search').oninput();")
        assert tab.run(shown) == []
        tab.run("document.querySelector('#nothing button').click();")
        assert tab.run(shown) == names and tab.run("return $('nothing');") is None
