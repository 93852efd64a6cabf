"""Requirements of the oracle and its motion planner, checked before that is imported."""

import importlib.metadata
import importlib.util

from clevrskills.core.suite import NO_ROBOT, Suite, all_robots
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.run_folder import PLANNER_VARIABLE, planner_name

PLANNERS = {"fcl": "python-fcl", "mplib": "mplib"}
"""Planning backends: name -> the package that they need besides toppra."""
INSTALL_COMMANDS = {
    "fcl": "pip install 'clevrskills[oracle]'",
    "mplib": "pip install 'clevrskills[mplib]'",
}


def planner_obstacle(planner: str = "") -> str | None:
    """Return what keeps a planning backend, by default the chosen one, from being used, or ``None``
    if nothing does.

    Packages are looked up, never imported: on numpy 2 MPlib's binaries end the process with a
    segmentation fault as soon as an array reaches them.

    Raises:
        UnknownNameError: There is no backend of this name.
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
    """Check that the oracle of a suite can run here: unless some tasks have no arm, it needs the
    planner.

    Raises:
        ClevrSkillsError: A package is missing, or numpy is too new for MPlib.
    """
    if NO_ROBOT not in all_robots(suite):
        require_planner()


def require_planner(planner: str = "") -> None:
    """Check that a planning backend, by default the chosen one, can be imported; to be called
    before every import of one.

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
