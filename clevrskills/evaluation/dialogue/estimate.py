"""Cost estimate of a run with a language model (``--dry-run``)."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json
from clevrskills.jobs.progress import Display

if TYPE_CHECKING:
    from clevrskills.core.policy import Observation
    from clevrskills.evaluation.request import EvaluationRequest

LOOKED_AT = 20
"""Maximum number of episodes per task and split that the estimate is based on."""


@runtime_checkable
class CostEstimator(Protocol):
    """Policy that estimates the cost of an episode.

    Attributes:
        reply_tokens: Assumed number of tokens of a reply.
        prices: Prices of a million prompt and completion tokens; ``None``: unknown.
    """

    reply_tokens: int
    prices: tuple[float, float] | None

    def estimate(self, observation: Observation, turns: int) -> dict[str, float]:
        """Return an upper bound of an episode's cost, from its first observation."""


def dry_run(request: EvaluationRequest) -> int:
    """Print requests, tokens and price of a run without sending or writing anything.

    Returns:
        The exit code, 0.

    Raises:
        ClevrSkillsError: The policy cannot be constructed, or uses no language model.
    """
    from clevrskills.evaluation.env_pool import EnvPool
    from clevrskills.evaluation.request import left_out
    from clevrskills.evaluation.results import RUN_FILE, USAGE, read_results

    config = request.config
    policy = replace(config.policy, isolated=False).make(config.suite, config.run.interface)
    estimator = policy.policy
    if not isinstance(estimator, CostEstimator):
        raise ClevrSkillsError(f"--dry-run: {config.policy.name} uses no language model")
    envs = EnvPool(config, policy.options)
    known = read_results(config.root) if (config.root / RUN_FILE).exists() else ()
    done = {result.id for result in known if result.counts}
    omitted = left_out(request, policy.options.prompt)
    asked = [ref for ref in request.episodes if ref.task not in omitted]
    refs = [ref for ref in asked if ref.id not in done]
    total = dict.fromkeys(("episodes", *USAGE), 0.0)
    with Display("episodes", len(refs)) as display:
        for _, group in groupby(refs, key=lambda ref: (ref.task, ref.split)):
            same = list(group)
            step = -(-len(same) // LOOKED_AT)
            looked_at = same[::step]
            for ref in looked_at:
                rollout = envs.start(0, ref)
                policy.reset(rollout.prompt, rollout.env, rollout.episode)
                for name, value in estimator.estimate(rollout.observation, rollout.limit).items():
                    total[name] += value * len(same) / len(looked_at)
            total["episodes"] += len(same)
            display.update(int(total["episodes"]))
    priced = estimator.prices is not None
    numbers: dict[str, Any] = {name: round(total[name]) for name in ("episodes", *USAGE)}
    numbers["cost"] = round(total["cost"], 6) if priced else None
    if request.args.json:
        print(to_json({**numbers, "left_out": len(done)}, indent=1))
        return 0
    if omitted:
        print(f"left out, as words alone cannot state the task: {', '.join(omitted)}")
    print(f"{len(refs)} episodes" + (f", {len(done)} more are done" if done else ""))
    totals = [f"{numbers[name]:,} {word}" for name, word in USAGE.items() if name != "cost"]
    price = f", price {numbers['cost']:,.4f}" if priced else ""
    print(f"about: {', '.join(totals)}{price}")
    tokens = estimator.reply_tokens
    print(
        f"if episodes last to their limit, a reply has {tokens} tokens without reasoning, and a "
        "token is 4 characters or 750 pixels"
    )
    if not priced:
        print("no price: --policy-arg price_in=… price_out=…, of a million tokens")
    return 0
