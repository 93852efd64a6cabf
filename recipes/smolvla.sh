#!/usr/bin/env bash
# SmolVLA, fine-tuned by LeRobot 0.6.1, evaluated in process. Usage: smolvla.sh OUT; see
# docs/recipes/smolvla.md.
set -euo pipefail
BASE=${BASE:-lerobot/smolvla_base} # 450 million parameters
STEPS=${STEPS:-20000}              # LeRobot's page of SmolVLA
BATCH=${BATCH:-64}                 # likewise
. "$(dirname "$0")/common.sh"

of=observation.images
policy=(
  --policy.path="$BASE"
  # The base model calls its cameras camera1 to camera3; we have no third camera.
  "--rename_map={\"$of.base_camera\": \"$of.camera1\", \"$of.hand_camera\": \"$of.camera2\"}"
  # Chunks of 50 actions are the base model's. It replans every half second; our choice, not tuned.
  --policy.n_action_steps=10
  --policy.optimizer_lr=1e-4 # LeRobot's default, with 1000 steps of warm-up and a cosine
  # State (15 numbers for xArm 6) and actions are padded to 32, and shifted and scaled by mean and
  # standard deviation, LeRobot's default for SmolVLA. Actions stay deltas in the end effector's
  # frame, in [-1, 1] (docs/formats.md). Images are scaled to 512 x 512 by the model.
)
read -ra more <<<"${MORE:-}" # further options of lerobot-train

ours oracle
lerobot smolvla
data
stage export export_data lerobot "$OUT/export" "${exported[@]}"
stage train train_lerobot "$STEPS" --batch_size="$BATCH" --save_freq=5000 "${policy[@]}" "${more[@]}"
stage "evaluation-$EPISODES" evaluate "$LEROBOT" "lerobot:$OUT/train" --policy-arg "device=$DEVICE" \
  --prompt language --track "$(track pretrained)"
report
