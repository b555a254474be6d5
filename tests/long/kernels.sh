#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels.sh [MACHINE:KERNEL[:LIBC]...] - tests/truth/test_calls.py under Debian's kernels, which qemu-system boots: does what is
# said of calls agree with what each kernel counts and traces? MACHINE is amd64 or arm64, KERNEL the beginning of a version (its
# newest one is taken), LIBC a release of Debian that the C library comes from (without it, bookworm).
#
# Each boots with an initramfs of Debian's packages (busybox, Python, pytest), what is built here, and the module. The emulator
# plays the processor, too: a kernel takes minutes, and durations may be thirty times as long, or a hundred times. Logs are in
# $RBWP_PORTABILITY_DIR/kernels. Status: 0 all passed or skipped for a reason that is shown, 1 some failed or did not boot,
# 77 with a reason: not to be had here.
. "$(dirname "$0")/../portability/lib.sh"
((${#words[@]})) || words=(amd64:{5.10,6.1,6.12,6.18,6.19,7.0,7} amd64:7:sid arm64:{6.1,7})
top=$dir sources=$dir/sources.list
for release in bullseye bookworm trixie trixie-backports sid; do
    echo "deb http://deb.debian.org/debian $release main"
done >"$sources"
declare -A triple=([amd64]=x86_64-linux-gnu [arm64]=aarch64-linux-gnu) slower=([amd64]=30 [arm64]=100) ready=() emulator=(
    [amd64]="qemu-system-x86_64 -machine q35 -cpu max"
    [arm64]="qemu-system-aarch64 -machine virt -cpu cortex-a72")

# apt_for TOOL MACHINE WORD...: with lists of our own.
apt_for() {
    local tool=$1 apt=$top/$2/all
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    (cd "$apt" && "$tool" -qq -o "APT::Architecture=$2" -o "APT::Architectures=$2" -o "Dir::Etc::SourceList=$sources" \
        -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root \
        -o APT::Cache-Limit=200000000 "${@:3}" 2>>"$apt/log")
}

# package MACHINE NAME [OPTION...]: downloads it; its file.
package() {
    apt_for apt-get "$1" download "${@:3}" "$2" >/dev/null
    printf '%s\n' "$top/$1/all/$2"_*.deb | sort -V | tail -n 1
}

# image_of MACHINE PACKAGE FILE: the kernel that is in that package.
image_of() {
    [[ -s $3 ]] || dpkg --fsys-tarfile "$(package "$1" "$2")" | tar -xO --wildcards '*/vmlinuz*' >"$3" 2>>"$top/$1/all/log"
}

# kernel MACHINE VERSION: its image; of packages since 6.19 it is in linux-binary.
kernel() {
    local name file
    name=$(apt_for apt-cache "$1" search --names-only "^linux-image-${2//./\\.}[.+-].*-cloud-$1\$" | cut -d' ' -f1 | sort -V | tail -n 1)
    [[ $name ]] || return 1
    file=$top/$1/${name#linux-image-}
    image_of "$1" "$name" "$file" || image_of "$1" "${name/image/binary}" "$file" || return 1
    echo "$file"
}

# guest MACHINE: $dir/guest, all that a kernel is given; programs are where they were built.
guest() {
    local machine=$1 libraries=$dir/sysroot/usr/lib/${triple[$1]} loader
    local -a there=()
    unpack "$machine" libc6 libgcc-s1 libcrypt1 zlib1g zlib1g-dev libexpat1 libffi8 python3.11-minimal libpython3.11-minimal \
        libpython3.11-stdlib python3-pytest python3-pluggy python3-iniconfig python3-packaging python3-attr python3-more-itertools \
        busybox-static
    [[ $machine == "$(dpkg --print-architecture)" ]] || there=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=${triple[$machine]%%-*}"
        "-DCMAKE_C_COMPILER=${triple[$machine]}-gcc" "-DCMAKE_LIBRARY_ARCHITECTURE=${triple[$machine]}"
        "-DZLIB_INCLUDE_DIR=$dir/sysroot/usr/include" "-DZLIB_LIBRARY=$libraries/libz.so"
        "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,$dir/sysroot/lib/${triple[$machine]}")
    cmake -S "$root" -B "$build" -G Ninja -DPython3_EXECUTABLE=/usr/bin/python3 -DRBWP_BUILD_TESTS=ON \
        -DRBWP_WITH_MPI=OFF -DRBWP_WITH_LIBDW=OFF -DRBWP_WITH_SQLITE=OFF "${there[@]}" >"$dir/build.log" 2>&1 &&
        cmake --build "$build" -j "$jobs" --target rbwp-command rbwp-threads \
            rbwp-truth-{calls,idle,reads,kept-word} >"$dir/build.log" 2>&1 ||
        { cat "$dir/build.log" && exit 1; }

    rm -rf "$dir/guest"
    mkdir -p "$dir"/guest/{bin,usr/bin,dev,proc,sys,tmp,lib64}
    cp -rL "$dir"/sysroot/usr/lib "$dir/guest/usr" 2>/dev/null || true # a link or two lead nowhere
    cp -rL "$dir/sysroot/lib/." "$dir/guest/usr/lib"
    cp -L "$dir"/sysroot/lib64/* "$dir/guest/lib64" 2>/dev/null || true
    ln -s usr/lib "$dir/guest/lib"
    for loader in "$dir"/guest/{lib64,lib}/ld-linux-*; do # that of the C library which is laid over it, too
        [[ ! -e $loader ]] || ln -sf "/usr/lib/${triple[$machine]}/${loader##*/}" "$loader"
    done
    rm -rf "$dir"/guest/usr/lib/{modules,*/gconv,*/*.a,python3*/test}
    cp "$dir/sysroot/bin/busybox" "$dir/guest/bin"
    cp "$dir/sysroot/usr/bin/python3.11" "$dir/guest/usr/bin/python3"
    (cd / && find "${build#/}" -path '*/CMakeFiles' -prune -o \( -path '*/tests/truth/*' -o -name '*.so*' -o -path '*/tools/rbwp' \) \
        ! -type d -print && echo "${root#/}"/tests/{cli/{pytest.ini,conftest.py},truth/test_calls.py} | tr ' ' '\n') |
        (cd / && cpio -pdm --quiet "$dir/guest")
    start_script >"$dir/guest/init"
    chmod +x "$dir/guest/init"
}

# start_script: what the kernel starts. ctest knows the tests' environment.
start_script() {
    cat <<-'END'
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	export PATH=/usr/bin:/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1
	mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev; mkdir /dev/shm; mount -t tmpfs none /dev/shm
	mount -t tmpfs none /tmp; mount -t tracefs none /sys/kernel/tracing; ip link set lo up
	END
    ctest --test-dir "$build" -R '^truth_calls$' --show-only=json-v1 | python3 -c '
import json, shlex, sys
for test in json.load(sys.stdin)["tests"]:
    for wanted in (each for each in test["properties"] if each["name"] == "ENVIRONMENT"):
        print("export", *map(shlex.quote, wanted["value"]))
print("export PYTHONPATH=$PYTHONPATH:/usr/lib/python3/dist-packages")'
    cat <<-END
	export RBWP_TIMES_AS_LONG=${slower[$machine]}
	python3 -m pytest -c "$root/tests/cli/pytest.ini" -rA -s --color=no "$root/tests/truth/test_calls.py"
	echo "STATUS \$?"
	poweroff -f
	END
}

# boot MACHINE KERNEL LIBC
boot() {
    local image log=$top/$1-$2${3:+-$3}.log libc=$dir/libc-$3
    image=$(kernel "$1" "$2") || { echo "$1 $2: no such kernel"; return 1; }
    (cd "$dir/guest" && find . | cpio -o -H newc --quiet) >"$dir/initramfs"
    if [[ $3 ]]; then # a second archive is laid over the first
        mkdir -p "$libc"
        dpkg -x "$(package "$1" libc6 -t "$3")" "$libc"
        (cd "$libc" && find usr/lib -type f -name '*.so*' ! -path '*/gconv/*' | cpio -o -H newc --quiet) >>"$dir/initramfs"
    fi
    # shellcheck disable=SC2086 # words are meant
    timeout "${RBWP_KERNEL_LIMIT_S:-5000}" ${emulator[$1]} -accel tcg -m 768 -smp 2 -net none -nographic -no-reboot -kernel "$image" -initrd "$dir/initramfs" \
        -append "console=ttyS0 console=ttyAMA0 panic=-1 quiet" </dev/null >"$log" 2>&1 || true
    tr -d '\r' <"$log" | grep -E '^(FAILED|ERROR|SKIPPED|STATUS|F?switched out|[0-9]+ (passed|failed|skipped))' | sed "s/^/$1 ${image##*/}${3:+, libc of $3}: /"
    [[ $(tr -d '\r' <"$log" | grep -cE '^STATUS (0|77)$') == 1 ]]
}

need qemu-system-x86 qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross cpio cmake ninja-build python3 zlib1g-dev
status=0
for word in "${words[@]}"; do
    IFS=: read -r machine version libc <<<"$word"
    dir=$top/$machine build=$root/build/kernels-$machine
    if [[ ! ${ready[$machine]:-} ]]; then
        mkdir -p "$dir"
        apt_for apt-get "$machine" update >/dev/null || true # of what is known already
        guest "$machine"
        ready[$machine]=1
    fi
    boot "$machine" "$version" "$libc" || status=1
done
exit "$status"
