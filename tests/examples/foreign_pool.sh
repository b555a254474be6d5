#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# foreign_pool: guards that the recorder works without a manager, in threads that are not ours.
. "$(dirname "$0")/lib.bash"

# 300 jobs, every tenth of them empty: 270 spans, at level 2 with a sub-item each.
expect 0 "$FOREIGN_POOL" -bgworkprofile 1
expect_output '540 records, 30 empty calls'
expect 0 "$FOREIGN_POOL" -bgworkprofile 2 -bgworkprofile_logfile two.bin
expect_output '1080 records, 30 empty calls'
expect 0 "$RBWP" info two.bin
expect_output 'pool thread'
expect_output 'arithmetic one sum'
expect 0 "$dump" --spans two.bin
expect_output 'harmonic sums'
expect_output 'one sum'
expect 0 "$RBWP" export --to ndjson two.bin
[[ $(grep -c '"args":{"terms":2[0-9]*,"parity":"odd"}' out) -eq 150 ]] || fail "the odd jobs' arguments"
rm bgwork_0.bin
expect 0 "$FOREIGN_POOL"
[[ -e bgwork_0.bin ]] && fail "a profile was written without being asked for"
expect 2 "$FOREIGN_POOL" -bgworkprofile nonsense

# A log file that cannot be opened: said in one line, and the work is done all the same.
expect 0 "$FOREIGN_POOL" -bgworkprofile 1 -bgworkprofile_logfile /nonexistent/x.bin
expect_error 'cannot open the profile "/nonexistent/x.bin": No such file or directory'
finish
