"""Run by .venv-clients with openpi-client: what a robot of openpi sends, to a served checkpoint."""

import json
import sys

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

host, port, size_px, out = sys.argv[1:]
image = np.zeros((int(size_px), int(size_px), 3), np.uint8)


def ask(numbers: int) -> str:
    """What comes of a state of so many numbers: the shape of the actions, or the error."""
    client = WebsocketClientPolicy(host, int(port))
    shown = {"observation/base_camera": image, "observation/hand_camera": image}
    shown |= {"observation/state": np.zeros(numbers, np.float32), "prompt": "Pick up the cube"}
    try:
        return str(client.infer(shown)["actions"].shape)
    except RuntimeError as error:
        return str(error)


with open(out, "w") as file:
    json.dump({numbers: ask(numbers) for numbers in (15, 9)}, file)
