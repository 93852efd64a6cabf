"""Tracks: what a policy has learned from."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from damage import edit_json

from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.track import Track, track_of
from clevrskills.dataset_tools.export.command import ExportArgs, export


def test_names() -> None:
    assert str(Track(100, 3300, False)) == "standard-100"
    assert str(Track(1000, 5, True)) == "standard-1000, pretrained"
    assert str(Track(None, 640, True)) == "open (640 demonstrations), pretrained"


@pytest.mark.parametrize(
    ("before", "now", "both"),
    [
        (Track(100, 5, False), Track(1000, 7, False), Track(1000, 12, False)),
        (Track(1000, 5, True), Track(100, 7, False), Track(1000, 12, True)),
        (Track(100, 5, False), Track(None, 7, False), Track(None, 12, False)),
        (Track(None, 0, False), Track(100, 7, True), Track(None, 7, True)),
    ],
)
def test_going_on_from_a_checkpoint(before: Track, now: Track, both: Track) -> None:
    assert now.after(before) == both
    assert Track.of({"track": asdict(both)}) == both and Track.of({}) is None


def test_track_of_training_data(demos: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(demos, tmp_path / "standard"))
    edit_json("dataset.json", lambda data: data.update(standard=100))(own)
    out = tmp_path / "exported"
    assert export(ExportArgs(dataset=own, to="lerobot", out=out)) == 0
    standard, other, exported = (open_source(root, ()) for root in (own, demos, out))
    assert track_of([standard, exported], 5, True) == Track(100, 5, True)
    assert track_of([standard, other], 6, False) == Track(None, 6, False)
