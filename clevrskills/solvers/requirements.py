"""Requirements of the oracle and its motion planner, checked before that is imported."""

import importlib.metadata
import importlib.util

from clevrskills.core.suite import NO_ROBOT, Suite, all_robots
from clevrskills.errors import ClevrSkillsError

INSTALL_COMMAND = "pip install 'clevrskills[oracle]'"


def planner_obstacle() -> str | None:
    """Says what keeps MPlib from being used, or None if nothing does.

    MPlib is looked up, never imported: on numpy 2 its binaries end the process with a segmentation
    fault as soon as an array reaches them.
    """
    if importlib.util.find_spec("mplib") is None:
        return "MPlib is not installed"
    numpy_version = importlib.metadata.version("numpy")
    if int(numpy_version.split(".")[0]) >= 2:
        return f"MPlib crashes on numpy 2, and numpy {numpy_version} is installed"
    return None


def require_oracle(suite: Suite) -> None:
    """Check that the oracle of a suite can run here: unless some tasks have no arm, it needs the
    planner.

    Raises:
        ClevrSkillsError: MPlib is missing, or numpy is version 2 or later.
    """
    if NO_ROBOT not in all_robots(suite):
        require_planner()


def require_planner() -> None:
    """Makes sure that MPlib can be imported; to be called before every `import mplib`.

    Raises:
        ClevrSkillsError: MPlib is missing, or numpy is version 2 or later.
    """
    obstacle = planner_obstacle()
    if obstacle is not None:
        raise ClevrSkillsError(
            f"the oracle needs MPlib with numpy < 2, but {obstacle}; run: {INSTALL_COMMAND}"
        )
