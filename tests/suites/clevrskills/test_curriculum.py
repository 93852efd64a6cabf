"""Order, continuation and tables of the curriculum, with a fake evaluation."""

import inspect
import json
import re
import sys
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fabricated import FewTasks, outcomes, write_run
from inline import one_worker_here

from clevrskills.baselines import load
from clevrskills.baselines.training.train import TrainArgs
from clevrskills.cli import main
from clevrskills.core.episode import FrozenHeader
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.evaluate import EvaluateArgs
from clevrskills.evaluation.evaluate import evaluate as evaluate_really
from clevrskills.evaluation.freeze import frozen
from clevrskills.evaluation.policies import Zero
from clevrskills.jobs.options import parse
from clevrskills.suites.clevrskills.curriculum import CurriculumArgs, curriculum
from clevrskills.suites.clevrskills.curriculum_args import requested_curriculum
from clevrskills.suites.clevrskills.protocol import PLACEHOLDERS, parse_curriculum, read_curriculum
from clevrskills.suites.clevrskills.stages import command_of
from clevrskills.tasks import tasks

LEVELS = {"pick": "L0", "match_pose": "L0", "sort": "L1", "rearrange": "L1", "balance": "L2"}
CHECKPOINTS = """
label = "mine"
policy = "package:Policy"
episodes = 2
prompts = ["multimodal"]

[policy_args]
device = "cpu"

[checkpoints]
l0 = { checkpoint = "a" }
l1 = { checkpoint = "b" }
l2 = { checkpoint = "c" }
"""
TRAINED = """
label = "mine"
policy = "package:Policy"
episodes = 1
splits = ["train"]

[train]
command = "%s train.py --level {level} --from {from} --out {out} --data {data}"
data = "demos"
"""
TRAINER = """
import json, pathlib, sys
pathlib.Path("calls.txt").open("a").write(json.dumps(sys.argv[1:]) + "\\n")
if pathlib.Path("fails").exists() and sys.argv[2] == "L1":
    sys.exit(3)
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
"""


class Suite:
    """The levels of the tasks."""

    tasks = {key: SimpleNamespace(level=level) for key, level in LEVELS.items()}  # noqa: RUF012


class Evaluator:
    """Writes results without a simulator, and remembers what it was asked for.

    ``errors``: names of folders whose evaluation has an error, once; ``broken``: that have nothing
    but errors; ``code``: what it returns; ``perfect``: whether all episodes are solved.
    """

    def __init__(self) -> None:
        self.calls: list[EvaluateArgs] = []
        self.errors: set[str] = set()
        self.broken: set[str] = set()
        self.code = 0
        self.perfect = False

    def __call__(self, args: EvaluateArgs, suite: object = None, declared: object = None) -> int:
        from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS

        self.calls.append(args)
        if self.code:
            return self.code
        (level,), (split,) = args.level, args.split
        left_out = KEYSTEP_TASKS if args.prompt == "language" else ()
        results = []
        for task in (t for t, known in LEVELS.items() if known == level and t not in left_out):
            successes: list[bool | None] = [True, *[self.perfect] * (args.episodes - 1)]
            if args.out.name in self.errors:
                successes[0] = None
            if args.out.name in self.broken:
                successes = [None] * args.episodes
            results += outcomes(task, successes, level, split=split)
        write_run(
            args.out,
            results,
            args.label,
            policy=args.policy,
            policy_args=policy_arguments(args.policy_arg),
        )
        if args.out.name in self.errors | self.broken:
            self.errors.discard(args.out.name)
            raise ClevrSkillsError("1 episodes ended in errors")
        return 0

    @property
    def names(self) -> list[str]:
        return [args.out.name for args in self.calls]


@pytest.fixture
def evaluate() -> Evaluator:
    return Evaluator()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAINER)
    return tmp_path


def run(text: str, evaluate: Evaluator, out: str = "out", **more: object) -> int:
    Path("table.toml").write_text(text)
    args = CurriculumArgs(table=Path("table.toml"), out=Path(out), **more)  # type: ignore[arg-type]
    return curriculum(args, Suite(), evaluate)  # type: ignore[arg-type]


def test_order_and_arguments(folder: Path, evaluate: Evaluator) -> None:
    assert run(CHECKPOINTS + "[evaluate]\nworkers = 2\n", evaluate) == 0
    assert evaluate.names == [
        f"multimodal-{stage}-on-{level}-{split}"
        for stage, level in (
            ("l0", "L0"),
            ("l0", "L1"),
            ("l1", "L1"),
            ("l1", "L2"),
            ("l2", "L2"),
        )
        for split in ("train", "test")
    ]
    second = evaluate.calls[5]
    assert (second.level, second.split, second.prompt) == (("L1",), ("test",), "multimodal")
    assert (second.policy, second.label, second.workers) == ("package:Policy", "mine, l1", 2)
    assert policy_arguments(second.policy_arg) == {"device": "cpu", "checkpoint": "b"}


def test_language_leaves_out_keysteps_and_may_have_its_own_checkpoints(
    folder: Path, evaluate: Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CHECKPOINTS.replace('"multimodal"', '"multimodal", "language"')
    text += '[language_checkpoints]\nl0 = { checkpoint = "w" }\n'
    assert run(text, evaluate, plan=True, json=True) == 0
    plan = json.loads(capsys.readouterr().out)
    counts = {(s["prompt"], s["stage"], s["level"]): (s["tasks"], s["possible"]) for s in plan}
    assert counts["multimodal", "l0", "L0"] == (2, True)
    assert counts["language", "l0", "L0"] == (1, True)
    assert counts["language", "l1", "L1"] == (1, False)  # no such checkpoint in words
    assert evaluate.calls == []
    assert run(text, evaluate) == 0
    words = [a for a in evaluate.calls if a.prompt == "language"]
    assert {policy_arguments(a.policy_arg)["checkpoint"] for a in words} == {"w"}
    assert len(words) == 4


def test_finished_stages_are_not_repeated(folder: Path, evaluate: Evaluator) -> None:
    run(CHECKPOINTS, evaluate)
    assert len(evaluate.calls) == 10
    run(CHECKPOINTS, evaluate)
    assert len(evaluate.calls) == 10
    run(CHECKPOINTS.replace("episodes = 2", "episodes = 3"), evaluate)
    assert len(evaluate.calls) == 20


def test_a_stop_is_passed_on(folder: Path, evaluate: Evaluator) -> None:
    evaluate.code = 130
    assert run(CHECKPOINTS, evaluate) == 130
    assert len(evaluate.calls) == 1


def test_errors_of_episodes_do_not_stop_the_rest(folder: Path, evaluate: Evaluator) -> None:
    evaluate.errors = {"multimodal-l0-on-L1-train"}
    with pytest.raises(ClevrSkillsError, match="^multimodal-l0-on-L1-train: 1 episodes ended"):
        run(CHECKPOINTS, evaluate)
    assert len(evaluate.calls) == 10
    assert "mine: multimodal-l0-on-L1-train has 2 of 4 episodes, 2 met an error" in (
        Path("out/tables.md").read_text()
    )
    assert run(CHECKPOINTS, evaluate) == 0
    assert evaluate.names[10:] == ["multimodal-l0-on-L1-train"]
    assert "met an error" not in Path("out/tables.md").read_text()


def test_a_policy_that_does_not_work_at_all_stops_it(folder: Path, evaluate: Evaluator) -> None:
    evaluate.broken = {"multimodal-l0-on-L1-train"}
    with pytest.raises(ClevrSkillsError, match="^multimodal-l0-on-L1-train: 1 episodes"):
        run(CHECKPOINTS, evaluate)
    assert len(evaluate.calls) == 3


def test_another_checkpoint_needs_another_folder(folder: Path, evaluate: Evaluator) -> None:
    run(CHECKPOINTS, evaluate)
    said = r'l1-on-L1-train was made with package:Policy .*"b".*, not package:Policy .*"z".*--out'
    with pytest.raises(ClevrSkillsError, match=said):
        run(CHECKPOINTS.replace('"b"', '"z"'), evaluate)


def test_stages_may_be_policies_of_their_own(folder: Path, evaluate: Evaluator) -> None:
    text = CHECKPOINTS.replace('{ checkpoint = "b" }', '{ policy = "openpi://localhost:8001" }')
    run(text, evaluate)
    stages = [a for a in evaluate.calls if a.label == "mine, l1"]
    assert {a.policy for a in stages} == {"openpi://localhost:8001"}
    assert policy_arguments(stages[0].policy_arg) == {"device": "cpu"}


def test_missing_checkpoints_leave_gaps(
    folder: Path, evaluate: Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    text = re.sub("l[12] = .*\n", "", CHECKPOINTS)
    assert run(text, evaluate) == 0
    assert len(evaluate.calls) == 4
    data = pd.read_csv("out/tables.csv")
    ours = data[data["numbers"] == "here"]
    assert set(zip(ours["level"], ours["setting"], strict=True)) == {
        ("L0", "trained"),
        ("L1", "zero-shot"),
    }
    capsys.readouterr()
    run(text, evaluate, plan=True)
    assert capsys.readouterr().out.count("no checkpoint: left out") == 6


# --- training


def calls() -> list[list[str]]:
    return [json.loads(line) for line in Path("calls.txt").read_text().splitlines()]


def test_training_between_evaluations(folder: Path, evaluate: Evaluator) -> None:
    text = TRAINED % sys.executable
    assert run(text, evaluate) == 0
    made = [str(folder / "out" / "checkpoints" / stage) for stage in ("l0", "l1", "l2")]
    assert calls() == [
        ["--level", "L0", "--out", made[0], "--data", "demos"],
        ["--level", "L1", "--from", made[0], "--out", made[1], "--data", "demos"],
        ["--level", "L2", "--from", made[1], "--out", made[2], "--data", "demos"],
    ]
    used = [policy_arguments(a.policy_arg)["checkpoint"] for a in evaluate.calls]
    assert used == [made[0]] * 4 + [made[1]] * 4 + [made[2]] * 2
    assert run(text, evaluate) == 0
    assert len(calls()) == 3 and len(evaluate.calls) == 10
    run(text.replace(sys.executable, "python3"), evaluate)  # on another machine
    for old, new in (("--level {level}", "--level {level} --steps 5"), ('"demos"', '"others"')):
        with pytest.raises(ClevrSkillsError, match="l0 was trained with .* not .* another folder"):
            run(text.replace(old, new), evaluate)
    assert len(calls()) == 3 and len(evaluate.calls) == 10


def test_a_training_that_fails(
    folder: Path, evaluate: Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TRAINED % sys.executable
    Path("fails").touch()
    said = r"^the training of l1 failed with exit code 3: \S+ train.py --level L1 --from \S+l0 "
    with pytest.raises(ClevrSkillsError, match=said):
        run(text, evaluate)
    assert len(evaluate.calls) == 4  # what l0 allows is there
    assert "here" in Path("out/tables.csv").read_text()
    capsys.readouterr()
    run(text, evaluate, plan=True)
    assert "to do: 2 trainings, " in capsys.readouterr().out
    Path("fails").unlink()
    assert run(text, evaluate) == 0
    assert [c[1] for c in calls()] == ["L0", "L1", "L1", "L2"]
    assert len(evaluate.calls) == 10


def test_training_for_each_form_of_the_prompt(folder: Path, evaluate: Evaluator) -> None:
    run((TRAINED % sys.executable).replace("{data}", "{prompt}"), evaluate)
    assert [c[-1] for c in calls()] == ["multimodal", "language"] * 3
    assert (folder / "out" / "checkpoints" / "language" / "l2.json").is_file()
    used = {a.prompt: policy_arguments(a.policy_arg)["checkpoint"] for a in evaluate.calls}
    assert used["language"] == str(folder / "out" / "checkpoints" / "language" / "l2")


def test_training_continues_from_a_listed_checkpoint(folder: Path, evaluate: Evaluator) -> None:
    text = (TRAINED % sys.executable) + '[checkpoints]\nl0 = { checkpoint = "given" }\n'
    run(text, evaluate)
    assert [c[1:4] for c in calls()][0] == ["L1", "--from", "given"]
    with pytest.raises(ClevrSkillsError, match="checkpoints.l0 has no 'checkpoint'"):
        run(text.replace("checkpoint =", "weights ="), evaluate, out="other")


def test_a_command_that_is_not_there(folder: Path, evaluate: Evaluator) -> None:
    with pytest.raises(ClevrSkillsError, match="nowhere cannot be run: No such file"):
        run(TRAINED % "nowhere", evaluate)


def test_filling_in_a_command() -> None:
    values: dict[str, str | None] = {"from": None, "out": "o o", "level": "L0"}
    words = ["x", "--from", "{from}", "--from={from}", "{level}", "--out={out}"]
    assert command_of(words, values) == ["x", "L0", "--out=o o"]
    assert command_of(["x", "{from}"], values) == ["x"]
    given = command_of(words, {**values, "from": "c"})
    assert given == ["x", "--from", "c", "--from=c", "L0", "--out=o o"]


# --- tables


def test_tables_are_laid_out_as_in_the_paper(folder: Path, evaluate: Evaluator) -> None:
    run(CHECKPOINTS.replace('"multimodal"', '"multimodal", "language"'), evaluate)
    text = Path("out/tables.md").read_text()
    two, three, five = re.findall(r"^\| model .*?(?=\n\n)", text, re.M | re.S)
    head, _, ours, oracle, *others = two.splitlines()
    assert head == (
        "| model | numbers | training | L0 seen success % | L0 seen AR | L0 seen R/S "
        "| L0 unseen success % | L0 unseen AR | L0 unseen R/S |"
    )
    assert ours.startswith(
        "| mine | here | not stated | 50.0 [0.0, 100.0] | 100.0 [100.0, 100.0] | 2.00 [2.00"
    )
    assert oracle.startswith("| Oracle | published | - | 100.00 [98.42, 100.00] | 320 | 3.06 |")
    assert len(others) == 5 and "| 62.91 [56.64, 68.77] | 223.84 | 2.74 |" in others[3]
    rows = three.splitlines()
    assert [row.split(" | ")[:2] for row in rows[2:5]] == [
        ["| mine, seen", "here"],
        ["| mine, unseen", "here"],
        ["| Oracle, seen", "published"],
    ]
    assert "L1 zero-shot success %" in rows[0] and "L2 fine-tuned R/S |" in rows[0]
    assert "| L0 success % |" in five.splitlines()[0]
    jat = [row for row in five.splitlines() if row.startswith("| JAT")][0]
    assert "| 32.50 [26.39, 39.27] | 296.17 | 2.68 |" in jat and "| - | - | - |" in jat
    assert "Not comparable: the simulator" in text
    data = pd.read_csv("out/tables.csv")
    assert data["numbers"].value_counts().to_dict() == {"published": 54, "here": 20}
    assert np.isnan(data.loc[data["numbers"] == "published", "reward_low"]).all()
    tex = Path("out/tables.tex").read_text()
    assert tex.count(r"\begin{table*}") == 3 and tex.count(r"\end{tabular}}") == 3
    assert not re.search(r"(?<!\\)%(?!\n)", tex)
    page = Path("out/index.html").read_text()
    assert page.count('<tr class="here">') == 5 and page.count('<tr class="published">') == 18
    assert not re.search(r"(src|href)=|https?://(?!www.w3.org)|@import", page)


def test_rows_of_other_curricula_stand_beside(
    folder: Path, evaluate: Evaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    run(CHECKPOINTS, evaluate, out="one")
    other = CHECKPOINTS.replace('"mine"', '"other"')
    run(other, evaluate, out="two", beside=(Path("one"),))
    data = pd.read_csv("two/tables.csv")
    assert data.loc[data["table"] == 2, "model"].tolist()[:4] == ["other"] * 2 + ["mine"] * 2
    capsys.readouterr()
    assert run(other, evaluate, out="two", json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["remarks"] == [] and printed["tables"][0]["model"] == "other"
    evaluate.calls.clear()
    with pytest.raises(ClevrSkillsError, match="is not the folder of a curriculum"):
        run(other, evaluate, out="three", beside=(Path("nowhere"),))
    assert not evaluate.calls


@pytest.mark.slow
def test_trainings_with_several_seeds_have_a_row_in_common(
    folder: Path, evaluate: Evaluator
) -> None:
    def seed(n: int, text: str = CHECKPOINTS) -> str:
        return f"training_seed = {n}\n{text}"

    run(seed(0), evaluate, out="zero")
    only_l0 = re.sub(r"l[12] = .*", "", CHECKPOINTS)
    evaluate.perfect = True
    run(seed(1, only_l0), evaluate, out="one")
    evaluate.perfect = False
    run(seed(2, only_l0), evaluate, out="two", beside=(Path("zero"), Path("one")))
    data = pd.read_csv("two/tables.csv")
    ours = data[data["numbers"] == "here"].set_index(["level", "setting", "split"])
    trained = ours.loc[("L0", "trained", "train")]
    assert trained["model"] == "mine" and trained["seeds"] == 3 and trained["episodes"] == 4
    assert trained["success"] == pytest.approx(2 / 3) and trained["success_high"] == 1.0
    assert ours.loc[("L1", "zero-shot", "test"), "seeds"] == 3
    assert ours.loc[("L1", "fine-tuned", "test"), "seeds"] == 1
    assert "| 66.7 [0.0, 100.0] (3 seeds) |" in Path("two/tables.md").read_text()

    run(seed(2, only_l0), evaluate, out="two", beside=(Path("zero"), Path("zero")))
    data = pd.read_csv("two/tables.csv")  # the same seed twice is no third one
    assert data.loc[data["table"] == 2, "seeds"].dropna().tolist() == [2, 2, 1, 1]

    run(seed(3, only_l0.replace("episodes = 2", "episodes = 1")), evaluate, out="three")
    run(seed(2, only_l0), evaluate, out="two", beside=(Path("three"),))
    data = pd.read_csv("two/tables.csv")  # nor is one of other episodes
    assert data.loc[data["table"] == 2, "seeds"].dropna().tolist() == [1, 1, 1, 1]


def test_a_seed_of_which_no_episode_counts_is_left_out(folder: Path, evaluate: Evaluator) -> None:
    text = re.sub(r"l[12] = .*", "", CHECKPOINTS)
    run(f"training_seed = 0\n{text}", evaluate, out="zero")
    evaluate.broken = {"multimodal-l0-on-L0-train"}
    with pytest.raises(ClevrSkillsError):
        run(f"training_seed = 1\n{text}", evaluate, out="one")
    evaluate.broken = set()
    run(f"training_seed = 2\n{text}", evaluate, out="two", beside=(Path("zero"), Path("one")))
    data = pd.read_csv("two/tables.csv")
    ours = data[data["numbers"] == "here"].set_index(["level", "split"])
    assert ours.loc[("L0", "train"), "seeds"] == 2
    assert ours.loc[("L0", "train"), "success_low"] >= 0.0


def test_a_training_run_gets_its_seed_and_the_time_of_attempts_adds_up(
    folder: Path, evaluate: Evaluator
) -> None:
    text = TRAINED.replace("--data {data}", "--data {data} --seed {seed}") % sys.executable
    evaluate.perfect = True
    Path("out/checkpoints").mkdir(parents=True)
    Path("out/checkpoints/l0.minutes").write_text("60\n")
    run(f"training_seed = 4\n{text}", evaluate)
    calls = [json.loads(line) for line in Path("calls.txt").read_text().splitlines()]
    assert all(call[-2:] == ["--seed", "4"] for call in calls)
    marker = json.loads(Path("out/checkpoints/l0.json").read_text())
    assert float(marker["minutes"]) >= 60.0 and marker["seed"] == "4"
    assert "h" in pd.read_csv("out/tables.csv").loc[0, "training"]
    with pytest.raises(ClevrSkillsError, match="trained with seed '4', not '5'"):
        run(f"training_seed = 5\n{text}", evaluate)


def test_the_seed_of_a_curriculum_without_a_file_is_that_of_its_trainings() -> None:
    for train, seed in (("--bf16", 0), ("--seed 3 --bf16", 3), ("--bf16 --seed=4", 4)):
        args = CurriculumArgs(policy="bc", data=(Path("d"),), out=Path("o"), train=train)
        asked = requested_curriculum(args)
        assert asked.training_seed == seed and asked.training is not None
        assert asked.training.command[-2:] == ("--seed", "{seed}")
        assert asked.training.command.count("--seed") == 1
    args = CurriculumArgs(policy="bc", data=(Path("d"),), out=Path("o"), train="--seed x")
    with pytest.raises(ClevrSkillsError, match="--train: argument --seed: invalid int value: 'x'"):
        requested_curriculum(args)


# --- the file


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "policy is missing"),
        ({"policy": "p"}, r"\[checkpoints\] or a \[train\] command is required"),
        ({"policy": 3}, "policy must be a str, not 3"),
        ({"policy": "p", "episodes": True}, "episodes must be a int, not True"),
        ({"policy": "p", "checkpoints": {"l0": {}}, "episodes": 0}, "must be at least 1, not 0"),
        ({"policy": "p", "checkpoints": {"l3": {}}}, "unknown key 'checkpoints.l3'; allowed: l0"),
        ({"policy": "p", "splits": ["valid"]}, "unknown splits entry 'valid'; allowed: train"),
        ({"policy": "p", "prompts": []}, "prompts is empty"),
        ({"policy": "p", "polcy_args": {}, "checkpoints": {"l0": {}}}, "unknown key 'polcy_args'"),
        ({"policy": "p", "train": {"command": "x"}}, r"must contain \{out\}"),
        ({"policy": "p", "train": {"command": "x {out} {to}"}}, "cannot be parsed .*allowed"),
        ({"policy": "p", "train": {"command": "x '{out}"}}, "No closing quotation"),
        (
            {"policy": "p", "train": {"command": "x {out.x}"}},
            "cannot be parsed .*allowed placeholders",
        ),
        (
            {"policy": "p", "train": {"command": "x {out[a]}"}},
            "cannot be parsed .*allowed placeholders",
        ),
        ({"policy": "p", "train": {"command": "x {out} {seed}"}}, "training_seed requires {seed}"),
        (
            {"policy": "p", "train": {"command": "x {out}"}, "training_seed": 1},
            "training_seed requires {seed}",
        ),
        ({"policy": "p", "evaluate": {"policy": "q"}}, "unknown key 'evaluate.policy'"),
        ({"policy": "p", "evaluate": {"handover": "all"}}, "unknown key 'evaluate.handover'"),
        ({"policy": "p", "evaluate": {"repeat": 2}}, "unknown key 'evaluate.repeat'"),
        ({"policy": "p", "evaluate": {"dry_run": True}}, "unknown key 'evaluate.dry_run'"),
        ({"policy": "p", "evaluate": {"workers": "2"}}, "evaluate.workers must be a int, not '2'"),
        ({"policy": "p", "evaluate": {"chunk": "4"}}, r"evaluate.chunk must be a int \| None"),
        ({"policy": "p", "evaluate": {"cameras": "base_camera"}}, "evaluate.cameras must be a"),
    ],
)
def test_bad_files(data: dict, said: str) -> None:
    with pytest.raises(ClevrSkillsError, match=said):
        parse_curriculum(data)


def test_options_of_evaluate() -> None:
    data = {"policy": "p", "checkpoints": {"l0": {}}}
    options = {"timeout": 60, "cameras": ["base_camera"], "frozen": "mine", "criteria": "released"}
    found = parse_curriculum({**data, "evaluate": options}).options
    assert found == {
        "timeout": 60,
        "cameras": ("base_camera",),
        "frozen": Path("mine"),
        "criteria": "released",
    }
    with pytest.raises(UnknownNameError):
        parse_curriculum({**data, "evaluate": {"seed": 3}})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="there is no file"):
        read_curriculum(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("policy = ")
    with pytest.raises(ClevrSkillsError, match=r"bad.toml is not valid TOML: "):
        read_curriculum(bad)
    bad.write_text('policy = "p"\nepisodes = "many"\n')
    with pytest.raises(ClevrSkillsError, match=r"bad.toml: episodes must be a int, not 'many'"):
        read_curriculum(bad)


def test_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With all tasks: what the paper's protocol costs."""
    Path("table.toml").write_text(CHECKPOINTS.replace("episodes = 2\nprompts", "seen"))
    assert main(["curriculum", "table.toml", "--out", "out", "--plan"]) == 2
    assert capsys.readouterr().err.startswith("clevrskills: table.toml: unknown key 'seen'")
    text = re.sub("episodes = 2\nprompts.*\n", "", CHECKPOINTS)
    Path("table.toml").write_text(text)
    assert main(["curriculum", "table.toml", "--out", "out", "--plan"]) == 0
    printed = capsys.readouterr().out
    assert "evaluate     l0  multimodal  L1      zero-shot  train     15       750" in printed
    assert printed.endswith("to do: 0 trainings, 9800 episodes\n")
    assert not Path("out").exists()


# --- the page of the documentation, and the real thing


def files_of_the_documentation() -> list[str]:
    page = Path(__file__).parents[3] / "docs" / "curriculum.md"
    return re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.M | re.S)


def test_files_of_the_documentation() -> None:
    files = [parse_curriculum(tomllib.loads(text)) for text in files_of_the_documentation()]
    listed, trained, ours = files
    assert listed.checkpoints["language"]["l1"] == {"checkpoint": "runs/l1"}
    assert listed.options == {"workers": 8}
    defaults = parse_curriculum({"policy": "p", "checkpoints": {"l0": {}}})
    for name in ("episodes", "splits", "prompts"):
        assert getattr(defaults, name) == getattr(listed, name)
    assert trained.training is not None and trained.training.argument == "checkpoint"
    assert ours.training is not None and ours.training.by_prompt
    values = {**dict.fromkeys(PLACEHOLDERS, "x"), "prompt": "language", "from": None}
    command = command_of(ours.training.command, values)
    assert command[:4] == ["accelerate", "launch", "-m", "clevrskills"]
    args = parse(TrainArgs, command[5:])
    assert (args.policy, args.from_, args.bf16) == ("stream_robolm", None, True)
    assert ours.training.argument in inspect.signature(load).parameters


class TrainedOnL2(Zero):
    """Declares a task of L2."""

    trained_tasks = ("trace", "stack_topple")


def test_a_checkpoint_that_was_trained_on_later_levels_is_refused(folder: Path) -> None:
    text = CHECKPOINTS.replace("package:Policy", f"{__name__}:TrainedOnL2")
    text = re.sub(r"(l[012]) = .*", r"\1 = {}", text).replace('device = "cpu"', "")
    Path("table.toml").write_text(text)
    suite = FewTasks()
    args = CurriculumArgs(table=Path("table.toml"), out=Path("out"))
    said = "^multimodal-l0-on-L0-train: --trained-on L0: the policy was also trained on L2$"
    with one_worker_here(), pytest.raises(ClevrSkillsError, match=said):
        curriculum(args, suite, partial(evaluate_really, suite=suite))
    assert not list(Path("out").rglob("run.json"))


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "prompt"), [("zero", "language"), ("oracle", "multimodal")])
def test_with_the_real_runner(folder: Path, policy: str, prompt: str, frozen_folder: Path) -> None:
    """One task of each level, one episode of each: ``zero`` never succeeds, the oracle does."""

    text = f"""
policy = "{policy}"
episodes = 1
splits = ["train"]
prompts = ["{prompt}"]
[checkpoints]
l0 = {{}}
l1 = {{}}
l2 = {{}}
[evaluate]
frozen = "{frozen_folder}"
"""
    Path("table.toml").write_text(text)
    suite = FewTasks(frozen_folder)
    args = CurriculumArgs(table=Path("table.toml"), out=Path("out"))
    assert curriculum(args, suite, partial(evaluate_really, suite=suite)) == 0
    data = pd.read_csv("out/tables.csv")
    ours = data[data["numbers"] == "here"]
    assert len(ours) == 5 and set(ours["success"]) == {0.0 if policy == "zero" else 1.0}
    before = sorted(Path("out").rglob("*.jsonl"))
    assert curriculum(args, suite, None) == 0  # nothing is left to do
    assert sorted(Path("out").rglob("*.jsonl")) == before


@pytest.fixture(scope="session")
def frozen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("frozen")
    for task in FewTasks().tasks:
        spec = EpisodeSpec.draw(task, "train", seed=1, index=0)
        limit = tasks()[task].max_steps
        frozen.write(out, FrozenHeader(task, "train", "xarm6", 1, limit, (1,)), [spec])
    return out
