"""Episodes with text interfaces for other harnesses, which run the loop of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.request import EvaluationRequest, make_request

_POLICY = "chat:garbage"
"""Policy that builds messages and parses the replies from the harness."""
Names = str | Sequence[str]
"""Names as a list or separated by commas."""


def word_request(
    suite: str,
    tasks: Names = (),
    level: Names = (),
    split: Names = (),
    preset: str | None = None,
    view: Names = (),
    feedback: str | None = None,
    interface: str | None = None,
    criteria: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    policy_arg: Names = (),
) -> EvaluationRequest:
    """Return the request of ``clevrskills evaluate --policy chat:…`` with the same options.

    Args:
        suite: Name of the suite.
        tasks: Keys of tasks; without tasks and levels, all with frozen episodes.
        level: Levels of tasks.
        split: Splits; by default those evaluated by the suite.
        preset: Name of a preset.
        view: Views that replace those of the preset.
        feedback: ``none``, ``simple`` or ``detailed``.
        interface: Name of a text interface.
        criteria: Name of the success criteria.
        count: Episodes of each task and split; ``None``: as in the command.
        seed: First seed of sampled episodes, instead of frozen ones.
        policy_arg: Arguments of the policy, ``NAME=VALUE``, such as ``max_images=4``.

    Raises:
        ClevrSkillsError: An option is not allowed.
    """
    chosen, levels = _names(tasks), _names(level)
    args = EvaluateArgs(
        policy=_POLICY,
        tasks=chosen,
        level=levels,
        all=not chosen and not levels and seed is None,
        suite=suite,
        split=_names(split),
        preset=preset,
        view=_names(view),
        feedback=feedback,  # type: ignore[arg-type]
        interface=interface,
        criteria=criteria,
        episodes=count,
        seed=seed,
        policy_arg=_names(policy_arg),
        out=Path(),  # nothing is written
    )
    return make_request(args, load_suite(suite))


def make_policy(request: EvaluationRequest) -> LoadedPolicy:
    """Make the :class:`~clevrskills.agents.policy.ChatPolicy` of an episode.

    Raises:
        ClevrSkillsError: The interface is not textual, or an argument is not allowed.
    """
    return request.config.policy.make(request.config.suite, request.run.interface)


def _names(given: Names) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(name.strip() for name in given.split(",") if name.strip())
    return tuple(map(str, given))
