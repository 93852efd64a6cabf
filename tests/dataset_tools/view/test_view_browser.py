"""The pages in a real browser, opened from disk."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import CHROMIUM, Browser

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.view.command import ViewArgs, page, view

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
const still = () => until(() => player.screens.every(
  ({video, shown}) => !video.seeking && video.readyState >= 2 && shown === player.step));
const pixelsOf = (image, width, height) => {
  const canvas = element("canvas", {width, height});
  const pen = canvas.getContext("2d", {willReadFrequently: true});
  pen.drawImage(image, 0, 0);
  return pen.getImageData(0, 0, width, height).data;
};
/* The middle of what is white in the image that is on the screen: the point that moves. */
const point = ({frame}) => {
  const {width, height} = frame, pixels = pixelsOf(frame, width, height);
  let x = 0, y = 0, count = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    if (Math.min(pixels[i], pixels[i + 1], pixels[i + 2]) < 200) continue;
    x += (i / 4) % width; y += Math.floor(i / 4 / width); count++;
  }
  return [x / count, y / count];
};
/* Where anything is drawn over a video, in pixels of the video. */
const drawn = ({canvas, camera}) => {
  const {width, height} = canvas, pixels = pixelsOf(canvas, width, height);
  const box = [Infinity, Infinity, -1, -1];
  for (let i = 3; i < pixels.length; i += 4) {
    if (pixels[i] < 100) continue;
    const at = Math.floor(i / 4), x = at % width, y = Math.floor(at / width);
    box[0] = Math.min(box[0], x); box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x + 1); box[3] = Math.max(box[3], y + 1);
  }
  return box[2] < 0 ? [-1, -1, -1, -1] : box.map((value) => value * camera.width / width);
};
const lit = () => [...$("tree").children].map((line) => line.classList.contains("holds"));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def tab(browser: Browser) -> Iterator[Browser]:
    with browser.watched(1280, 900) as watched:
        yield watched


@pytest.fixture(scope="module")
def episode(demos: Path) -> Episode:
    found: Episode = Dataset(demos)[1]
    return found


@pytest.fixture(scope="module")
def list_page(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    view(ViewArgs(dataset=demos, out=path))
    return path


def places(episode: Episode) -> np.ndarray:
    """Where the white point is in each frame, in pixels."""
    x, y = episode.states[:, :2].T
    return np.stack([32 + x / 1.8 * 64, 32 - y / 1.8 * 64], axis=-1) - 0.5


@pytest.mark.slow
def test_every_step(tab: Browser, list_page: Path, episode: Episode) -> None:
    """The second episode is chosen and every step sought: frame, boxes, goal tree, labels."""
    tab.open(list_page)
    report = tab.run(
        HELPERS
        + """
        buttons[1].click();
        const nowhere = {left: -9, top: -9, right: -9, bottom: -9};
        for (const screen of player.screens) screen.label = () => nowhere;  // boxes alone are read
        const found = [];
        for (let step = 0; step <= player.episode.steps; step++) {
          player.seek(step);
          await still();
          const boxes = [0, 1].map((k) => player.screens.map((screen) => {
            screen.hidden = new Set([1 - k]);
            screen.redraw();
            return drawn(screen);
          }));
          found.push({boxes, lit: lit(), points: player.screens.map(point),
            now: $("now").textContent, clock: $("clock").textContent});
        }
        return {id: player.episode.id, hash: location.hash, found};"""
    )
    assert report["id"] == episode.id and report["hash"] == f"#{episode.id}"
    steps = len(episode)
    holds = [[False] * 3, *np.stack(episode.steps["holds"]).tolist()]
    where = places(episode)
    assert len(report["found"]) == steps + 1
    for t, found in enumerate(report["found"]):
        assert found["lit"] == holds[t]
        row = episode.steps.iloc[min(t, steps - 1)]
        assert found["now"] == row["subtask"] + row["instruction"] + "movemove"
        assert found["clock"] == f"{t / 20:.2f} s, step {t} / {steps}"
        for c, camera in enumerate(episode.cameras):
            inside = (where[t] > 6).all() and (where[t] < 57).all()
            assert not inside or found["points"][c] == pytest.approx(where[t], abs=1.0)
            for k in range(2):
                box = episode.boxes(camera)[t, k]
                assert found["boxes"][k][c] == pytest.approx(box, abs=1.0)


@pytest.mark.slow
def test_playing(tab: Browser, list_page: Path, episode: Episode) -> None:
    """Overlays belong to the frame of the video on the screen, at every speed."""
    tab.open(list_page, f"#{episode.id}")
    for speed in ("1", "4"):
        report = tab.run(
            HELPERS
            + f"""
            player.seek(0);
            await still();
            $("speed").value = "{speed}";
            $("play").click();
            const seen = [], clock = [];
            const [screen] = player.screens, {{video}} = screen;
            await until(() => {{
              clock.push(video.currentTime);
              seen.push([screen.shown, point(screen)]);
              return !player.playing;
            }});
            await still();
            return {{seen, clock, id: player.episode.id, paused: video.paused,
              end: $("scrub").value, lit: lit(), rate: video.playbackRate}};"""
        )
        assert report["id"] == episode.id
        assert report["paused"] and report["end"] == str(len(episode))
        assert report["rate"] == float(speed)
        assert report["lit"] == [True] * 3
        assert report["clock"][-1] > report["clock"][0]
        shown = [step for step, _ in report["seen"]]
        # a busy machine drops most of the frames on the way
        assert shown == sorted(shown) and len(set(shown)) > 1
        where = places(episode)
        for step, place in report["seen"]:
            if (where[step] > 6).all() and (where[step] < 57).all():
                assert place == pytest.approx(where[step], abs=1.0)


def test_keys_and_pointer(tab: Browser, list_page: Path, episode: Episode) -> None:
    tab.open(list_page, f"#{episode.id}")
    tab.run(HELPERS + "await still();")
    steps, second = len(episode), episode.keysteps[1]["step"]

    def step() -> int:
        return int(tab.run("return player.step;"))

    for key, modifiers, expected in (
        ("ArrowRight", 0, 1),
        ("ArrowRight", 0, 2),
        ("ArrowLeft", 0, 1),
        ("End", 0, steps),
        ("ArrowRight", 0, steps),
        ("PageUp", 0, steps - 10),
        ("Home", 0, 0),
        ("ArrowLeft", 0, 0),
        ("ArrowRight", 8, second),
        ("ArrowLeft", 8, 0),
    ):
        tab.press(key, modifiers=modifiers)
        assert step() == expected, key
    tab.press(" ", " ")
    assert tab.run(HELPERS + "await until(() => player.step > 1); return player.playing;")
    tab.press(" ", " ")
    assert not tab.run("return player.playing;")

    center = """
        const box = {}.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];"""
    tab.click(
        *tab.run("$('keysteps').scrollIntoView();" + center.format("$('keysteps').children[1]"))
    )
    assert step() == second
    tab.press(" ", " ")  # plays, though the key-step was clicked last
    assert tab.run("return player.playing;")
    tab.press(" ", " ")
    lane = "document.querySelector('.lane')"
    tab.click(*tab.run("scrollTo(0, 0);" + lane + ".scrollIntoView();" + center.format(lane)))
    assert step() == round(steps / 2)
    tab.run("$('scrub').value = 3; $('scrub').oninput();")
    assert step() == 3
    ahead, back = "drawn(player.screens[0])[2] > 0", "drawn(player.screens[0])[2] < 0"
    tab.run("player.seek(0);" + HELPERS + "await still();")
    assert tab.run(HELPERS + f"return {ahead};")
    tab.press("b", "b")
    assert tab.run(HELPERS + f"return {back};")
    tab.press("b", "b")
    assert tab.run(HELPERS + f"return {ahead};")
    tab.press("]", "]")
    assert tab.run("return player.episode.id;") == Dataset(episode.path.parents[1]).ids[2]


def test_labels_cover_no_object(tab: Browser, list_page: Path) -> None:
    """Where a name has no room beside its object, its number stands there."""
    tab.open(list_page)
    found = tab.run("""
        const box = (left, top, right, bottom, number) => ({
          left, top, right, bottom, color: "red", names: ["a name that is long", `${number}`],
        });
        const pen = document.createElement("canvas").getContext("2d");
        const screen = {canvas: {width: 400, height: 200}};
        const label = (one, more) => Screen.prototype.label.call(screen, pen, one, [one, ...more]);
        const alone = label(box(50, 50, 90, 90, 1), []);
        const close = [0, 1, 2, 3, 4].map((k) => box(100 + 25 * k, 60, 120 + 25 * k, 180, k + 1));
        const labels = [];
        for (const one of close) labels.push(label(one, [...close, ...labels]));
        const whole = label(box(0, 0, 400, 200, 7), []);
        return [alone, close, labels, whole];""")
    alone, close, labels, whole = found
    assert alone["text"].startswith("a name") and alone["bottom"] <= 50
    assert whole["text"] == "7" and (whole["left"], whole["top"]) == (0, 0)
    assert {len(label["text"]) for label in labels} == {1, len(alone["text"])}
    for k, a in enumerate(labels):
        for b in [*close[:k], *close[k + 1 :], *labels[:k]]:
            apart = (a["right"] <= b["left"], b["right"] <= a["left"])
            assert any(apart) or a["bottom"] <= b["top"] or b["bottom"] <= a["top"]


def test_light_and_dark(tab: Browser, list_page: Path) -> None:
    shade = "return getComputedStyle(document.body).backgroundColor;"
    tab.look(1280, 900, "light")
    tab.open(list_page)
    light = tab.run(shade)
    tab.look(1280, 900, "dark")
    dark = tab.run(shade)
    assert light != dark
    tab.press("t", "t")
    assert tab.run(shade) == light
    tab.open(list_page)
    assert tab.run(shade) == light  # it is remembered
    tab.run("localStorage.clear();")


@pytest.mark.parametrize("width", [380, 800, 1900])
def test_nothing_is_wider_than_the_window(tab: Browser, list_page: Path, width: int) -> None:
    tab.look(width, 900)
    tab.open(list_page)
    assert tab.run("return document.documentElement.scrollWidth;") == width


def test_failed_attempts_are_marked(tab: Browser, episode: Episode, tmp_path: Path) -> None:
    path = tmp_path / "reach" / episode.path.name
    shutil.copytree(episode.path, path)
    steps = pd.read_parquet(path / "steps.parquet")
    steps["failed"] = [2 <= t < 5 for t in range(len(steps))]
    steps["attempt"] = [int(t >= 5) for t in range(len(steps))]
    steps.to_parquet(path / "steps.parquet")
    out = tmp_path / "page.html"
    out.write_text(page([Episode(path)], "copy", total=1))
    tab.open(out)
    marked, clean, again = tab.run(
        """
        const texts = (selector) => [...document.querySelectorAll(selector)].map((s) => s.title);
        player.seek(3);
        const marked = [texts(".segment.failed"), $("now").textContent];
        player.seek(6);
        return [marked, $("now").textContent, texts(".segment:has(.again:not(.bad))")];"""
    )
    spans = [re.findall(r"steps (\d+) to (\d+)(?:, attempt 1)?, failed", t) for t in marked[0]]
    assert all(len(span) == 1 for span in spans)
    covered = [t for ((first, last),) in spans for t in range(int(first), int(last) + 1)]
    assert sorted(covered) == [2, 2, 3, 3, 4, 4]  # in the lanes of steps and of actions
    assert marked[1].endswith("✕ failed")
    assert "attempt 2" in clean and "failed" not in clean
    assert all("attempt 2" in text for text in again) and len(again) >= 2


def test_index(tab: Browser, demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    view(ViewArgs(dataset=demos, out=out))
    tab.open(out / "index.html")
    count = """
        const choose = (id, value) => { $(id).value = value; $(id).onchange(); };
        const type = (text) => { $("search").value = text; $("search").oninput(); };
        const cards = () => [...document.querySelectorAll(".card")].map((c) => c.textContent);
    """
    found = tab.run(
        count
        + """
        const found = {all: cards()};
        choose("task", "visit"); found.visit = cards();
        choose("result", "failed: skill"); found.failed = cards();
        choose("task", ""); choose("result", "");
        type("cannot REACH"); found.words = cards();
        type("seed 10000001 success"); found.seed = cards();
        type("nowhere"); found.none = [cards(), $("more").textContent];
        type(""); choose("order", "longest first"); found.longest = cards();
        await new Promise((done) => setTimeout(done, 300));
        found.images = [...document.images].map((i) => i.naturalWidth);
        return found;"""
    )
    assert len(found["all"]) == 8
    assert [text.lstrip("✕").startswith("visit") for text in found["visit"]] == [True] * 4
    assert len(found["failed"]) == 1 and "cannot reach it" in found["failed"][0]
    assert len(found["words"]) == len(found["seed"]) == 2
    assert found["none"] == [[], "No matching attempts. Clear filters"]
    longest = max(Dataset(demos), key=len)
    assert f"seed {longest.info['seed']}, {len(longest)} steps" in found["longest"][0]
    assert found["images"] == [64] * 6
    tab.follow("a.card")
    assert tab.run("return player.episode.id;") == longest.id
    tab.follow("#next, #previous")
    assert tab.run("return player.episode.id;") in Dataset(demos).ids
    tab.follow(".title .end a[href$='index.html']")
    assert tab.run("return document.querySelectorAll('.card').length;") == 8
