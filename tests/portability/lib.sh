# SPDX-License-Identifier: Apache-2.0
# What the scripts share. Each builds in $RBWP_PORTABILITY_DIR/NAME (default build/portability),
# ends with status 0 when all is well, 1 when something is not, and 77 with a reason when it
# cannot be run here.
set -euo pipefail
export LC_ALL=C.UTF-8
name=$(basename "$0" .sh)
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${RBWP_PORTABILITY_DIR:-$root/build/portability}/$name
jobs=${RBWP_JOBS:-$(nproc)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

skip() {
    echo "$name: skipped: $*"
    exit 77
}

need() {
    "$root/.ci/install_packages" "$@" || skip "these packages are needed: $*"
}

# unpack ARCHITECTURE PACKAGE...: Debian packages of another architecture, unpacked in
# $dir/sysroot. The system's own package lists and architectures stay as they are.
unpack() {
    local architecture=$1 apt=$dir/apt
    shift
    [[ ! -e $dir/sysroot/complete ]] || return 0
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$dir/sysroot"
    local options=(-qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
        -o Acquire::Retries=3)
    # An update that fails in part is no failure as long as the packages are known.
    (cd "$apt" && { apt-get "${options[@]}" update || true; } &&
        apt-get "${options[@]}" download "$@") >"$dir/apt.log" 2>&1 ||
        { tail -n 3 "$dir/apt.log"; skip "no $architecture packages: $*"; }
    local package
    for package in "$apt"/*.deb; do
        dpkg -x "$package" "$dir/sysroot"
    done
    touch "$dir/sysroot/complete"
}

# build FOLDER OPTION...: configures and builds $dir/FOLDER. Warnings about types that have another width
# or sign there are no errors; warnings.sh looks for warnings.
build() {
    local folder=$1
    shift
    echo "== $name: build $folder"
    cmake -S "$root" -B "$dir/$folder" -G Ninja -DRBWP_WERROR="${RBWP_WERROR:-OFF}" -DRBWP_BUILD_TESTS=ON "$@" \
        >"$dir/$folder.log" 2>&1 || { cat "$dir/$folder.log"; exit 1; }
    cmake --build "$dir/$folder" -j "$jobs" >"$dir/$folder.log" 2>&1 ||
        { grep -v '^\[' "$dir/$folder.log"; exit 1; }
}

# run_tests FOLDER OPTION...: ctest there.
run_tests() {
    local folder=$1
    shift
    ctest --test-dir "$dir/$folder" -j "$jobs" --timeout 300 --output-on-failure --no-tests=error \
        --no-label-summary "$@"
}
