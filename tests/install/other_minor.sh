#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# other_minor.sh COMPILER PREFIX SOURCE WORK - guards: a program built with the headers of another
# minor version, whose inlined calls write a struct of another layout, is refused: by the linker, by
# the loader, also if somebody gives it this library under the name that it wants, and by
# find_package. Never run and corrupted.
set -euo pipefail
compiler=$1 prefix=$2 source=$3 work=$4
lib=$prefix/$LIBDIR
rm -rf "$work" && mkdir -p "$work/other" && cd "$work"
fail() { echo "$1"; shift; [[ $# == 0 ]] || cat "$@"; exit 1; }

cp -r "$prefix/include" other/include
minor=$(sed -n 's/^#define RBWP_VERSION_MINOR //p' other/include/rbwp_format.h)
sed -i "s/^#define RBWP_VERSION_MINOR .*/#define RBWP_VERSION_MINOR $((minor + 1))/" other/include/rbwp_format.h
"$compiler" -std=c11 -I other/include -c "$source/tests/consumer/consumer.c" -o other.o

# The linker, for both kinds of library, names what has the version.
for library in librbwp.a librbwp.so; do
    "$compiler" other.o "$lib/$library" -lz -pthread -o never 2>link.txt && fail "links with $library of another minor version"
    grep -q "undefined.*rbwp_self_0_$((minor + 1))" link.txt || fail "$library: the linker's words do not name the version:" link.txt
done

# A library of the other version: the same names, nothing behind them.
nm -D --defined-only "$lib/librbwp.so" | sed -n 's/.* \([TDBR]\) \(rbwp_[a-z0-9_]*\)@.*/\1 \2/p' >names.txt
{
    while read -r kind name; do
        name=${name/%_0_$minor/_0_$((minor + 1))}
        case $name in
        rbwp_self_*) echo "_Thread_local char $name[64];" ;;
        *) if [[ $kind == T ]]; then echo "void $name(void) {}"; else echo "int $name;"; fi ;;
        esac
    done
} <names.txt >stub.c
echo "RBWP_0.$((minor + 1)) { *; };" >stub.map
"$compiler" -w -shared -fPIC -fno-builtin -Wl,--version-script=stub.map -Wl,-soname,librbwp.so.0.$((minor + 1)) \
    stub.c -o other/librbwp.so
"$compiler" other.o other/librbwp.so -pthread -o program

# The loader: this version has another SONAME; under the other's name it lacks the symbols' version, or,
# for musl's, which looks at none, the symbols that have the version in their names.
run() { LD_LIBRARY_PATH=$1 ./program "$work/never.bin" >run.txt 2>&1; }
run "$lib" && fail "runs with a library of another minor version" run.txt
grep -qE "librbwp.so.0.$((minor + 1)): (cannot open|No such file)" run.txt || fail "the loader's words:" run.txt
mkdir renamed && cp "$lib/librbwp.so" "renamed/librbwp.so.0.$((minor + 1))"
run "$work/renamed" && fail "runs with a renamed library" run.txt
grep -qE "RBWP_0.$((minor + 1))' not found|rbwp_self_0_$((minor + 1)): symbol not found" run.txt || fail "the loader's words on a renamed library:" run.txt
[[ ! -e never.bin ]] || fail "the program ran"

# find_package: this minor version and no other.
for asked in 0.$minor 0.$((minor + 1)) 0.$((minor - 1)); do
    cat >find.cmake <<END
set(PACKAGE_FIND_VERSION $asked.0)
set(PACKAGE_FIND_VERSION_MAJOR 0)
set(PACKAGE_FIND_VERSION_MINOR ${asked#0.})
set(CMAKE_SIZEOF_VOID_P 8)
include($lib/cmake/rbwp/rbwp-config-version.cmake)
message("\${PACKAGE_VERSION_COMPATIBLE}")
END
    answer=$(cmake -P find.cmake 2>&1)
    [[ $asked == 0.$minor ]] && want=TRUE || want=FALSE
    [[ $answer == "$want" ]] || fail "find_package(rbwp $asked) with 0.$minor installed: '$answer'"
done
