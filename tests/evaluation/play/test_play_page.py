"""``clevrskills play --browser``: the server, and the page in a real browser."""

import http.client
import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import CHROMIUM, Browser

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.play import page as play_page
from clevrskills.evaluation.play.command import PlayArgs, play
from clevrskills.evaluation.play.page import PlayPage
from clevrskills.evaluation.results import read_results
from clevrskills.suites.ivispar.board import DIRECTIONS
from clevrskills.suites.ivispar.boards import Puzzle

PUZZLE = Puzzle.from_json(load_suite("ivispar").frozen("geoms", "base")[17].start["puzzle"])
SOLUTION = [f"move {PUZZLE.name_of[piece]} {DIRECTIONS[way]}" for piece, way in PUZZLE.optimal]


def ask(url: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body of an answer; with a body it is a POST of JSON data."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    given = {"Content-Type": "application/json"} if body is not None else {}
    method = "GET" if body is None else "POST"
    connection.request(method, path, body, {**given, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read()


@contextmanager
def running(page: PlayPage) -> Iterator[str]:
    thread = threading.Thread(target=page.run, daemon=True)
    thread.start()
    try:
        yield page.url
    finally:
        assert ask(page.url, PlayPage.QUIT, "null")[0] in (200, 404)
        thread.join()


def double(data: Any) -> Any:
    if not isinstance(data, int):
        raise ClevrSkillsError("a number, please")
    return 2 * data


def test_answers_of_the_page() -> None:
    with running(PlayPage("<p>page</p>", {"/double": double})) as url:
        assert ask(url, "/") == (200, b"<p>page</p>")
        assert ask(url, "/double", "21") == (200, b"42")
        assert ask(url, "/double", '"x"') == (400, b'{"error": "a number, please"}')
        assert ask(url, "/half", "1")[0] == 404 and ask(url, "/other")[0] == 404
        assert ask(url, "/double", "{")[0] == 400
        assert ask(url, "/double", " " * 100_001)[0] == 400


def test_other_sites_and_other_names_are_refused() -> None:
    """A page of another site, or a name that was made to point here, can't play."""
    with running(PlayPage("", {"/double": double})) as url:
        for headers in ({"Origin": "http://example.org"}, {"Host": "example.org"}):
            assert ask(url, "/double", "1", **headers)[0] == 403
        assert ask(url, "/double", "1", Origin=url) == (200, b"2")


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind((play_page.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["play", "geoms", "--browser", "--port", str(port)]) == 2
    assert f"port {port} can't be used" in capsys.readouterr().err
    assert main(["play", "geoms", "--browser", "--commands", "x"]) == 2


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_board_is_played_in_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typed into the page: a refused turn, the solution; it is recorded as a person's episode."""
    urls: queue.Queue[str] = queue.Queue()

    class Announced(PlayPage):
        def run(self) -> None:
            urls.put(self.url)
            super().run()

    monkeypatch.setattr(play_page, "PlayPage", Announced)
    args = PlayArgs(
        task="geoms",
        index=17,
        view=("schematic", "schematic@goal", "text"),
        browser=True,
        record=tmp_path / "human",
    )
    thread = threading.Thread(target=play, args=(args,), daemon=True)
    thread.start()
    with Browser(tmp_path / "profile") as tab:
        tab.visit(urls.get(timeout=60))
        wait = "const until = async (test) => { for (let k = 0; !test(); k++) {"
        wait += " if (k > 3000) throw new Error('waited in vain for ' + test);"
        wait += " await new Promise((done) => setTimeout(done, 10)); } };"
        given = []
        for number, text in enumerate(["jump", *SOLUTION], start=1):
            given.append(
                tab.run(
                    wait + "await until(() => $('views').children.length === 3);"
                    f"$('command').value = {json.dumps(text)}; $('form').requestSubmit();"
                    f"await until(() => $('turns').children.length === {number});"
                    "return [$('turns').firstChild.innerText, $('progress').innerText,"
                    "  $('end').innerText, $('goals').textContent,"
                    "  [...document.images].every((i) => i.naturalWidth > 100)];"
                )
            )
        assert (
            "jump" in given[0][0] and "UNPARSABLE" in given[0][0] and given[0][1] == "progress 0 %"
        )
        assert {(goals, drawn) for *_, goals, drawn in given} == {
            ("Hidden while it is recorded.", True)
        }
        assert [end for _, _, end, _, _ in given] == [""] * len(SOLUTION) + ["Solved."]
        tab.run(wait + "$('quit').click(); await until(() => $('quit').disabled);")
        assert tab.errors == []
    thread.join(30)
    assert not thread.is_alive()
    (result,) = read_results(tmp_path / "human")
    assert result.success_at_end and result.turns == len(SOLUTION) + 1 and result.refused == 1
