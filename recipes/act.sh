#!/usr/bin/env bash
# ACT, trained by LeRobot 0.6.1, evaluated in process. Usage: act.sh OUT; see docs/recipes/act.md.
set -euo pipefail
TASKS=${TASKS:-pick}        # ACT reads no prompt, so one task
STEPS=${STEPS:-100000}      # LeRobot's default
BATCH=${BATCH:-8}           # LeRobot's default, and the ACT paper's
BACKBONE=${BACKBONE:-ResNet18_Weights.IMAGENET1K_V1} # LeRobot's default; null: random, nothing to download
. "$(dirname "$0")/common.sh"

policy=(
  --policy.type=act
  --policy.pretrained_backbone_weights="$BACKBONE"
  # 1 s at 20 Hz. LeRobot's 100 steps are 2 s at the paper's 50 Hz, and longer than most episodes of
  # L0, whose medians are 13 to 61 steps (docs/evaluation.md).
  --policy.chunk_size=20
  # Replans every half second; our choice, not tuned.
  --policy.n_action_steps=10
  --policy.optimizer_lr=1e-5          # LeRobot's default, and the paper's
  --policy.optimizer_lr_backbone=1e-5 # likewise
  # Actions are deltas in the end effector's frame, in [-1, 1] (docs/formats.md).
  # State (15 numbers for xArm 6) and actions are shifted and scaled by mean and standard
  # deviation, LeRobot's default for ACT. Cameras keep their names; images stay 256 x 256.
)
read -ra more <<<"${MORE:-}" # further options of lerobot-train, e.g. a smaller model for a try

ours oracle
lerobot
data
stage export export_data lerobot "$OUT/export" "${exported[@]}"
stage train train_lerobot "$STEPS" --batch_size="$BATCH" --save_freq=20000 "${policy[@]}" "${more[@]}"
stage "evaluation-$EPISODES" evaluate "$LEROBOT" "lerobot:$OUT/train" --policy-arg "device=$DEVICE" \
  --prompt language --track "$(track)"
report
