"""WebSocket server of a policy."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from http import HTTPStatus

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving import openpi, vla_eval
from clevrskills.serving.api_key import is_authorized, quiet_log
from clevrskills.serving.connection import MAX_MESSAGE_BYTES
from clevrskills.serving.message_fields import as_asked
from clevrskills.serving.sessions import OwnPolicies, Session, Slots

TALKS = {"openpi": openpi.talk, "vla-eval": vla_eval.talk}
HEALTH = {"openpi": "/healthz", "vla-eval": "/health"}
"""Path of the HTTP health check in each dialect."""
_HEALTHY = {
    "/healthz": ("text/plain", "OK\n"),
    "/health": ("application/json", '{"status": "ok"}\n'),
}


@contextlib.asynccontextmanager
async def serving(
    source: PolicySource,
    dialect: str,
    thread: Executor,
    host: str = "127.0.0.1",
    port: int = 0,
    wait_s: float = 0.005,
    key: str | None = None,
    unchecked: bool = False,
) -> AsyncIterator[str]:
    """Serve a policy to any number of clients.

    Args:
        source: Source of the policy, which is made once for each concurrent client, or only once if
            it is batched.
        dialect: One of :data:`TALKS`.
        thread: Executor with one thread for all calls of policies.
        host: Address to listen at.
        port: Port to listen at; 0 for any free port.
        wait_s: Time that a batched policy waits for further clients.
        key: API key that clients must send; ``None`` for none.
        unchecked: Whether observations are passed on without comparing them with the requested
            ones.

    Yields:
        The address for clients, e.g. ``openpi://127.0.0.1:8000``.

    Raises:
        ClevrSkillsError: The policy cannot be made or served, or the port is in use.
    """
    policy = await asyncio.wrap_future(thread.submit(source.make))
    if policy.info.privileged and not policy.info.env_optional:
        raise ClevrSkillsError(
            f"the policy {source.name} needs the environment itself, which clients cannot send; "
            "run it in process: clevrskills evaluate --policy …"
        )
    asked = None if policy.info.observation is None else policy.options
    sessions = (
        Slots(policy.policy, thread, wait_s)
        if policy.info.concurrency == "batched"
        else OwnPolicies(source.make, policy, thread)
    )

    async def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):  # clients may disconnect at any time
            async with sessions.session() as session:
                checked = Session(session.reset, lambda sent: session.act(as_asked(sent, asked)))
                await TALKS[dialect](connection, session if unchecked else checked, policy)

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        if request.path in _HEALTHY:
            kind, text = _HEALTHY[request.path]
            response = connection.respond(HTTPStatus.OK, text)
            del response.headers["Content-Type"]
            response.headers["Content-Type"] = kind
            return response
        if is_authorized(request.headers.get_all("Authorization"), key):
            return None  # go on to the WebSocket
        text = "API key required: Authorization: Api-Key …\n"
        return connection.respond(HTTPStatus.UNAUTHORIZED, text)

    server = serve(
        handle,
        host,
        port,
        process_request=answer,
        origins=[None],  # no web page
        logger=quiet_log(),
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        ping_interval=None,  # a busy client may not answer pings
    )
    try:
        listening = await server
    except OSError as error:
        raise ClevrSkillsError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error
    async with listening:
        taken = listening.sockets[0].getsockname()[1]
        yield f"{dialect}://{f'[{host}]' if ':' in host else host}:{taken}"
