import pytest

from clevrskills.cli import main
from clevrskills.core.suite import all_splits, load_suite
from clevrskills.doctor import checks
from clevrskills.jobs.console import console


def test_tables_are_folded_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    found = checks.Check("renderer", False, "what was found " * 12, "do something " * 12)
    monkeypatch.setattr(checks, "checks", lambda: [found])
    task = load_suite().tasks["throw_sort"]
    for command, cells in (
        ("tasks", (task.sentence, " ".join(task.details["predicates"]))),
        ("suites", ("clevrskills", " ".join(all_splits(load_suite())))),
        ("doctor", (found.detail, found.remedy)),
    ):
        main([command])
        lines = capsys.readouterr().out.splitlines()
        assert all(any(cell.strip() in line for line in lines) for cell in cells), command
    assert console().width > 500
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert console().width == 60
    main(["tasks"])
    assert task.sentence not in capsys.readouterr().out
