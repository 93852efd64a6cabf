import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from clevrskills.core import checkpoint
from clevrskills.errors import ClevrSkillsError


def trained(steps: int, seed: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2)
    train(module, optimizer, steps)
    return module, optimizer


def train(module: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for step in range(steps):
        optimizer.zero_grad()
        (module(torch.arange(6.0).reshape(2, 3) + step) ** 2).mean().backward()
        optimizer.step()


def same(one: nn.Module, other: nn.Module) -> bool:
    expected, found = one.state_dict(), other.state_dict()
    return all(torch.equal(expected[name], found[name]) for name in expected)


def test_training_continues_from_a_checkpoint(tmp_path: Path) -> None:
    (one, optimizer), (other, blank) = trained(3), trained(0, seed=1)
    training = checkpoint.optimizer_tensors(one, optimizer)
    checkpoint.write(tmp_path, {"policy": "of a test"}, one.state_dict(), training)
    assert checkpoint.read_config(tmp_path) == {"format_version": 1, "policy": "of a test"}
    checkpoint.load_weights(other, tmp_path)
    path = tmp_path / checkpoint.OPTIMIZER_FILE
    checkpoint.load_optimizer(blank, other, checkpoint.read_tensors(path), path)
    for pair in ((one, optimizer), (other, blank)):
        train(*pair, steps=2)
    assert same(one, other)


def test_the_latest_of_a_training_run(tmp_path: Path) -> None:
    assert checkpoint.latest(tmp_path) == (0, None)
    for steps in (900, 99_999_999, 100_000_000):  # the last has a digit more
        folder = checkpoint.folder_of(tmp_path, steps)
        folder.mkdir(parents=True)
        checkpoint.write(folder, {}, {"x": torch.zeros(1)})
    checkpoint.folder_of(tmp_path, 200_000_000).mkdir()  # nothing in it
    assert checkpoint.latest(tmp_path) == (100_000_000, folder)
    assert checkpoint.find(tmp_path) == checkpoint.find(folder) == folder
    aside = tmp_path / checkpoint.CHECKPOINTS_DIR / "00000900_best"  # kept by hand
    aside.mkdir()
    checkpoint.write(aside, {}, {"x": torch.zeros(1)})
    checkpoint.prune(tmp_path, keep=2)
    left = {path.name for path in (tmp_path / checkpoint.CHECKPOINTS_DIR).iterdir()}
    assert left == {"100000000", "200000000", aside.name}
    assert checkpoint.latest(tmp_path) == (100_000_000, folder)


def test_folders_that_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="^there is no folder runs; give"):
        checkpoint.find(Path("runs"))
    with pytest.raises(ClevrSkillsError, match=r"is not a checkpoint: it has no config\.json"):
        checkpoint.find(tmp_path)


def test_checkpoints_that_do_not_fit(tmp_path: Path) -> None:
    module, optimizer = trained(1)
    checkpoint.write(tmp_path, {}, module.state_dict(), {"9.weight/step": torch.zeros(())})
    with pytest.raises(ClevrSkillsError, match="2 weights are missing and 0 do not fit"):
        checkpoint.load_weights(nn.Sequential(*module, nn.Linear(1, 1)), tmp_path)
    path = tmp_path / checkpoint.OPTIMIZER_FILE
    with pytest.raises(ClevrSkillsError, match=r"does not fit this policy: 9.weight"):
        checkpoint.load_optimizer(optimizer, module, checkpoint.read_tensors(path), path)
    path.write_bytes(b"nothing")
    with pytest.raises(ClevrSkillsError, match="cannot be read"):
        checkpoint.read_tensors(path)
    (tmp_path / "config.json").write_text('{"format_version": 9}')
    with pytest.raises(ClevrSkillsError, match="has format version 9; this package reads 1"):
        checkpoint.read_config(tmp_path)


def test_published_policies_are_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "ZOO", tmp_path / "installed" / "zoo")
    folder = checkpoint.ZOO / "small"
    folder.mkdir(parents=True)
    checkpoint.write(folder, {}, {"x": torch.zeros(1)})
    (folder / "README.md").write_text("# small\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo" / "small").mkdir(parents=True)  # one of the user's, which is not meant
    assert checkpoint.find(Path("zoo/small")) == folder
    with pytest.raises(ClevrSkillsError, match="unknown policy of the zoo 'large'; allowed: small"):
        checkpoint.find(Path("zoo/large"))
    with pytest.raises(ClevrSkillsError, match="not a checkpoint"):
        checkpoint.find(tmp_path / "zoo" / "small")
    shutil.rmtree(checkpoint.ZOO)
    assert not checkpoint.zoo_names()
    with pytest.raises(ClevrSkillsError, match=r"not installed: pip install 'clevrskills\[zoo\]'"):
        checkpoint.find(Path("zoo/small"))
