"""Run by .venv-clients with openpi-client: a server that talks to its client; prints its port.

The first of two actions says what was seen, see ``digest`` of the test.
"""

import numpy as np
from openpi_client import msgpack_numpy
from websockets.sync.server import serve


def digest(shown: dict) -> list:
    cameras = [shown[f"observation/{name}_camera"].mean() / 255 for name in ("base", "hand")]
    state = shown["observation/state"]
    more = [len(shown.get("prompt_images", {})) / 10, shown["episode_start"], shown["step"] / 10]
    return [*cameras, state[0] / 10, state[-1] / 10, *more]


def handle(connection) -> None:
    packer = msgpack_numpy.Packer()
    connection.send(packer.pack({"reset_pose": np.zeros(3), "trained_on": "demos"}))
    for message in connection:
        shown = msgpack_numpy.unpackb(message)
        if shown["prompt"] == "fail":
            connection.send("Traceback (most recent call last):\n  ...\nKeyError: 'wrist'")
            connection.close(1011)
            return
        actions = np.array([digest(shown), np.ones(7)])
        connection.send(packer.pack({"actions": actions, "server_timing": {"infer_ms": 1.5}}))


options = {"compression": None, "max_size": None}
with serve(handle, "127.0.0.1", 0, **options) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
