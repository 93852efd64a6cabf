"""Files of published models."""

from pathlib import Path

from transformers.utils import cached_file

from clevrskills.baselines.policies.hub import address
from clevrskills.errors import ClevrSkillsError


def hub_file(name: str, file: str) -> Path:
    """Return the path of a file of a published model; files on the hub are downloaded once.

    Args:
        name: A folder, or a name on the hub such as ``jat-project/jat``.
        file: Path of the file in it.

    Raises:
        ClevrSkillsError: The file does not exist or cannot be downloaded.
    """
    try:
        return Path(cached_file(**address(name), filename=file))
    except (OSError, ValueError) as error:
        raise ClevrSkillsError(
            f"{name} has no {file} here, and it could not be downloaded: name a folder that has it"
        ) from error
