"""``clevrskills serve``: server of a policy."""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clevrskills.jobs.options import Repeated

if TYPE_CHECKING:
    from clevrskills.core.policy_loader import PolicySource


@dataclass(kw_only=True)
class ServeArgs:
    """Serve a policy over WebSocket to clients of openpi or vla-eval until Ctrl-C."""

    policy: str
    """The policy: `module:attribute`, `checkpoint:DIR` of `clevrskills train`, `zero`, `random`, or
    `replay:DATASET` for the recorded actions of its episodes."""
    dialect: Literal["openpi", "vla-eval"] = "openpi"
    """Dialect of the clients."""
    host: str = "127.0.0.1"
    """Address to listen at; only this machine by default, `0.0.0.0` for all network interfaces."""
    port: int = 8000
    """Port to listen at; 0 for any free port."""
    policy_arg: Repeated[str] = ()
    """Argument of the policy, NAME=VALUE; may be given several times."""
    batch_wait_ms: float = 5.0
    """Time in milliseconds that a batched policy waits for further clients."""
    api_key_env: str | None = None
    """Environment variable with the API key that clients must send."""
    unchecked: bool = False
    """Pass observations on without comparing them with those requested by the policy."""


def serve(args: ServeArgs) -> int:
    """Serve until Ctrl-C or SIGTERM; returns the exit code, 0.

    Raises:
        ClevrSkillsError: The policy cannot be made or served, or the port is in use.
    """
    from clevrskills.core.policy_loader import PolicySource, policy_arguments
    from clevrskills.serving import require_serve

    require_serve(args.dialect)
    source = PolicySource(args.policy, policy_arguments(args.policy_arg), os.getcwd())
    asyncio.run(_serve(args, source))
    return 0


async def _serve(args: ServeArgs, source: PolicySource) -> None:
    from clevrskills.serving.api_key import read_api_key
    from clevrskills.serving.server import HEALTH, serving

    key = read_api_key(args.api_key_env)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def end(number: int) -> None:
        stop.set()
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process immediately

    with ThreadPoolExecutor(1, "policy") as thread:
        given = (args.host, args.port, args.batch_wait_ms / 1000, key, args.unchecked)
        async with serving(source, args.dialect, thread, *given) as url:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end, number)
            health = f"http{url.removeprefix(args.dialect)}{HEALTH[args.dialect]}"
            print(f"serving {args.policy} at {url} (health: {health}); Ctrl-C ends it", flush=True)
            await stop.wait()
    print("stopped", flush=True)
