#!/usr/bin/env bash
# Creates .venv-clients, in which tests run openpi, vla-eval, torchrl and Minari against our servers
# and environments, each in its own folder without numpy. Put a folder on the PYTHONPATH of
# .venv-clients/bin/python or .venv/bin/python (torchrl: the latter). It also has the tests of Gymnasium
# and ManiSkill, which run on our environments; Gymnasium's need GYMNASIUM_SOURCE, a checkout of its
# release 1.4.0. About 500 MB. Usage: setup_clients.sh [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=.venv-clients
python=$(scripts/find_python.sh "$@")

install() {
  $venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off "$@"
}

[ -x $venv/bin/python ] || "$python" -m venv --clear $venv
say "installing openpi-client, vla-eval, torchrl and Minari into $venv"
install absl-py==2.5.1 anyio==4.16.0 attrs==26.1.0 docstring-parser==0.18.0 imageio==2.38.1 \
  imageio-ffmpeg==0.8.1 msgpack==1.2.4 numpy==1.26.4 pillow==13.0.0 pyyaml==6.0.3 rich==15.0.0 \
  tqdm==4.70.1
into() {
  local folder=$venv/$1
  shift
  install --no-deps --upgrade --target "$folder" "$@"
}
into openpi openpi-client==0.1.2 dm-tree==0.1.10 websockets==17.4 wrapt==2.5.2
into vla-eval vla-eval==0.8.0 annotated-types==0.8.0 jsonargparse==4.53.0 lazyregistry==0.4.0 \
  omegaconf==2.4.0 pydantic==2.14.3 pydantic-core==2.50.4 typeshed-client==2.14.0 \
  typing-inspection==0.4.5 websockets==17.4
into torchrl torchrl==0.14.1 cloudpickle==3.1.2 importlib-metadata==10.2.0 orjson==3.13.0 \
  pyvers==0.2.3 tensordict==0.15.3 zipp==4.1.2
into minari minari==0.5.4
into gymnasium-tests pygame==2.6.1 moviepy==2.2.1 proglog==0.1.12 decorator==5.3.1 imageio-ffmpeg==0.6.0 \
  python-dotenv==1.2.4 array-api-compat==1.16.0
# Gymnasium's tests are in no package; they are copied from GYMNASIUM_SOURCE if set
if [ -n "${GYMNASIUM_SOURCE:-}" ]; then
  rm -rf $venv/gymnasium-tests/tests
  cp -r "$GYMNASIUM_SOURCE/tests" $venv/gymnasium-tests/tests
fi
$venv/bin/python -m pip download --quiet --disable-pip-version-check --progress-bar off --no-deps \
  --no-binary :all: --dest $venv/sources mani_skill==3.0.1
tar -xzf $venv/sources/mani_skill-3.0.1.tar.gz -C $venv/sources mani_skill-3.0.1/tests
rm -rf $venv/maniskill-tests $venv/sources/mani_skill-3.0.1.tar.gz
mv $venv/sources/mani_skill-3.0.1 $venv/maniskill-tests
