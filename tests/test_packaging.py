"""The set-up of a fresh clone: pins, declared dependencies, and the scripts that make calls."""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import clevrskills

ROOT = Path(__file__).parent.parent
HOOKS = ROOT / ".pre-commit-config.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [
    Requirement(text)
    for name, group in [("", PROJECT["dependencies"]), *PROJECT["optional-dependencies"].items()]
    for text in group
    if name not in ("zoo", "policies")  # of this repository
]
BACKPORTS = "Types: deb\nURIs: {uri}\nSuites: bookworm-backports\nComponents: main\n"


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    requirements = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {}
    for requirement in requirements:
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", requirement
        assert "+" not in specifier.version, requirement  # a build that only some machines have
        versions[canonicalize_name(requirement.name)] = specifier.version
    assert len(versions) == len(requirements), "a package is pinned twice"
    return versions


def test_known_good_versions():
    assert pins()["torch"] == "2.13.0"
    assert pins()["numpy"].startswith("1.")


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_every_dependency_has_a_pin_within_its_bounds(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def requirements_of(*extras: str) -> dict[str, Requirement]:
    optional = PROJECT["optional-dependencies"]
    lists = [optional[name] for name in extras] or [PROJECT["dependencies"]]
    return {found.name: found for texts in lists for found in map(Requirement, texts)}


def test_the_lock_file_has_the_pins_and_their_hashes():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    packages = "\n".join(line for line in lines if not line.startswith("#")).split("\n    --hash=")
    assert all(re.match(r"sha256:[0-9a-f]{64}\b", part) for part in packages[1:])
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", "\n".join(lines), re.MULTILINE))
    for name, version in locked.items():  # those of CUDA, which not every machine has, have no pin
        assert pins().get(canonicalize_name(name), version) == version
    extras = re.findall(r"--extra ([\w-]+)", "\n".join(lines))
    script = (ROOT / "scripts" / "setup_venv.sh").read_text()
    assert f"EXTRAS:-{','.join(extras)}}}" in script
    named = {name for extra in extras for name in requirements_of(extra)} | {*requirements_of()}
    assert {*map(canonicalize_name, named)} <= {*map(canonicalize_name, locked)}


def test_only_mplib_asks_for_an_old_numpy():
    extras = {name: requirements_of(name) for name in PROJECT["optional-dependencies"]}
    mplib = extras.pop("mplib")
    assert not mplib["numpy"].specifier.contains("2.0.0")
    for found in (requirements_of(), *extras.values()):
        assert "mplib" not in found
        assert "numpy" not in found or found["numpy"].specifier.contains("2.3.0")


def third_party_imports() -> dict[str, Path]:
    found = {}
    for file in (ROOT / "clevrskills").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            else:
                continue
            found |= {name.split(".")[0]: file for name in names}
    own = {"clevrskills", *sys.stdlib_module_names}
    return {name: file for name, file in found.items() if name not in own}


NAMED_OTHERWISE = {
    "fcl": "python-fcl",
    "openenv": "openenv-core",
}  # found through a .pth file, or not installed


def test_every_import_is_declared():
    # LeRobot wants another numpy than the planner, so the plug-in declares it, not an extra
    plugin = ROOT / "integrations" / "lerobot_env_clevrskills" / "pyproject.toml"
    theirs = tomllib.loads(plugin.read_text())["project"]["dependencies"]
    every = [*REQUIREMENTS, *map(Requirement, theirs)]
    declared = {canonicalize_name(requirement.name) for requirement in every}
    distributions = importlib.metadata.packages_distributions()
    for name, file in third_party_imports().items():
        found = distributions.get(name, [NAMED_OTHERWISE.get(name, name)])
        providers = {canonicalize_name(provider) for provider in found}
        assert providers & declared, f"{file} imports {name}, which pyproject.toml does not declare"


def test_no_address_is_written_into_the_set_up():
    names = ("Makefile", "constraints.txt", "requirements.lock", "pyproject.toml")
    files = [ROOT / name for name in names]
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    for file in [*files, ROOT / ".ci" / "run", *scripts]:
        assert not re.search(r"\w+://[\w.]+\.\w", file.read_text()), file


# --- scripts


def script(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "scripts" / name, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


SOURCES = {
    "deb822": (
        "debian.sources",
        """\
# the archive
Types: deb deb-src
URIs: http://mirror.example/debian/
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/other.gpg
""",
        "http://mirror.example/debian",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
    ),
    "deb822 with a key in the file and a mirror list": (
        "debian.sources",
        """\
Types: deb
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL
 -----END PGP PUBLIC KEY BLOCK-----
""",
        "mirror+file:///etc/apt/mirrors/debian.list",
        "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBGPL\n"
        " -----END PGP PUBLIC KEY BLOCK-----\n",
    ),
    "deb822 with a disabled entry and another archive": (
        "all.sources",
        """\
Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: https://tool.example/apt
Suites: bookworm
Components: main
Signed-By: /keys/tool.gpg

Types: deb
URIs: https://mirror.example/debian
Suites: bookworm
Components: main
Trusted: yes
""",
        "https://mirror.example/debian",
        "Trusted: yes\n",
    ),
    "one-line": (
        "sources.list",
        """\
deb cdrom:[Debian GNU/Linux 12.0.0 _Bookworm_]/ bookworm main
#deb http://old.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb http://mirror.example/debian bookworm main non-free-firmware # comment
deb http://mirror.example/debian-security bookworm-security main
""",
        "http://mirror.example/debian",
        "",
    ),
    "one-line with options": (
        "sources.list",
        """\
deb [signed-by=/keys/tool.gpg] https://tool.example/apt bookworm main
deb [arch=amd64,arm64 signed-by=/keys/debian.gpg] http://mirror.example/remote/ bookworm main
deb [arch=amd64,arm64 signed-by=/keys/debian.gpg] http://mirror.example/remote bookworm-updates main
""",
        "http://mirror.example/remote",
        "Signed-By: /keys/debian.gpg\nArchitectures: amd64 arm64\n",
    ),
    "one-line of a snapshot, by the release's alias": (
        "sources.list",
        """\
deb https://tool.example/apt stable main
deb [check-valid-until=no] http://snapshot.example/archive/debian/20260101T000000Z stable main
""",
        "http://snapshot.example/archive/debian/20260101T000000Z",
        "Check-Valid-Until: no\n",
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_backports_come_from_the_mirror_of_the_machine(case, tmp_path):
    name, text, uri, options = SOURCES[case]
    (tmp_path / name).write_text(text)
    run = script("install_vulkan.sh", "--print-sources", "bookworm", tmp_path / name)
    assert run.stderr == ""
    assert run.stdout == BACKPORTS.format(uri=uri) + options


def test_sources_in_both_formats_are_read_together(tmp_path):
    (tmp_path / "sources.list").write_text("# see sources.list.d\n")
    (tmp_path / "debian.sources").write_text(SOURCES["deb822"][1])
    run = script(
        "install_vulkan.sh",
        "--print-sources",
        "bookworm",
        tmp_path / "sources.list",
        tmp_path / "debian.sources",
    )
    assert "URIs: http://mirror.example/debian\n" in run.stdout


def test_ubuntu_sources_are_no_debian_mirror(tmp_path):
    (tmp_path / "ubuntu.sources").write_text(
        "Types: deb\nURIs: http://mirror.example/ubuntu/\nSuites: noble noble-updates\n"
        "Components: main universe\nSigned-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n"
    )
    run = script("install_vulkan.sh", "--print-sources", "bookworm", tmp_path / "ubuntu.sources")
    assert (run.returncode, run.stdout) == (0, "")


def test_unknown_argument_is_refused():
    run = script("install_vulkan.sh", "--gpu")
    assert run.returncode == 2
    assert "--software" in run.stderr


def test_python_that_only_pretends_is_passed_over(tmp_path):
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    (tmp_path / "python3.11").symlink_to(sys.executable)
    run = script("find_python.sh", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert run.returncode == 0
    assert run.stdout.strip() == str(tmp_path / "python3.11")


def test_no_suitable_python_is_one_clear_line():
    run = script("find_python.sh", "/nonexistent/python3.10")
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert "3.11 or 3.12" in run.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("target", "commands"),
    [
        ("test", ["scripts/install_vulkan.sh", "-m pytest"]),
        ("demo", ["doctor", "generate simple_manipulation sort", "view demo"]),
        ("test-all", ["lint docs test test-slow test-readers", "VENV=.venv-newest", "-m pytest"]),
        ("docs", ["-m mkdocs build --quiet --strict"]),
        ("lint", ["ruff check", "ruff format --check", "mypy"]),
        ("wheel", ["-m pip wheel", "--wheel-dir dist", "./zoo ./policies"]),
    ],
)
def test_make_targets_run_their_commands(target, commands):
    run = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for command in commands:
        assert command in run.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_demo_continues_without_images_where_no_renderer_works(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / ".installed").touch()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    log = tmp_path / "log"
    command = tmp_path / "bin" / "clevrskills"
    command.write_text(f'#!/bin/sh\necho "$@" >> {log}\n[ "$1" != doctor ]\n')
    command.chmod(0o755)
    no_driver = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
    subprocess.run(
        # -o: these are taken as made; the environment is only for the doctor's image
        ["make", "-o", "vulkan", "-o", tmp_path / ".installed", "demo", f"VENV={tmp_path}"],
        cwd=ROOT,
        env={**os.environ, **no_driver, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=True,
    )
    doctor, generate, view = log.read_text().splitlines()
    assert doctor == "doctor"
    assert generate.endswith("--out demo --workers 2 --no-cameras")
    assert view == "view demo --out demo/index.html"


def test_continuous_integration_runs_the_tests():
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    called = {*workflow["check"]["strategy"]["matrix"]["target"], "test-all"}
    assert called == {"test", "lint", "docs", "test-all"}
    assert "make test-all" in [step.get("run") for step in workflow["all"]["steps"]]
    assert called <= {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}


# --- the wheel


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert clevrskills.__version__ == importlib.metadata.version("clevrskills")
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (ROOT / "clevrskills" / "py.typed").is_file()


def test_hooks_before_commits_are_the_linters():
    hooks = [h["entry"] for r in yaml.safe_load(HOOKS.read_text())["repos"] for h in r["hooks"]]
    assert hooks == [".venv/bin/ruff check --fix", ".venv/bin/ruff format", ".venv/bin/mypy"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_wheel_works_without_the_clone(tmp_path):
    """Built by `make wheel`, in an environment that has what this one has but the package."""
    made = ("-o", "setup", f"BIN={Path(sys.executable).parent}")
    clone, dist = tmp_path / "clone", tmp_path / "clone" / "dist"
    ignored = shutil.ignore_patterns("__pycache__", "build", "dist", ".*", "demo", "tests")
    shutil.copytree(ROOT, clone, ignore=ignored)
    subprocess.run(["make", *made, "wheel"], cwd=clone, capture_output=True, check=True)
    wheel, policies, zoo = sorted(dist.glob("*.whl"))
    assert wheel.stat().st_size <= 12 * 2**20 and wheel.name.startswith("clevrskills-1")
    names = zipfile.ZipFile(wheel).namelist()
    package = ("py.typed", "suites/clevrskills/templates/task.py.txt", "tasks/wordings/places.toml")
    assert {f"clevrskills/{name}" for name in package} <= {*names}
    frozen = {str(path.relative_to(ROOT)) for path in ROOT.glob("clevrskills/**/*.jsonl.gz")}
    assert len(frozen) > 66 and frozen <= {*names}
    assert not [name for name in names if name.startswith(("tests", "docs")) or ".pyc" in name]

    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (place / "lib" / version / "site-packages" / "others.pth").write_text("\n".join(packages))
    python = place / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps"]
    subprocess.run([*install, "--force-reinstall", wheel], check=True)

    def run(program: str, *arguments: str, refused: str = "") -> str:
        done = subprocess.run(
            [place / "bin" / program, *arguments],
            cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused in done.stderr
        assert (done.returncode == 0) != bool(refused), done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    published = ("evaluate", "--policy", "rl:zoo/touch-topple", "touch_topple", "--episodes", "1")
    untrained = ("train", "--policy", "jat", "--data", "demos", "--out", "run")
    run("clevrskills", *untrained, refused="jat is not installed: pip install 'clevrskills[pol")
    missing = "zoo/touch-topple is not installed: pip install 'clevrskills[zoo]'"
    run("clevrskills", *published, "--out", "of_zoo", refused=missing)
    subprocess.run([*install, zoo, policies], check=True)
    shutil.rmtree(clone)
    run("clevrskills", *published, "--out", "of_zoo")
    run("clevrskills", *untrained, refused="demos")
    found = run("python", "-c", "import clevrskills; print(clevrskills.__file__)")
    assert found.startswith(str(place))
    assert json.loads(run("clevrskills", "doctor", "--json"))
    assert len(json.loads(run("clevrskills", "tasks", "--json"))) == 33
    chosen = ("pick", "--episodes", "1", "--split", "train")
    run("clevrskills", "evaluate", "--policy", "zero", *chosen, "--out", "run")
    run("clevrskills", "report", "run", "--out", "report")
    assert "pick" in next((tmp_path / "report").glob("*.html")).read_text()


def test_commands_of_a_release() -> None:
    script = ROOT / "scripts" / "release.sh"
    environment = {**os.environ, "DATASET": "demos/standard-100"}
    done = subprocess.run(
        [script, "--dry-run"], env=environment, capture_output=True, text=True, check=True
    )
    version = importlib.metadata.version("clevrskills")
    lines = done.stdout.splitlines()
    built = [line for line in lines if line.startswith("+ ") and "pip wheel" in line]
    assert [line.split()[-1] for line in built] == [
        *(".", "./zoo", "./policies", "./integrations/lerobot_env_clevrskills")
    ]
    assert "+ .venv/bin/clevrskills check demos/standard-100 --standard" in lines
    assert any("twine upload dist/*.whl" in line for line in lines)
    kit = "+ .venv/bin/python scripts/publish_standard.py kit demos/standard-100 dist/data"
    assert kit in lines and any(line.endswith("upload dist/data NAME") for line in lines)
    assert any(f"git tag -a v{version}" in line for line in lines)
    wrong = subprocess.run([script, "--fast"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "allowed is --dry-run, not --fast" in (
        wrong.stdout + wrong.stderr
    )
