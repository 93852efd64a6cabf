#!/usr/bin/env bash
# Creates .venv-readers, in which tests open LeRobot exports with lerobot itself, each version in its
# own folder: lerobot-0.3, lerobot-0.4 and, on Python 3.12, lerobot-0.6. It is separate from .venv
# because lerobot needs other versions. About 1.5 GB. Usage: setup_readers.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=.venv-readers
python=$(scripts/find_python.sh "$@")

install() {
  $venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off "$@"
}

[ -x $venv/bin/python ] || "$python" -m venv --clear $venv
say "installing lerobot into $venv; the first time takes minutes"
install torch==2.13.0 accelerate==1.15.0 av==15.1.0 datasets==4.8.5 einops==0.8.2 huggingface-hub==1.33.0 \
  jsonlines==4.0.0 'numpy>=2,<2.3' 'packaging<26' pillow
install mlcroissant==1.1.1
# Only dataset readers are installed, not robot drivers. lerobot 0.3 and 0.4 read videos with a part of
# torchvision that later versions lack; it is plain Python, so it need not match torch.
into() {
  local folder=$venv/$1
  shift
  install --no-deps --upgrade --target "$folder" "$@"
}
into lerobot-0.3 lerobot==0.3.3 datasets==3.6.0 torchvision==0.25.0
into lerobot-0.4 lerobot==0.4.4 torchvision==0.25.0
if $venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
  install draccus==0.11.6 gymnasium==1.4.0
  into lerobot-0.6 lerobot==0.6.1 torchvision==0.25.0
fi
