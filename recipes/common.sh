# Stages that all recipes share: environments, data, export, training with LeRobot, evaluation,
# report. Sourced by a recipe, with the recipe's arguments; not run.
# shellcheck shell=bash
#
# A finished stage leaves OUT/done/NAME with its command and its duration in seconds; the next run
# skips it. A failed stage is repeated; generation, training and evaluation resume.

say() { echo "${0##*/}: $*"; }

fail() {
  say "$*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: $0 OUT"
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
OUT=$(cd "$1" && pwd)

# Settings, which environment variables override.
TASKS=${TASKS:-}                                 # tasks, with blanks between; empty: all, or LEVEL's
LEVEL=${LEVEL:-}                                 # L0, L1 or L2; empty: all
STANDARD=${STANDARD:-100}                        # demonstrations of each task: 100 or 1000
DATA=${DATA:-$OUT/data}                          # a dataset of one's own, in place of the standard one
EPISODES=${EPISODES:-20}                         # frozen episodes of each task and split
WORKERS=${WORKERS:-$(nproc)}                     # processes that simulate
EVALUATORS=${EVALUATORS:-1}                      # processes that evaluate; each has a copy of the weights
LOADERS=${LOADERS:-4}                            # processes that load for training
PYTHON=${PYTHON:-}                               # 3.12, or 3.11 without LeRobot; empty: found on PATH
ENVIRONMENTS=${ENVIRONMENTS:-$OUT/environments}  # may be shared by recipes
OURS=${OURS:-}                                   # environment with clevrskills[oracle]; empty: made here
LEROBOT=${LEROBOT:-}                             # environment with LeRobot; empty: made here
CHECKOUT=${CHECKOUT:-}                           # a trainer's repository with .venv; empty: made here
UV=${UV:-$(command -v uv || true)}               # uv, which makes such environments; empty: made here
PORT=${PORT:-8765}                               # of a policy server
if [ -z "${DEVICE:-}" ]; then
  DEVICE=cpu
  if command -v nvidia-smi >/dev/null; then DEVICE=cuda; fi
fi

for name in DATA ENVIRONMENTS OURS LEROBOT CHECKOUT; do # some commands run in other folders
  case ${!name} in
    "" | /*) ;;
    *) printf -v "$name" %s "$PWD/${!name}" ;;
  esac
done

read -ra tasks <<<"$TASKS"
selection=("${tasks[@]}")
exported=("${tasks[@]/#/--task=}")
if [ -n "$LEVEL" ]; then
  selection+=("--level=$LEVEL")
  exported+=("--level=$LEVEL")
fi

stage() { # stage NAME COMMAND...: run the command, once
  local name=$1 marker=$OUT/done/$1 began=$SECONDS
  shift
  if [ -f "$marker" ]; then
    [ "$(head -n 1 "$marker")" = "$*" ] ||
      fail "$name was done with other settings: $(head -n 1 "$marker"); take another OUT for $*"
    say "$name is done"
    return
  fi
  say "$name: $*"
  "$@"
  mkdir -p "$OUT/done"
  printf '%s\n%s s\n' "$*" $((SECONDS - began)) >"$marker.part"
  mv "$marker.part" "$marker"
}

# --- environments

new_environment() { # new_environment FOLDER PYTHON: unless it is there, with pip
  "$1/bin/python" -m pip --version >/dev/null 2>&1 || "$2" -m venv --clear "$1"
}

install() { # install ENVIRONMENT PACKAGES...
  local environment=$1
  shift
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --progress-bar off "$@"
}

install_ours() { # install_ours EXTRAS
  new_environment "$OURS" "$("$ROOT/scripts/find_python.sh" ${PYTHON:+"$PYTHON"})"
  install "$OURS" --editable "$ROOT[$1]" --constraint "$ROOT/constraints.txt"
  "$ROOT/scripts/install_vulkan.sh" # a driver that draws, where there is none
}

ours() { # ours EXTRAS: the environment of this package, with the versions of constraints.txt
  [ -z "$OURS" ] || return 0
  OURS=$ENVIRONMENTS/clevrskills
  stage environment-clevrskills install_ours "$1"
}

install_lerobot() { # install_lerobot EXTRAS; the pins are in the script
  VENV=$LEROBOT EXTRAS=$1 "$ROOT/scripts/setup_lerobot.sh" ${PYTHON:+"$PYTHON"}
  [ -x "$LEROBOT/bin/lerobot-train" ] || fail "name one: PYTHON=/path/to/python3.12 $0 $OUT"
}

lerobot() { # lerobot [EXTRAS]: the environment with LeRobot and this package
  [ -z "$LEROBOT" ] || return 0
  LEROBOT=$ENVIRONMENTS/lerobot
  stage environment-lerobot install_lerobot "${1:-}"
}

install_uv() {
  new_environment "$ENVIRONMENTS/uv" "$("$ROOT/scripts/find_python.sh" ${PYTHON:+"$PYTHON"})"
  install "$ENVIRONMENTS/uv" uv==0.13.9
}

install_theirs() { # install_theirs URL COMMIT COMMAND...: check out, then install by the command
  local url=$1 commit=$2
  shift 2
  git init --quiet "$CHECKOUT"
  git -C "$CHECKOUT" fetch --quiet --depth 1 "$url" "$commit"
  GIT_LFS_SKIP_SMUDGE=1 git -C "$CHECKOUT" checkout --quiet FETCH_HEAD
  (cd "$CHECKOUT" && "$@")
}

theirs() { # theirs NAME URL COMMIT COMMAND...: a trainer's repository, with its environment in .venv
  local name=$1
  shift
  [ -z "$CHECKOUT" ] || return 0
  CHECKOUT=$ENVIRONMENTS/$name
  if [ -z "$UV" ]; then
    UV=$ENVIRONMENTS/uv/bin/uv
    stage environment-uv install_uv
  fi
  stage "environment-$name" install_theirs "$@"
}

# --- data

generate() { # generate SIZE SELECTION...
  local size=$1
  shift
  "$OURS/bin/clevrskills" generate "$@" --standard "$size" --out "$DATA" --workers "$WORKERS"
}

data() { # the standard dataset, or a part of it, unless one is given
  if [ "$DATA" = "$OUT/data" ]; then
    stage data generate "$STANDARD" "${selection[@]}"
  elif [ ! -f "$DATA/dataset.json" ]; then
    fail "DATA=$DATA is no dataset of clevrskills generate"
  fi
}

track() { # track [pretrained]: training data of the policy, as stated in tables
  local name places=("${tasks[@]/#/$DATA/}")
  [ ${#tasks[@]} -gt 0 ] || places=("$DATA")
  name=standard-$(sed -n 's/.*"standard": \([0-9][0-9]*\).*/\1/p' "$DATA/dataset.json")
  if [ "$name" = standard- ]; then
    name="open ($(find "${places[@]}" -path '*/train_*/episode.json' | wc -l) demonstrations)"
  fi
  echo "$name${1:+, $1}"
}

export_data() { # export_data FORMAT FOLDER SELECTION...: what words can say
  local format=$1 folder=$2
  shift 2
  rm -rf "$folder" # what a stage that was killed may have left
  "$OURS/bin/clevrskills" export "$DATA" --to "$format" --out "$folder" --split train "$@"
}

# --- training with LeRobot

train_lerobot() { # train_lerobot STEPS OPTIONS...: goes on from its last checkpoint
  local steps=$1 last=$OUT/train/checkpoints/last/pretrained_model/train_config.json
  shift
  if [ -f "$last" ]; then
    "$LEROBOT/bin/lerobot-train" --config_path="$last" --resume=true
    return
  fi
  rm -rf "$OUT/train" # LeRobot begins in no folder that exists
  "$LEROBOT/bin/lerobot-train" --dataset.repo_id=clevrskills/demonstrations \
    --dataset.root="$OUT/export" --output_dir="$OUT/train" --policy.push_to_hub=false \
    --policy.device="$DEVICE" --num_workers="$LOADERS" --steps="$steps" "$@"
}

# --- evaluation

evaluate() { # evaluate ENVIRONMENT POLICY OPTIONS...: on frozen episodes; goes on where it was
  local environment=$1 policy=$2 what=("${selection[@]}")
  shift 2
  [ ${#what[@]} -gt 0 ] || what=(--all)
  "$environment/bin/clevrskills" evaluate "${what[@]}" --policy "$policy" --episodes "$EPISODES" \
    --workers "$EVALUATORS" --out "$OUT/results" --label "$(basename "$0" .sh)" "$@"
}

evaluate_behind() { # evaluate_behind POLICY OPTIONS... -- SERVER...: the server runs in CHECKOUT
  local policy=() server
  while [ "$1" != -- ]; do
    policy+=("$1")
    shift
  done
  shift
  (cd "$CHECKOUT" && exec "$@") &
  server=$!
  # shellcheck disable=SC2064
  trap "kill $server 2>/dev/null || true" EXIT
  until (: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do # it loads its weights before it listens
    kill -0 "$server" 2>/dev/null || fail "the server ended: $*"
    sleep 1
  done
  # the first answer may take minutes, while models are compiled
  evaluate "$OURS" "${policy[@]}" --prompt language --policy-arg timeout_s=600 \
    --track "$(track pretrained)"
  kill "$server"
}

report() { # the tables and the page; cheap, so always made anew
  "$OURS/bin/clevrskills" report "$OUT/results" --out "$OUT/report"
  say "open $OUT/report/report.html"
}
