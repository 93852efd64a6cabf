#!/usr/bin/env bash
# OpenVLA-OFT, fine-tuned by its own program, evaluated behind its server. Usage: openvla_oft.sh OUT;
# see docs/recipes/openvla_oft.md.
set -euo pipefail
COMMIT=${COMMIT:-213c5ff8d6e9673885d7e4dd6f2ce73b5d8a45db} # of openvla-oft
BASE=${BASE:-openvla/openvla-7b}
STEPS=${STEPS:-50000}           # a third of the paper's 150,000, which had eight GPUs; not tuned
BATCH=${BATCH:-8}               # the paper's, for each GPU; 62 GB, and 25 GB with 1
SAVE_EVERY=${SAVE_EVERY:-10000} # the paper's; STEPS is to be a multiple of it
. "$(dirname "$0")/common.sh"

case "${OUT,,} ${CHECKOUT,,}" in # words by which OFT knows robots with other chunks
  *aloha* | *bridge*) fail "OpenVLA-OFT takes $OUT for another robot: name it without aloha or bridge" ;;
esac

options=(
  # Two cameras and the end effector's pose with the vacuum's state: 8 numbers, as many as LIBERO's.
  --use_l1_regression True --use_diffusion False --use_film False # as for LIBERO
  --num_images_in_input 2 --use_proprio True
  # Chunks of 8 actions at 20 Hz, and the quantiles by which state and actions but the gripper are
  # scaled, are OFT's constants for LIBERO, which it takes for what it does not know.
  --image_aug True --lora_rank 32 # as for LIBERO
  --batch_size "$BATCH" --save_freq "$SAVE_EVERY"
)
read -ra more <<<"${MORE:-}" # further options of finetune.py

install_openvla() { # as its SETUP.md says; it was tried with Python 3.10 and torch 2.2.0
  "$UV" venv --python 3.10 .venv
  "$UV" pip install --python .venv/bin/python --editable . "numpy<2" packaging ninja
  "$UV" pip install --python .venv/bin/python --no-build-isolation flash-attn==2.5.5
}

train() { # train STEPS OPTIONS...: goes on from its last checkpoint
  local steps=$1 last done_steps decay=$(($1 * 2 / 3)) from=(--learning_rate 5e-4 --vla_path "$BASE")
  shift
  mkdir -p "$OUT/train"
  last=$(find "$OUT/train" -path '*/run--*_chkpt/model.safetensors.index.json' | sort -V | tail -n 1)
  if [ -n "$last" ]; then
    last=${last%/*}
    done_steps=${last##*--}
    done_steps=${done_steps%_chkpt}
    from=(--learning_rate 5e-4 --vla_path "$last" --resume True --resume_step "$done_steps")
    decay=$((decay - done_steps))
    if [ "$decay" -le 0 ]; then # it had been lowered to a tenth, as in the paper after two thirds
      from[1]=5e-5
      decay=$steps
    fi
  fi
  # It saves only at multiples of save_freq, and ends with the step after max_steps.
  (cd "$CHECKOUT" && WANDB_MODE=offline .venv/bin/torchrun --standalone --nnodes 1 \
    --nproc-per-node 1 "$ROOT/recipes/openvla_oft_data.py" vla-scripts/finetune.py \
    --data_root_dir "$OUT/export" --dataset_name clevrskills --run_root_dir "$OUT/train" \
    --run_id_override run --max_steps $((steps + 5)) --num_steps_before_decay "$decay" \
    "${from[@]}" "$@")
}

ours oracle
theirs openvla-oft https://github.com/moojink/openvla-oft "$COMMIT" install_openvla
data
stage export export_data rlds "$OUT/export" "${exported[@]}"
stage train train "$STEPS" "${options[@]}" "${more[@]}"
export PYTHONPATH=$ROOT/recipes${PYTHONPATH:+:$PYTHONPATH} # its server has a dialect of its own
stage "evaluation-$EPISODES" evaluate_behind openvla_oft_client:OpenVLAOFT \
  --policy-arg "url=http://127.0.0.1:$PORT/act" -- \
  .venv/bin/python vla-scripts/deploy.py --pretrained_checkpoint "$OUT/train/run--${STEPS}_chkpt" \
  --use_l1_regression True --use_film False --num_images_in_input 2 --use_proprio True \
  --center_crop True --unnorm_key clevrskills --host 127.0.0.1 --port "$PORT"
report
