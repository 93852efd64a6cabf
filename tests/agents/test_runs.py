"""Runs of ``clevrskills evaluate`` with scripted models and failing endpoints."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.agents import mock_server
from clevrskills.cli import main
from clevrskills.evaluation.results import EpisodeResult, read_results
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.pool import InlinePool

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests" / "suites" / "toy_suite"
READER = "tests.support.readers.ivispar:reply"
PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")
"""Fields that may differ between runs."""
PRICES = ("--policy-arg", "price_in=1", "--policy-arg", "price_out=10")


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the workers in this process."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.fixture(scope="module")
def reader() -> Iterator[str]:
    """URL of an endpoint that solves boards from the messages."""
    with mock_server.serving(mock_server.behavior(READER)) as url:
        yield url


def command(policy: str, out: Path, *more: object, episodes: int = 6) -> list[str]:
    named = ["--policy-arg", "model=m"] if policy.startswith("http") else []
    given = ["--suite", "ivispar", "--episodes", episodes, "--preset", "text", "--out", out]
    words = ["evaluate", "geoms", "--policy", f"chat:{policy}", *given, *named, *more]
    return [*map(str, words)]


def evaluate(policy: str, out: Path, *more: object, episodes: int = 6) -> list[EpisodeResult]:
    assert main(command(policy, out, *more, episodes=episodes)) == 0
    return [*read_results(out)]


def core(out: Path) -> list[dict[str, Any]]:
    """Results without the fields that may differ."""
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(out)]


def transcript(out: Path, index: int = 0) -> list[dict[str, Any]]:
    text = (out / "transcripts" / f"geoms_base_{index:03d}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def transcripts(out: Path) -> dict[str, bytes]:
    """Transcripts by name, without policy seeds, as processes of their own draw a salt."""
    paths = sorted((out / "transcripts").glob("*.jsonl"))
    return {p.name: re.sub(rb'"policy_seed": \d+', b"", p.read_bytes()) for p in paths}


@pytest.mark.parametrize("name", ["oracle", READER])
def test_models_that_solve_all_boards(name: str, tmp_path: Path) -> None:
    results = evaluate(name, tmp_path / "run", "--batch", 4)
    assert all(result.measures["optimal"] for result in results)
    assert {result.cause for result in results} == {"success"}


def test_unparsable_replies_cost_turns(tmp_path: Path) -> None:
    results = evaluate("garbage", tmp_path / "run")
    assert not any(result.success_once for result in results)
    assert all(r.codes == {"UNPARSABLE": 20} and r.turns == 20 for r in results)
    assert len({t["reply"] for k in range(6) for t in transcript(tmp_path / "run", k)[1:]}) >= 7


@pytest.mark.parametrize(
    ("suite", "task", "preset"),
    [
        ("ivispar", "geoms", "text"),
        ("asgardbench", "coffee", "text_none"),
        pytest.param("lohoravens", "bowls_matching", "explicit", marks=pytest.mark.slow),
        pytest.param("clevrskills", "pick", "words", marks=pytest.mark.slow),
    ],
)
def test_an_unparsable_reply_is_quoted_in_the_next_request(
    suite: str, task: str, preset: str, tmp_path: Path
) -> None:
    words = ("evaluate", task, "--suite", suite, "--preset", preset, "--episodes", "1")
    policy = "chat:fixed:<think>So.</think> I cannot\nsee it."
    assert main([*words, "--policy", policy, "--out", str(tmp_path / "run")]) == 0
    result, *_ = read_results(tmp_path / "run")  # an episode of each split
    assert result.usage["unreadable"] == result.turns > 1 and not result.success_once
    path, *_ = (tmp_path / "run" / "transcripts").glob("*.jsonl")
    _, *turns = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert len({turn["request"] for turn in turns}) == len(turns)
    for turn in turns[1:]:
        given = json.dumps([part for m in turn["messages"] for part in m["parts"]])
        assert "I cannot" in given and "No action could be read in this reply." in given


def test_cut_off_replies_are_counted_and_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off = {"reply": None, "finish_reason": "length"}
    with mock_server.serving(lambda request: cut_off) as url:
        (result,) = evaluate(url, tmp_path / "run", episodes=1)
    assert result.usage["cut_off"] == result.usage["requests"] == 20  # not asked for again
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: 20 of 20 replies of" in printed and "cut off by the limit of tokens" in printed
    turns = transcript(tmp_path / "run")[1:]
    assert {turn["finish_reason"] for turn in turns} == {"length"}
    assert "This reply was cut off before it gave an action." in json.dumps(turns[1])


def test_sampling_of_a_preset(tmp_path: Path) -> None:
    requests: list[Any] = []

    def answer(request: Any) -> Any:
        requests.append(request)
        return {"reply": "action: move red cube left"}

    with mock_server.serving(answer) as url:
        words = command(url, tmp_path / "run", "--policy-arg", "temperature=0.5", episodes=1)
        words[words.index("text")] = "text_sampled"
        assert main(words) == 0
    sampling = {"temperature": 0.5, "top_p": 0.95, "max_tokens": 500, "top_k": 50}
    assert sampling.items() <= requests[0].items()


def test_random_commands_are_valid(tmp_path: Path) -> None:
    results = evaluate("random", tmp_path / "run")
    assert not any("UNPARSABLE" in result.codes for result in results)
    evaluate("random", tmp_path / "again", "--batch", 3)
    assert core(tmp_path / "again") == core(tmp_path / "run")


def test_fixed_words_and_scripts(tmp_path: Path) -> None:
    evaluate("fixed:action: move red cube left (see http://h)", tmp_path / "fixed")
    assert {t["action"] for t in transcript(tmp_path / "fixed")[1:]} == {"move red cube left"}
    script = tmp_path / "script.txt"
    script.write_text('action: move red cube left\n"two\\naction: move blue sphere up"\n')
    evaluate(f"script:{script}", tmp_path / "script", episodes=2)
    for k in range(2):  # from its beginning in each episode
        said = [turn["action"] for turn in transcript(tmp_path / "script", k)[1:4]]
        assert said == ["move red cube left", "move blue sphere up", "move red cube left"]


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        ("orakel", (), "orakel"),
        ("localhost:8000/v1", ("--policy-arg", "model=m"), "allowed: http://"),
        ("script:nowhere.txt", (), "nowhere.txt"),
        ("oracle", ("--interface", "index"), "is numeric; allowed: --interface text"),
        ("oracle", ("--policy-arg", "histroy=1"), "histroy"),
        ("oracle", ("--policy-arg", "history=-1"), "history must be"),
        ("oracle", ("--policy-arg", "price_in=free"), "price_in='free'; allowed: a number"),
        ("oracle", ("--policy-arg", "price_in=-1"), "price_in must be"),
        ("oracle", ("--policy-arg", "history=true"), "history=True; allowed: a whole number"),
        ("oracle", ("--policy-arg", 'prompt={"explane": 1}'), "explane"),
        ("oracle", ("--policy-arg", 'prompt={"explain": "no"}'), "allowed: true or false"),
        ("oracle", ("--max-cost", 1), "--max-cost needs prices"),
        ("oracle", ("--policy-arg", "replay=nowhere"), "nowhere is no run of"),
        ("http://127.0.0.1:9/v1", ("--policy-arg", "key_env=NOT_THERE"), "NOT_THERE"),
        ("http://127.0.0.1:9/v1", (), "no connection"),
    ],
)
def test_invalid_arguments(
    policy: str,
    more: tuple[Any, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(command(policy, tmp_path / "run", *more)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error and error.startswith("clevrskills: ")


def test_a_model_needs_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = command("oracle", tmp_path / "run")
    assert main([word.replace("chat:oracle", "chat:http://h/v1") for word in words]) == 2
    assert "the model has no name; pass --policy-arg model=NAME" in capsys.readouterr().err


def test_results_do_not_depend_on_the_batch(reader: str, tmp_path: Path) -> None:
    for batch in (1, 4):
        evaluate(reader, tmp_path / str(batch), "--batch", batch)
    evaluate(READER, tmp_path / "here")
    assert core(tmp_path / "1") == core(tmp_path / "4") == core(tmp_path / "here")
    assert transcripts(tmp_path / "1") == transcripts(tmp_path / "4")


def test_requests_of_a_batch_are_concurrent(tmp_path: Path) -> None:
    present: list[int] = []
    inside = [0]
    answer = mock_server.behavior("fixed:action: move red cube left")

    def slow(request: Any) -> Any:
        inside[0] += 1
        time.sleep(0.02)
        present.append(inside[0])
        inside[0] -= 1
        return answer(request)

    with mock_server.serving(slow) as url:
        evaluate(url, tmp_path / "run", "--batch", 4, episodes=4)
    assert max(present) >= 2


def test_a_run_continues_after_the_server_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, answer, count = tmp_path / "run", mock_server.behavior(READER), iter(range(10**6))

    def dying(request: Any) -> Any:
        return answer(request) if next(count) < 7 else {"status": 500, "body": "down"}

    with mock_server.serving(dying) as url:
        given = command(url, out, "--policy-arg", "retries=0")
        assert main(given) == 2
        printed = capsys.readouterr().err
        assert "status 500: down" in printed and "the connection to the policy is lost" in printed
        before = [*read_results(out)]
        counted = [result for result in before if result.counts]
        assert 0 < len(counted) < 6 and all(result.success_once for result in counted)
        assert all(result.cause == "error" for result in before if not result.counts)
    with mock_server.serving(answer, port=int(url.split(":")[2].split("/")[0])):
        assert main(given) == 0
    evaluate(READER, tmp_path / "whole")
    assert core(out) == core(tmp_path / "whole")


def test_a_filtered_reply_fails_the_episode(tmp_path: Path) -> None:
    answers = iter([{"reply": "x", "finish_reason": "content_filter"}])
    fine = mock_server.behavior(READER)
    with mock_server.serving(lambda request: next(answers, None) or fine(request)) as url:
        assert main(command(url, tmp_path / "run")) == 0
    first, *others = read_results(tmp_path / "run")
    assert first.cause == "policy error" and "refused by the provider's filter" in first.error
    assert {result.cause for result in others} == {"success"}


def test_empty_replies_cost_a_turn(tmp_path: Path) -> None:
    with mock_server.serving(lambda _: {"reply": ""}) as url:
        (result,) = evaluate(url, tmp_path / "run", episodes=1)
    assert result.codes == {"UNPARSABLE": 20} and result.usage["requests"] == 80


def test_no_key_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    answers = iter(["sk-very-secret", "action: sk-very-secret"])
    with mock_server.serving(lambda _: {"reply": next(answers, "nothing")}) as url:
        evaluate(url, tmp_path / "run", "--policy-arg", "key_env=MY_KEY", episodes=1)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert not any(b"very-secret" in path.read_bytes() for path in files)
    assert "very-secret" not in "".join(capfd.readouterr())
    assert "MY_KEY" in (tmp_path / "run" / "run.json").read_text()


# --- transcripts


def test_content_of_a_transcript(tmp_path: Path) -> None:
    (result,) = evaluate(READER, tmp_path / "run", *PRICES, episodes=1)
    head, *turns = transcript(tmp_path / "run")
    assert (head["task"], head["split"], head["index"]) == ("geoms", "base", 0)
    assert head["episode"] == result.episode
    assert [turn["turn"] for turn in turns] == [*range(result.turns)]
    assert {(turn["code"], turn["ok"]) for turn in turns} == {("MOVED", True)}
    rules = [turn["messages"][0]["parts"][0] for turn in turns]
    assert rules[0]["text"].startswith("You are") and rules[1] == {"same": rules[0]["hash"]}
    assert turns[0]["reply"].endswith(f"action: {turns[0]['action']}")
    total = {n: sum(turn["usage"][n] for turn in turns) for n in ("prompt_tokens", "cost")}
    assert result.usage["prompt_tokens"] == total["prompt_tokens"] > 500
    assert result.usage["cost"] == pytest.approx(total["cost"])
    sent, replied = result.usage["prompt_tokens"], result.usage["completion_tokens"]
    assert result.usage["cost"] == pytest.approx((sent + 10 * replied) / 1e6)


def test_replay_of_a_run(reader: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = tmp_path / "first"
    evaluate(reader, first)
    replay = ("--policy-arg", f"replay={first}")
    words = command("http://127.0.0.1:9/v1", tmp_path / "again", *replay)
    assert main(words) == 0
    assert core(tmp_path / "again") == core(first)
    assert transcripts(tmp_path / "again") == transcripts(first)
    capsys.readouterr()
    options = (*replay, "--policy-arg", 'prompt={"explain": false}')
    assert main(command("http://127.0.0.1:9/v1", tmp_path / "other", *options)) == 2
    assert "the request differs from the recorded one" in capsys.readouterr().err
    assert main(command("http://h/v1", tmp_path / "more", *replay, episodes=7)) == 2
    assert "this episode has no transcript" in capsys.readouterr().err


def test_reverify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    evaluate("random", out)
    capsys.readouterr()
    assert main(["reverify", str(out)]) == 0
    assert "6 episodes rescored, none changed" in capsys.readouterr().out
    path = out / "transcripts" / "geoms_base_002.jsonl"
    lines = path.read_text().splitlines()
    turn = json.loads(lines[1])

    def write(**edited: str) -> None:
        path.write_text("\n".join([lines[0], json.dumps({**turn, **edited}), *lines[2:]]) + "\n")

    write(reply="action: move blue cube up")
    assert main(["reverify", str(out), "--json"]) == 1
    changes = json.loads(capsys.readouterr().out)["changes"]["geoms_base_002"]
    assert changes == {"action of turn 0": [turn["action"], "move blue cube up"]}
    write(action="hm")
    assert main(["reverify", str(out), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["episodes"], found["changed"]) == (6, 1)
    assert [*found["changes"]] == ["geoms_base_002"]
    assert found["changes"]["geoms_base_002"]["codes"][1]["UNPARSABLE"] == 1
    path.unlink()
    assert main(["reverify", str(out)]) == 0
    assert "1 episodes have no transcript" in capsys.readouterr().out
    for text, printed in (("", "damaged"), ("{}\n", "is damaged in line 1"), ("x\n", "line 1")):
        path.write_text(text)
        assert main(["reverify", str(out)]) == 2
        assert printed in capsys.readouterr().err
    shutil.rmtree(out / "transcripts")
    assert main(["reverify", str(out)]) == 2
    assert "has no transcripts" in capsys.readouterr().err


def test_reverify_accepts_the_names_of_drawn_shapes(tmp_path: Path) -> None:
    words = command("fixed:action: A1 red square", tmp_path / "run", episodes=1)
    words[words.index("text")] = "schematic"
    words[words.index("geoms")] = "listing"
    assert main(words) == 0
    (result,) = read_results(tmp_path / "run")
    assert result.codes == {"LISTED": 1}
    assert main(["reverify", str(tmp_path / "run")]) == 0


# --- costs


def test_max_cost_stops_a_run_and_a_higher_one_continues_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(command(READER, out, *PRICES, "--max-cost", 0.004)) == 2
    error = capsys.readouterr().err
    assert "of --max-cost 0.004 are spent, and" in error and "to continue" in error
    done = len([*read_results(out)])
    assert 0 < done < 6
    assert main(command(READER, out, *PRICES, "--max-cost", 0.004)) == 2  # nothing more
    assert len([*read_results(out)]) == done
    assert main(command(READER, out, *PRICES, "--max-cost", 1, "--verbose")) == 0
    assert "tokens sent" in capsys.readouterr().out
    evaluate(READER, tmp_path / "whole", *PRICES)
    assert core(out) == core(tmp_path / "whole")
    decided = command(READER, tmp_path / "decided", *PRICES, "--until-width", 0.9, episodes=40)
    assert main(decided) == 0
    assert main([*decided, "--max-cost", "0"]) == 0  # enough is known, whatever it has cost


def test_the_cost_of_failed_episodes_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = PolicyRollout.step

    def breaks(self: PolicyRollout, action: Any) -> Any:
        if self.turns == 1:
            raise RuntimeError("out of order")
        return step(self, action)

    monkeypatch.setattr(PolicyRollout, "step", breaks)
    out = tmp_path / "run"
    assert main(command(READER, out, *PRICES, episodes=1)) == 2
    results = [*read_results(out)]
    assert {r.cause for r in results} == {"error"}
    assert all(r.usage["requests"] == 2 and r.usage["cost"] > 0 for r in results)


def test_a_dry_run_sends_nothing_and_estimates_the_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests: list[Any] = []

    def count(request: Any) -> Any:
        requests.append(request)
        return {"reply": "hm, " * 193 + "\naction: move red cube left"}

    out = tmp_path / "run"
    with mock_server.serving(count) as url:
        words = command(url, out, *PRICES, "--json")
        assert main([*words, "--dry-run"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert not requests and not out.exists()
        assert main(words) == 0
        (used,) = json.loads(capsys.readouterr().out)["usage"]
    assert (printed["episodes"], printed["requests"], printed["images"]) == (6, 120, 0)
    assert used["requests"] == len(requests) == 120
    for name in ("prompt_tokens", "completion_tokens", "cost"):
        assert used[name] == pytest.approx(printed[name], rel=0.1)
    assert main([*command(url, out, *PRICES, episodes=8), "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("2 episodes, 6 more are done\nabout: 40 requests, ")


@pytest.mark.slow
def test_a_dry_run_omits_the_same_tasks_as_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--suite", "clevrskills", "--level", "L0", "--preset", "words", "--split", "train")
    more = ("--policy", "chat:oracle", "--episodes", "1", "--dry-run", "--out", str(tmp_path))
    assert main(["evaluate", *words, *more]) == 0
    printed = capsys.readouterr().out
    assert "left out, as words alone cannot state the task: match_pose, move_without" in printed
    assert "10 episodes" in printed


def test_a_dry_run_counts_images_without_a_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command("fixed:hm", tmp_path / "run", "--dry-run", episodes=2)
    words[words.index("text")] = "schematic"
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert f"{2 * (2 + 3 + 18 * 4)} images" in printed and "no price" in printed
    words = command("oracle", tmp_path / "run", "--dry-run")
    assert main([word.replace("chat:oracle", "greedy") for word in words]) == 2
    assert "greedy uses no language model" in capsys.readouterr().err


# --- other suites, other processes


def test_a_suite_without_its_own_prompter(tmp_path: Path) -> None:
    sys.path.insert(0, str(TOY))
    try:
        drawn = ("--suite", "lamps:Lamps", "--seed", 3, "--episodes", 4)
        for name, success in (("oracle", True), ("garbage", False)):
            words = ("evaluate", "lamps_two", "--policy", f"chat:{name}", *drawn)
            assert main([*map(str, words), "--out", str(tmp_path / name)]) == 0
            assert {r.success_once for r in read_results(tmp_path / name)} == {success}
            assert main(["reverify", str(tmp_path / name)]) == 0
    finally:
        sys.path.remove(str(TOY))


def process(*words: object, **options: Any) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "clevrskills", *map(str, words)]
    return subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)


def port_of(path: Path) -> int:
    ends_s = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    return int(path.read_text())


def test_chat_stub_serves_until_a_signal(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    given = ("--port", 0, "--port-file", port_file, "--fail-first", 2, "--status", 429)
    server = process("chat-stub", "--behavior", "fixed:action: move red cube left", *given)
    url = f"http://127.0.0.1:{port_of(port_file)}/v1"
    out = tmp_path / "run"
    (result,) = evaluate(url, out, "--policy-arg", "seed=episode", episodes=1)
    assert result.usage["requests"] == 20
    server.send_signal(signal.SIGTERM)
    described, _ = server.communicate(timeout=60)
    assert server.returncode == 0
    assert url in described and described.endswith("Stopped\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--behavior", "rubbish"), "rubbish"),
        (("--behavior", "script:nowhere"), "nowhere"),
        (("--behavior", "nomodule:reply"), "No module named 'nomodule'"),
        (("--behavior", "json:reply"), "has no attribute 'reply'"),
        (("--behavior", "garbage", "--status", "200"), "status"),
        (("--behavior", "garbage", "--port", "99999"), "port 99999"),
    ],
)
def test_invalid_arguments_of_chat_stub(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chat-stub", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_that_is_killed_repeatedly_gives_the_same_results(
    reader: str, tmp_path: Path
) -> None:
    out, generator = tmp_path / "run", np.random.default_rng(0)
    more = ("--batch", 8, "--accept-restarts")  # each kill loses up to eight starts
    words = [*command(reader, out, *more, episodes=300)]
    for _ in range(6):
        run = process(*words, start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            run.communicate(timeout=6 + 4 * generator.random())
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
    evaluate(reader, out, *more, episodes=300)
    evaluate(reader, tmp_path / "whole", "--batch", 1, episodes=300)
    assert core(out) == core(tmp_path / "whole") and len(core(out)) == 300
    assert transcripts(out) == transcripts(tmp_path / "whole")
    assert all(result["measures"]["optimal"] for result in core(out))
