#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# i386.sh - all tests on i386: a Debian of that architecture in a folder, with its own compiler, MPI libraries, Python
# and OpenCL device, at the speed of this machine. As root; mounts are the script's own and end with it.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip "needs root, for chroot and mounts"
need debootstrap util-linux python3 cmake ninja-build gcc pkg-config libcmocka-dev zlib1g-dev

system=$dir/system
packages=(gcc g++ clang libc6-dev cmake ninja-build pkg-config zlib1g-dev libsqlite3-dev libcmocka-dev python3 python3-numpy python3-pytest
    ocl-icd-libopencl1 pocl-opencl-icd openmpi-bin libopenmpi-dev mpich libmpich-dev slurmctld slurmd slurm-client munge
    python3-distributed python3-pandas util-linux ccache)

# inside COMMAND...: in that Debian; the source is /source there, and cannot be written.
inside() {
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --pid --fork --kill-child bash -euc '
        system=$1 source=$2 build=$3 && shift 3
        mount -t proc proc "$system/proc"
        mount -t sysfs sys "$system/sys"
        mount --rbind /dev "$system/dev"
        mount --bind "$source" "$system/source"
        mount -o remount,bind,ro "$system/source"
        mount --bind "$build" "$system/build"
        exec setarch i386 chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"' \
        inside "$system" "$root" "$dir/build" "$@"
}

if [[ ! -e $system/complete ]]; then
    echo "== $name: a Debian"
    rm -rf "$system"
    debootstrap --arch=i386 --variant=minbase --include=ca-certificates bookworm "$system" >"$dir/system.log" 2>&1 ||
        { tail -n 3 "$dir/system.log"; skip "debootstrap got no Debian for i386"; }
    mkdir -p "$system"/{source,build} "$dir/build"
    # Others than this script may look up how the machine is called.
    echo "127.0.0.1 localhost $(hostname)" >"$system/etc/hosts"
    inside DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Sandbox::User=root install -y --no-install-recommends \
        "${packages[@]}" >"$dir/system.log" 2>&1 || { tail -n 3 "$dir/system.log"; skip "its packages could not be installed"; }
    touch "$system/complete"
fi
mkdir -p "$dir/build"

echo "== $name: build"
inside cmake -S /source -B /build -G Ninja -DRBWP_BUILD_TESTS=ON -DRBWP_BUILD_EXAMPLES=ON -DRBWP_BUILD_BENCH=ON \
    >"$dir/build.log" 2>&1 || { cat "$dir/build.log"; exit 1; }
inside cmake --build /build -j "$jobs" >"$dir/build.log" 2>&1 || { grep -v '^\[' "$dir/build.log"; exit 1; }
[[ $(od -An -tx1 -j4 -N1 "$dir/build/tools/rbwp") == ' 01' ]] || { echo "not a 32-bit program"; exit 1; }
longer build 0 # ten times: the machine may have much else to do
suite inside ctest --test-dir /build
