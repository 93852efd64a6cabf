"""Opens a LeRobot dataset with lerobot itself and prints as JSON what it finds in each episode.

Runs in an environment of its own (scripts/setup_readers.sh): lerobot_all.py DATASET
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from lerobot_reader import open_dataset  # type: ignore[import-not-found]  # that of the tests


def main(root: Path) -> None:
    """Read every row, and three images of each camera of each episode."""
    begin = time.monotonic()
    dataset = open_dataset(root, None)
    rows = dataset.hf_dataset.with_format("numpy")
    number, actions = np.asarray(rows["episode_index"]), np.asarray(rows["action"])
    cameras = dataset.meta.video_keys
    episodes = []
    for index in range(dataset.meta.total_episodes):
        mine = np.flatnonzero(number == index)
        shown = [dataset[int(mine[k])] for k in (0, len(mine) // 2, len(mine) - 1)]
        images = [float(255 * one[name].double().mean()) for name in cameras for one in shown]
        episodes.append(
            {
                "task": shown[0]["task"],
                "steps": len(mine),
                "actions": actions[mine].sum(0, dtype=float).tolist(),
                "images": images,
            }
        )
    seconds = time.monotonic() - begin
    print(json.dumps({"episodes": episodes, "frames": len(dataset), "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
