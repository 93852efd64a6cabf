#!/usr/bin/env bash
# Creates .venv-rlds, in which tests read exports with tensorflow_datasets. It is separate from .venv
# because TensorFlow needs another numpy. About 1.8 GB. Usage: setup_rlds.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=.venv-rlds
python=$(scripts/find_python.sh "$@")

[ -x $venv/bin/python ] || "$python" -m venv --clear $venv
say "installing TensorFlow into $venv; the first time takes minutes"
$venv/bin/python -m pip install --disable-pip-version-check --progress-bar off \
  tensorflow-cpu==2.21.0 tensorflow-datasets==4.9.10
