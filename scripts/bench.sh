#!/usr/bin/env bash
# Times the generation of demonstrations in one process, with pictures and without.
# Usage: bench.sh DIRECTORY-OF-clevrskills [EPISODES]
set -euo pipefail

bin=$1
episodes=${2:-20}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for cameras in "" --no-cameras; do
  echo "simple_manipulation, $episodes episodes, ${cameras:-with cameras}"
  TIMEFORMAT="  %R s elapsed, %U s of CPU time, start-up included"
  # shellcheck disable=SC2086
  time "$bin/clevrskills" generate simple_manipulation --episodes "$episodes" --seed 0 \
    --split train --out "$out/run$cameras" --workers 1 $cameras >"$out/log" 2>&1 ||
    { cat "$out/log"; exit 1; }
done
