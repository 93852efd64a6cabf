#!/usr/bin/env bash
# Makes .venv-agents, in which tests run our episodes in words by the harnesses of others: inspect_ai
# and OpenEnv. It sees the packages of .venv, which `make setup` makes, and holds what that lacks.
# About 300 MB. Usage: setup_agents.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=.venv-agents
[ -x .venv/bin/python ] || { say "no .venv: run make setup first" >&2 && exit 1; }
[ -x $venv/bin/python ] || .venv/bin/python -m venv --clear $venv
ours=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
theirs=$($venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
echo "$ours" >"$theirs/ours.pth"
$venv/bin/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true # torch wants a newer one: ours
say "installing inspect_ai and OpenEnv into $venv"
$venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off \
  inspect_ai==0.3.285 openenv-core==0.3.0
