#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# slurm: --shard auto under a real srun, with slurmctld, slurmd and munge on this host. Every file is read by
# exactly one task, the tasks' parts together are what one process prints, a task for which no file is left
# does nothing, and a part that is only partly good is seen in srun's own exit status.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${RBWP:?the rbwp command}" "${MAKE_JOB:?the maker of jobs}"
. "$here/slurm.bash"

if missing=$(slurm_missing); then
    echo "skipped: $missing is not here (Debian: slurmctld slurmd slurm-client munge)"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'slurm_stop; rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
mkdir "$work/job"
"$MAKE_JOB" -r 300 "$work/job" 6 || exit 1
slurm_start "$work/slurm" || fail "Slurm does not start"

# task: what one task of srun has; a launcher around this test is not to be heard.
cat >"$work/task" <<'END'
#!/bin/sh
unset RBWP_SHARD OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_RANK PMI_SIZE PALS_RANKID
exec "$RBWP" export --shard auto -o "part$SLURM_PROCID.csv" "$@"
END
chmod +x "$work/task"
export RBWP

# spans FILE...: what they have beside numbers that count in each file, sorted.
spans() {
    "${PYTHON:-python3}" - "$@" <<'P'
import csv, sys
rows = [row for path in sys.argv[1:] for row in csv.DictReader(open(path))]
for row in rows:
    for counted in "id", "parent", "launch_span":
        row.pop(counted, None)
print(*sorted(repr(sorted(row.items())) for row in rows), sep="\n")
P
}

for tasks in 1 4 8; do
    mkdir "$work/$tasks"
    srun -n "$tasks" --overcommit -D "$work/$tasks" "$work/task" "$work/job" >"$work/said" 2>&1 ||
        fail "srun -n $tasks: $(head -5 "$work/said")"
    files=$((tasks < 6 ? tasks : 6))
    [[ $(ls "$work/$tasks" | wc -l) -eq $files ]] || fail "$tasks tasks wrote $(ls "$work/$tasks")"
done
"$RBWP" export -o "$work/whole.csv" "$work/job" 2>/dev/null || fail "one process"
spans "$work/whole.csv" >"$work/whole"
[[ $(wc -l <"$work/whole") -gt 600 ]] || fail "few spans in the whole"
for tasks in 1 4 8; do
    spans "$work/$tasks"/part*.csv | cmp - "$work/whole" || fail "the parts of $tasks tasks are not the whole"
done

# One file is cut: its task reports that, all others are whole.
truncate -s 3000 "$work/job/bgwork_2.bin"
mkdir "$work/cut"
srun -n 3 -D "$work/cut" "$work/task" "$work/job" >"$work/said" 2>&1
code=$?
[[ $code -eq 3 ]] || fail "srun ended with $code: $(head -5 "$work/said")"
grep -q 'bgwork_2.bin: partly read' "$work/said" || fail "nobody told of the cut: $(cat "$work/said")"
[[ $(ls "$work/cut" | wc -l) -eq 3 ]] || fail "parts are missing: $(ls "$work/cut")"
echo "slurm: all passed"
