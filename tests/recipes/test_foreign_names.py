"""Files of recipes that foreign programs read: they name what exports and clients have."""

import ast
import base64
import importlib
import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from clevrskills.core.interface import ACTION_MODALITIES, STATE_MODALITIES
from clevrskills.core.policy import PolicyError, PromptInput
from clevrskills.core.suite import all_cameras, find_interface, load_suite
from clevrskills.sim.state_vector import state_parts

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def imported(monkeypatch):
    """Imports a module of the recipes, with stand-ins for what it imports of others."""

    def load(name: str, **others: object) -> ModuleType:
        monkeypatch.syspath_prepend(str(RECIPES))
        monkeypatch.delitem(sys.modules, name, raising=False)
        for other, module in others.items():
            monkeypatch.setitem(sys.modules, other.replace("__", "."), module)
        return importlib.import_module(name)

    yield load
    for name in ("groot_modalities", "openvla_oft_client"):
        sys.modules.pop(name, None)


def test_modalities_of_groot_are_those_of_exports(imported):
    registered: list[dict[str, SimpleNamespace]] = []
    types, configs, tags = MagicMock(), MagicMock(), MagicMock()
    types.ModalityConfig = SimpleNamespace
    configs.register_modality_config = lambda config, embodiment_tag: registered.append(config)
    imported(
        "groot_modalities",
        **{"gr00t": MagicMock(), "gr00t__data__types": types, "gr00t__data__embodiment_tags": tags},
        **{"gr00t__configs__data__embodiment_configs": configs},
    )
    [config] = registered
    parts = state_parts()
    states = [name for part in parts for name in STATE_MODALITIES.get(part, {part: None})]
    assert config["state"].modality_keys == states
    actions = find_interface(load_suite()).spec["parts"]
    assert config["action"].modality_keys == [
        ACTION_MODALITIES.get(part["name"], part["name"]) for part in actions
    ]
    assert set(config["video"].modality_keys) <= set(all_cameras(load_suite()))


def test_names_of_openpi_are_those_of_exports_and_clients():
    tree = ast.parse((RECIPES / "openpi_config.py").read_text(encoding="utf-8"))
    names = {"BASE": "observation/base_camera", "HAND": "observation/hand_camera"}
    [features] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FEATURES"
    ]
    assert eval(compile(ast.Expression(features), "", "eval"), dict(names)) == {
        "observation/base_camera": "observation.images.base_camera",
        "observation/hand_camera": "observation.images.hand_camera",
        "observation/state": "observation.state",
        "actions": "action",
        "prompt": "prompt",
    }
    assert {"base_camera", "hand_camera"} <= set(all_cameras(load_suite()))


@contextmanager
def server(answer):
    """Address of a server that answers doubly encoded requests as OpenVLA-OFT's does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(answer(json.loads(body["encoded"]))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_): ...

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/act"
        http.shutdown()
        thread.join()


def test_client_of_openvla_asks_and_understands(imported):
    module = imported("openvla_oft_client")
    asked = []

    def answer(question):
        asked.append(question)
        if question["instruction"] == "fail":
            return "error"
        actions = [np.full(7, k / 10) for k in range(8)]
        return json.dumps([module._packed(action) for action in actions])

    image = np.arange(256 * 256 * 3, dtype=np.uint8).reshape(256, 256, 3)
    robot = {"ee_pose": np.arange(7.0), "vacuum_on": np.array([1.0]), "qpos": np.zeros(6)}
    shown = {"images": {"base_camera": image, "hand_camera": image + 1}, "proprioception": robot}
    with server(answer) as url:
        policy = module.OpenVLAOFT(url, timeout_s=5)
        policy.reset(PromptInput("Pick up the cube.", {}, 0))
        np.testing.assert_allclose(policy.act(shown)[:, 0], np.arange(8) / 10, atol=1e-6)
        policy.reset(PromptInput("fail", {}, 0))
        with pytest.raises(PolicyError, match="the server's log says more"):
            policy.act(shown)
    first = asked[0]
    assert first["instruction"] == "Pick up the cube."
    sent = base64.b64decode(first["full_image"]["__numpy__"])
    assert (sent, first["full_image"]["shape"]) == (image.tobytes(), [256, 256, 3])
    assert "wrist_image" in first and first["state"]["shape"] == [8]
    state = np.frombuffer(base64.b64decode(first["state"]["__numpy__"]), np.float32)
    assert state.tolist() == [0, 1, 2, 3, 4, 5, 6, 1]
