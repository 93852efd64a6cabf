"""Files of published models."""

from pathlib import Path

from transformers.utils import cached_file

from clevrskills.baselines.policies.hub import address
from clevrskills.errors import ClevrSkillsError


def hub_file(name: str, file: str) -> Path:
    """Return a file of a published model; from the hub it is downloaded once.

    Args:
        name: A folder, or a name of the hub such as ``jat-project/jat``.
        file: Path of the file in it.

    Raises:
        ClevrSkillsError: It is not there.
    """
    try:
        return Path(cached_file(**address(name), filename=file))
    except (OSError, ValueError) as error:
        raise ClevrSkillsError(
            f"{name} has no {file} here, and it could not be downloaded: name a folder that has it"
        ) from error
