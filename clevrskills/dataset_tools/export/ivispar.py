"""Configuration files for the original iVISPAR: one JSON file per board, in a folder for each task
and split, such as ``geoms_train``.
"""

from pathlib import Path

from clevrskills.core.suite import OriginalFormat, load_suite
from clevrskills.dataset_tools.export.lerobot.features import write_json
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.errors import ClevrSkillsError

SUITE = "ivispar"


def write(selection: Selection, out: Path) -> None:
    """Write the boards of episodes into files named by seed.

    Raises:
        ClevrSkillsError: The episodes are of another suite.
    """
    if selection.header.suite != SUITE:
        raise ClevrSkillsError(f"{selection.root} has no boards of {SUITE}")
    suite = load_suite(SUITE)
    assert isinstance(suite, OriginalFormat)
    for recorded in selection:
        info = recorded.info
        seed = int(info["seed"])
        episode = suite.draw(info["task"], info["split"], seed, index=seed)
        name, data = suite.write_original(episode)
        write_json(out / f"{info['task']}_{info['split']}" / name, data)
