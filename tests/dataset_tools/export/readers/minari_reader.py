"""Reads Minari datasets with Minari and recovers their environment, for the tests.

Runs where Minari is (scripts/setup_clients.sh). Usage: minari_reader.py ROOT OUT.npz
"""

import json
import os
import sys

import numpy as np

ROOT, OUT = sys.argv[1:]
os.environ["MINARI_DATASETS_PATH"] = ROOT

import minari  # noqa: E402

arrays = {}
report = {}
for name, metadata in minari.list_local_datasets(compatible_minari_version=True).items():
    dataset = minari.load_dataset(name)
    env = dataset.recover_environment()
    assert env.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space
    said = list(dataset.storage.get_episode_metadata(range(len(dataset))))
    report[name] = {
        "episodes": [str(entry["source"]) for entry in said],
        "algorithm": metadata["algorithm_name"],
        "scores": [
            float(minari.get_normalized_score(dataset, np.array(metadata[key])))
            for key in ("ref_min_score", "ref_max_score")
        ],
    }
    for episode, entry in zip(dataset, said, strict=True):
        key = f"{name}:{entry['source']}"
        assert len(episode) == entry["total_steps"] == len(episode.infos["progress"]) - 1
        seen = [env.reset(seed=entry["seed"])[0]]
        rewards = []
        for action in episode.actions:
            observation, reward, terminated, truncated, info = env.step(action)
            seen.append(observation)
            rewards.append(reward)
        ends = (bool(episode.terminations[-1]), bool(episode.truncations[-1]))
        assert ends == (terminated, truncated)
        assert not episode.terminations[:-1].any() and not episode.truncations[:-1].any()
        assert entry["success"] == bool(info["success"])
        arrays[f"{key}:observations"] = episode.observations
        arrays[f"{key}:environment"] = np.array(seen)
        arrays[f"{key}:rewards"] = episode.rewards
        arrays[f"{key}:earned"] = np.array(rewards)
        arrays[f"{key}:actions"] = episode.actions
    env.close()
parts = [minari.load_dataset(f"clevrskills/pick/{name}-v0") for name in ("oracle", "random")]
report["mixed"] = minari.combine_datasets(parts, "clevrskills/pick/mixed-v0").total_episodes
np.savez(OUT, **arrays)
print(json.dumps(report))
