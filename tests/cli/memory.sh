# SPDX-License-Identifier: Apache-2.0
# A tool that gets no memory says so and fails, wherever it happens: each place of each command that allocates is
# refused, alone or with all that follow (starve.c). No crash, no leak, no silent success.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# starve NAME ARGUMENT...: "OUT" as an argument is the file that is written.
starve() {
    name=$1
    shift
    "$STARVED" -o OUT "$@" >places 2>complaints </dev/null || fail "$name: $(head -c 3000 complaints)"
    [ "$(sed 's/ .*//' places)" -gt 0 ] || fail "$name: no place found"
    rm -rf OUT part*
}

g=$GOLDEN
cat >flows.json <<'J'
[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},{"ph":"X","name":"a","ts":1.5,"dur":2,"pid":1,"tid":2,"cat":"cuda_runtime","args":{"n":1,"s":"x","l":[1]}},
{"ph":"X","name":"k","ts":3,"dur":4,"pid":0,"tid":7,"cat":"kernel"},{"ph":"s","id":1,"name":"ac2g","cat":"ac2g","ts":1.6,"pid":1,"tid":2},
{"ph":"f","bp":"e","id":1,"name":"ac2g","cat":"ac2g","ts":3,"pid":0,"tid":7},{"ph":"B","name":"b","ts":8,"pid":1,"tid":"t"},{"ph":"E","ts":9,"pid":1,"tid":"t"},
{"ph":"b","cat":"c","id":"0x1","name":"r","ts":1,"pid":1},{"ph":"e","cat":"c","id":"0x1","ts":2,"pid":1},{"ph":"C","ts":1,"pid":1,"args":{"v":1}},
{"ph":"i","name":"i","s":"g","ts":5,"pid":1}]
J
"$RBWP" merge --to legion -o log_% "$g/gpu_work.bin" 2>/dev/null || fail "no Legion log to read"
log=$(ls log_* | head -1)

starve check check "$g/gpu_work.bin" "$g/multi_thread.bin"
starve info info "$g/gpu_work.bin"
starve processes processes "$g/gpu_work.bin"
starve info.json info --json "$g/gpu_work.bin"
starve dump dump "$g/multi_thread.bin"
starve stats stats "$g/multi_thread.bin"
starve stats.json stats --json "$g/gpu_work.bin"
"$MAKE_MODEL" rows.bin rows && "$MAKE_MODEL" gpux.bin gpux || fail "make_model"
starve stats.tables stats --json rows.bin
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$here/kernels_make.py" . || fail "kernels_make.py"
starve stats.kernels stats --by kernel kernels.bin
starve report.kernels report -f -o OUT kernels.bin
starve check.tables check rows.bin
starve info.tables info rows.bin
starve dump.tables dump rows.bin
starve report.tables report -f -o OUT rows.bin
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$here/lanes_make.py" . || fail "lanes_make.py"
starve lanes lanes v1.bin
starve lanes.open lanes open.bin
starve lanes.warpscope lanes -f --to warpscope -o OUT v1.npy
starve lanes.csv lanes -f --to csv -o OUT v1.bin
starve events.iris events -f --to iris --merge -o OUT r0.evt r1.evt
starve events.csv events -f --to csv -o OUT r0.npy
starve dump.launches dump --spans gpux.bin
starve diff diff "$g/multi_thread.bin" "$g/gpu_work.bin"
starve timeline timeline "$g/multi_thread.bin"
starve timeline.json timeline --json "$g/multi_thread.bin"
starve export.json export -f --to folded --json -o OUT "$g/gpu_work.bin"
starve report report -f -o OUT "$g/gpu_work.bin"
starve split split -f -o part.bin --by-thread "$g/multi_thread.bin"
"$PYTHON" - "$here" <<'P' || fail "no live file to read"
import sys
sys.path.insert(0, sys.argv[1])
import live_make as live, rbwp_make as rbwp
open("gone.bin", "wb").write(rbwp.file([], zero_time=live.ZERO, finalised=False))
thread = live.entry(4, live.pack("QQq", 300, 77, 0) + b"thread")
live.write("gone.bin.live", [live.sample(100), live.slot(9, b"named"), thread], [live.chunk(300, 20000, 1, [(0, "cb", 9), (500, "ce", 0)])])
P
starve repair.live repair -f -o OUT gone.bin
starve repair repair -f -o OUT "$g/crash_cut_in_data.bin"
for format in chrome kineto perfetto csv folded ndjson legion npz parquet sqlite firefox speedscope; do
    case $format in
    sqlite) ;; # its library allocates on its own
    parquet) rm -rf OUT ;;
    esac
    starve "export $format" merge -f --to "$format" -o OUT rows.bin flows.json
done
starve chrome export --to ndjson flows.json
"$RBWP" export --to perfetto -o own.pftrace flows.json 2>/dev/null || fail "no Perfetto trace to read"
starve perfetto.read export --to ndjson own.pftrace
starve legion export --to ndjson "$log"
ptx=$here/../ptx/corpus
"$RBWP" ptx instrument -t 0-1 --capacity 4 --map map.json --loc-map locs.json -o probed.ptx "$ptx/fixture_a.ptx"
head -c 128 /dev/zero >buffer.raw
printf '1,1,5,6\n2,2,7,8\n' >probes.csv
echo '{"active_start": {"list": [1]}, "active_end": {"list": [1]}}' >active.json
starve ptx.print ptx print -f -o OUT "$ptx/fixture_b.ptx"
starve ptx.blocks ptx blocks -f -o OUT "$ptx/many.ptx"
starve ptx.instrument ptx instrument -f --active active.json --mode cfg -o OUT "$ptx/fixture_b.ptx"
starve ptx.instrument.single ptx instrument -f --mode single -o OUT "$ptx/fixture_b.ptx"
starve ptx.decode ptx decode -f --map map.json -o OUT buffer.raw
starve ptx.annotate ptx annotate -f --map map.json -o OUT buffer.raw
starve ptx.sanitize ptx sanitize -f --loc-map locs.json -o OUT probes.csv
starve legion.chrome merge -f --to chrome -o OUT "$log" "$g/gpu_work.bin" flows.json

finish
