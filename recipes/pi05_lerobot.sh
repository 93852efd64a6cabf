#!/usr/bin/env bash
# pi0.5, fine-tuned by LeRobot 0.6.1, evaluated in process. Usage: pi05_lerobot.sh OUT; see
# docs/recipes/pi05_lerobot.md.
set -euo pipefail
BASE=${BASE:-lerobot/pi05_base} # 4.1 billion parameters
STEPS=${STEPS:-30000}           # LeRobot's page of pi0.5, for LIBERO
BATCH=${BATCH:-64}              # likewise, on one GPU of 80 GB
. "$(dirname "$0")/common.sh"

policy=(
  --policy.type=pi05
  --policy.pretrained_path="$BASE"
  # The model has three camera slots; the third stays empty. Ours keep their names, as features come
  # from the data; the model scales images to 224 x 224.
  --policy.empty_cameras=1
  # Chunks of 50 are the base model's; 10 actions are executed, as in LeRobot's LIBERO training at 20 Hz.
  --policy.chunk_size=50
  --policy.n_action_steps=10
  --policy.optimizer_lr=2.5e-5 # LeRobot's default, openpi's peak rate; 1000 steps of warm-up, cosine
  # Needed to fit in 80 GB, according to LeRobot's page.
  --policy.dtype=bfloat16
  --policy.gradient_checkpointing=true
  # State (15 numbers for xArm 6) and actions are scaled by their quantiles q01 and q99, which exports
  # have. Actions are deltas already: use_relative_actions stays false.
)
read -ra more <<<"${MORE:-}" # further options of lerobot-train

ours oracle
lerobot pi
data
stage export export_data lerobot "$OUT/export" "${exported[@]}"
stage train train_lerobot "$STEPS" --batch_size="$BATCH" --save_freq=10000 "${policy[@]}" "${more[@]}"
stage "evaluation-$EPISODES" evaluate "$LEROBOT" "lerobot:$OUT/train" --policy-arg "device=$DEVICE" \
  --prompt language --track "$(track pretrained)"
report
