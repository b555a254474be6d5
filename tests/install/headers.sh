#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# headers.sh COMPILER INCLUDE - each installed header compiles alone, without a
# warning, as C11 and as C++, with recording on and compiled out. Those for the host declare nothing
# behind a statement, which extensions of PostgreSQL are warned of.
set -euo pipefail
compiler=$1 include=$2
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; exit 77; }

for header in "$include"/rbwp_*.h; do
    for language in 'c -std=c11' 'c -std=gnu17' 'c++ -std=c++11' 'c++ -std=c++17'; do
        for define in RBWP_NOTHING RBWP_DISABLE; do
            [[ $define == RBWP_NOTHING || $language == *1 ]] || continue # the oldest of each language has least
            [[ $compiler == gcc || $language == *1 ]] || continue        # what gcc's newer ones took
            early=
            [[ $language == c++* || $header == */rbwp_@(device|warpscope).h ]] || early=-Wdeclaration-after-statement
            # shellcheck disable=SC2086 # language is several words
            "$compiler" -x $language -D$define $early -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -fsyntax-only \
                -I "$include" - <<<"#include <${header##*/}>" ||
                { echo "$header: $language -D$define"; exit 1; }
        done
    done
done

# Who reads rbwp_record.h finds all calls before what they are made of.
awk '/^\/\* ---- internals/ { internals = 1 } /^(RBWP_API|static inline).* rbwp_[a-z_]*[a-z]\(/ { match($0, /rbwp_[a-z_]*[a-z]\(/); name = substr($0, RSTART, RLENGTH)
         if (internals && !(name in seen)) { print "rbwp_record.h: " name ") is first mentioned among internals"; bad = 1 } seen[name] }
     END { exit bad }' "$include/rbwp_record.h"
