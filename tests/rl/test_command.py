"""``clevrskills rl``: bad arguments, interruptions, files of the folder."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
from pathlib import Path

import pytest
import torch

from clevrskills.core import checkpoint
from clevrskills.core.episode import RL_TRAINING
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.run_folder import INTERRUPTED
from clevrskills.rl.checkpoint import load_agent, load_initial_weights, restore, save
from clevrskills.rl.command import RLArgs, rl
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import PROGRESS_FILE, RUN_FILE, PPOConfig, RLRun, open_run, read_run
from clevrskills.rl.train import first_seed, read_progress
from tests.rl.toy import ToyVec

SMALL = PPOConfig(rollout_steps=25, minibatch=50, hidden=(16,), gamma=0.9)
TOTAL = 1600
RUN = RLRun(
    task="trace",
    split="train",
    robot="xarm6",
    obs="state",
    cameras=(),
    size_px=64,
    reward="potential",
    task_args={},
    episode_steps=None,
    terminate_on_success=False,
    head_starts=0.0,
    num_envs=2,
    total_steps=TOTAL,
    seed=0,
    ppo=SMALL,
)


class Interrupted(ToyVec):
    """Is interrupted after some control steps."""

    left = 10**9

    def step(self, actions):
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        return super().step(actions)


def args_of(out: Path, **changes) -> RLArgs:
    given = {"task": "trace", "num_envs": 4, "total_steps": TOTAL, "save_every": 300, "ppo": SMALL}
    return RLArgs(out=out, **{**given, **changes})


class AskedToEnd(ToyVec):
    """Something asks the process to end while an object is finalized, where Python ignores what is
    raised.
    """

    def step(self, actions):
        Finalized()
        return super().step(actions)


class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)


class Makes:
    """Makes toy environments and keeps them."""

    def __init__(self) -> None:
        self.made: list[Interrupted] = []

    def __call__(self, run, workers):
        self.made.append(Interrupted(run.num_envs))
        return self.made[-1]


@pytest.fixture(autouse=True)
def uninterrupted():
    Interrupted.left = 10**9
    yield


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_being_asked_to_end_is_not_lost(tmp_path, capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert (
        rl(args_of(tmp_path / "run"), lambda run, workers: AskedToEnd(run.num_envs)) == INTERRUPTED
    )
    assert "the same command continues" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_training_and_its_folder(tmp_path, capsys):
    out, makes = tmp_path / "run", Makes()
    assert rl(args_of(out), makes) == 0
    assert f"rl:{out}" in capsys.readouterr().out
    lines = read_progress(out)
    assert [line["steps"] for line in lines] == list(range(200, TOTAL + 1, 100))
    assert all(line["seconds"] > 0 and "losses/policy" in line for line in lines)
    assert list((out / "tensorboard").glob("events.out.tfevents.*"))
    assert read_run(out).ppo == SMALL and read_run(out).task == "trace"
    assert checkpoint.latest(out)[0] == TOTAL
    agent = load_agent(out, read_run(out))
    assert agent.act({"state": torch.zeros(2, 7)}).shape == (2, 7)
    assert makes.made[0].closed
    assert rl(args_of(out), makes) == 0  # nothing left to do
    assert len(makes.made) == 1 and read_progress(out) == lines


def test_the_same_command_continues(tmp_path, capsys):
    out, makes = tmp_path / "run", Makes()
    Interrupted.left = 225  # in the middle of an update's steps
    assert rl(args_of(out), makes) == INTERRUPTED
    assert "the same command continues" in capsys.readouterr().err
    saved = checkpoint.latest(out)[0]
    assert 0 < saved < read_progress(out)[-1]["steps"] < TOTAL
    Interrupted.left = 10**9
    assert rl(args_of(out, workers=3, save_every=10**9), makes) == 0
    assert [line["steps"] for line in read_progress(out)] == list(range(200, TOTAL + 1, 100))
    seconds = [line["seconds"] for line in read_progress(out)]
    assert seconds == sorted(seconds)
    first, second = (set(envs.seeds_used) for envs in makes.made)
    assert not first & second  # other episodes


def test_a_checkpoint_is_the_whole_learner(tmp_path):
    one, other = (PPO(ToyVec(4), SMALL, TOTAL, seed) for seed in (0, 9))
    one.start(0)
    for _ in range(3):
        one.iterate()
    save(one, tmp_path, {"task": "toy"})
    restore(other, tmp_path)
    for ppo in (one, other):  # from the same episodes on
        ppo.start(50)
    given = [[ppo.iterate() for _ in range(3)] for ppo in (one, other)]
    for mine, theirs in zip(*given, strict=True):
        assert {k: v for k, v in mine.items() if not k.startswith("speed/")} == {
            k: v for k, v in theirs.items() if not k.startswith("speed/")
        }
    assert one.steps == other.steps
    mine, theirs = one.agent.state_dict(), other.agent.state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_updates_in_which_no_episode_ends(tmp_path):
    out = tmp_path / "run"
    assert rl(args_of(out), lambda run, workers: ToyVec(run.num_envs, max_steps=60)) == 0
    assert {line["episode/count"] for line in read_progress(out)} == {0, 4}


def test_without_a_checkpoint_it_starts_afresh(tmp_path):
    out, makes = tmp_path / "run", Makes()
    Interrupted.left = 60
    assert rl(args_of(out), makes) == INTERRUPTED
    assert checkpoint.latest(out)[0] == 0
    with pytest.raises(ClevrSkillsError, match="has no checkpoint yet"):
        load_agent(out, read_run(out))
    Interrupted.left = 10**9
    assert rl(args_of(out), makes) == 0
    assert len(read_progress(out)) == TOTAL // 100 - 1
    assert makes.made[0].seeds_used[:4] == makes.made[1].seeds_used[:4]


@pytest.mark.slow
def test_a_training_sets_out_from_another_one(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    rl(args_of(first), Makes())
    learned = load_agent(first, read_run(first)).state_dict()
    still = dataclasses.replace(SMALL, learning_rate=0.0, initial_std=0.25)
    rl(args_of(second, begin_with=str(first), ppo=still, seed=5), Makes())
    run = read_run(second)
    assert run.begin_with == str(first)
    found = load_agent(second, run).state_dict()
    assert checkpoint.latest(second)[0] >= TOTAL  # its own steps alone
    for name in found:
        if name.startswith(("policy.", "critic.")):
            assert torch.equal(found[name], learned[name])
    assert torch.allclose(found["log_std"].exp()[:-1], torch.tensor(0.25))  # as configured
    for changes, words in (
        ({"suite": "ivispar"}, "has suite clevrskills, not ivispar"),
        ({"robot": "panda"}, "has robot xarm6, not panda"),
        ({"obs": "rgb"}, "has obs state, not rgb"),
    ):
        with pytest.raises(ClevrSkillsError, match=words):
            load_initial_weights(
                PPO(ToyVec(2), SMALL, TOTAL),
                dataclasses.replace(RUN, task="pick", begin_with=str(first), **changes),
            )


def test_networks_of_another_task_are_matched_by_state_entries(tmp_path):
    runs = {
        task: dataclasses.replace(RUN, task=task, num_envs=1, begin_with=str(tmp_path))
        for task in ("pick", "place")
    }
    open_run(tmp_path, runs["pick"])
    agents, layouts = {}, {}
    for seed, (task, run) in enumerate(runs.items()):
        with contextlib.closing(run.make_envs(1)) as envs:
            ppo = PPO(envs, SMALL, TOTAL, seed)
            if task == "pick":
                ppo.agent.log_std.data.fill_(-5.0)
                ppo.agent.states.add(torch.randn(9, ppo.agent.spaces.state))
                save(ppo, tmp_path, {})
            else:
                load_initial_weights(ppo, run)
        agents[task] = ppo.agent.state_dict()
        layouts[task] = {each["name"]: slice(each["start"], each["stop"]) for each in envs.layout}
    theirs, ours = agents["pick"], agents["place"]
    assert torch.equal(ours["policy.2.weight"], theirs["policy.2.weight"])
    assert not (ours["log_std"] == -5.0).any()
    sources = {name: name for name in layouts["place"]} | {"next/top": "next/object"}
    for name, entries in layouts["place"].items():
        for part in ("policy.0.weight", "critic.0.weight", "states.mean"):
            found = ours[part][..., entries]
            before = theirs[part][..., layouts["pick"].get(sources[name], slice(0))]
            if name in ("next/bottom", "goal/state"):
                assert not found.any()
            elif before.numel():
                assert torch.equal(found, before)
    assert {"robot/qpos", "bodies/object_0", "goal/progress"} < set(layouts["pick"])


def test_other_settings_need_another_folder(tmp_path):
    out = tmp_path / "run"
    rl(args_of(out), Makes())
    for changes, words in (
        ({"total_steps": 10**6}, "total_steps 1600, not 1000000"),
        ({"task": "pick"}, "task trace, not pick"),
        ({"ppo": PPOConfig()}, "rollout_steps 25, not 64"),
        ({"arg": ("num_goals=2",)}, "task_args {}, not {'num_goals': 2}"),
    ):
        with pytest.raises(ClevrSkillsError, match=f"was made with {words}; give another folder"):
            rl(args_of(out, **changes), Makes())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "tracing"}, "unknown task 'tracing'; did you mean trace? allowed: match_pose"),
        ({"split": "both"}, "unknown split 'both'; allowed: train, val, test, "),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6"),
        ({"cameras": ("eye",), "obs": "rgb"}, "unknown camera 'eye'"),
        ({"device": "tpu"}, "unknown device 'tpu'; allowed: cpu, cuda"),
        ({"num_envs": 0}, "--num-envs must be at least 1"),
        ({"total_steps": 0}, "--total-steps must be at least 1"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"episode_steps": 0}, "--episode-steps must be at least 1"),
        ({"size": 20}, "--size must be at least 36"),
        ({"head_starts": 1.5}, "--head-starts 1.5; allowed: 0 to 1"),
        ({"arg": ("goals",)}, "'goals' is not an argument"),
        ({"arg": ("size=3",)}, "unknown argument of trace 'size'; allowed: variant, num_goals"),
    ],
)
def test_bad_arguments(tmp_path, changes, words):
    with pytest.raises(ClevrSkillsError) as caught:
        rl(args_of(tmp_path / "run", **changes), Makes())
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_folders_that_hold_something_else(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ClevrSkillsError, match="is no training .* and not empty"):
        rl(args_of(tmp_path), Makes())
    with pytest.raises(ClevrSkillsError, match="is a file; give a folder"):
        rl(args_of(tmp_path / "mine.txt"), Makes())
    with pytest.raises(ClevrSkillsError, match=f"it has no {RUN_FILE}"):
        read_run(tmp_path)


def test_damaged_files(tmp_path):
    out = tmp_path / "run"
    Interrupted.left = 195
    rl(args_of(out), Makes())
    Interrupted.left = 10**9
    path = checkpoint.find(out) / checkpoint.WEIGHTS_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ClevrSkillsError, match=f"{checkpoint.WEIGHTS_FILE} cannot be read"):
        rl(args_of(out), Makes())
    path.write_bytes(whole)
    with (out / PROGRESS_FILE).open("a") as file:
        file.write('{"steps": 12')  # torn when it was killed
    assert rl(args_of(out), Makes()) == 0
    assert len(read_progress(out)) == TOTAL // 100 - 1
    data = json.loads((out / RUN_FILE).read_text())
    (out / RUN_FILE).write_text(json.dumps({k: v for k, v in data.items() if k != "ppo"}))
    with pytest.raises(ClevrSkillsError, match=f"{RUN_FILE} is damaged"):
        read_run(out)


def test_seeds_of_episodes():
    seeds = {first_seed(seed, steps) for seed in range(20) for steps in range(0, 10**6, 50_000)}
    assert len(seeds) == 400
    assert 0 <= min(seeds) and max(seeds) < RL_TRAINING.stop
