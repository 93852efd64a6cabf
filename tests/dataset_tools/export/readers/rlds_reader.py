"""Reads an RLDS export with tensorflow_datasets and writes its values, for the tests.

Runs in ``.venv-rlds``. Usage: rlds_reader.py DATA_DIR OUT.npz
"""

import json
import sys

import numpy as np
import tensorflow_datasets as tfds
from google.protobuf import json_format

DATA_DIR, OUT = sys.argv[1:]


def flat(tree: dict, path: str = "") -> dict:
    """A nested dict as one of paths."""
    found: dict = {}
    for name, value in tree.items():
        inner = flat(value, f"{path}{name}/") if isinstance(value, dict) else {path + name: value}
        found |= inner
    return found


builder = tfds.builder_from_directory(f"{DATA_DIR}/clevrskills/1.0.0")
arrays = {}
splits = {name: split.num_examples for name, split in builder.info.splits.items()}
for split in splits:
    by_name = tfds.load("clevrskills", data_dir=DATA_DIR, split=split)
    shuffled = builder.as_dataset(split=split, shuffle_files=True)
    assert len(list(by_name)) == len(list(shuffled)) == splits[split]
    for episode in tfds.as_numpy(by_name):
        metadata = flat(episode["episode_metadata"])
        steps = [flat(step) for step in episode["steps"]]
        name = metadata["file_path"].decode()
        for key in steps[0]:
            arrays[f"{name}:{key}"] = np.array([step[key] for step in steps])
        for key, value in metadata.items():
            arrays[f"{name}:metadata/{key}"] = np.array(value)
np.savez(OUT, **arrays)
features = json_format.MessageToDict(builder.info.features.to_proto())
print(json.dumps({"splits": splits, "features": features}))
