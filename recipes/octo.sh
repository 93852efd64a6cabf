#!/usr/bin/env bash
# Octo 1.5, fine-tuned by this package, evaluated in process. Usage: octo.sh OUT; see
# docs/recipes/octo.md.
set -euo pipefail
CONFIGURATION=${CONFIGURATION:-small} # octo-small-1.5, 27 million parameters; default: octo-base-1.5
STEPS=${STEPS:-50000}                 # what Octo's own fine-tuning takes
BATCH=${BATCH:-64}                    # windows at once, so that one GPU holds them
ACCUMULATE=${ACCUMULATE:-4}           # batches to a step: 256 windows, as in Octo's paper
. "$(dirname "$0")/common.sh"

train() { # train OPTIONS...: goes on from its latest checkpoint
  local cpu=()
  if [ "$DEVICE" = cpu ]; then cpu=(--cpu); fi
  "$OURS/bin/clevrskills" train --policy octo --data "$DATA" --out "$OUT/train" \
    --workers "$LOADERS" "${cpu[@]}" "$@"
}

options=(
  --configuration="$CONFIGURATION"
  # Two steps of history and chunks of 4 actions are Octo's own and part of the configuration, as
  # are 256 and 128 pixels for base and hand camera, and no state. Actions, deltas in the end
  # effector's frame, are shifted and scaled by mean and standard deviation.
  --set "batch_size=$BATCH" --accumulate "$ACCUMULATE"
  --set learning_rate=3e-4 # Octo's, with 2000 steps of warm-up
  --balance                # long tasks would otherwise be seen most
  --bf16
)
read -ra more <<<"${MORE:-}" # further options of `clevrskills train`

ours oracle,vla
data
stage train train --steps "$STEPS" "${options[@]}" "${exported[@]}" "${more[@]}"
# Prompts include their images, as in training, so all 33 tasks are evaluated.
stage "evaluation-$EPISODES" evaluate "$OURS" "checkpoint:$OUT/train"
report
