"""Requirements of the oracle and its motion planner, checked before their import."""

import importlib.metadata
import importlib.util

from clevrskills.core.suite import NO_ROBOT, Suite, all_robots
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.run_folder import PLANNER_VARIABLE, planner_name

PLANNERS = {"fcl": "python-fcl", "mplib": "mplib"}
"""Package required by each planning backend, besides toppra."""
INSTALL_COMMANDS = {
    "fcl": "pip install 'clevrskills[oracle]'",
    "mplib": "pip install 'clevrskills[mplib]'",
}


def planner_obstacle(planner: str = "") -> str | None:
    """Return why a planning backend, by default the selected one, cannot run; ``None`` if it can.

    Packages are looked up but not imported: on numpy 2 MPlib's binaries crash.

    Raises:
        UnknownNameError: An unknown backend.
    """
    planner = planner or planner_name()
    if planner not in PLANNERS:
        raise UnknownNameError(f"planner (${PLANNER_VARIABLE})", planner, tuple(PLANNERS))
    for package in (PLANNERS[planner], "toppra"):
        if importlib.util.find_spec(package.removeprefix("python-")) is None:
            return f"{'MPlib' if package == 'mplib' else package} is not installed"
    numpy_version = importlib.metadata.version("numpy")
    if planner == "mplib" and int(numpy_version.split(".")[0]) >= 2:
        return f"MPlib crashes on numpy 2, and numpy {numpy_version} is installed"
    return None


def require_oracle(suite: Suite) -> None:
    """Check the planner, if all tasks of a suite have an arm; see :func:`require_planner`."""
    if NO_ROBOT not in all_robots(suite):
        require_planner()


def require_planner(planner: str = "") -> None:
    """Check that a planning backend, by default the selected one, can be imported.

    Raises:
        ClevrSkillsError: A package is missing, or numpy is too new for MPlib.
    """
    obstacle, planner = planner_obstacle(planner), planner or planner_name()
    if obstacle is None:
        return
    needs = "MPlib with numpy < 2" if planner == "mplib" else PLANNERS[planner]
    raise ClevrSkillsError(
        f"the oracle needs {needs}, but {obstacle}; run: {INSTALL_COMMANDS[planner]}"
        + (
            ", or leave out the planner mplib: fcl works with any numpy"
            if planner == "mplib"
            else ""
        )
    )
