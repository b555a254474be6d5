#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# warnings.sh - everything compiles with gcc 12 and clang 14 without a warning: -Wall -Wextra
# -Wconversion and the others of cmake/RbwpTarget.cmake; as C and, the installed headers, as C++.
. "$(dirname "$0")/lib.sh"
RBWP_WERROR=ON
need gcc-12 g++-12 clang-14 cmake ninja-build pkg-config zlib1g-dev libcmocka-dev python3

for compiler in gcc-12 clang-14; do
    build "$compiler" -DCMAKE_C_COMPILER="$compiler" -DRBWP_BUILD_EXAMPLES=ON -DRBWP_BUILD_BENCH=ON
done
includes=("$root"/format/include "$root"/{runtime,gpu}/*/include)
for header in "$root"/format/include/rbwp_*.h "$root"/{runtime,gpu}/*/include/rbwp_*.h; do
    for compiler in "g++-12 -std=c++11" "clang-14 -x c++ -std=c++11" "gcc-12 -std=c11"; do
        language=
        [[ $compiler != g++* ]] || language='-x c++'
        # shellcheck disable=SC2086 # words are meant
        echo "#include \"$(basename "$header")\"" | ${compiler%% *} ${compiler#* } $language \
            $([[ $compiler != gcc* ]] || echo -x c) -Wall -Wextra -Wconversion -Wpedantic -Werror \
            "${includes[@]/#/-I}" -fsyntax-only -
    done
done
echo "$name: no warning from gcc-12 and clang-14"
