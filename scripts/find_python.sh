#!/usr/bin/env bash
# Prints the path of a Python 3.11 or 3.12 (the first argument, if given, is the only candidate).
set -euo pipefail

version_of() { # a candidate may be a pyenv shim that only fails: believe what it prints
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

candidates=("$@")
if [ ${#candidates[@]} -eq 0 ]; then
  candidates=(python3.12 python3.11 python3 python)
fi
for candidate in "${candidates[@]}"; do
  case "$(version_of "$candidate")" in
    3.11 | 3.12)
      "$candidate" -c 'import sys; print(sys.executable)'
      exit 0
      ;;
  esac
done
echo "ClevrSkills needs Python 3.11 or 3.12; none found among: ${candidates[*]}." \
  "Install one, or name it: make PYTHON=/path/to/python3.12" >&2
exit 1
