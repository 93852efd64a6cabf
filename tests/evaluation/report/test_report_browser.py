"""The pages of reports in a real browser, opened from disk."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from fabricated import outcomes, result, write_run, write_video

from clevrskills.evaluation.report import page_data as report_data
from clevrskills.evaluation.report.command import ReportArgs, report
from clevrskills.suites.clevrskills import curriculum_tables

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)

HELPERS = """
const until = async (test) => {
  for (let wait = 0; !test(); wait++) {
    if (wait > 3000) throw new Error(`waited in vain for ${test}`);
    await new Promise((done) => setTimeout(done, 10));
  }
};
const choose = (id, value) => { $(id).value = value; $(id).onchange(); };
const cells = () => [...document.querySelectorAll(".cell")].map((c) => c.title.split("\\n")[0]);
const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
"""
T, F = True, False


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def tab(browser: Browser) -> Iterator[Browser]:
    with browser.watched(1200, 900) as watched:
        yield watched


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs: the second one solves three more episodes, and one of each is filmed."""
    made = []
    for k, name in enumerate(("base", "new")):
        root = tmp_path_factory.mktemp("runs") / name
        episodes = outcomes("pick", [T, T, F, F, F, None], goal_fraction=0.5)
        episodes += outcomes("pick", [T, bool(k), F], split="test")
        episodes += outcomes("push", [bool(k)] * 2 + [F] * 2)
        episodes += [
            result("sort", 0, F, "L1", cause="gave up", reason="no way <there>", depth_of=2),
            result("sort", 1, T, "L1", depth=2, depth_of=2, success_at_end=False),
        ]
        made.append(write_run(root, episodes, name))
        write_video(root, episodes[9])
    return made[0], made[1]


@pytest.fixture(scope="module")
def page(roots: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    report(ReportArgs(runs=roots, out=out))
    return out / "report.html"


def test_numbers_are_those_of_the_results(tab: Browser, page: Path) -> None:
    tab.open(page)
    found = tab.run(
        HELPERS
        + """
        const found = {cards: texts(".level"), runs: texts("#runs .chip")};
        const row = (name) => {
          const names = [...document.querySelectorAll("#task-chart .name")];
          const image = names.find((n) => n.textContent === name).nextElementSibling;
          const bars = [...image.querySelectorAll("rect")];
          return [image.nextElementSibling.textContent, bars.map((b) => b.getAttribute("width"))];
        };
        found.pick = row("pick"); found.push = row("push");
        choose("measure", "steps"); found.steps = row("pick");
        choose("measure", "depth"); found.depth = row("sort");
        choose("measure", "success_at_end"); choose("chart-split", "test");
        found.test = row("pick");
        choose("chart-split", ""); found.both = texts("#task-chart .name");
        return found;"""
    )
    assert found["runs"] == ["base: 14 episodes and 1 error", "new: 14 episodes and 1 error"]
    assert len(found["cards"]) == 3  # L0 and L1 of train, L0 of test
    assert found["cards"][0].startswith("L02 of 12 tasks, trainbase20.0 %[")
    assert found["pick"] == ["40.0 % [11.8, 76.9] n 5" * 2, ["40%", "40%"]]
    assert found["push"][0] == "0.0 % [0.0, 49.0] n 450.0 % [15.0, 85.0] n 4"
    assert found["steps"][0] == "50 [50, 50] n 5" * 2
    assert found["depth"][0].startswith("50.0 % [")
    assert found["test"][0] == "33.3 % [6.1, 79.2] n 366.7 % [20.8, 93.9] n 3"
    assert found["both"] == ["picktrain", "picktest", "pushtrain", "sorttrain"]


def test_curves_of_runs_are_drawn(tab: Browser, tmp_path: Path) -> None:
    runs = []
    for name, regret in (("base", [0.0, 2.0, 4.0]), ("new", [0.0, 0.0, 0.0])):
        episodes = [replace(result("pick", k, T), curves={"regret": regret}) for k in range(3)]
        runs.append(write_run(tmp_path / name, episodes, name))
    report(ReportArgs(runs=tuple(runs), out=tmp_path / "out"))
    tab.open(tmp_path / "out" / "report.html")
    found = tab.run(
        HELPERS
        + """
        const lines = [...document.querySelectorAll(".curves polyline")];
        const ends = lines.map((line) => [...line.points].at(-1));
        return {
          legend: texts(".curves .legend span"), across: texts(".curves .across"),
          ends: ends.map(({x, y}) => [x, y]),
          colors: lines.map((line) => getComputedStyle(line).stroke),
        };"""
    )
    assert found["legend"] == ["base", "new"] and found["across"] == ["0", "1", "2", "turns"]
    assert found["ends"] == [[640, 0], [640, 240]]
    assert len(set(found["colors"])) == 2


def test_unstated_values_of_other_programs(tab: Browser, tmp_path: Path) -> None:
    theirs = Path(__file__).parents[2] / "data/foreign_results"
    report(ReportArgs(runs=(theirs / "vla_eval", theirs / "lerobot_eval"), out=tmp_path))
    tab.open(tmp_path / "report.html")
    found = tab.run(
        HELPERS
        + """
        choose("chart-split", "not stated");
        const found = {rows: texts("#task-chart .name"), settings: texts("#settings td")};
        openEpisode("pick_not stated_000");
        found.facts = $("episode-facts").textContent;
        found.outcome = texts(".outcome").at(-1);
        openEpisode("pick_test_000");
        found.steps = texts(".outcome")[0].includes("80 of 80");
        return found;"""
    )
    assert found["rows"] == ["pick", "touch"]
    assert found["facts"] == "L0, not stated, seed not stated"
    assert "stepsnot stated" in found["outcome"] and found["steps"]
    assert "not stated" in found["settings"]


def test_no_rate_is_shown_without_its_interval(tab: Browser, page: Path) -> None:
    tab.open(page)
    words = tab.run(
        HELPERS
        + """
        const own = (e) => [...e.childNodes].filter((c) => c.nodeType === 3).map((c) => c.data);
        return [...document.querySelectorAll("main *")]
          .filter((e) => /\\d\\.\\d %/.test(own(e).join("")))
          .map((e) => e.parentElement.textContent);"""
    )
    assert len(words) > 8
    assert all(" % [" in text.replace("%[", "% [") for text in words), words


def test_comparison(tab: Browser, page: Path) -> None:
    tab.open(page)
    found = tab.run(
        HELPERS
        + """
        const found = {rows: texts("#pair-chart .words"), changed: texts("#changed button")};
        document.querySelector("#changed button").click();
        found.open = [$("episode").open, $("episode-title").textContent, texts("#outcomes .chip")];
        $("close").click();
        choose("pair-split", "test"); found.test = texts("#pair-chart .words");
        found.closed = $("episode").open;
        return found;"""
    )
    assert found["rows"][0].startswith("+25.0 [") and "p = 0.50+2 −0 of 9" in found["rows"][0]
    assert any(text.endswith("p = 1.00+2 −0 of 4") for text in found["rows"])  # by Holm's rule
    assert found["changed"] == ["pick_test_001", "push_train_000", "push_train_001"]
    assert found["open"] == [True, "pick_test_001", ["step limit", "solved"]]
    assert not found["closed"] and "of 3" in found["test"][0]


def test_filters(tab: Browser, page: Path) -> None:
    tab.open(page)
    found = tab.run(
        HELPERS
        + """
        const found = {all: cells(), count: $("count").textContent};
        choose("task", "push"); found.push = cells();
        choose("outcome", "not solved"); choose("run", "1"); found.failed = cells();
        choose("outcome", "runs differ"); found.differ = cells();
        choose("task", ""); choose("split", "test"); found.test = cells();
        choose("split", ""); choose("run", ""); choose("outcome", "error"); found.errors = cells();
        choose("outcome", "gave up"); found.quit = cells();
        choose("outcome", "solved, not at the end"); found.left = cells();
        choose("outcome", ""); choose("level", "L1"); found.level = cells();
        choose("task", "pick"); found.none = [cells(), $("grid").textContent];
        document.querySelector("#nothing button").click(); found.cleared = cells();
        $("filmed").click(); found.filmed = cells();
        return found;"""
    )
    assert len(found["all"]) == 15 and found["count"] == "15 of 15"
    assert found["push"] == [f"push_train_{k:03d}" for k in range(4)]
    assert found["failed"] == ["push_train_002", "push_train_003"]
    assert found["differ"] == ["push_train_000", "push_train_001"]
    assert found["test"] == ["pick_test_001"]
    assert found["errors"] == ["pick_train_005"]
    assert found["quit"] == ["sort_train_000"] and found["left"] == ["sort_train_001"]
    assert found["level"] == ["sort_train_000", "sort_train_001"]
    assert found["none"] == [[], "No matching episodes. Clear filters"]
    assert found["cleared"] == found["all"]
    assert found["filmed"] == ["push_train_000"]


def test_keys(tab: Browser, page: Path) -> None:
    """A row is one stop of the tab key; its arrows choose, Enter opens, Escape leads back."""
    tab.open(page)
    focused = "return document.activeElement.title?.split('\\n')[0];"
    tab.run("document.querySelector('.cell').focus();")
    for key, there in (
        *(("ArrowRight", "pick_train_001"), ("ArrowDown", "pick_test_001")),
        *(("ArrowDown", "push_train_001"), ("ArrowLeft", "push_train_000")),
        *(("ArrowLeft", "push_train_000"), ("Tab", "sort_train_000")),
    ):
        tab.press(key)
        assert tab.run(focused) == there, key
    tab.press("Enter", "\r")
    state = "return [$('episode').open, $('episode-title').textContent];"
    assert tab.run(state) == [True, "sort_train_000"]
    tab.press("Escape")
    assert tab.run(state)[0] is False and tab.run(focused) == "sort_train_000"
    assert tab.run("return getComputedStyle(document.activeElement).outlineStyle;") == "solid"


PLAYS = (
    HELPERS
    + """
    const found = [...document.querySelectorAll(".cell")];
    found.find((c) => c.title.startsWith("push_train_000")).click();
    const videos = [...document.querySelectorAll("#outcomes video")];
    await until(() => videos.length === 2 && videos.every((v) => v.currentTime > 0.2));
    const tenths = (x) => Math.round(10 * x) / 10;
    return videos.map((v) => [v.videoWidth, tenths(v.duration), v.src.split(":")[0]]);"""
)


def test_videos_play(tab: Browser, page: Path) -> None:
    tab.open(page)
    assert tab.run(PLAYS) == [[64, 1.0, "blob"]] * 2
    facts = tab.run("return [...document.querySelectorAll('.outcome')].map((o) => o.textContent);")
    assert facts[0].startswith("basestep limit") and facts[1].startswith("newsolved")
    assert "steps50 of 200" in facts[0]
    step = "return $('episode-title').textContent;"
    tab.press("ArrowRight")
    assert tab.run(step) == "push_train_001"
    assert tab.run("return document.querySelectorAll('video').length;") == 0
    tab.press("ArrowLeft")
    tab.press("ArrowLeft")
    assert tab.run(step) == "pick_test_002"
    tab.run(HELPERS + "$('close').click(); await until(() => !$('outcomes').children.length);")
    assert tab.run("return [$('episode').open, $('outcomes').children.length];") == [False, 0]


def test_linked_videos_play(
    tab: Browser, roots: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_data, "PAGE_LIMIT_BYTES", 0)
    report(ReportArgs(runs=roots, out=tmp_path))
    tab.open(tmp_path / "report.html")
    assert tab.run(PLAYS) == [[64, 1.0, "file"]] * 2


def test_reasons_and_endings(tab: Browser, page: Path) -> None:
    tab.open(page)
    reasons, endings = tab.run(
        HELPERS
        + """
        choose("ending-split", "");
        return [texts("#reasons div"), texts("#ending-chart .words")];"""
    )
    assert reasons[0] == "base: gave up1 ×no way <there>"
    assert reasons[1] == "base: error1 ×the server closed the connection"
    assert endings[0] == "2 success, 3 step limit, 1 error" * 2
    assert endings[-1] == "1 success, 1 gave up" * 2


def test_one_run_with_one_split(tab: Browser, tmp_path: Path) -> None:
    root = write_run(tmp_path / "run", [result("pick", 0, True)], "alone")
    report(ReportArgs(runs=(root,)))
    tab.open(root / "report" / "report.html")
    hidden = tab.run(
        HELPERS
        + """
        return [["run", "chart-split", "ending-split"].map((id) => $(id).hidden),
          document.getElementById("comparisons") === null, texts(".level")[0]];"""
    )
    assert hidden[:2] == [[True] * 3, True]
    assert hidden[2].startswith("L01 of 12 tasks, train100.0 %[20.7, 100.0]")


def test_parts_of_episodes(tab: Browser, tmp_path: Path) -> None:
    """A run of which the policy did parts only has no empty charts, tables or lists."""
    episodes = []
    for k, part in enumerate(("leaf0_own", "leaf1_prompt", "plan", "whole")):
        about = {"part": part, "leaves": 2, "alone": "simple_manipulation"}
        episodes.append(result("stack", 3, bool(k % 2), "L1", handover=about))
    root = write_run(tmp_path / "run", episodes, "quitter")
    report(ReportArgs(runs=(root,)))
    tab.open(root / "report" / "report.html")
    found = tab.run(
        HELPERS
        + """
        const shown = [...document.querySelectorAll("select")].filter((e) => !e.hidden);
        const found = {text: document.body.innerText, cells: cells(), runs: texts("#runs .chip"),
          empty: shown.filter((e) => !e.options.length).map((e) => e.id),
          bare: [...document.querySelectorAll("main section, .chart")].filter((e) => !e.innerText),
          endings: texts("#ending-chart .name"), parts: texts("#part option")};
        choose("part", "whole task"); found.whole = cells();
        openEpisode("stack_train_003_plan"); found.facts = $("episode-facts").textContent;
        return found;"""
    )
    assert found["runs"] == ["quitter: 4 parts of episodes"] and "0 episodes" not in found["text"]
    assert found["empty"] == [] and found["bare"] == [] and "no such" not in found["text"]
    assert len(found["cells"]) == 4 and found["whole"] == ["stack_train_003_whole"]
    assert "stack: oracle planner" in found["endings"]
    assert found["parts"][0] == "all parts" and "leaf 2, whole prompt" in found["parts"]
    assert found["facts"] == "oracle planner, L1, train, seed 1003"


def test_numbers_are_rounded_once(tab: Browser, tmp_path: Path) -> None:
    """The page has the texts of the tables: 363.5485 is no 363.55 before it is 363.5."""
    values = {"total_reward": 363.5485, "goal_fraction": 0.0625, "steps": 100}
    root = write_run(tmp_path / "run", outcomes("pick", [F, F], **values), "m")
    report(ReportArgs(runs=(root,)))
    tab.open(root / "report" / "report.html")
    level = tab.run(HELPERS + "return texts('.level')[0];")
    table = (root / "report" / "tables.md").read_text()
    for text in ("363.5 [363.5, 363.5]", "6.2 "):
        assert text in table and text in level.replace(" %", "")
    assert "363.6" not in table + level


def test_light_and_dark(tab: Browser, page: Path) -> None:
    shade = "return getComputedStyle(document.body).backgroundColor;"
    tab.look(1200, 900, "light")
    tab.open(page)
    light = tab.run(shade)
    tab.look(1200, 900, "dark")
    dark = tab.run(shade)
    assert light != dark
    tab.run("$('theme').click();")
    assert tab.run(shade) == light
    tab.run("localStorage.clear();")


@pytest.mark.parametrize("width", [360, 1200])
def test_page_of_a_curriculum(tab: Browser, tmp_path: Path, width: int) -> None:
    curriculum_tables.write(tmp_path, curriculum_tables.paper_tables([]), ["a remark"])
    tab.look(width, 900)
    tab.open(tmp_path / "index.html")
    found = tab.run(
        HELPERS
        + """
        const bar = document.querySelector("[data-table='2'] .published:nth-child(2) svg");
        const {width} = bar.querySelector(".bar").getBoundingClientRect();
        const share = width / bar.getBoundingClientRect().width;
        return [document.documentElement.scrollWidth, texts("tr.published").length,
          texts("[data-table='3'] .group"), Math.round(1e4 * share) / 100];"""
    )
    groups = ["L1 zero-shot", "L1 fine-tuned", "L2 zero-shot", "L2 fine-tuned"]
    assert found == [width, 18, groups, 23.75]


@pytest.mark.parametrize("width", [360, 800, 1200, 1900])
def test_nothing_is_wider_than_the_window(tab: Browser, page: Path, width: int) -> None:
    tab.look(width, 900)
    tab.open(page)
    assert tab.run("return document.documentElement.scrollWidth;") == width
    outside = tab.run(
        HELPERS
        + """
        const clipped = (e) => e.closest(".scroll") || getComputedStyle(e).position === "absolute";
        const right = (e) => e.getBoundingClientRect().right;
        return [...document.querySelectorAll("main *")]
          .filter((e) => !clipped(e) && right(e) > innerWidth + 1)
          .map((e) => e.outerHTML.slice(0, 100));"""
    )
    assert outside == []
