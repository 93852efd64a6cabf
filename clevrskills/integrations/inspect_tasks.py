"""Tasks of inspect_ai: frozen episodes with text interfaces.

``inspect eval clevrskills/ivispar --model openai/gpt-4o -T preset=text`` sends the same messages,
parses replies and applies limits as ``clevrskills evaluate --policy chat:…``. Requires the extra
``inspect``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clevrskills.agents.client import Reply
from clevrskills.agents.messages import to_openai
from clevrskills.agents.policy import ChatPolicy
from clevrskills.core.policy import Message
from clevrskills.core.report import Measure, reported
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.env_pool import EnvPool, EpisodeRef
from clevrskills.evaluation.request import EvaluationRequest
from clevrskills.integrations.word_episodes import make_policy, word_request

RESULT = "result"
"""Key of an episode's result in the sample's store."""
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_EPISODE = ("task", "split", "index", "seed")
_MEASURES = ("success", "goal_fraction", "progress", "refused")


@task
def episodes(suite: str = "ivispar", **options: Any) -> Task:
    """Return the episodes of any suite with a text interface.

    Args:
        suite: Name of the suite.
        options: See :func:`~clevrskills.integrations.word_episodes.word_request`.

    Raises:
        ClevrSkillsError: An option is not allowed.
    """
    request = word_request(suite, **options)
    found = request.config.suite
    samples = [
        Sample(
            id=ref.id,
            input=f"Episode {ref.id}",
            metadata={name: getattr(ref, name) for name in _EPISODE},
        )
        for ref in request.episodes
    ]
    return Task(
        dataset=MemoryDataset(samples, name=found.name),
        solver=played(request),
        scorer=outcome([*_MEASURES, *(measure.name for measure in reported(found, Measure))]),
        name=found.name,
        metadata={"episodes": dict(request.run.episodes), "benchmark": request.run.benchmark},
    )


@task
def ivispar(preset: str = "text", tasks: str = "geoms", **options: Any) -> Task:
    """Return the task of iVISPAR's sliding boards."""
    return episodes("ivispar", preset=preset, tasks=tasks, **options)


@task
def asgardbench(preset: str = "baseline", **options: Any) -> Task:
    """Return the household tasks of AsgardBench."""
    return episodes("asgardbench", preset=preset, **options)


@task
def clevrskills(preset: str = "words", **options: Any) -> Task:
    """Return the 33 tasks of ClevrSkills with commands in words."""
    return episodes("clevrskills", preset=preset, **options)


@solver
def played(request: EvaluationRequest) -> Solver:
    """Play episodes with the messages of an evaluation."""
    make_policy(request)  # reports wrong arguments before anything starts
    free: list[EnvPool] = []

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # it would append to the messages; here they are rebuilt each turn
        place = {name: state.metadata[name] for name in _EPISODE}
        ref = EpisodeRef(**place, repeat=state.epoch - 1)
        loaded = make_policy(request)
        policy: ChatPolicy = loaded.policy
        # environments are reused after an episode
        pool = free.pop() if free else EnvPool(request.config, loaded.options)
        try:
            rollout = pool.start(0, ref)
            policy.reset(rollout.prompt)
            model = get_model()
            while not rollout.ended:
                observation = rollout.observation
                messages = policy.request(observation)
                state.messages = [as_inspect(message) for message in messages]
                state.output = await model.generate(state.messages)
                if state.output.stop_reason == "content_filter":
                    raise ClevrSkillsError(f"{ref.id}: the reply was filtered")
                state.messages.append(state.output.message)
                reply = Reply(state.output.completion, _usage(state))
                rollout.go_on(policy.read(observation, messages, reply))
        finally:
            free.append(pool)
        state.store.set(RESULT, asdict(rollout.result()))
        state.completed = True
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def outcome(measures: Sequence[str]) -> Scorer:
    """Score an episode by success and other numbers of its result."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        result: dict[str, Any] = state.store.get(RESULT)
        known = {**result, **result["measures"], "success": result["success_at_end"]}
        value = {name: float(known[name]) for name in measures if name in known}
        last = state.output.completion
        return Score(value=value, answer=last, explanation=result["cause"], metadata=result)

    return score


def as_inspect(message: Message) -> ChatMessage:
    """Convert a message to that of inspect_ai, with images as data URLs."""
    (sent,) = to_openai([message])
    kind, content = _MESSAGES[message.role], sent["content"]
    if isinstance(content, str):
        return kind(content=content)
    return kind(
        content=[
            ContentText(text=part["text"])
            if part["type"] == "text"
            else ContentImage(image=part["image_url"]["url"])
            for part in content
        ]
    )


def _usage(state: TaskState) -> dict[str, float]:
    usage = state.output.usage
    sent, replied = (usage.input_tokens, usage.output_tokens) if usage else (0, 0)
    return {"requests": 1.0, "prompt_tokens": sent, "completion_tokens": replied}
