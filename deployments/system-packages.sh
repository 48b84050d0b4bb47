#!/bin/sh
# Debian packages that sandboxes and tasks call as programs; g++ also brings the headers that libraries without a wheel
# are compiled with. Installs them as root; names them for everybody else.
set -eu

missing=""
for pair in bwrap:bubblewrap setpriv:util-linux ip:iproute2 zip:zip unzip:unzip ps:procps gcc:gcc g++:g++; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
"${PYTHON:-python3}" -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing system packages:$missing"
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
else
    echo "These system packages are missing:$missing" >&2
    echo "Install them first: sudo apt-get install$missing" >&2
    exit 1
fi
