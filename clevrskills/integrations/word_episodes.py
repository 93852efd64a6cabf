"""Episodes in words for other harnesses: an evaluation, of which they run the loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.request import EvaluationRequest, make_request

_POLICY = "chat:garbage"
"""The policy: it tells and reads; who replies is up to the harness."""
Names = str | Sequence[str]
"""Names as a list, or as a text with commas between them."""


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
        tasks: Keys of tasks; with neither tasks nor a level all that have frozen episodes.
        level: Levels of tasks.
        split: Splits; by default those that the suite evaluates.
        preset: Named bundle of options.
        view: What is shown, in place of what the preset says.
        feedback: ``none``, ``simple`` or ``detailed``.
        interface: What is acted by; it has to be in words.
        criteria: When an episode counts as solved.
        count: Episodes of each task and split; ``None``: as the command.
        seed: Draw episodes from this seed on, in place of frozen ones.
        policy_arg: Arguments of the policy, ``NAME=VALUE``, such as ``max_images=4``.

    Raises:
        ClevrSkillsError: Something is not allowed.
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
    """Make the :class:`~clevrskills.agents.policy.ChatPolicy` that writes the messages of an
    episode, and reads the replies.

    Raises:
        ClevrSkillsError: The interface is not in words, or an argument is not allowed.
    """
    return request.config.policy.make(request.config.suite, request.run.interface)


def _names(given: Names) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(name.strip() for name in given.split(",") if name.strip())
    return tuple(map(str, given))
