"""Pick-and-place policy: picks and places in pixels of the map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput, TextAction
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import UnknownNameError
from clevrskills_policies.cliport.config import CliportConfig
from clevrskills_policies.cliport.network import TwoStreams
from clevrskills_policies.cliport.turns import NOTHING, VIEWS, TurnBatch, to_image, words_of

TURN_SHARE = 0.2
"""Weight of the loss of the rotation, relative to those of pick and place."""
SUITE, INTERFACE = "lohoravens", "pick_place_pixels"


class Cliport(LearnedPolicy[CliportConfig]):
    """CLIPort: pick and place at the maxima of two affordance maps.

    Args:
        config: The configuration.
        spec: Observations and actions.
    """

    config_type = CliportConfig
    configurations: ClassVar[Mapping[str, PolicyConfig]] = {
        "default": CliportConfig(),
        "small": CliportConfig(
            width=16, words=64, turns=9, crop_px=16, batch_size=8, learning_rate=3e-3
        ),
        "tiny": CliportConfig(
            width=8,
            words=32,
            vocabulary=512,
            length=32,
            turns=1,
            crop_px=16,
            augment=False,
            batch_size=8,
            warm_up_steps=10,
            learning_rate=3e-3,
        ),
    }
    prepared_by = "clevrskills_policies.cliport.training:prepare_turns"
    acts_in = (SUITE, INTERFACE)

    def __init__(self, config: CliportConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        self.network = TwoStreams(config)
        self._stops = False
        self._instructions: dict[int, str] = {}

    @staticmethod
    def turn_spec() -> PolicySpec:
        """Return the specification of observations and actions."""
        options = ObservationOptions(
            cameras=(), proprioception=False, prompt="language", views=VIEWS, look="flat"
        )
        none: dict[str, list[float]] = {name: [] for name in ("mean", "std")}
        plain = {"mean": [0.0] * 6, "std": [1.0] * 6}
        action = dict(find_interface(load_suite(SUITE), INTERFACE).spec)
        return PolicySpec(options, {}, {"state": none, "action": plain}, action)

    def configure(self, stop: str | None) -> None:
        """Configure how the policy acts.

        Args:
            stop: ``learned``: the policy stops when it predicts that nothing is left to do.

        Raises:
            UnknownNameError: The value is not allowed.
        """
        if stop not in (None, "learned"):
            raise UnknownNameError("value of stop", stop, ("learned",))
        self._stops = stop is not None

    def forward(self, batch: TurnBatch) -> dict[str, Tensor]:  # type: ignore[override]
        """Return the losses of turns: of the pick, the place, the rotation and the end."""
        network, config = self.network, self.config
        features = network(batch.images, batch.words, batch.scenes)
        goes_on = batch.actions[:, 0] != NOTHING
        terms = {
            "end": functional.binary_cross_entropy_with_logits(
                network.ended(features), (~goes_on).float()
            )
        }
        if bool(goes_on.any()):
            picks, places = batch.actions[:, :2], batch.actions[:, 3:5]
            turns = (batch.actions[:, 5] - batch.actions[:, 2]).round().long() % config.turns
            found = (network.pick(features, features.pick), network.place(features, features.place))
            for name, logits, at in zip(("pick", "place"), found, (picks, places), strict=True):
                terms[name] = _spread_loss(logits[goes_on], at[goes_on], config.spread_px)
            turned = network.turn(features, picks, places)
            terms["turn"] = TURN_SHARE * functional.cross_entropy(turned[goes_on], turns[goes_on])
        return {"loss": sum(terms.values(), torch.zeros(())), **terms}

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Start episodes in these slots; the other slots continue."""
        self._instructions |= {slot: prompt.text for slot, prompt in prompts.items()}

    def act(self, observations: Mapping[int, Observation]) -> dict[int, Any]:
        """Return the next pick and place (6,) of these slots, or the action to stop."""
        return {
            slot: self._without_gradients(self._act, observation["views"], self._instructions[slot])
            for slot, observation in observations.items()
        }

    def _act(self, views: Mapping[str, np.ndarray], text: str) -> Any:
        image = to_image(*(views[name] for name in VIEWS))[None].to(self.device)
        words = words_of(text, self.config.vocabulary, self.config.length)[None].to(self.device)
        features = self.network(image, words, torch.zeros(1, dtype=torch.long, device=self.device))
        if self._stops and bool(self.network.ended(features) > 0):
            return TextAction("done", stop=True)
        pick = _highest(self.network.pick(features, features.pick)[0])
        place = _highest(self.network.place(features, features.place)[0])
        at = (torch.tensor([pixel], device=self.device) for pixel in (pick, place))
        turn = int(self.network.turn(features, *at).argmax())
        return np.array([*pick, 0, *place, turn])


def _highest(values: Tensor) -> Sequence[int]:
    """Return the row and column of the maximum of values (H, W)."""
    return [int(k) for k in np.unravel_index(int(values.argmax()), values.shape)]


def _spread_loss(logits: Tensor, places: Tensor, spread_px: float) -> Tensor:
    """Return the cross-entropy of logits (B, H, W) with a Gaussian around pixels (B, 2)."""
    batch, height, width = logits.shape
    reach = math.ceil(3 * spread_px)
    offsets = torch.arange(-reach, reach + 1, device=logits.device)
    rows, columns = (places.round().long()[:, k, None] + offsets for k in range(2))  # (B, S)
    near = torch.exp(-0.5 * (offsets / spread_px) ** 2).expand(batch, -1)
    down = near * ((rows >= 0) & (rows < height))
    along = near * ((columns >= 0) & (columns < width))
    shares = down[:, :, None] * along[:, None]
    shares = shares / shares.sum((-1, -2), keepdim=True)
    at = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None]
    flat = logits.reshape(batch, -1)
    chosen = flat.gather(1, at.reshape(batch, -1))
    return (flat.logsumexp(1) - (shares.reshape(batch, -1) * chosen).sum(1)).mean()
