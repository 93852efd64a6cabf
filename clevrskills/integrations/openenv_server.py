"""OpenEnv server for episodes with text interfaces.

``python -m clevrskills.integrations.openenv_server --suite ivispar --tasks geoms --preset text``:
observations, limits and success are those of ``clevrskills evaluate --policy chat:…``. Requires the
extra ``openenv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import count
from typing import Any, Literal

from fastapi import FastAPI
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field

from clevrskills.agents.client import Reply
from clevrskills.agents.messages import to_openai
from clevrskills.agents.policy import ChatPolicy
from clevrskills.core.episode import as_seed
from clevrskills.core.policy import TextAction
from clevrskills.core.suite import find_interface
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.env_pool import EnvPool, EpisodeRef
from clevrskills.integrations.word_episodes import make_policy, word_request
from clevrskills.jobs.options import Repeated, parse


@dataclass(frozen=True, kw_only=True)
class OpenEnvArgs:
    """Serve episodes with text interfaces through OpenEnv until Ctrl-C."""

    suite: str = "ivispar"
    """The suite."""
    tasks: Repeated[str] = ()
    """Keys of tasks; may be given several times; by default all with frozen episodes."""
    level: Repeated[str] = ()
    """Only tasks of this level; may be given several times."""
    split: Repeated[str] = ()
    """Splits; may be given several times; by default those evaluated by the suite."""
    seed: int | None = None
    """Sample episodes from this seed instead of using frozen ones, e.g. for training."""
    count: int | None = None
    """Episodes of each task and split; by default as in an evaluation."""
    preset: str | None = None
    """Preset of options, see docs/agents.md."""
    view: Repeated[str] = ()
    """View to show; may be given several times."""
    feedback: Literal["none", "simple", "detailed"] | None = None
    """Feedback of turns."""
    interface: str | None = None
    """Text interface."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 for all network interfaces."""
    port: int = 8000
    """Port to listen at."""
    sessions: int = 8
    """Maximum number of clients, each with its own environment."""


class WordAction(Action):
    """Action of a turn: a command, or a model's reply to the messages."""

    command: str | None = Field(default=None, description="a command")
    reply: str | None = Field(default=None, description="a reply to `messages`")


class WordObservation(Observation):
    """Observation before a turn, and the result of the last one."""

    prompt: str = Field(default="", description="the task")
    messages: list[dict[str, Any]] = Field(
        default_factory=list,
        description="messages for a model as in OpenAI's chat completions, images as data URLs",
    )
    ok: bool = Field(default=True, description="success of the last turn, if there is feedback")
    code: str = Field(default="", description="its result code, with detailed feedback")
    message: str = Field(default="", description="its feedback in words")
    success: bool = False
    progress: float = Field(
        default=0.0, description="of the goal; only at the end if it reveals hidden states"
    )


class WordState(State):
    """State of the current episode."""

    task: str = ""
    split: str = ""
    limit: int = 0
    result: dict[str, Any] | None = Field(default=None, description="of a finished episode")


class WordEnvironment(Environment[WordAction, WordObservation, WordState]):
    """Environment with a text interface.

    ``reset`` starts the next episode, the one of an ``episode_id`` such as ``geoms_base_007``, or
    the sampled one of a ``seed``.

    Args:
        order: Indices of the next episodes; clients that share them play different ones.
        options: See :func:`~clevrskills.integrations.word_episodes.word_request`.

    Raises:
        ClevrSkillsError: An option is not allowed.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True  # a simulator belongs to one thread

    def __init__(self, order: Iterator[int] | None = None, **options: Any) -> None:
        super().__init__()
        self._order = count() if order is None else order
        self._request = word_request(**options)
        loaded = make_policy(self._request)
        self._policy: ChatPolicy = loaded.policy
        self._interface = find_interface(self._request.config.suite, self._request.run.interface)
        self._pool = EnvPool(self._request.config, loaded.options)
        self._rollout: Any = None
        self._state = WordState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **_: Any
    ) -> WordObservation:
        """Start an episode.

        Raises:
            ClevrSkillsError: There is no such episode.
        """
        ref = self._chosen(seed, episode_id)
        self._rollout = rollout = self._pool.start(0, ref)
        self._policy.reset(rollout.prompt)
        self._state = WordState(
            episode_id=ref.id, task=ref.task, split=ref.split, limit=rollout.limit
        )
        return self._observe()

    def _chosen(self, seed: int | None, name: str | None) -> EpisodeRef:
        frozen = self._request.episodes
        if name is not None:
            by_name = {ref.id: ref for ref in frozen}
            if name not in by_name:
                raise ClevrSkillsError(f"no episode {name}; there are {frozen[0].id} and so on")
            return by_name[name]
        if seed is not None:
            seed = as_seed(seed)
            of = frozen[seed % len(frozen)]
            return EpisodeRef(of.task, of.split, 0, seed)
        return frozen[next(self._order) % len(frozen)]

    def step(self, action: WordAction, timeout_s: float | None = None, **_: Any) -> WordObservation:
        """Run a turn.

        Raises:
            ClevrSkillsError: No episode is running, or the action is invalid.
        """
        rollout = self._rollout
        if rollout is None or rollout.ended:
            raise ClevrSkillsError("no episode is running: reset first")
        if (action.command is None) == (action.reply is None):
            raise ClevrSkillsError("an action must have either a command or a reply")
        reward, observation = rollout.total_reward, rollout.observation
        if action.reply is not None:
            messages = self._policy.request(observation)
            answer = self._policy.read(observation, messages, Reply(action.reply, _NO_USAGE))
        else:
            answer = TextAction(self._interface.read(action.command)[0])
            self._policy.remember(observation, answer)
        rollout.go_on(answer)
        self._state.step_count += 1
        if rollout.ended:
            self._state.result = asdict(rollout.result())
        return self._observe(rollout.total_reward - reward)

    def _observe(self, reward: float | None = None) -> WordObservation:
        rollout, env = self._rollout, self._rollout.env
        last, feedback = rollout.last_turn, rollout.observation["feedback"]
        visible = rollout.ended or not env.goal_hidden
        return WordObservation(
            done=rollout.ended,
            reward=reward,
            prompt=rollout.prompt.text,
            messages=[] if rollout.ended else to_openai(self._policy.request(rollout.observation)),
            ok=last is None or last.ok or feedback == "none",
            code=last.code if last and feedback == "detailed" else "",
            message=rollout.message,
            success=rollout.success,
            progress=float(env.outcome.progress[0]) if visible else 0.0,
        )

    @property
    def state(self) -> WordState:
        """State of the episode."""
        return self._state


_NO_USAGE = {"requests": 1.0, "prompt_tokens": 0.0, "completion_tokens": 0.0}


def make_app(sessions: int = 8, **options: Any) -> FastAPI:
    """Return the server as an ASGI application.

    Args:
        sessions: Maximum number of clients.
        options: See :func:`~clevrskills.integrations.word_episodes.word_request`.

    Raises:
        ClevrSkillsError: An option is not allowed.
    """
    make_policy(word_request(**options))  # reports wrong options before serving
    order = count()
    return create_fastapi_app(
        lambda: WordEnvironment(order, **options),
        WordAction,
        WordObservation,
        max_concurrent_envs=sessions,
    )


def main(args: OpenEnvArgs) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    own = ("host", "port", "sessions")
    options = {f.name: getattr(args, f.name) for f in fields(args) if f.name not in own}
    uvicorn.run(make_app(args.sessions, **options), host=args.host, port=args.port)


if __name__ == "__main__":
    try:
        main(parse(OpenEnvArgs))
    except ClevrSkillsError as error:
        raise SystemExit(f"clevrskills: {error}") from None
