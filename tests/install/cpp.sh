#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cpp.sh COMPILER SOURCE PREFIX WORK - rbwp.hpp with COMPILER, without a warning, as C++11 and C++17 and with recording compiled out:
# tests/consumer/scopes.cpp records each call and part that it counts, also those that end by an exception or in another scope than
# where they began, and nothing is lost where it kills itself; scopes are compiled to what the calls of C are (same_code.cpp).
set -euo pipefail
compiler=$1 source=$2 prefix=$3 work=$4
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; exit 77; }
rbwp=$prefix/bin/rbwp
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() { echo "cpp: $*"; exit 1; }

compile() { "$compiler" -O2 -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -I "$prefix/include" "$@"; }

# counts FILE: calls and sub-items that began.
counts() {
    "$rbwp" stats --json "$1" | python3 -c 'import json, sys
rows = json.load(sys.stdin)
print(*(sum(row["count"] + row["open"] for row in rows[name]) for name in ("work_items", "sub_items")))'
}

# code FUNCTION: its instructions; called FUNCTION: what of the library these name, and how often.
code() {
    objdump -dr --no-show-raw-insn -j ".text.$1" -j ".text.unlikely.$1" same_code.o 2>/dev/null
}
called() { code "$1" | grep -o 'rbwp_[a-z_]*_\(0_[0-9]*\)\?-0x' | sort | uniq -c; }

compile -std=c++11 -DRBWP_DISABLE -fsyntax-only "$source/tests/consumer/scopes.cpp"
compile -std=c++17 "$source/tests/consumer/scopes.cpp" -o scopes -L "$prefix/$LIBDIR" -lrbwp -pthread
export LD_LIBRARY_PATH=$prefix/$LIBDIR
began=$(./scopes -bgworkprofile 2 -bgworkprofile_logfile all.bin)
[[ $began == "2000 2000" && $(counts all.bin) == "$began" ]] || fail "$began began, $(counts all.bin) recorded"
"$rbwp" stats --json --by arg:half all.bin | grep -qF '"name":"1.5"' || fail "no argument"
"$rbwp" stats all.bin >stats
grep -qE 'number=[0-6]  half=[01](\.5)?  below=-1  text=a text  other=another$' stats || fail "no arguments"
grep -qw one stats || fail "threads have no names"
grep -qE '^ +1,000 .* work$' stats || fail "no queue delays"
began=$(./scopes kill -bgworkprofile 2 -bgworkprofile_logfile killed.bin 2>/dev/null) && fail "it lives"
"$rbwp" repair killed.bin -o whole.bin >/dev/null
[[ -n $began && $(counts whole.bin) == "$began" ]] || fail "killed: $began began, $(counts whole.bin) recorded"
said=$(./scopes -bgworkprofile 7 2>&1) && fail "level 7 is good"
[[ $said == "not recorded: flag -bgworkprofile"* && $(wc -l <<<"$said") == 1 ]] || fail "$said"

compile -std=c++11 -ffunction-sections -c "$source/tests/consumer/same_code.cpp" -o same_code.o
diff <(called by_scopes) <(called by_calls) || fail "scopes call something else than C does"
instructions() { code "$1" | grep -cE '^ +[0-9a-f]+:.[a-z]'; }
scopes=$(instructions by_scopes) calls=$(instructions by_calls)
((calls > 100 && scopes * 100 <= calls * 104)) || fail "$scopes instructions of scopes, $calls of calls"
