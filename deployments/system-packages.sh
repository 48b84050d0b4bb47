#!/bin/sh
# Programs that sandboxes and tasks call; g++ also brings the headers that libraries without a wheel are compiled with.
# Installs Debian's packages as root; names those of this system for everybody else. On macOS nothing is needed, since
# sandboxes run elsewhere there.
set -eu

[ "$(uname -s)" = Linux ] || exit 0
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
    exit 0
fi

# What Debian's packages are called elsewhere; each is a whole word of the list.
renamed() {
    names=" $missing "
    for pair in "$@"; do
        names=$(printf '%s' "$names" | sed "s/ ${pair%%:*} / ${pair##*:} /g")
    done
    printf '%s' "$names" | sed 's/^ *//; s/  */ /g; s/ *$//'
}
if command -v dnf >/dev/null 2>&1; then
    install="dnf install $(renamed iproute2:iproute procps:procps-ng g++:gcc-c++ python3-venv:python3)"
elif command -v zypper >/dev/null 2>&1; then
    install="zypper install $(renamed g++:gcc-c++ python3-venv:python3)"
elif command -v pacman >/dev/null 2>&1; then
    install="pacman -S $(renamed procps:procps-ng g++:gcc python3-venv:python)"
else
    install="apt-get install $(renamed)"
fi
echo "These programs are missing, by Debian's names:$missing" >&2
echo "Install them first: sudo $install" >&2
exit 1
