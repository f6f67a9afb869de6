#!/usr/bin/env bash
# Tries a wheel where users are: in a new Debian 12 with Python, and nothing of LLVM, a compiler or this tree's packages.
#   tools/wheel/fresh_root.sh WHEEL WHEELS ROOT [PACKAGE...]
# WHEELS is a directory with the wheels of NumPy and the PACKAGEs; ROOT is made, and kept for another trial.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
wheel=$(realpath "$1") wheels=$(realpath "$2") root=$(realpath -m "$3")
shift 3

[ "$(id -u)" = 0 ] || { echo "error: expected root, to make a root file system (debootstrap, chroot)" >&2; exit 1; }
if [ ! -f "$root/made" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include=python3,python3-venv bookworm "$root" >"$root.log" 2>&1 ||
    { echo "error: debootstrap: $(tail -n 1 "$root.log") (all output: $root.log)" >&2; exit 1; }
  touch "$root/made"
fi
rm -rf "$root/trial"
mkdir -p "$root/trial/wheels"
cp -r "$here/../../examples" "$here/trial.py" "$root/trial/"
cp "$wheel" "$root/trial/"
cp "$wheels"/*.whl "$root/trial/wheels/"

# Mounts of its own, so that they go with it; an environment of its own, so that nothing of the caller's is found.
inside="mount -t proc proc '$root/proc' && mount --rbind /dev '$root/dev' && exec chroot '$root' \"\$@\""
enter() { unshare --mount bash -c "$inside" - /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"; }
enter python3 -m venv --clear /trial/venv
enter /trial/venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links /trial/wheels \
  "/trial/$(basename "$wheel")" "$@"
enter /trial/venv/bin/python /trial/trial.py /trial/examples
