"""Read a dataset of `clevrskills generate` or `make demo`.

python examples/read_dataset.py demo
"""

import sys

import numpy as np

from clevrskills.dataset_tools import Dataset

BARS = " .:-=+*#%@"
COLUMNS = 72

dataset = Dataset(sys.argv[1] if len(sys.argv) > 1 else "demo")
print(dataset)

for episode in dataset.filter(split="train")[:3]:
    print()
    print(f"{episode.id}: {len(episode)} steps, return {episode.rewards.sum():.1f}")
    print(f"prompt: {episode.prompt['plain']}")
    for part in episode.segments["instruction"]:
        print(f"  steps {part['start']:3d} to {part['stop'] - 1:3d}: {part['plain']}")

    # one row per control step, one column per quantity
    table = episode.steps
    print(table[["action", "reward", "progress", "success", "keystep"]].tail(3).to_string())

    # the reward over time, as a line of text
    chosen = np.linspace(0, len(episode) - 1, COLUMNS).astype(int)
    share = episode.rewards[chosen] / episode.rewards.max()
    print("reward |" + "".join(BARS[int(9 * s)] for s in share) + "|")

    # frame t and state t show the world after t steps, so there is one more than actions
    print("actions", episode.actions.shape, "states", episode.states.shape)
    for camera in episode.cameras:
        print(camera, episode.video(camera).shape)
