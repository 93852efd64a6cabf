import json
import subprocess
import sys

import pytest

from clevrskills.doctor import checks as doctor
from clevrskills.doctor.checks import Check, ProbeError

GOOD_PROBES = {
    "simulate": {"height_error_m": 0.0, "cuda_device": ""},
    "plan": {"waypoints": 10},
    "render": {
        "blank": False,
        "device": "llvmpipe",
        "vulkan_devices": [
            {"name": "llvmpipe", "driver": "llvmpipe Mesa 25.0.7", "software": True}
        ],
        "seconds": 0.1,
    },
}


@pytest.fixture
def probes(monkeypatch):
    """A healthy machine; a test changes one entry to a result or an exception."""
    results = dict(GOOD_PROBES)

    def probe(name):
        if isinstance(results[name], Exception):
            raise results[name]
        return results[name]

    monkeypatch.setattr(doctor, "probe", probe)
    monkeypatch.setattr(doctor, "planner_obstacle", lambda: None)
    monkeypatch.setattr(doctor, "_nvidia_gpu", lambda: "")
    monkeypatch.setattr(doctor, "vulkan_icds", lambda: ["lvp_icd.json"])
    monkeypatch.setattr(doctor, "_loads", lambda library: True)
    return results


@pytest.fixture
def fake_python(tmp_path, monkeypatch):
    """Gives a function that puts a shell script in the place of the Python that runs probes."""

    def fake(script: str) -> None:
        executable = tmp_path / "python"
        executable.write_text(f"#!/bin/sh\n{script}\n")
        executable.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(executable))

    return fake


def test_healthy_machine_exits_with_0(probes, capsys):
    assert all(check.ok for check in doctor.checks())
    assert doctor.main() == 0
    assert "Mesa 25.0.7" in capsys.readouterr().out.replace("\n", " ")


def test_json_has_the_fields_of_every_check(probes, capsys):
    assert doctor.main(json=True) == 0
    checks = json.loads(capsys.readouterr().out)
    assert [Check(**check) for check in checks] == doctor.checks()
    assert {"Python", "simulator", "planner", "renderer"} <= {check["name"] for check in checks}


def test_missing_renderer_exits_with_1_and_prints_the_remedy(probes, capsys):
    probes["render"] = ProbeError("RuntimeError: ErrorIncompatibleDriver")
    assert doctor.main() == 1
    output = capsys.readouterr().out
    assert "ErrorIncompatibleDriver" in output
    assert doctor.SOFTWARE_DRIVER in output


def test_nvidia_machine_gets_the_nvidia_remedy(probes, monkeypatch):
    monkeypatch.setattr(doctor, "_nvidia_gpu", lambda: "NVIDIA H200, 550.54")
    probes["render"] = ProbeError("RuntimeError: failed to find a rendering device")
    assert doctor.check_renderer().remedy == doctor.NVIDIA_DRIVER
    assert doctor.check_gpu().detail == "NVIDIA H200, 550.54"


def test_blank_image_is_a_failure(probes):
    probes["render"] = GOOD_PROBES["render"] | {"blank": True}
    check = doctor.check_renderer()
    assert not check.ok
    assert "blank" in check.detail
    assert check.remedy


@pytest.mark.parametrize(
    ("check", "probe"), [(doctor.check_simulator, "simulate"), (doctor.check_renderer, "render")]
)
def test_missing_system_library_names_its_package(probes, check, probe):
    probes[probe] = ProbeError("ImportError: libX11.so.6: cannot open shared object file: No such")
    assert check().remedy == "apt-get install libx11-6"


def test_simulator_that_simulates_wrongly_is_a_failure(probes):
    probes["simulate"] = {"height_error_m": 0.5, "cuda_device": ""}
    check = doctor.check_simulator()
    assert not check.ok
    assert "0.500 m" in check.detail


def test_numpy_2_turns_the_planner_off_and_never_touches_it(probes, monkeypatch, capsys):
    monkeypatch.setenv(doctor.PLANNER_VARIABLE, "mplib")
    monkeypatch.setattr(doctor, "planner_obstacle", lambda: "MPlib crashes on numpy 2")
    probes["plan"] = AssertionError("MPlib must not be imported")
    assert doctor.main() == 0
    output = capsys.readouterr().out
    assert "MPlib crashes on numpy 2" in " ".join(output.split())
    assert doctor.INSTALL_COMMANDS["mplib"] in output


@pytest.mark.parametrize("outcome", [ProbeError("crashed (SIGSEGV)"), {"waypoints": 0}])
def test_planner_that_fails_exits_with_1(probes, outcome):
    probes["plan"] = outcome
    check = doctor.check_planner()
    assert not check.ok
    assert check.remedy
    assert doctor.main() == 1


def test_missing_vulkan_files_are_named(probes, monkeypatch):
    monkeypatch.setattr(doctor, "vulkan_icds", lambda: ["nvidia_icd.json"])
    monkeypatch.setattr(doctor, "_loads", lambda library: library != "libXext.so.6")
    check = doctor.check_vulkan_files()
    assert not check.ok
    assert check.remedy == "apt-get install libxext6"
    monkeypatch.setattr(doctor, "vulkan_icds", list)
    monkeypatch.setattr(doctor, "_loads", lambda library: True)
    assert doctor.check_vulkan_files().remedy == doctor.SOFTWARE_DRIVER


def test_full_disk_is_reported_but_not_fatal(probes, monkeypatch):
    usage = doctor.shutil.disk_usage(".")._replace(free=1_000_000)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage)
    check = doctor.check_disk()
    assert not check.ok
    assert check.remedy
    assert doctor.main() == 0


def test_check_that_raises_is_reported_not_suffered(probes):
    probes["simulate"] = ZeroDivisionError("oops")
    check = next(check for check in doctor.checks() if check.name == "simulator")
    assert not check.ok
    assert check.detail == "ZeroDivisionError: oops"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -SEGV $$", r"crashed \(SIGSEGV\)"),
        ("echo noise >&2; echo 'RuntimeError: why' >&2; exit 1", "^RuntimeError: why$"),
        ("exit 3", "exit code 3"),
        ("echo no json", "without a result"),
        ("exit 0", "without a result"),
    ],
)
def test_probe_reports_how_its_process_ended(fake_python, script, message):
    fake_python(script)
    with pytest.raises(ProbeError, match=message):
        doctor.probe("plan")


def test_probe_that_hangs_is_ended(fake_python, monkeypatch):
    fake_python("exec sleep 60")
    monkeypatch.setattr(doctor, "PROBE_TIMEOUT_S", 0.2)
    with pytest.raises(ProbeError, match="no result within 0.2 s"):
        doctor.probe("plan")


@pytest.mark.slow
def test_real_plan():
    obstacle = doctor.planner_obstacle()
    check = doctor.check_planner()
    assert check.ok == (obstacle is None), check.detail


@pytest.mark.render
def test_real_image():
    result = doctor.probe("render")
    assert not result["blank"]
    assert result["device"] in [device["name"] for device in result["vulkan_devices"]]


@pytest.mark.slow
def test_real_simulation():
    assert doctor.check_simulator().ok


def test_machine_without_any_vulkan_driver(monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent.json")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nonexistent.json")
    monkeypatch.setattr(doctor, "_nvidia_gpu", lambda: "")
    check = doctor.check_renderer()
    assert not check.ok
    assert "drivers that load: none" in check.detail or "ErrorIncompatibleDriver" in check.detail
    assert check.remedy == doctor.SOFTWARE_DRIVER
    assert doctor.vulkan_icds() == []


def test_doctor_does_not_import_the_simulator():
    code = "import sys, clevrskills.doctor.checks; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sapien", "mani_skill", "mplib", "av"} & set(run.stdout.split())
