#!/usr/bin/env bash
# Creates the virtual environment .venv and installs the package with the oracle and the development
# tools. Usage: [VENV=.venv] [EXTRAS=...] [CONSTRAINTS=constraints.txt] setup_venv.sh [PYTHON]
# An empty CONSTRAINTS installs the newest compatible versions.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=${VENV:-.venv}
extras=${EXTRAS:-oracle,mplib,dev,ray,serve,rl,rl-adapters,vla,docs}
constraints=${CONSTRAINTS-constraints.txt}
python=$(scripts/find_python.sh "$@")

install_venv_module() { # Debian and Ubuntu package it apart from Python
  local package
  package="$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
  if command -v apt-get >/dev/null && can_be_root; then
    say "installing $package"
    apt_get update || true
    apt_get install --no-install-recommends "$package" && return
  fi
  say "$python can't make virtual environments; run: sudo apt-get install $package" >&2
  exit 1
}

# A working environment is kept, so that a changed pin is a quick update.
if ! { [ -x $venv/bin/python ] && scripts/find_python.sh $venv/bin/python &&
  $venv/bin/python -m pip --version; } >/dev/null 2>&1; then
  "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module
  "$python" -m venv --clear $venv
fi

say "installing into $venv with $($venv/bin/python --version); the first time takes minutes"
$venv/bin/python -m pip install --disable-pip-version-check --progress-bar off \
  -e ".[$extras]" ${constraints:+-c "$constraints"}
