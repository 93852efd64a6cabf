"""Run by .venv-clients with openpi-client: two episodes, as on a robot of one's own."""

import json
import sys

import numpy as np
from openpi_client.action_chunk_broker import ActionChunkBroker
from openpi_client.websocket_client_policy import WebsocketClientPolicy

host, port, out = sys.argv[1:]
client = WebsocketClientPolicy(host, int(port))
broker = ActionChunkBroker(client, action_horizon=2)
actions = []
for prompt in ("push it", "pick it"):
    broker.reset()
    for step in range(3):
        image = np.full((4, 4, 3), 10 * step, np.uint8)
        state = np.arange(5, dtype=np.float32) + step
        shown = {"observation/base_camera": image, "observation/state": state, "prompt": prompt}
        actions.append(broker.infer(shown)["actions"])
error = ""
try:
    client.infer({"prompt": 3})
except RuntimeError as raised:
    error = str(raised)
with open(out, "w") as file:
    metadata = client.get_server_metadata()
    json.dump({"actions": np.stack(actions).tolist(), "metadata": metadata, "error": error}, file)
