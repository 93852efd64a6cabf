#!/usr/bin/env bash
# StreamRoboLM and ACT, each trained for some minutes, evaluated on frozen episodes; one row each.
# Usage: MINUTES=30 gpu_training.sh OUT
#
# StreamRoboLM has a ViT and a language model of the size of OPT; ACT is LeRobot's. How many steps
# the minutes allow is measured first, so that the learning rate falls to its end. Rows, with device
# and driver, are added to ROWS. Run again, it goes on where it was. Where there is no network, give
# environments, weights and data, as recipes do (docs/recipes/README.md):
#
#   OURS=venv LEROBOT=venv312 WEIGHTS=weights DATA=demos MINUTES=30 benchmarks/gpu_training.sh OUT
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MINUTES=${MINUTES:-60}                          # of training, for each policy
POLICIES=${POLICIES:-stream act}                # or one of them
TASKS=${TASKS:-pick touch throw trace}          # StreamRoboLM learns all, ACT the first
WEIGHTS=${WEIGHTS:-}                            # published weights (docs/weights.md); empty: the hub's
STREAM=${STREAM:---set learning_rate=1e-4}      # further options of clevrskills train
ACT=${ACT:---policy.pretrained_backbone_weights=null} # further options of lerobot-train
ROWS=${ROWS:-$HERE/gpu_training.json}           # where rows are added
. "$HERE/../recipes/common.sh"

write_steps() { # write_steps NAME SECONDS: how many steps of so many seconds the minutes allow
  awk -v minutes="$MINUTES" -v step="$2" 'BEGIN { print int(60 * minutes / step) + 1 }' >"$OUT/$1.steps"
}

rate_stream() { # seconds a step, from the log: the first steps are slower
  rm -rf "$OUT/rate"
  train_stream "$OUT/rate" 40 --log-every 10
  write_steps stream "$(sed -n 's/.*"seconds": \([0-9.]*\).*/\1/p' "$OUT/rate/log.jsonl" |
    awk 'NR == 1 { first = $1 } { last = $1 } END { print (last - first) / 30 }')"
  rm -rf "$OUT/rate"
}

rate_act() { # seconds a step, as LeRobot prints them
  rm -rf "$OUT/rate"
  train_act "$OUT/rate" 40 --log_freq=10 2>&1 | tee "$OUT/rate.log"
  write_steps act "$(sed -n 's/.*updt_s:\([0-9.]*\) data_s:\([0-9.]*\).*/\1 \2/p' "$OUT/rate.log" |
    awk 'END { print $1 + $2 }')"
  rm -rf "$OUT/rate"
}

train_stream() { # train_stream FOLDER STEPS OPTIONS...
  local folder=$1 steps=$2 options=("${tasks[@]/#/--task=}")
  shift 2
  [ -z "$WEIGHTS" ] || options+=(--published-weights "$WEIGHTS")
  [ "$DEVICE" != cpu ] || options+=(--cpu)
  read -ra more <<<"$STREAM"
  "$OURS/bin/clevrskills" train --policy stream_robolm --data "$DATA" --out "$folder" --steps "$steps" \
    --cache-dir "$OUT/cache" --workers "$LOADERS" --bf16 --balance "${options[@]}" "${more[@]}" "$@"
}

train_act() { # train_act FOLDER STEPS OPTIONS...
  local folder=$1 steps=$2
  shift 2
  read -ra more <<<"$ACT"
  "$LEROBOT/bin/lerobot-train" --dataset.repo_id=clevrskills/demonstrations \
    --dataset.root="$OUT/export" --output_dir="$folder" --policy.push_to_hub=false \
    --policy.device="$DEVICE" --num_workers="$LOADERS" --steps="$steps" --save_freq="$steps" \
    --policy.type=act --policy.chunk_size=20 --policy.n_action_steps=10 "${more[@]}" "$@"
}

trained() { # trained NAME TRAIN: train for the minutes
  rm -rf "$OUT/$1" # what was killed; minutes are counted from the start
  "$2" "$OUT/$1" "$(cat "$OUT/$1.steps")"
}

evaluated() { # evaluated NAME ENVIRONMENT POLICY OPTIONS...: both splits; JSON into OUT/NAME.json
  local name=$1 environment=$2 policy=$3
  shift 3
  "$environment/bin/clevrskills" evaluate "$@" --policy "$policy" --episodes "$EPISODES" --json \
    --workers "$EVALUATORS" --out "$OUT/results_$name" --label "$name" >"$OUT/$name.json"
}

add_row() { # add_row NAME: device, steps, minutes and results
  local device driver=""
  device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  if [ "$DEVICE" != cpu ]; then
    device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
  fi
  "$OURS/bin/python" - "$ROWS" "$1" "$device" "$driver" "$(cat "$OUT/$1.steps")" \
    "$(tail -n 1 "$OUT/done/train-$1")" "$OUT/$1.json" <<'PYTHON'
import json
import sys
from pathlib import Path

rows_file, policy, device, driver, steps, took, results = sys.argv[1:]
path = Path(rows_file)
rows = json.loads(path.read_text()) if path.exists() else []
row = {"policy": policy, "device": device, "driver": driver, "steps": int(steps)}
keys = ("task", "split", "episodes", "success_at_end", "success_at_end_low", "success_at_end_high")
found = json.loads(Path(results).read_text())["tasks"]
row |= {"training_s": int(took.split()[0]), "results": [{k: r[k] for k in keys} for r in found]}
path.write_text(json.dumps([*rows, row], indent=1) + "\n")
PYTHON
}

ours oracle,vla
data
for name in $POLICIES; do
  case $name in
    stream)
      stage rate-stream rate_stream
      stage train-stream trained stream train_stream
      given=()
      [ -z "$WEIGHTS" ] || given=(--policy-arg "weights=$WEIGHTS")
      stage "evaluation-stream-$EPISODES" evaluated stream "$OURS" "checkpoint:$OUT/stream" \
        "${tasks[@]}" "${given[@]}"
      ;;
    act)
      lerobot
      stage export export_data lerobot "$OUT/export" "--task=${tasks[0]}"
      stage rate-act rate_act
      stage train-act trained act train_act
      stage "evaluation-act-$EPISODES" evaluated act "$LEROBOT" "lerobot:$OUT/act" "${tasks[0]}" \
        --prompt language --policy-arg "device=$DEVICE"
      ;;
    *) fail "no policy $name; there are: stream act" ;;
  esac
  stage "row-$name" add_row "$name"
done
say "rows are in $ROWS"
