"""Publishing of standard datasets: their digests, the folders to upload, and the upload.

clevrskills generate --standard 100 --out standard --workers 8
python scripts/publish_standard.py digests standard clevrskills/suites/clevrskills/standard.json
python scripts/publish_standard.py kit standard dist/data --workers 8
python scripts/publish_standard.py upload dist/data NAME --dry-run
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import tyro
from huggingface_hub import DatasetCard, HfApi
from huggingface_hub.errors import RevisionNotFoundError

import clevrskills
from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.card import write_card
from clevrskills.dataset_tools.croissant import FRAMES, SOURCES, Records, croissant
from clevrskills.dataset_tools.layout import CARD_FILE, CROISSANT_FILE, Header
from clevrskills.dataset_tools.manifest import read_manifest
from clevrskills.dataset_tools.standard import measure
from clevrskills.jobs.files import write_whole

ROOT = Path(__file__).parents[1]
FOLDER_ENTRIES, REPOSITORY_FILES, FILE_BYTES = 10_000, 100_000, 20 * 10**9
"""Limits of the Hugging Face hub, from its page "Storage limits"."""
LEROBOT_INFO = "meta/info.json"
RESOLVER = "doi.org"
NO_DOI = "none yet"
HEADING = "\n## Publication\n"
NOTES = """
- License of the data: Apache-2.0, see `LICENSE`. Shapes, textures and sentences are our own.
- License of weights: Apache-2.0 for the package `clevrskills-zoo`; third-party weights that
  policies start from keep their own.
- DOI: {doi}
- Metadata: `croissant.json`, Croissant 1.0 with the fields of RAI 1.0.
- Version: {version}. A published version never changes; corrections get a new one.
- Questions and corrections: the page "Maintenance" of the documentation.
"""

Folder = Annotated[Path, tyro.conf.Positional]
Owner = Annotated[str, tyro.conf.Positional]


def digests(dataset: Folder, file: Folder) -> None:
    """Write the published digests of the standard datasets, from a generated one.

    Args:
        dataset: A standard dataset.
        file: File to write.
    """
    write_whole(file, measure(Dataset(dataset), load_suite()).to_json())


def kit(dataset: Folder, out: Folder, doi: str = "", workers: int = 1) -> None:
    """Write the folders to upload: the dataset packed, and as LeRobot v3, each with its metadata.

    Args:
        dataset: A standard dataset, or what there is of it.
        out: Folder to write them into.
        doi: Digital object identifier, once there is one: 10.….
        workers: Worker processes.
    """
    header = Header.read(dataset)
    if header.standard is None:
        sys.exit(f"{dataset} was not made by `clevrskills generate --standard`")
    native = out / f"standard-{header.standard}"
    lerobot = out / f"{native.name}-lerobot"
    out.mkdir(parents=True, exist_ok=True)
    command("pack", dataset, "--out", native)
    write_card(native)
    command("export", native, "--to", "lerobot", "--out", lerobot, "--workers", workers)
    info = json.loads((lerobot / LEROBOT_INFO).read_text(encoding="utf-8"))
    about = f"{info['total_episodes']} demonstrations of {native.name} as LeRobotDataset v3.0."
    records = (
        Records("episodes", "a row for each episode", "meta/episodes/*/*.parquet", SOURCES),
        Records("frames", "a row for each frame", "data/*/*.parquet", FRAMES),
    )
    date = max((line.ended[:10] for line in read_manifest(native)), default="")
    data = croissant(lerobot, header, lerobot.name, about, date, records)
    write_whole(lerobot / CROISSANT_FILE, data)
    for folder in (native, lerobot):
        finish(folder, doi)
        check(folder)


def finish(folder: Path, doi: str) -> None:
    """Add the files that both forms of a dataset share."""
    shutil.copy(ROOT / "LICENSE", folder)
    card = folder / CARD_FILE
    text = card.read_text(encoding="utf-8").partition(HEADING)[0]
    link = f"[{doi}](https://{RESOLVER}/{doi})" if doi else NO_DOI
    write_whole(card, text + HEADING + NOTES.format(doi=link, version=clevrskills.__version__))
    if doi:
        path = folder / CROISSANT_FILE
        data = json.loads(path.read_text(encoding="utf-8"))
        data["sameAs"] = f"https://{RESOLVER}/{doi}"
        write_whole(path, json.dumps(data, indent=1) + "\n")


def command(*words: object) -> None:
    """Run a command of the package."""
    if code := main([str(word) for word in words]):
        sys.exit(code)


def upload(folder: Folder, owner: Owner, dry_run: bool = False) -> None:
    """Upload each dataset of a folder to OWNER/NAME on the Hugging Face hub; the same command
    continues.

    The token is the one of `hf auth login`; the variable HF_ENDPOINT names another hub.

    Args:
        folder: Folder of the datasets, as `kit` writes it.
        owner: User or organization on the hub.
        dry_run: Check the datasets and say what would be uploaded.
    """
    api = HfApi()
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        files, name = check(path), f"{owner}/{path.name}"
        size = sum(file.stat().st_size for file in files)
        print(f"{path} -> {api.endpoint}/datasets/{name}: {len(files)} files, {size / 1e6:.1f} MB")
        if dry_run:
            continue
        api.create_repo(name, repo_type="dataset", exist_ok=True)
        api.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=path,
            ignore_patterns=[".*", "*/.*"],
            commit_message=f"{path.name}, clevrskills {clevrskills.__version__}",
        )
        for tag in tags(path):
            with contextlib.suppress(RevisionNotFoundError):
                api.delete_tag(name, tag=tag, repo_type="dataset")
            api.create_tag(name, tag=tag, repo_type="dataset")


def tags(folder: Path) -> list[str]:
    """Return the tags of a dataset: its version, and the format version that LeRobot looks up."""
    found, info = [f"v{clevrskills.__version__}"], folder / LEROBOT_INFO
    if info.exists():
        found.append(json.loads(info.read_text(encoding="utf-8"))["codebase_version"])
    return found


def check(folder: Path) -> list[Path]:
    """Return the files to upload; ends the program if the hub would refuse them, or if metadata is
    missing.
    """
    found = [path for path in folder.rglob("*") if path.is_file()]
    files = [f for f in found if not any(p.startswith(".") for p in f.relative_to(folder).parts)]
    for name in (CARD_FILE, CROISSANT_FILE, "LICENSE"):
        if folder / name not in files:
            sys.exit(f"{folder} has no {name}: make it with `publish_standard.py kit`")
    if not DatasetCard.load(folder / CARD_FILE).data.license:
        sys.exit(f"{folder / CARD_FILE} names no license")
    fields = json.loads((folder / CROISSANT_FILE).read_text(encoding="utf-8"))
    if not fields.get("license") or not any(name.startswith("rai:") for name in fields):
        sys.exit(f"{folder / CROISSANT_FILE} names no license, or has no RAI fields")
    if len(files) > REPOSITORY_FILES:
        sys.exit(f"{folder} has {len(files)} files; the hub allows {REPOSITORY_FILES}: pack it")
    inside = {parent for file in files for parent in (file, *file.parents)}
    entries = Counter(path.parent for path in inside if path.is_relative_to(folder))
    for path, count in entries.items():
        if count > FOLDER_ENTRIES:
            sys.exit(f"{path} has {count} entries; the hub allows {FOLDER_ENTRIES}: pack it")
    for file in files:
        if file.stat().st_size > FILE_BYTES:
            sys.exit(f"{file} has more than {FILE_BYTES // 10**9} GB, what the hub allows")
    return files


if __name__ == "__main__":
    tyro.extras.subcommand_cli_from_dict(
        {"digests": digests, "kit": kit, "upload": upload}, description=__doc__
    )
