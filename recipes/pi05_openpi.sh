#!/usr/bin/env bash
# pi0.5, fine-tuned by openpi, evaluated behind its server. Usage: pi05_openpi.sh OUT; see
# docs/recipes/pi05_openpi.md.
set -euo pipefail
COMMIT=${COMMIT:-15a9616a00943ada6c20a0f158e3adb39df2ccac} # of openpi
STEPS=${STEPS:-30000}                                      # openpi's pi05_libero, and its default
BATCH=${BATCH:-32}                                         # openpi's default; on one GPU of 80 GB
LORA=${LORA:-}                                             # 1: train adapters only, on 24 GB
. "$(dirname "$0")/common.sh"

NAME=pi05_clevrskills
export HF_LEROBOT_HOME=$OUT/lerobot # where openpi looks for data
export CLEVRSKILLS_RECIPE_OUT=$OUT CLEVRSKILLS_RECIPE_LORA=$LORA
export XLA_PYTHON_CLIENT_MEM_FRACTION=0.9 # openpi's README

# Cameras, state, chunk, normalization and learning rate are in openpi_config.py.
openpi=(.venv/bin/python "$ROOT/recipes/openpi_config.py")

norms() {
  (cd "$CHECKOUT" && "${openpi[@]}" scripts/compute_norm_stats.py --config-name "$NAME")
}

train() { # train STEPS OPTIONS...: goes on from its last checkpoint
  local steps=$1
  shift
  (cd "$CHECKOUT" && "${openpi[@]}" scripts/train.py "$NAME" --exp-name=run --resume \
    --num-train-steps="$steps" --num-workers="$LOADERS" "$@")
}
read -ra more <<<"${MORE:-}" # further options of openpi's scripts/train.py

ours oracle,serve
theirs openpi https://github.com/Physical-Intelligence/openpi "$COMMIT" \
  env GIT_LFS_SKIP_SMUDGE=1 "$UV" sync --frozen --python 3.11
data
mkdir -p "$OUT/lerobot/clevrskills"
stage export export_data lerobot-v2.1 "$OUT/lerobot/clevrskills/demonstrations" "${exported[@]}"
stage norms norms
stage train train "$STEPS" --batch-size="$BATCH" "${more[@]}"
stage "evaluation-$EPISODES" evaluate_behind "openpi://127.0.0.1:$PORT" -- "${openpi[@]}" \
  scripts/serve_policy.py --port="$PORT" policy:checkpoint --policy.config="$NAME" \
  --policy.dir="$OUT/train/$NAME/run/$((STEPS - 1))"
report
