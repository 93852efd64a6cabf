import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clevrskills.dataset_tools.generate.run import AttemptQueue, make_display
from clevrskills.dataset_tools.generate.schedule import TaskQueue
from clevrskills.dataset_tools.manifest import Attempt, Manifest
from clevrskills.jobs import progress


def make_queues() -> list[TaskQueue]:
    """Of "reach" one of four episodes is there, of "visit" none of two."""
    history = {(0, True): Attempt("reach", "train", 0, steps=5).end()}
    return [
        TaskQueue("reach", "L0", "train", range(4), 0, present={0}, history=history),
        TaskQueue("visit", "L1", "train", range(2), 0),
    ]


def end(queue: TaskQueue, kind: str = "") -> None:
    attempt = queue.next()
    assert attempt is not None
    queue.finish(attempt.end(kind, steps=5))


@contextmanager
def shown(queues: list[TaskQueue], root: Path) -> Iterator[Callable[[], None]]:
    """The display of a run, and what updates it."""
    with make_display(queues) as display:
        yield AttemptQueue(queues, Manifest(root, "local"), root, display).update


def test_a_log_file_gets_a_line_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    queues = make_queues()
    with shown(queues, tmp_path) as update:
        end(queues[0])
        update()
        assert capsys.readouterr().err == ""  # not yet
        monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)
        update()
        assert re.fullmatch(
            r"2 of 6 episodes, 0 failed, \d+ episodes/h, \d+:\d\d h left\n", capsys.readouterr().err
        )
        end(queues[0], "skill")
        update()
        assert "2 of 6 episodes, 1 failed (66.7% succeed), " in capsys.readouterr().err


def test_no_speed_is_shown_before_the_first_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)
    queues = make_queues()
    for queue in queues:
        while not queue.pending:
            queue.next()
    with shown(queues, tmp_path) as update:
        update()
    assert capsys.readouterr().err == "1 of 6 episodes, 0 failed\n"


def test_a_notebook_gets_one_line_that_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Also what a cell starts in a terminal of its own."""
    monkeypatch.setattr(progress, "NOTEBOOK_EVERY_S", 0.0)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    queues = make_queues()
    with shown(queues, tmp_path) as update:
        for _ in range(3):
            end(queues[0])
            update()
    text = capsys.readouterr().err
    assert "\x1b" not in text and text.endswith("\r\n") and text.count("\n") == 1
    lines = text.split("\r")[:-1]
    assert [line[:15] for line in lines] == [f"{n} of 6 episodes" for n in (2, 3, 4)]
    assert {len(line) for line in lines} == {progress.NOTEBOOK_WIDTH}


def test_a_terminal_gets_bars_of_the_tasks_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    queues = make_queues()
    end(queues[0])
    with shown(queues, tmp_path) as update:
        update()
    text = capsys.readouterr().err
    assert "reach" in text and "2/4" in text and "2/6" in text
    assert "visit" not in text
