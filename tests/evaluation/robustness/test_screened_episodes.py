"""Perturbed episodes that are kept: screened in order, remembered, paired with their twins."""

import json
from dataclasses import replace
from functools import partial

import pytest
from fabricated import result, write_run

from clevrskills.core.suite import check_axes, data_file, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.tables import numbers, task_rows
from clevrskills.evaluation.results import open_evaluations
from clevrskills.evaluation.robustness import shipped
from clevrskills.evaluation.robustness.screened_episodes import Kept, PerturbedQueue, kept_episodes
from clevrskills.evaluation.robustness.screening import REVISION, PerturbedEpisode, ScreeningVerdict
from clevrskills.evaluation.robustness.shipped import shipped_verdicts, write_verdicts
from clevrskills.evaluation.robustness.tables import find_drops, robustness_tables
from clevrskills.jobs.pool import TimedOut, WorkerDied

SUITE = load_suite()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("wind:1",), "suite clevrskills has the axes .*camera"),
        (("camera",), "allowed is camera:LEVEL with a level from 0 to 5"),
        (("camera:6",), "from 0 to 5"),
        (("camera:-1",), "from 0 to 5"),
        (("embodiment:2",), "from 0 to 1"),
        (("camera:1", "camera:2"), "names camera twice"),
    ],
)
def test_axes_that_do_not_exist(given, message):
    with pytest.raises(ClevrSkillsError, match=message):
        check_axes(SUITE, given)


def test_axes_in_the_order_of_the_suite_without_level_0():
    assert list(check_axes(SUITE, ("camera:2", "clutter:1", "light:0")).items()) == [
        ("clutter", 1),
        ("camera", 2),
    ]
    ivispar = load_suite("ivispar")
    with pytest.raises(ClevrSkillsError, match=r"suite ivispar has the axes \(none\)"):
        check_axes(ivispar, ("camera:1",))


def verdict(index, reason=""):
    return ScreeningVerdict("pick", "train", index, f"twin{index}", f"made{index}", reason)


def test_rejected_ones_are_replaced_by_the_next():
    kept = Kept("pick", "train", 3, None, {}, "abcdef")
    assert [kept.next() for _ in range(4)] == [
        *(PerturbedEpisode("pick", "train", k) for k in range(3)),
        None,
    ]
    kept.results |= {0: verdict(0), 2: verdict(2)}
    assert kept.next() is None  # the second is still out
    kept.results[1] = verdict(1, "oracle: gave up")
    assert kept.next() == PerturbedEpisode("pick", "train", 3) and kept.next() is None
    kept.results[3] = verdict(3)
    assert kept.indices == [0, 2, 3] and [v.index for v in kept.rejected] == [1]


def test_known_verdicts_are_not_screened_again():
    known = {0: verdict(0, "hidden"), 1: verdict(1), 2: verdict(2)}
    kept = Kept("pick", "train", 2, None, known, "abc")
    assert kept.next() is None and kept.indices == [1, 2]
    none_left = Kept("pick", "train", 3, None, dict(known), "abc")
    assert none_left.next() is None and len(none_left.indices) == 2


def test_a_verdict_is_read_back():
    assert ScreeningVerdict.from_json(verdict(3, "hidden").to_json()) == verdict(3, "hidden")
    with pytest.raises(ValueError):
        ScreeningVerdict.from_json(b'{"task": 3}')


def runs(tmp_path):
    """A clean run of which 3 of 4 succeed, and a perturbed one of which 1 of 3 does."""
    make = partial(result, split="train")
    clean = [make("pick", index=k, episode=f"c{k}", success=k < 3) for k in range(4)]
    other = [
        make("pick", index=k, episode=f"p{k}", success=k == 0, axes={"camera": 3}, twin=f"c{k}")
        for k in (0, 2, 3)
    ]
    roots = [
        write_run(tmp_path / "clean", clean, "policy, clean"),
        write_run(
            tmp_path / "camera",
            other,
            "policy, camera 3",
            axes={"camera": 3},
            rejected={"pick_train": {"1": "object_0 shows 3 pixels"}},
        ),
    ]
    return open_evaluations(roots)


def test_drops_are_paired_by_twin(tmp_path):
    (drop,) = find_drops(runs(tmp_path))
    assert drop.name == "camera 3" and drop.rejected == 1
    assert drop.pairs["pick"].tolist() == [[True, True], [True, False], [False, False]]
    assert drop.drop.value == pytest.approx(1 / 3)
    whole, worst, by_task = robustness_tables(runs(tmp_path))
    (most,) = worst.data.to_dict("records")
    assert (most["task"], most["axis"], most["p_value"]) == ("pick", "camera 3", 1.0)
    (row,) = whole.data.to_dict("records")
    assert (row["clean"], row["perturbed"], row["pairs"]) == (
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
        3,
    )
    assert by_task.texts.to_dict("records") == [
        {"task": "pick", "split": "train", "camera 3": "+33"}
    ]


def test_rows_have_axes_and_rejected_episodes(tmp_path):
    clean, perturbed = numbers(task_rows(runs(tmp_path))).to_dict("records")
    assert (clean["axes"], clean["rejected"]) == ("", 0)
    assert (perturbed["axes"], perturbed["rejected"]) == ("camera:3", 1)


def test_clean_runs_of_other_settings_are_no_twins(tmp_path):
    clean, perturbed = runs(tmp_path)
    for name, value in (("controller", "weak"), ("noise", "p10"), ("chunk", 2), ("seed", 3)):
        other = replace(clean, run=replace(clean.run, **{name: value}))
        assert not list(find_drops([other, perturbed])), name
        (drop,) = find_drops([other, perturbed, clean])
        assert drop.drop.value == pytest.approx(1 / 3)


def test_a_timeout_or_a_kill_is_no_verdict(tmp_path):
    kept = Kept("pick", "train", 1, tmp_path / "pick.jsonl", {}, ["twin0", "twin1"])
    queue = PerturbedQueue([kept], None)
    job = queue.next()
    for end in (TimedOut(600.0), WorkerDied("killed", killed=True)):
        with pytest.raises(ClevrSkillsError, match="pick, split train, 0: "):
            queue.give_up(job, end)
    assert not kept.results and not kept.journal.exists()
    queue.give_up(job, WorkerDied("segmentation fault"))
    assert kept.results[0].reason == "segmentation fault" and queue.next().index == 1


def test_without_a_clean_run_of_the_same_policy_there_is_no_table(tmp_path):
    clean, perturbed = runs(tmp_path)
    assert robustness_tables([perturbed]) == [] == robustness_tables([clean])


def test_shipped_verdicts_match_the_perturbations_of_today(tmp_path, monkeypatch):
    frozen = SUITE.frozen("pick", "train")[:3]
    made = [SUITE.perturb(one, {"layout": 3}) for one in frozen]
    some = [
        ScreeningVerdict(
            "pick", "train", k, f.content_hash, m.content_hash, "hidden" if k == 1 else ""
        )
        for k, (f, m) in enumerate(zip(frozen, made, strict=True))
    ]
    path = tmp_path / "screened.json"
    write_verdicts(path, SUITE, {"layout-3": {("pick", "train"): some}})
    monkeypatch.setattr(shipped, "data_file", lambda *_: path)
    hashes = [one.content_hash for one in SUITE.frozen("pick", "train")]
    read = shipped_verdicts(SUITE, "layout-3", "pick", "train", hashes)
    assert [read[k].reason for k in range(3)] == ["", "hidden", ""] and len(read) == 3
    assert all(m.content_hash.startswith(read[k].episode) for k, m in enumerate(made))
    assert shipped_verdicts(SUITE, "layout-2", "pick", "train", hashes) == {}
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(tmp_path))
    (kept,) = kept_episodes(SUITE, [("pick", "train")], {"layout": 3}, 2)  # nothing is screened
    assert kept.indices == [0, 2] and [v.index for v in kept.rejected] == [1]


@pytest.mark.parametrize("revision", [REVISION, REVISION - 1])
def test_verdicts_of_another_revision_are_screened_again(revision, tmp_path, monkeypatch):
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(tmp_path))
    monkeypatch.setattr(shipped, "data_file", lambda *_: None)
    monkeypatch.setattr("clevrskills.jobs.work.work", lambda *_: None)
    twin = SUITE.frozen("pick", "train")[0].content_hash
    folder = tmp_path / "axes" / f"clevrskills-{revision}"
    journal = folder / "layout-3" / "pick_train.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text(
        ScreeningVerdict("pick", "train", 0, twin, "made", "hidden").to_json() + "\n"
    )
    (kept,) = kept_episodes(SUITE, [("pick", "train")], {"layout": 3}, 1, strict=False)
    assert list(kept.results) == ([0] if revision == REVISION else [])


@pytest.mark.slow
def test_the_package_ships_current_verdicts():
    """Places in key-steps are rounded otherwise on other kinds of CPU: of ten in 3,392 was that
    stated.
    """
    drawn, others = 0, []
    for name, of_axis in json.loads(data_file(SUITE, shipped.FILE).read_text()).items():
        axis, level = name.rsplit("-", 1)
        for key, entry in of_axis.items():
            task, split = key.rsplit("_", 1)
            frozen = SUITE.frozen(task, split)
            for one, digits in zip(frozen, entry["episodes"].split(), strict=False):
                made = SUITE.perturb(one, {axis: int(level)})
                found = "-" if isinstance(made, str) else made.content_hash
                drawn += 1
                if not found.startswith(digits):
                    others.append((name, key, one.index))
                    assert not isinstance(made, str) and made.prompt.keysteps, others[-1]
    assert drawn > 3000 and len(others) <= 0.01 * drawn, others
