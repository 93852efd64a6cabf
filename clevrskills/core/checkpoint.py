"""Checkpoint: a folder of weights (safetensors) and settings (JSON), nothing that runs.

Imitation and reinforcement learning share this format. The optimizer's state is absent in the final
checkpoint of a run. Writing is not atomic; callers take care of that.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.errors import ClevrSkillsError, DamagedError, UnknownNameError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
CHECKPOINTS_DIR = "checkpoints"
ZOO = Path(__file__).parents[2] / "zoo" / "clevrskills_zoo"
"""Folder of the published policies: that of the checkout, or the installed distribution."""
if not ZOO.is_dir() and (_installed := find_spec(ZOO.name)) and _installed.origin:
    ZOO = Path(_installed.origin).parent
FORMAT_VERSION = 1


def folder_of(run: Path, steps: int) -> Path:
    """Return the folder of the checkpoint of a training run after a number of steps."""
    return run / CHECKPOINTS_DIR / f"{steps:08d}"


def latest(run: Path) -> tuple[int, Path | None]:
    """Return the step and folder of the latest checkpoint; ``(0, None)`` if there is none."""
    found = [folder for folder in _numbered(run) if (folder / CONFIG_FILE).is_file()]
    return (int(found[-1].name), found[-1]) if found else (0, None)


def zoo_names() -> list[str]:
    """Return the names of the published policies."""
    return sorted(card.parent.name for card in ZOO.glob("*/README.md"))


def located(path: Path) -> Path:
    """Return the folder that a path stands for: ``zoo/NAME`` is a published policy in any folder.

    Raises:
        ClevrSkillsError: The zoo is not installed, or has no such policy.
    """
    if path.is_absolute() or path.parts[:1] != ("zoo",):
        return path
    if not ZOO.is_dir():
        raise ClevrSkillsError(
            f"{path} is not installed: pip install 'clevrskills[zoo]', or ./zoo in a clone"
        )
    name = "/".join(path.parts[1:])
    if name not in zoo_names():
        raise UnknownNameError("policy of the zoo", name, zoo_names())
    return ZOO / name


def find(path: Path) -> Path:
    """Return the folder of a checkpoint, of the latest one of a training run, or of ``zoo/NAME``.

    Raises:
        ClevrSkillsError: There is no checkpoint.
    """
    path = located(path)
    if (path / CONFIG_FILE).is_file():
        return path
    if not path.is_dir():
        raise ClevrSkillsError(
            f"there is no folder {path}; give that of a checkpoint or of a training run"
        )
    folder = latest(path)[1]
    if folder is None:
        raise ClevrSkillsError(f"{path} is not a checkpoint: it has no {CONFIG_FILE}")
    return folder


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the relative paths and hashes of all files in a folder.

    Raises:
        ClevrSkillsError: A file cannot be read.
    """
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        names = sorted(f.relative_to(path).as_posix() for f in path.rglob("*") if f.is_file())
    except OSError as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error.strerror}") from error
    lines = (f"{name}\0{content_hash(path / name)}\n" for name in names)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def prune(run: Path, keep: int) -> None:
    """Remove all but the latest checkpoints of a training run."""
    for old in _numbered(run)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def write(
    folder: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    training: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a checkpoint into an empty folder.

    Args:
        folder: The folder.
        config: Configuration, as JSON data.
        weights: Weights by name.
        training: State of the optimizer by name; ``None`` for the final checkpoint.

    Raises:
        OSError: Writing failed.
    """
    save_tensors(folder / WEIGHTS_FILE, weights)
    if training is not None:
        save_tensors(folder / OPTIMIZER_FILE, training)
    text = json.dumps({"format_version": FORMAT_VERSION, **config}, indent=1, ensure_ascii=False)
    (folder / CONFIG_FILE).write_text(f"{text}\n", encoding="utf-8")


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a checkpoint, as JSON data.

    Raises:
        ClevrSkillsError: It is missing, damaged or of another format version.
    """
    path = folder / CONFIG_FILE
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = data["format_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError.of(path, error) from error
    if version != FORMAT_VERSION:
        raise ClevrSkillsError(
            f"{path} has format version {version}; this package reads {FORMAT_VERSION}"
        )
    return data


def load_weights(module: nn.Module, folder: Path, elsewhere: Collection[str] = ()) -> None:
    """Load the weights of a checkpoint into a module.

    Args:
        module: The module.
        folder: Folder of the checkpoint.
        elsewhere: Names of weights that may be missing, as they are loaded from another source.

    Raises:
        ClevrSkillsError: Weights are missing, damaged or do not fit the module.
    """
    found = read_tensors(folder / WEIGHTS_FILE)
    state = module.state_dict()
    missing = state.keys() - set(elsewhere) - found.keys()
    unfit = [name for name, t in found.items() if name not in state or state[name].shape != t.shape]
    if missing or unfit:
        names = sorted(missing)[:3] + unfit[:3]
        raise ClevrSkillsError(
            f"{folder} is not a checkpoint of this policy: {len(missing)} weights are missing and "
            f"{len(unfit)} do not fit, e.g. {', '.join(names)}"
        )
    module.load_state_dict(found, strict=False)


def optimizer_tensors(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer state of a module's parameters by ``<parameter>/<entry>``."""
    return {
        f"{name}/{entry}": value
        for name, parameter in module.named_parameters()
        for entry, value in optimizer.state.get(parameter, {}).items()
    }


def load_optimizer(
    optimizer: torch.optim.Optimizer, module: nn.Module, tensors: Mapping[str, Tensor], source: Path
) -> None:
    """Load the state returned by :func:`optimizer_tensors`; errors name its source.

    Raises:
        ClevrSkillsError: The state is that of another module.
    """
    parameters = dict(module.named_parameters())
    for name, tensor in tensors.items():
        owner, _, entry = name.rpartition("/")
        if owner not in parameters:
            raise ClevrSkillsError(f"{source} does not fit this policy: {owner} is unknown")
        parameter = parameters[owner]
        device = "cpu" if entry == "step" else parameter.device
        optimizer.state[parameter][entry] = tensor.to(device)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors; tensors that share memory are written as separate copies."""
    from safetensors.torch import save_file

    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    save_file(own, path)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file by name.

    Raises:
        ClevrSkillsError: The file is missing or damaged, or safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise ClevrSkillsError(
            "safetensors is missing: pip install 'clevrskills[rl]' or 'clevrskills[vla]'"
        ) from error
    try:
        found: dict[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error
    return found


def _numbered(run: Path) -> list[Path]:
    """Return the checkpoint folders of a run in order of their steps."""
    folders = (run / CHECKPOINTS_DIR).glob("[0-9]*")
    return sorted((f for f in folders if f.name.isdecimal()), key=lambda f: int(f.name))
