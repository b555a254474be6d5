# SPDX-License-Identifier: Apache-2.0
#
# Slurm on this host, for a script that sources this: slurmctld, slurmd and munged of its own, with their
# files below a folder of the caller's, ports that are free, and nobody's configuration. As root, or as
# whoever runs it; tasks need no cgroups and no CPU of their own.

slurm_daemons=()

# slurm_missing: names the first program that is not here. False if all are.
slurm_missing() {
    local program
    for program in munged slurmctld slurmd srun sinfo squeue; do
        PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "$program"; return 0; }
    done
    return 1
}

# slurm_start FOLDER: exports SLURM_CONF. False, with the daemons' last words, if they do not come up.
slurm_start() {
    slurm_folder=$1
    mkdir -p "$slurm_folder"/{state,spool}
    local socket=$slurm_folder/munge.socket host port
    host=$(hostname -s)
    port=$("${PYTHON:-python3}" -c 'import socket
ports = [socket.socket() for _ in range(2)]
for port in ports: port.bind(("127.0.0.1", 0))
print(*(port.getsockname()[1] for port in ports))') || return 1
    (umask 077 && head -c 1024 /dev/urandom >"$slurm_folder/munge.key")
    cat >"$slurm_folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${port% *}
SlurmdPort=${port#* }
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$socket
CredType=cred/munge
StateSaveLocation=$slurm_folder/state
SlurmdSpoolDir=$slurm_folder/spool
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmdPidFile=$slurm_folder/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/linear
SchedulerType=sched/builtin
ReturnToService=2
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES
END
    # Nothing here wants cgroups, but slurmd does not start without a plugin for them, and the one for version 2
    # not without their file system, which a container may lack.
    echo CgroupPlugin=cgroup/v1 >"$slurm_folder/cgroup.conf"
    export SLURM_CONF=$slurm_folder/slurm.conf
    # --force: a folder that everybody may write into, such as /tmp, is above the socket.
    slurm_daemon munged --foreground --force --key-file="$slurm_folder/munge.key" --socket="$socket" \
        --pid-file="$slurm_folder/munged.pid" --log-file="$slurm_folder/munged.log" \
        --seed-file="$slurm_folder/munge.seed"
    slurm_await test -S "$socket" || return 1
    slurm_daemon slurmctld -D
    slurm_daemon slurmd -D
    slurm_await slurm_is_idle
}

slurm_daemon() {
    PATH=$PATH:/usr/sbin "$@" >"$slurm_folder/$1.out" 2>&1 &
    slurm_daemons+=($!)
}

slurm_is_idle() {
    [[ $(sinfo -h -o %T 2>/dev/null) == idle ]]
}

slurm_has_no_jobs() {
    [[ -z $(squeue -h 2>&1) ]]
}

# slurm_await COMMAND...: until it succeeds, as long as the daemons live, for half a minute at most.
slurm_await() {
    local deadline=$((SECONDS + 30))
    until "$@"; do
        if ((SECONDS > deadline)) || ! kill -0 "${slurm_daemons[@]}" 2>/dev/null; then
            tail -n 5 "$slurm_folder"/*.out >&2
            return 1
        fi
        sleep 0.05
    done
}

# When the last step was reported as ended, or what serves it would ask for slurmctld for minutes. Killed, because slurmctld
# would save its state for two seconds, and nobody wants it.
slurm_stop() {
    ((${#slurm_daemons[@]})) || return 0
    slurm_await slurm_has_no_jobs
    kill -KILL "${slurm_daemons[@]}" 2>/dev/null
    wait "${slurm_daemons[@]}" 2>/dev/null
    slurm_daemons=()
}
