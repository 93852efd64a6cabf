# Functions shared by the set-up scripts; sourced, not run.
# shellcheck shell=bash

say() { echo "clevrskills: $*"; }

can_be_root() { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt_get() { # apt-get as root, asking nothing, in English, waiting for another apt to finish
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -y \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}
