import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import tyro

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.view import ViewArgs, choose, page, view
from clevrskills.errors import ClevrSkillsError

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


def embedded(text: str) -> list[dict]:
    """The data of the episodes on a page."""
    found = re.findall(
        r'<script type="application/json" class="episode">(.*?)</script>', text, re.S
    )
    return [json.loads(data) for data in found]


def test_page_is_complete_in_itself(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert view(ViewArgs(dataset=demos, out=out)) == 0
    text = out.read_text()
    assert not re.search(r"(src|href)=[\"'](?!data:|\{)|https?://|@import|url\(", text)
    assert [p.name for p in out.parent.iterdir()] == ["page.html"]
    assert text.count("<button data-index=") == 6
    assert "6 episodes" in text and "--limit" not in text


def test_data_of_an_episode(demos: Path) -> None:
    episode = Dataset(demos).episode("visit/train_00000002")
    (data,) = embedded(page([episode], "demos", total=6))
    assert (data["id"], data["task"], data["level"]) == (episode.id, "visit", "L1")
    assert len(data["reward"]) == len(data["progress"]) == data["steps"] == len(episode)
    assert set(data["videos"]) == {"base_camera", "hand_camera"}
    assert data["segments"] == episode.segments
    assert [k["label"] for k in data["keysteps"]] == [
        "Start",
        "Reach the red dot",
        "Reach the blue dot",
    ]
    assert [k["step"] for k in data["keysteps"]] == [k["step"] for k in episode.keysteps]
    assert [part.get("text") for part in data["prompt"]] == [
        "Move to ",
        None,
        ", then to <b>",
        None,
        "</b>.",
    ]
    assert data["prompt"][1]["picture"].startswith("data:image/jpeg;base64,")
    assert data["bodies"][0]["name"] == "red dot"
    assert data["versions"]["numpy"]


def test_texts_of_a_dataset_cannot_become_markup(demos: Path) -> None:
    text = page(list(Dataset(demos)), "<script>alert(1)</script>", total=6)
    assert "<script>alert(1)" not in text
    assert "<b>the blue dot" not in text and "\\u003cb\\u003e" in text


def test_limit_takes_from_all_tasks(demos: Path, tmp_path: Path) -> None:
    dataset = Dataset(demos)
    assert [e.id for e in choose(dataset, 3)] == [
        "reach/train_00000000",
        "reach/train_00000002",
        "visit/train_00000000",
    ]
    assert len(choose(dataset, 99)) == 6
    out = tmp_path / "page.html"
    view(ViewArgs(dataset=demos, out=out, limit=3))
    text = out.read_text()
    assert "3 of 6 episodes; more with --limit" in text
    assert len(embedded(text)) == 3


def test_one_episode_needs_no_list(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    view(ViewArgs(dataset=demos, episode="reach/train_00000003", out=out))
    text = out.read_text()
    assert [e["seed"] for e in embedded(text)] == [3]
    assert "<nav" not in text


def test_without_videos(tmp_path: Path) -> None:
    from fake_source import FakeSource

    from clevrskills.dataset_tools.generate import GenerateArgs, generate

    out = tmp_path / "data"
    generate(GenerateArgs(tasks=("reach",), episodes=1, out=out, no_cameras=True), FakeSource({}))
    (data,) = embedded(page(list(Dataset(out)), "data", total=1))
    assert data["videos"] == {} and data["keysteps"][0]["picture"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": Path("/nowhere")}, "/nowhere is not a dataset: it has no dataset.json"),
        ({"episode": "reach/9"}, "unknown episode 'reach/9'; allowed: reach/train_00000000"),
        ({"limit": 0}, "--limit must be at least 1, not 0"),
        ({"out": Path("/proc/page.html")}, "cannot write to /proc/page.html: "),
    ],
)
def test_bad_arguments(demos: Path, tmp_path: Path, change: dict, message: str) -> None:
    args = ViewArgs(**{"dataset": demos, "out": tmp_path / "page.html", **change})
    with pytest.raises(ClevrSkillsError) as error:
        view(args)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not (tmp_path / "page.html").exists()


def test_command_line() -> None:
    args = tyro.cli(ViewArgs, args="data --episode sort/train_00000001 --out page.html".split())
    assert args == ViewArgs(
        dataset=Path("data"), episode="sort/train_00000001", out=Path("page.html")
    )


DRIVER = """
(async () => {
  const until = async (test) => {
    while (!test()) await new Promise((done) => setTimeout(done, 20));
  };
  const brightest = (video) => {
    const canvas = document.createElement("canvas");
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let x = 0, y = 0, count = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      if (Math.min(pixels[i], pixels[i + 1], pixels[i + 2]) < 200) continue;
      x += (i / 4) % canvas.width; y += Math.floor(i / 4 / canvas.width); count++;
    }
    return [x / count, y / count];
  };
  await until(() => document.readyState === "complete");
  buttons[1].click();
  await until(() => videos.length === 2 && videos.every((v) => v.readyState >= 2));
  const places = [];
  for (let step = 0; step <= episode.steps; step++) {
    seek(step);
    await until(() => videos.every((v) => !v.seeking && v.readyState >= 2));
    places.push(videos.map(brightest));
  }
  const end = {now: $("now").textContent, clock: $("clock").textContent};
  seek(0);
  $("speed").value = "4";
  $("play").click();
  await until(() => !playing);
  return JSON.stringify({id: episode.id, places, end, stopped: $("scrub").value});
})()
"""


def run_in_browser(page: Path, script: str, profile: Path) -> str:
    """Open a page in headless Chromium and return what a script's promise gives."""
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"),
    ]
    # Chromium reads commands from descriptor 3 and answers on 4; the shell puts our pipes there.
    (their_input, to_browser), (from_browser, their_output) = os.pipe(), os.pipe()
    redirect = f'exec "$@" 3<&{their_input} 4>&{their_output}'
    process = subprocess.Popen(
        ["bash", "-c", redirect, "bash", *command],
        pass_fds=(their_input, their_output),
        stderr=subprocess.DEVNULL,
    )
    os.close(their_input)
    os.close(their_output)
    numbers = itertools.count(1)
    with os.fdopen(to_browser, "wb") as commands, os.fdopen(from_browser, "rb") as answers:

        def ask(method: str, session: dict, **params: object) -> dict:
            number = next(numbers)
            text = json.dumps({"id": number, "method": method, "params": params, **session})
            commands.write(text.encode() + b"\0")
            commands.flush()
            while True:
                answer = json.loads(b"".join(iter(lambda: answers.read(1), b"\0")))
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]

        try:
            targets = ask("Target.getTargets", {})["targetInfos"]
            (target,) = [t["targetId"] for t in targets if t["type"] == "page"]
            attached = ask("Target.attachToTarget", {}, targetId=target, flatten=True)
            session = {"sessionId": attached["sessionId"]}
            ask("Page.navigate", session, url=page.as_uri())
            result = ask(
                "Runtime.evaluate",
                session,
                expression=script,
                awaitPromise=True,
                returnByValue=True,
            )
            assert "exceptionDetails" not in result, result
            return str(result["result"]["value"])
        finally:
            process.terminate()
            process.wait()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_in_a_browser(demos: Path, tmp_path: Path) -> None:
    """The second episode is chosen, every step sought, the episode played to its end."""
    episode = Dataset(demos)[1]
    path = tmp_path / "page.html"
    path.write_text(page(list(Dataset(demos)), "demos", total=6))
    report = json.loads(run_in_browser(path, DRIVER, tmp_path / "profile"))
    assert report["id"] == episode.id
    assert report["end"]["now"] == "Reach the blue dotMove along " + report["end"]["now"][-1]
    assert report["end"]["clock"].startswith(f"step {len(episode)} of {len(episode)}, reward 2.00")
    assert report["stopped"] == str(len(episode))
    for (x, y), places in zip(episode.states[:, :2], report["places"], strict=True):
        expected = ((x + 1) / 2 * 55 + 3.5, (y + 1) / 2 * 55 + 3.5)
        for place in places:
            assert place == pytest.approx(expected, abs=1.0)
