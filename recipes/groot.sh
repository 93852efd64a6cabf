#!/usr/bin/env bash
# GR00T N1.7, fine-tuned by Isaac-GR00T, evaluated behind its server. Usage: groot.sh OUT; see
# docs/recipes/groot.md.
set -euo pipefail
COMMIT=${COMMIT:-57977bbba69d252cac76167520e4c57ec4cd9d7b} # of Isaac-GR00T, with N1.7
BASE=${BASE:-nvidia/GR00T-N1.7-3B}
STEPS=${STEPS:-20000} # Isaac-GR00T's LIBERO example
BATCH=${BATCH:-32}    # its hardware page, for one GPU
. "$(dirname "$0")/common.sh"

options=(
  --base-model-path "$BASE"
  --dataset-path "$OUT/export"
  # Cameras, parts of the state and of the action, chunk: see there.
  --embodiment-tag NEW_EMBODIMENT
  --modality-config-path "$ROOT/recipes/groot_modalities.py"
  --output-dir "$OUT/train"
  --global-batch-size "$BATCH"
  --learning-rate 1e-4 # Isaac-GR00T's default, with 5 % of the steps of warm-up
  # Isaac-GR00T tunes projector and action head by default, and freezes the language model.
  --save-steps 5000
  --save-total-limit 2
  --num-gpus 1
)
read -ra more <<<"${MORE:-}" # further options of launch_finetune.py

train() { # train STEPS OPTIONS...: goes on from its last checkpoint by itself
  local steps=$1
  shift
  (cd "$CHECKOUT" && .venv/bin/python gr00t/experiment/launch_finetune.py --max-steps "$steps" \
    --dataloader-num-workers "$LOADERS" "$@")
}

ours oracle,serve
theirs groot https://github.com/NVIDIA/Isaac-GR00T "$COMMIT" "$UV" sync --frozen
data
stage export export_data lerobot-v2.1 "$OUT/export" "${exported[@]}"
stage train train "$STEPS" "${options[@]}" "${more[@]}"
stage "evaluation-$EPISODES" evaluate_behind "gr00t://127.0.0.1:$PORT" -- \
  .venv/bin/python gr00t/eval/run_gr00t_server.py --model-path "$OUT/train/checkpoint-$STEPS" \
  --embodiment-tag NEW_EMBODIMENT --device "$DEVICE" --host 127.0.0.1 --port "$PORT"
report
