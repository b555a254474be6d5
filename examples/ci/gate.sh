#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gate.sh BASE - fails if the checked-out change is slower than the commit BASE.
#
# Builds both, runs them by turns, and ends as rbwp compare does: 0 good, 4 slower, else something went wrong. What it found is in
# $GATE_OUT: slower.txt, slower.html (a page), slower.xml (JUnit), runs/ (the recordings). docs/ci.md describes it.
#
#   GATE_BUILD      a shell command that builds in a source tree: "make -j2"
#   GATE_RUN        a command that runs what was built, in its tree; words without blanks: "./bench --size 100"
#   GATE_RUNS       runs of each (10)
#   GATE_THRESHOLD  growth that is tolerated, in percent (3)
#   GATE_OPTIONS    more options of rbwp compare: "--what work"
#   GATE_OUT        a folder (rbwp-gate)
set -eu
base=${1:?usage: gate.sh BASE}
: "${GATE_BUILD:?a command that builds}" "${GATE_RUN:?a command to be compared}"
out=${GATE_OUT:-rbwp-gate}
mkdir -p "$out"
out=$(cd "$out" && pwd)

git worktree add --quiet --force --detach "$out/base" "$base"
trap 'git worktree remove --force "$out/base"' EXIT
for tree in "$out/base" "$PWD"; do
    (cd "$tree" && sh -ec "$GATE_BUILD") >&2
done

status=0
# Words of the variables are words of the command.
# shellcheck disable=SC2086
rbwp compare -f -o "$out/runs" -n "${GATE_RUNS:-10}" --threshold "${GATE_THRESHOLD:-3}" --report "$out/slower.html" \
    --junit "$out/slower.xml" ${GATE_OPTIONS-} -- env -C "$out/base" $GATE_RUN -- env -C "$PWD" $GATE_RUN \
    >"$out/slower.txt" || status=$?
cat "$out/slower.txt"
exit "$status"
