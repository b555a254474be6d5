#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_decode.sh [BUILD_DIR] - records the decoding loop of a language model (decode.py), which launches too little work for the GPU, and
# shows what rbwp says of it: it is launch-bound, the GPU first, no idle thread among what ran long, no call that hung. What it wants is in
# h200_lib.sh, and PyTorch and transformers.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)"
}
build_step || finish

export build python program=tests/gpu/decode.py rbwp=$build/tools/rbwp file=$build/decode.bin
decode() {
    for _ in 1 2 3; do
        echo "plain:    $("$python" "$program")" || return 1
        echo "recorded: $("$rbwp" record -f -o "$file" --report "$build/decode.html" -- "$python" "$program" 2>"$build/summary")" || return 1
    done
    echo "== the summary of rbwp record" && cat "$build/summary"
    echo "== rbwp why" && "$rbwp" why "$file"
    echo "== rbwp stats --findings" && "$rbwp" stats --findings "$file" | cut -c1-150
    echo "== rbwp stats" && "$rbwp" stats "$file" | head -n 9 | cut -c1-150
    echo "== rbwp stats --by thread" && "$rbwp" stats --by thread "$file" | head -n 9 | cut -c1-150
}
export -f decode
shown_step "decode" 400 bash -c decode
check() {
    "$rbwp" stats --json "$file" >"$build/stats.json" && "$rbwp" stats --json --findings "$file" >"$build/findings.json" &&
        "$rbwp" why --json "$file" >"$build/why.json" &&
        "$python" - "$build" <<'PYTHON'
import json
import sys
stats = json.load(open(f"{sys.argv[1]}/stats.json"))
main = max(stats["threads"], key=lambda thread: thread["busy"])
assert main["not_known"] < 0.02 * main["busy"], main
others = [thread for thread in stats["threads"] if thread is not main]
assert all(thread["busy"] < 0.05 * stats["extent"] for thread in others), max(thread["busy"] for thread in others)
findings = json.load(open(f"{sys.argv[1]}/findings.json"))["findings"]
assert not any(finding["what"] in ("hung", "lost") for finding in findings), findings
why = json.load(open(f"{sys.argv[1]}/why.json"))
assert why["causes"][0]["cause"] == "launch" and any(gpu["launch_bound"] for gpu in why["gpus"]), why
summary = open(f"{sys.argv[1]}/summary").read()
assert summary.index("GPU 0: busy") < summary.index("busiest threads"), summary
PYTHON
}
export -f check
step "what it says" 60 bash -c check
finish
