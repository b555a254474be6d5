# SPDX-License-Identifier: Apache-2.0
# A script's own Python that fails shows the line, and what an assertion compared, which need not say it.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - one two <<'P' 2>"$work/err" && fail "a failed assertion passes"
import sys
given = sys.argv[1:]
assert given == ["one"]
P
expect_error "line 3, in <module>"
expect_error 'assert given == ["one"]'
expect_error "given = ['one', 'two']"

"$PYTHON" - <<'P' 2>"$work/err" && fail "a failed assertion with a text passes"
for number in range(3):
    assert number < 2, f"number {number}"
P
expect_error "AssertionError: number 2"

"$PYTHON" - <<'P' 2>"$work/err" && fail "an error passes"
def half(number):
    return number / 0

half(3)
P
expect_error "return number / 0"

"$PYTHON" - <<'P' || fail "what holds does not pass"
assert 1 < 2
P
finish
