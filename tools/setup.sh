#!/bin/sh
# Set-up for the Makefile: system libraries, .venv, packages. Does only what is missing; nothing to do takes
# a tenth of a second. PYTHON names the interpreter; else an existing .venv stays, else the newest one is taken.
set -eu
cd "$(dirname "$0")/.."
here=$(pwd -P)
venv=.venv
stamp=$venv/set-up             # checksums of what is installed; written last
unfinished=$venv/unfinished    # there while packages are being installed: an interrupted .venv is recreated
PATH=$PATH:/usr/sbin:/sbin     # ldconfig, for ordinary users

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0

say() { echo "set-up: $*"; }
fail() { say "$*" >&2; exit 1; }

# ---- system packages -------------------------------------------------------------------------------------

# System packages that no wheel contains: "package file", the file a library (ldconfig) or a command.
system_packages() {
    cat <<'LIST'
libx11-6 libX11.so.6
libxext6 libXext.so.6
libxcursor1 libXcursor.so.1
libxi6 libXi.so.6
libxinerama1 libXinerama.so.1
libxrandr2 libXrandr.so.2
libgl1 libGL.so.1
libegl1 libEGL.so.1
xvfb Xvfb
xauth xauth
LIST
}

missing_packages() {
    libraries=$(ldconfig -p 2>/dev/null) || return 0    # not Linux, or no way to tell
    system_packages | while read -r package file; do
        case $file in
            *.so.*) case $libraries in *"	$file "*) ;; *) echo "$package" ;; esac ;;
            *) command -v "$file" >/dev/null || echo "$package" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    command -v apt-get >/dev/null && as_root true 2>/dev/null
}

apt_install() {
    say "installing system packages: $*"
    [ -n "${apt_updated:-}" ] || as_root apt-get -qq update >/dev/null 2>&1 || true
    apt_updated=yes
    apt_output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" 2>&1) && return
    echo "$apt_output" | tail -n 5 >&2
    return 1
}

add_system_packages() {
    missing=$(missing_packages | tr '\n' ' ')
    missing=${missing% }
    [ -n "$missing" ] || return 0
    # A failed attempt is not repeated on every make.
    if [ "$(cat $venv/apt-failed 2>/dev/null)" != "$missing" ] && may_install; then
        # shellcheck disable=SC2086  # a list of words
        apt_install $missing && return
        apt_failed=$missing
    fi
    say "for pictures and windows, please install: $missing (continuing without)"
}

# ---- .venv -----------------------------------------------------------------------------------------------

new_enough() {
    "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

find_pythons() {
    for python in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3}; do
        if new_enough "$python"; then echo "$python"; fi
    done
}

# Complete, made for this folder (it holds absolute paths) and for a Python that is still there.
venv_works() {
    [ ! -e $unfinished ] && grep -qF "$here/$venv" $venv/bin/activate 2>/dev/null \
        && $venv/bin/python -c 'import pip' 2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON" 2>/dev/null)" = "$(version_of $venv/bin/python)" ]
}

remove_venv() {
    rm -rf "${venv:?}/bin" $venv    # bin first, so that a half-removed one is not taken for a whole one
}

# Try one way of making .venv: a command.
try() {
    remove_venv
    "$@" >/dev/null 2>&1 && venv_works
}

# Debian has this half of venv in a separate package.
has_ensurepip() {
    "$python" -c 'import ensurepip' 2>/dev/null
}

with_pip_from_outside() {
    "$python" -m venv --without-pip $venv && "$python" -m pip --python $venv/bin/python install pip
}

with_virtualenv_from_pip() {
    away=$(mktemp -d)
    "$python" -m pip install --target "$away" virtualenv \
        && PYTHONPATH=$away "$python" -m virtualenv $venv && made=yes
    rm -rf "$away"
    [ -n "${made:-}" ]
}

make_venv() {
    pythons=$(find_pythons)
    [ -n "$pythons" ] || fail "needs Python 3.11 or newer, and ${PYTHON:-no python3 here} is not; make PYTHON=... names one"
    say "making $venv"
    for python in $pythons; do
        try "$python" -m venv $venv && return
    done
    python=${pythons%%
*}
    package=python$(version_of "$python")-venv
    if ! has_ensurepip && may_install; then
        apt_install "$package" && try "$python" -m venv $venv && return
    fi
    try "$python" -m virtualenv $venv && return
    try virtualenv --python "$python" $venv && return
    try uv venv --seed --python "$python" $venv && return
    try with_pip_from_outside && return
    try with_virtualenv_from_pip && return
    remove_venv
    if has_ensurepip; then
        "$python" -m venv $venv || fail "could not make $venv (see above)"
    fi
    fail "$python cannot make a virtual environment; please install $package (sudo apt-get install $package)"
}

# ---- packages --------------------------------------------------------------------------------------------

pip() {
    $venv/bin/python -m pip -qq "$@"
}

# The strict editable install is a tree of links, one for each of these files.
package_files() {
    find plugin components editor assets config -name __pycache__ -prune -o ! -name '.*' ! -type d -print 2>/dev/null \
        | LC_ALL=C sort
}

# Kept in .venv, so that installing mjrig again needs no network.
build_requirements() {
    $venv/bin/python -c '
import tomllib
with open("pyproject.toml", "rb") as file:
    print(*(word.replace(" ", "") for word in tomllib.load(file)["build-system"]["requires"]))'
}

install_everything() {
    say "installing packages (a few minutes the first time)"
    touch $unfinished
    rm -rf build    # links of another version
    status=0
    # shellcheck disable=SC2046  # a list of words
    { pip install $(build_requirements) && pip install --no-build-isolation -e '.[all,dev]'; } || status=$?
    [ $status -gt 128 ] || rm -f $unfinished    # pip cleans up after an error, not after being killed
    [ $status = 0 ] || fail "pip could not install the packages (see above)"
}

install_links() {
    say "files were added or removed, installing mjrig again"
    pip install --no-build-isolation --no-deps -e . || fail "pip could not install mjrig (see above)"
}

links_exist() {
    $venv/bin/python -c 'from importlib.util import find_spec; raise SystemExit(find_spec("mjrig") is None)'
}

# ----------------------------------------------------------------------------------------------------------

# One set-up at a time, where flock exists.
exec 9<pyproject.toml
if command -v flock >/dev/null; then
    flock -n 9 || { say "waiting for another set-up"; flock 9; }
fi

add_system_packages
venv_works || make_venv
[ -z "${apt_failed:-}" ] || echo "$apt_failed" >$venv/apt-failed

packages=$(cat pyproject.toml setup.cfg setup.py | cksum)
files=$(package_files | cksum)
installed_packages='' installed_files=''
if [ -e $stamp ]; then { read -r installed_packages; read -r installed_files; } <$stamp || true; fi

if [ "$packages" != "$installed_packages" ]; then
    rm -f $stamp
    install_everything
elif [ "$files" != "$installed_files" ] || ! links_exist; then
    rm -f $stamp
    install_links
else
    exit 0
fi
printf '%s\n' "$packages" "$files" >$stamp
say "done"
