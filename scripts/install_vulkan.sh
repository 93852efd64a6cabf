#!/usr/bin/env bash
# Enables rendering on a machine without a GPU: installs Mesa's software Vulkan driver (lavapipe) in a
# version that SAPIEN accepts, and the system libraries that SAPIEN loads.
#
#   install_vulkan.sh                       installs missing parts; keeps a GPU driver
#   install_vulkan.sh --software            also installs the software driver beside a GPU driver
#   install_vulkan.sh --print-sources CODENAME FILE...
#                                           prints the backports entry for these apt sources
#
# If it may not install packages, it prints the commands to run and still exits with code 0.
set -euo pipefail
scripts=$(dirname "$0")
. "$scripts/common.sh"

min_mesa=24.3
backports_file=/etc/apt/sources.list.d/clevrskills-backports.sources
driver_packages=(libvulkan1 mesa-vulkan-drivers)
# Library that SAPIEN, its OpenCV or a GPU's Vulkan driver loads, and its package.
declare -A library_packages=(
  [libX11.so.6]=libx11-6
  [libXext.so.6]=libxext6
  [libGL.so.1]=libgl1
  [libgthread-2.0.so.0]=libglib2.0-0
)

at_least() { # at_least VERSION MINIMUM
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

nvidia_driver() { [ -e /proc/driver/nvidia/version ] || nvidia-smi -L >/dev/null 2>&1; }

mesa_gpu_driver() { # an AMD or Intel device and a Vulkan driver for it
  local vendor
  for vendor in /sys/class/drm/renderD*/device/vendor; do
    [ -r "$vendor" ] || continue
    case "$(cat "$vendor")" in
      0x1002) icd_file 'radeon*' 'amd*' >/dev/null && return 0 ;;
      0x8086) icd_file 'intel*' >/dev/null && return 0 ;;
    esac
  done
  return 1
}

icd_file() { # the first Vulkan driver file whose name matches one of the patterns
  local directory pattern file
  for directory in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d; do
    for pattern in "$@"; do
      for file in "$directory"/$pattern.json; do
        [ -r "$file" ] && echo "$file" && return 0
      done
    done
  done
  return 1
}

lavapipe_version() { # e.g. 25.0.7; nothing if there is no software driver
  local file library path
  file=$(icd_file 'lvp_icd*') || return 0
  library=$(sed -n 's/.*"library_path"[^"]*"\([^"]*\)".*/\1/p' "$file")
  for path in "$library" /usr/lib{/"$(uname -m)"-linux-gnu,64,}/"$library"; do
    if [ -r "$path" ]; then
      { grep -aoE 'Mesa [0-9]+\.[0-9]+(\.[0-9]+)?' "$path" || true; } | sed -n '1s/Mesa //p'
      return 0
    fi
  done
}

missing_library_packages() {
  local known library
  known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true)
  for library in "${!library_packages[@]}"; do
    case "$known" in *"$library "*) ;; *) echo "${library_packages[$library]}" ;; esac
  done
}

# Reads apt sources of both formats and prints the entry for CODENAME-backports on the mirror that
# the main archive of this machine comes from, with the same key and options; nothing if no source
# is the main archive.
backports_entry() { # backports_entry CODENAME FILE...
  local codename=$1
  shift
  awk -v codename="$codename" -f "$scripts/backports_entry.awk" "$@"
}

apt_sources() {
  local file apt=/etc/apt
  for file in "$apt"/sources.list "$apt"/sources.list.d/*.{list,sources}; do
    if [ -r "$file" ]; then echo "$file"; fi
  done
}

available() { # the newest version of the driver that apt offers in a suite, e.g. bookworm-backports
  LC_ALL=C apt-cache madison mesa-vulkan-drivers 2>/dev/null |
    awk -F ' *[|] *' -v suite="$1/" 'index($3, " " suite) { print $2 }' | sort -V | tail -n 1
}

candidate() { # the version of the driver that a plain install would give
  LC_ALL=C apt-cache policy mesa-vulkan-drivers 2>/dev/null |
    sed -n 's/^ *Candidate: *\(.*\)$/\1/p' | grep -v '(none)' || true
}

add_backports() { # add_backports SUITE
  local entry
  local -a sources
  mapfile -t sources < <(apt_sources)
  entry=$(backports_entry "${1%-backports}" "${sources[@]}")
  [ -n "$entry" ] || return 1
  say "adding $1 in $backports_file"
  printf '%s\n' "$entry" | as_root tee "$backports_file" >/dev/null
  if ! apt_get update -o Dir::Etc::sourcelist="$backports_file" -o Dir::Etc::sourceparts=/dev/null \
    -o APT::Get::List-Cleanup=0 || ! at_least "$(available "$1")" "$min_mesa"; then
    say "the mirror has no usable $1; removing $backports_file"
    as_root rm -f "$backports_file"
    return 1
  fi
}

install_driver() {
  local suite
  if at_least "$(candidate)" "$min_mesa"; then
    apt_get install --no-install-recommends "${driver_packages[@]}"
    return
  fi
  [ "${ID:-}" = debian ] && [ -n "${VERSION_CODENAME:-}" ] || return 1
  suite=$VERSION_CODENAME-backports
  at_least "$(available "$suite")" "$min_mesa" || add_backports "$suite" || return 1
  apt_get install --no-install-recommends -t "$suite" "${driver_packages[@]}"
}

driver_ok() {
  if [ "$mode" != --software ] && { nvidia_driver || mesa_gpu_driver; }; then return 0; fi
  at_least "$(lavapipe_version)" "$min_mesa"
}

missing_packages() {
  missing_library_packages
  driver_ok || printf '%s\n' "${driver_packages[@]}"
}

advise() { # advise PACKAGE...: what to run by hand
  local -a sources
  mapfile -t sources < <(apt_sources)
  say "pictures need a Vulkan driver (without a GPU Mesa >= $min_mesa) and system libraries. As root:"
  case "${ID:-} ${VERSION_CODENAME:-} $*" in
    "debian bookworm "*mesa-vulkan-drivers*)
      echo "    write to $backports_file:"
      backports_entry bookworm "${sources[@]}" | sed 's/^/        /'
      echo "    apt-get update && apt-get install -t bookworm-backports $*"
      ;;
    debian* | ubuntu*)
      echo "    apt-get update && apt-get install $*"
      echo "    (this release offers Mesa $(candidate); if that is too old, use a newer release, or" \
        "add a package archive that has Mesa >= $min_mesa)"
      ;;
    *)
      echo "    install the Vulkan loader and Mesa's lavapipe driver (packages such as" \
        "mesa-vulkan-drivers or vulkan-swrast), and: ${!library_packages[*]}"
      ;;
  esac
  say "going on without pictures"
}

main() {
  local -a missing libraries
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if [ -r /etc/os-release ]; then . /etc/os-release; fi
  if command -v apt-get >/dev/null && can_be_root; then
    say "installing ${missing[*]}"
    apt_get update || say "apt-get update failed; trying with what is known"
    mapfile -t libraries < <(missing_library_packages)
    if [ ${#libraries[@]} -gt 0 ]; then
      apt_get install --no-install-recommends "${libraries[@]}" || true
    fi
    driver_ok || install_driver || true
    mapfile -t missing < <(missing_packages)
  fi
  if [ ${#missing[@]} -eq 0 ]; then
    say 'installed; "clevrskills doctor" tests it with a picture'
  else
    advise "${missing[@]}"
  fi
}

mode=${1:-}
case "$mode" in
  --print-sources)
    shift
    backports_entry "$@"
    ;;
  "" | --software) main ;;
  *)
    say "unknown argument $mode; allowed: --software, --print-sources CODENAME FILE..." >&2
    exit 2
    ;;
esac
