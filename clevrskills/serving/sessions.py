"""Sessions of a policy server: one policy per client, or a batched one for all."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np

from clevrskills.core.episode import RecordedName
from clevrskills.core.policy import BatchedPolicy, Observation, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.serving.message_fields import unclipped

Result = TypeVar("Result")


@dataclass(frozen=True)
class Session:
    """Access of a client to a policy."""

    # begins an episode, which the client may name
    reset: Callable[[PromptInput, RecordedName | None], Awaitable[None]]
    # returns the next action (A,) or chunk of actions (H, A) float32
    act: Callable[[Observation], Awaitable[np.ndarray]]


class OwnPolicies:
    """Sessions with one policy each, which is reused after a client disconnects.

    Args:
        load: Function that makes a policy.
        first: A policy made before.
        thread: Executor with one thread for all calls of policies.
    """

    def __init__(
        self, load: Callable[[], LoadedPolicy], first: LoadedPolicy, thread: Executor
    ) -> None:
        self._load, self._free, self._thread = load, [first], thread

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Open a session for as long as the client stays."""
        policy = self._free.pop() if self._free else await _run(self._thread, self._load)

        async def reset(prompt: PromptInput, episode: RecordedName | None) -> None:
            await _run(self._thread, policy.reset, prompt, None, episode)

        async def act(observation: Observation) -> np.ndarray:
            return unclipped(await _run(self._thread, policy.act, observation))

        try:
            yield Session(reset, act)
        finally:
            self._free.append(policy)


class Slots:
    """Sessions with one batched policy, where each client has a slot.

    It acts for all waiting clients as soon as all clients wait or a timeout has passed.

    Args:
        policy: The policy.
        thread: Executor with one thread for all calls of the policy.
        wait_s: The timeout in seconds.
    """

    def __init__(self, policy: BatchedPolicy, thread: Executor, wait_s: float) -> None:
        self._policy, self._thread, self._wait_s = policy, thread, wait_s
        self._taken: set[int] = set()
        self._waiting: dict[int, tuple[Observation, asyncio.Future[np.ndarray]]] = {}
        self._all_wait = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Open a session for as long as the client stays."""
        slot = next(number for number in count() if number not in self._taken)
        self._taken.add(slot)
        try:
            yield Session(partial(self._reset, slot), partial(self._act, slot))
        finally:
            self._taken.remove(slot)
            self._notice()

    async def _reset(self, slot: int, prompt: PromptInput, _: RecordedName | None) -> None:
        await _run(self._thread, self._policy.reset, {slot: prompt})

    async def _act(self, slot: int, observation: Observation) -> np.ndarray:
        """Return the actions of a slot, computed together with those of others."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[slot] = (observation, future)
        self._notice()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._act_for_all())
        return unclipped(await future)

    def _notice(self) -> None:
        if len(self._waiting) >= len(self._taken):
            self._all_wait.set()
        else:
            self._all_wait.clear()

    async def _act_for_all(self) -> None:
        while self._waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_wait.wait(), self._wait_s)
            waiting, self._waiting = self._waiting, {}
            self._notice()
            observations = {slot: observation for slot, (observation, _) in waiting.items()}
            futures = {slot: future for slot, (_, future) in waiting.items()}
            try:
                actions = await _run(self._thread, self._policy.act, observations)
                if missing := sorted(futures.keys() - actions.keys()):
                    raise ValueError(f"the policy has no actions for the slots {missing}")
            except Exception as error:  # passed to each client
                for future in futures.values():
                    future.set_exception(error)
            else:
                for slot, future in futures.items():
                    future.set_result(actions[slot])


async def _run(thread: Executor, call: Callable[..., Result], *args: Any) -> Result:
    def called() -> Result:
        try:
            return call(*args)
        except StopIteration as error:  # coroutines cannot raise it
            raise RuntimeError("the policy has come to its end") from error

    return await asyncio.get_running_loop().run_in_executor(thread, called)
