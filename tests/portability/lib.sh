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
words=("$@")
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
    [[ ! -e $dir/sysroot/complete || $(<"$dir/sysroot/complete") != "$*" ]] || return 0
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
    # Links to /lib mean that of the folder.
    local link
    find "$dir/sysroot" -type l -lname '/*' | while read -r link; do
        ln -sfn "$dir/sysroot$(readlink "$link")" "$link"
    done
    echo "$*" >"$dir/sysroot/complete"
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

# reasons_of: "TEST reason" of what this script need not run: the lines of not_run that name it, or all (*).
reasons_of() {
    awk -v port="$name" '!/^#/ && NF && ($1 == "*" || "," $1 "," ~ "," port ",") {$1 = ""; print substr($0, 2)}' \
        "$(dirname "$0")/not_run"
}

# all_tests: the names of the tests that a build for this machine has.
all_tests() {
    cmake -S "$root" -B "$dir/here" -G Ninja -DRBWP_BUILD_TESTS=ON -DRBWP_BUILD_EXAMPLES=ON >"$dir/here.log" 2>&1 ||
        { cat "$dir/here.log" >&2; return 1; }
    ctest --test-dir "$dir/here" -N | sed -n 's/^ *Test *#[0-9]*: //p'
}

# longer FOLDER FACTOR: its tests may take so many times as long.
longer() {
    find "$dir/$1" -name CTestTestfile.cmake -exec sed -Ei 's/TIMEOUT "([0-9]+)"/TIMEOUT "\1'"$2"'"/' {} +
}

# suite RUN... : every test of the project, by "RUN... ctest OPTION..." (in that build). Each has passed, has failed,
# or is in not_run with its reason; what is missing without one has failed. Words behind a script go to ctest.
suite() {
    local began=$SECONDS left_out
    left_out=$(reasons_of | cut -d' ' -f1 | paste -sd'|')
    "$@" -j "$jobs" --output-on-failure --no-tests=error --no-label-summary -E "^($left_out)$" "${words[@]}" \
        >"$dir/tests" 2>&1 || true
    rm -f "$dir/names" # those of a run of all tests are not asked of one of a few
    ((${#words[@]})) || all_tests >"$dir/names"
    reasons_of >"$dir/reasons"
    python3 -B "$(dirname "$0")/count.py" "$name" "$dir/tests" "$dir/reasons" "$dir/names" $((SECONDS - began))
}
