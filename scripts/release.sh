#!/usr/bin/env bash
# Builds a release in dist/: wheels, checksums, and with DATASET the standard dataset in dist/data.
# Prints the commands that upload them; uploads nothing itself.
# Usage: [DATASET=standard-100] release.sh [--dry-run]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

dry=${1-}
[ -z "$dry" ] || [ "$dry" = --dry-run ] || { say "allowed is --dry-run, not $dry"; exit 2; }
do_it() {
  if [ -n "$dry" ]; then echo "+ $*"; else "$@"; fi
}
wheel() {
  do_it .venv/bin/python -m pip wheel --quiet --disable-pip-version-check --progress-bar off \
    --no-deps --ignore-requires-python --wheel-dir dist "$1" # built here, installed elsewhere
}

version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' clevrskills/__init__.py)
say "version $version"
[ -n "$dry" ] || rm -rf dist
wheel .
wheel ./zoo
wheel ./policies
wheel ./integrations/lerobot_env_clevrskills
if [ -n "${DATASET-}" ]; then
  do_it .venv/bin/clevrskills check "$DATASET" --standard
  do_it .venv/bin/python scripts/publish_standard.py kit "$DATASET" dist/data
fi
[ -n "$dry" ] || (cd dist && sha256sum -- *.whl > SHA256SUMS && cat SHA256SUMS)
echo "To upload:"
echo "  python -m twine upload dist/*.whl"
if [ -n "${DATASET-}" ]; then
  echo "  .venv/bin/python scripts/publish_standard.py upload dist/data NAME --dry-run"
  echo "  .venv/bin/python scripts/publish_standard.py upload dist/data NAME"
fi
echo "  git tag -a v$version -m 'Version $version' && git push origin v$version"
