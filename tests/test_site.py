"""The documentation site: builds strictly and offline, and works in a browser, opened as files."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[1]
CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
LIMIT_BYTES = 25 * 2**20
DESKTOP, PHONE = (1360, 900), (390, 844)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="the extra docs is not installed"
)
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return __import__("hooks")


def build(folder: Path, configuration: Path = ROOT / "mkdocs.yml") -> str:
    """Return what a strict build into a folder warns of."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(configuration)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(
        [*command, "-d", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    warnings = [line for line in run.stderr.splitlines() if line.startswith("WARNING")]
    assert (run.returncode == 0) == (not warnings), run.stderr
    return "\n".join(warnings)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("documentation") / "site"
    assert build(folder) == ""
    return folder


def test_the_order_of_the_sections() -> None:
    sections = re.findall(r"^  - (\w+):$", CONFIGURATION.partition("\nnav:\n")[2], re.MULTILINE)
    assert sections == ["Start", "Guides", "Suites", "Results", "Reference", "About"]


@pytest.mark.parametrize(
    ("source", "link", "wanted"),
    [
        ("splits.md", "[a](tasks.md#pick)", "[a](tasks.md#pick)"),
        ("recipes/act.md", "[a](../tasks.md)", "[a](../tasks.md)"),
        ("recipes/act.md", "[a](../../CONTRIBUTING.md#style)", "[a](../CONTRIBUTING.md#style)"),
        ("README.md", "[`a`](docs/recipes/act.md)", "[`a`](recipes/act.md)"),
        ("splits.md", "[a](../README.md)", "[a](README.md)"),
        ("splits.md", "[a b](../pyproject.toml)", "a b"),
        ("README.md", "[LICENSE](LICENSE)", "LICENSE"),
        ("splits.md", "[a](https://b.example/c)", "[a](https://b.example/c)"),
        ("splits.md", "[a](nothing.md)", "[a](nothing.md)"),
    ],
)
def test_links(hooks: ModuleType, source: str, link: str, wanted: str) -> None:
    pages = {"splits.md", "tasks.md", "recipes/act.md", *hooks.ROOT_PAGES}
    assert hooks.with_links(f"({link}.", source, pages, None) == f"({wanted}."


def test_source_files_are_links_where_there_is_a_repository(hooks: ModuleType) -> None:
    text = hooks.with_links("[a](../pyproject.toml)", "splits.md", set(), "https://b.example/c/")
    assert text == "[a](https://b.example/c/blob/main/pyproject.toml)"


def test_options_of_commands_are_marked(hooks: ModuleType) -> None:
    html = 'plan<span class="w"> </span>--json <code>--out</code> <code>a --b-c 1</code> <!-- d -->'
    marked = re.sub("--(json|out|b-c)", r'<span class="option">--\1</span>', html)
    assert hooks.on_page_content(html, None, None, None) == marked


@pytest.mark.slow
def test_a_dead_link_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "a.md").write_text("# A\n\n[b](b.md) [c](#c) ![d](d.png)\n", encoding="utf-8")
    (pages / "e.md").write_text("# E\n", encoding="utf-8")
    validation = re.search(r"^validation:\n(?:  .*\n)+", CONFIGURATION, re.MULTILINE)
    assert validation is not None
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(f"site_name: a\nnav: [a.md]\n{validation[0]}", encoding="utf-8")
    warnings = build(tmp_path / "site", configuration)
    assert all(name in warnings for name in ("'b.md'", "'#c'", "'d.png'", "nav"))


@pytest.mark.slow
def test_it_is_small_and_loads_nothing_from_elsewhere(site: Path) -> None:
    assert sum(file.stat().st_size for file in site.rglob("*")) < LIMIT_BYTES
    assert not [*site.rglob("*.py"), *site.rglob("*.toml"), *site.glob("*.json")]
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"""<(?:script|img|iframe)[^>]+src=["']?(?:https?:)?//""", text), file
        assert not re.search(r"""<link[^>]+rel=["']?stylesheet[^>]+href=["']?http""", text), file
        assert not re.search(r"^(?:- |\d+\. |\|)", re.sub("(?s)<pre.*?</pre>", "", text), re.M), (
            f"{file} has Markdown that was not understood"
        )


@pytest.mark.slow
@in_chromium
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_fit_the_window(site: Path, size: tuple[int, int], tmp_path: Path) -> None:
    names = ["index", "gallery", "tasks", "evaluation"]
    if size == PHONE:
        names = [file.stem for file in sorted(site.glob("*.html")) if file.stem != "404"]
    with Browser(tmp_path) as browser, browser.watched(*size):
        for name in names:
            browser.open(site / f"{name}.html")
            assert browser.run("return document.documentElement.scrollWidth") <= size[0], name
            loaded = (
                "return [...document.images].every((i) => i.loading === 'lazy' || i.naturalWidth)"
            )
            assert browser.run(loaded), name


WAIT = """
const until = async (test) => {
  for (let wait = 0; !test(); wait++) {
    if (wait > 3000) throw new Error(`waited in vain for ${test}`);
    await new Promise((done) => setTimeout(done, 10));
  }
};
"""


@pytest.mark.slow
@in_chromium
def test_search_finds_a_page_and_leads_to_it(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser, browser.watched(*DESKTOP):
        browser.open(site / "index.html")
        browser.run("document.querySelector('.md-search__input').focus();")
        for letter in "dagger":
            browser.press(letter, letter)
        found = "document.querySelector('.md-search-result__item a')"
        browser.run(f"{WAIT} await until(() => {found});")
        assert "training" in browser.run(f"return {found}.href;")
        browser.follow(".md-search-result__item a")
        assert browser.run("return document.querySelector('h1').innerText;").startswith("Train")


@pytest.mark.slow
@in_chromium
def test_dark_mode_and_the_menu_of_a_phone(site: Path, tmp_path: Path) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor;"
    with Browser(tmp_path) as browser, browser.watched(*PHONE):
        browser.open(site / "index.html")
        assert browser.run(ground) == "rgb(255, 255, 255)"
        browser.look(*PHONE, "dark")
        browser.open(site / "index.html")
        assert max(map(int, re.findall(r"\d+", browser.run(ground)))) < 60
        menu = "document.querySelector('.md-sidebar--primary').getBoundingClientRect().left"
        assert browser.run(f"return {menu};") < 0
        browser.run("document.querySelector('label.md-header__button[for=__drawer]').click();")
        browser.run(f"{WAIT} await until(() => {menu} === 0);")
        browser.follow(".md-nav--primary a[href$='ivispar.html']")
        assert browser.run("return document.querySelector('h1').innerText;").startswith("iVISPAR")
