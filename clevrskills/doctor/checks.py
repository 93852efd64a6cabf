"""Checks of ``clevrskills doctor``: requirements of the package, with remedies."""

import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from json import JSONDecodeError, dumps, loads
from pathlib import Path
from typing import Any

from clevrskills.errors import UnknownNameError
from clevrskills.jobs.console import console
from clevrskills.jobs.run_folder import PLANNER_VARIABLE, planner_name
from clevrskills.solvers.requirements import INSTALL_COMMANDS, PLANNERS, planner_obstacle

PROBE_TIMEOUT_S = 120
MIN_FREE_DISK_GB = 2.0
ICD_DIRECTORIES = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
LIBRARY_PACKAGES = {
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libGL.so.1": "libgl1",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libvulkan.so.1": "libvulkan1",
}
REINSTALL = "pip install --force-reinstall mani_skill sapien"
SOFTWARE_DRIVER = (
    "install a software Vulkan driver, Mesa >= 24.3: `make vulkan` in a clone of the project, or "
    "`apt-get install libvulkan1 mesa-vulkan-drivers` (on Debian 12 from bookworm-backports)"
)
NVIDIA_DRIVER = (
    "install the Vulkan part of the NVIDIA driver (libGLX_nvidia.so.0 and nvidia_icd.json, "
    "package libnvidia-gl; in containers NVIDIA_DRIVER_CAPABILITIES=all), or render in software: "
    "`scripts/install_vulkan.sh --software`"
)


@dataclass(frozen=True)
class Check:
    """Outcome of one check."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""  # empty if ok
    required: bool = True


class ProbeError(Exception):
    """Error of a probe that ended without a result; the message is one line."""


def probe(name: str) -> dict[str, Any]:
    """Run one of `clevrskills.doctor.probes` in a separate process.

    Raises:
        ProbeError: It failed, crashed or took too long.
    """
    command = [sys.executable, "-m", "clevrskills.doctor.probes", name]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ProbeError(f"no result within {PROBE_TIMEOUT_S} s") from error
    if run.returncode < 0:
        raise ProbeError(f"crashed ({signal.Signals(-run.returncode).name})")
    if run.returncode > 0:
        lines = run.stderr.strip().splitlines()
        raise ProbeError(lines[-1] if lines else f"exit code {run.returncode}")
    try:
        result: dict[str, Any] = loads(run.stdout.strip().splitlines()[-1])
    except (IndexError, JSONDecodeError) as error:
        raise ProbeError("ended without a result") from error
    return result


def check_python() -> Check:
    """Check that Python is 3.11, 3.12 or 3.13."""
    ok = sys.version_info[:2] in ((3, 11), (3, 12), (3, 13))
    return Check(
        "Python", ok, platform.python_version(), "" if ok else "use Python 3.11, 3.12 or 3.13"
    )


def check_simulator() -> Check:
    """Check that ManiSkill and SAPIEN can be imported and simulate."""
    name = "simulator"
    try:
        versions = f"ManiSkill {version('mani_skill')}, SAPIEN {version('sapien')}"
        result = probe("simulate")
    except PackageNotFoundError as error:
        return Check(name, False, f"{error.name} is not installed", REINSTALL)
    except ProbeError as error:
        return Check(name, False, f"{versions}: {error}", _library_remedy(str(error)) or REINSTALL)
    if result["height_error_m"] > 0.002:
        detail = f"{versions}: a falling box ends {result['height_error_m']:.3f} m off the ground"
        return Check(name, False, detail, REINSTALL)
    device = result["cuda_device"] or "the CPU"
    return Check(name, True, f"{versions}, PyTorch on {device}; a box falls and rests")


def check_planner() -> Check:
    """Check that the planner plans a motion of the xArm 6; it is optional."""
    name = "planner"
    planner = planner_name()
    try:
        obstacle = planner_obstacle()
    except UnknownNameError as error:
        return Check(
            name, False, str(error), f"set {PLANNER_VARIABLE} to one of these, or unset it"
        )
    if obstacle is not None:
        detail = f"off: {obstacle}; environments, training and evaluation work without"
        return Check(name, False, detail, INSTALL_COMMANDS[planner], required=False)
    versions = f"{planner} {version(PLANNERS[planner])}, numpy {version('numpy')}"
    try:
        waypoints = probe("plan")["waypoints"]
    except ProbeError as error:
        return Check(name, False, f"{versions}: {error}", INSTALL_COMMANDS[planner])
    if not waypoints:
        return Check(name, False, f"{versions}: no path found", INSTALL_COMMANDS[planner])
    return Check(name, True, f"{versions}; a plan of {waypoints} waypoints")


def check_renderer() -> Check:
    """Check that a Vulkan device renders an image."""
    name = "renderer"
    try:
        result = probe("render")
    except ProbeError as error:
        return Check(name, False, f"no image: {error}", renderer_remedy(str(error)))
    detail = result["device"]
    for device in result["vulkan_devices"]:
        if device["name"] == result["device"]:
            detail = f"{detail}, {'software' if device['software'] else 'GPU'}, {device['driver']}"
            break
    if result["blank"]:
        return Check(name, False, f"{detail}: the image is blank", renderer_remedy(detail))
    return Check(name, True, f"{detail}; a 64x64 image in {result['seconds']:.1f} s")


def check_vulkan_files() -> Check:
    """Check for the Vulkan loader and driver files, which explain renderer failures."""
    name = "Vulkan"
    icds = vulkan_icds()
    needed = ["libvulkan.so.1"]
    if any("nvidia" in icd for icd in icds):
        needed.append("libXext.so.6")  # the NVIDIA driver is silently skipped without it
    missing = [library for library in needed if not _loads(library)]
    detail = "drivers: " + (", ".join(icds) or "none")
    if missing:
        detail = f"missing {', '.join(missing)}; {detail}"
        packages = " ".join(LIBRARY_PACKAGES[library] for library in missing)
        return Check(name, False, detail, f"apt-get install {packages}", required=False)
    if not icds:
        return Check(name, False, detail, renderer_remedy(""), required=False)
    return Check(name, True, detail, required=False)


def check_gpu() -> Check:
    """Check for an optional GPU."""
    detail = _nvidia_gpu() or "none; simulation and images run on the CPU"
    return Check("GPU", True, detail, required=False)


def check_video() -> Check:
    """Check that PyAV has an H.264 encoder."""
    try:
        import av

        encoder = av.codec.Codec("libx264", "w")
    except (ImportError, ValueError) as error:
        return Check("video", False, f"no H.264 encoder: {error}", "pip install --upgrade av")
    return Check("video", True, f"PyAV {version('av')}, {encoder.name}")


def check_disk() -> Check:
    """Check for free disk space in the current directory."""
    free_gb = shutil.disk_usage(Path.cwd()).free / 1e9
    ok = free_gb >= MIN_FREE_DISK_GB
    remedy = "" if ok else "free some space, or write datasets elsewhere (--out)"
    return Check("disk", ok, f"{free_gb:.1f} GB free in {Path.cwd()}", remedy, required=False)


CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_simulator,
    check_planner,
    check_renderer,
    check_vulkan_files,
    check_gpu,
    check_video,
    check_disk,
)


def checks() -> list[Check]:
    """Run all checks in parallel; none raises."""
    with ThreadPoolExecutor(max_workers=len(CHECKS)) as pool:
        return list(pool.map(_guarded, CHECKS))


def main(json: bool = False) -> int:
    """Print the checks as a table or as JSON; return 0 if all required checks pass."""
    results = checks()
    if json:
        print(dumps([asdict(check) for check in results], indent=2))
    else:
        _print_table(results)
    return int(any(check.required and not check.ok for check in results))


def vulkan_icds() -> list[str]:
    """Return the names of the installed Vulkan driver files, e.g. "lvp_icd.x86_64.json"."""
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    if named:
        return [Path(file).name for file in named.split(os.pathsep) if Path(file).exists()]
    return sorted(file.name for path in ICD_DIRECTORIES for file in Path(path).glob("*.json"))


def renderer_remedy(problem: str) -> str:
    """Return the remedy for a renderer error."""
    return _library_remedy(problem) or (NVIDIA_DRIVER if _nvidia_gpu() else SOFTWARE_DRIVER)


def _library_remedy(problem: str) -> str:
    """Return the install command of a missing shared library, else an empty string."""
    match = re.search(r"(lib[\w.+-]+): cannot open shared object file", problem)
    if match is None:
        return ""
    library = match.group(1)
    return f"apt-get install {LIBRARY_PACKAGES.get(library, f'the package that has {library}')}"


def _nvidia_gpu() -> str:
    """Return the name and driver version of the first NVIDIA GPU, or an empty string."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = run.stdout.strip().splitlines()
    return lines[0] if run.returncode == 0 and lines else ""


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # a crashing check is a failed check
        name = check.__name__.removeprefix("check_").replace("_", " ")
        return Check(name, False, f"{type(error).__name__}: {error}", "report this as a bug")


def _print_table(results: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("", "check", "found")
    for check in results:
        missing = ("missing", "red") if check.required else ("optional", "yellow")
        mark = ("ok", "green") if check.ok else missing
        table.add_row(Text(*mark), check.name, Text(check.detail))
    screen = console()
    screen.print(table)
    remedies: dict[str, list[str]] = {}
    for check in results:
        if not check.ok:
            remedies.setdefault(check.remedy, []).append(check.name)
    for remedy, names in remedies.items():
        screen.print(Text(f"{', '.join(names)}: {remedy}"), soft_wrap=True)
