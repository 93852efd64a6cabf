#!/usr/bin/env bash
# Creates .venv-lerobot, in which tests export demonstrations, train and evaluate a LeRobot policy, and
# run our environment in LeRobot's factory and evaluation. It is separate from .venv because LeRobot
# needs numpy 2, and from .venv-readers because it needs the simulator. LeRobot 0.6 needs Python 3.12;
# without it, nothing is created. About 7 GB with PyPI's torch. Usage: setup_lerobot.sh [PYTHON]; VENV
# names another folder, EXTRAS further extras of LeRobot, such as smolvla.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=${VENV:-.venv-lerobot}
python=$(scripts/find_python.sh "$@")
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
  say "no $venv: LeRobot 0.6 needs Python 3.12, this is $("$python" --version)"
  exit 0
fi

install() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --progress-bar off "$@"
}

[ -x "$venv/bin/python" ] || "$python" -m venv --clear "$venv"
say "installing lerobot into $venv; the first time takes minutes"
install "lerobot[dataset,evaluation,training${EXTRAS:+,$EXTRAS}]==0.6.1" torch==2.11.0 torchvision==0.26.0 numpy==2.2.6 av==15.1.0 \
  mani_skill==3.0.1 sapien==3.0.3 gymnasium==1.4.0 google-crc32c==1.9.0 h5py==3.16.0 jinja2==3.1.6 \
  jsonschema==4.26.0 pandas==2.3.3 pyarrow==25.0.1 python-fcl==0.7.0.11 rich==15.0.0 scipy==1.17.1 toppra==0.6.10 \
  trimesh==5.2.0 tyro==1.0.17
install --no-deps --editable . --editable integrations/lerobot_env_clevrskills
