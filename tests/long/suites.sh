#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# suites.sh BUILD [--stacks LIMIT] [redis] [postgresql] [-- UNIT...] - their own test suites, plain and recorded
#
# The servers are Debian's, the tests those of their source packages (apt-get source, with the repositories' sources enabled). Each
# suite runs plain, then with each server under `rbwp record --what threads`. Bad is what fails recorded and not plain, and a
# recording that `rbwp check` finds fault with. UNITs are Redis's, such as unit/expire. All is in $RBWP_LONG_DIR (default
# build/long/suites). Needs redis-server, redis-tools, tcl, procps, postgresql-15, dpkg-dev, gcc, make; for PostgreSQL root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '4,9s/^# *//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
stacks='' suites=() bad=0
units=(unit/{dump,auth,protocol,keyspace,scan,info,sort,expire,other,multi,quit,aofrw,acl,latency-monitor,pubsub,slowlog,scripting}
    unit/{functions,introspection,introspection-2,limits,lazyfree,wait,pause,querybuf,tracking,oom-score-adj,shutdown,networking}
    unit/{client-eviction,replybufsize} unit/type/{string,incr,list,list-2,set,zset,hash,stream,stream-cgroups}
    integration/{block-repl,replication,shutdown,aof,aof-multi-part,rdb,logging,redis-cli,redis-benchmark,dismiss-mem})
while [ $# -gt 0 ]; do
    case $1 in
    --stacks) stacks="--stacks $2" && shift ;;
    --) shift && units=("$@") && break ;;
    *) suites+=("$1") ;;
    esac
    shift
done
((${#suites[@]})) || suites=(redis postgresql)
work=${RBWP_LONG_DIR:-$here/../../build/long/suites}
mkdir -p "$work"
work=$(cd "$work" && pwd)
record="env RBWP_THREADS=$build/librbwp-threads.so $build/tools/rbwp record --what threads $stacks -o"

# unpack BINARY SOURCE FOLDER: the source package that BINARY is of, in $work/FOLDER
unpack() {
    [ ! -d "$work/$3" ] || return 0
    local version
    version=$(dpkg-query -Wf '${source:Version}' "$1")
    (cd "$work" && apt-get source -q --download-only "$2=$version" && mkdir "$3" && tar xf "$2"_*.orig.tar.* --strip-components=1 -C "$3")
}

# Of NAME.plain.failed, NAME.recorded.failed, and the recordings in NAME.files.
judge() {
    local new files
    new=$(comm -13 <(sort -u "$work/$1.plain.failed") <(sort -u "$work/$1.recorded.failed"))
    files=$(find "$work/$1.files" -name '*.bin' | wc -l)
    [ -z "$new" ] || { printf '%s: fails recorded alone: %s\n' "$1" "$new" && bad=1; }
    ((files)) || { echo "$1: nothing is recorded" && bad=1; }
    find "$work/$1.files" -name '*.bin' -print0 | "$build/tools/rbwp" check --files0-from - >"$work/$1.check" 2>&1 ||
        { grep -v ': good' "$work/$1.check" && bad=1; }
    echo "$1: $(wc -l <"$work/$1.plain.failed") failures plain, $(wc -l <"$work/$1.recorded.failed") recorded; $files recordings"
}

# A tree with Debian's programs. The process that tests want is the child of rbwp record, or one that ended at once and has said which.
redis_tree() {
    local tree=$work/redis.$1 program
    rm -rf "$tree"
    mkdir -p "$tree/src"
    cp -r "$work"/redis-source/{tests,runtest,redis.conf,sentinel.conf} "$tree"
    mkdir -p "$tree/tests/tmp"
    for program in redis-server redis-cli redis-benchmark redis-check-aof redis-check-rdb; do
        ln -s "/usr/bin/$program" "$tree/src/$program"
    done
    [ "$1" = recorded ] || return 0
    rm "$tree/src/redis-server"
    printf '#!/bin/sh\nexec %s "%s" -- /usr/bin/redis-server "$@"\n' "$record" "$work/redis.files/%p.bin" >"$tree/src/redis-server"
    chmod +x "$tree/src/redis-server"
    sed -i '/# Tell the test server about this new instance/i\
    for {set tries 0} {$tries < 500} {incr tries} {\
        if {![catch {exec pgrep -P $pid} child]} { set pid [lindex $child 0]; break }\
        if {[catch {exec ps -o stat= -p $pid} state] || [string match Z* $state]} {\
            regexp {.*pid=([0-9]+)} [exec cat $stdout] _ pid; break\
        }\
        after 10\
    }' "$tree/tests/support/server.tcl"
}

run_redis() {
    local kind words=() unit
    for unit in "${units[@]}"; do words+=(--single "$unit"); done
    unpack redis-server redis redis-source
    rm -rf "$work/redis.files" && mkdir "$work/redis.files"
    for kind in plain recorded; do
        redis_tree "$kind"
        (cd "$work/redis.$kind" && ./runtest --clients 2 --dont-clean "${words[@]}") >"$work/redis.$kind.log" 2>&1 || true
        sed -i 's/\x1b\[[0-9;]*m//g' "$work/redis.$kind.log"
        grep -q 'The End' "$work/redis.$kind.log" || { echo "redis, $kind: did not end" && bad=1; }
        sed -n 's/^\[\(err\|exception\|TIMEOUT\)\]: *//p' "$work/redis.$kind.log" >"$work/redis.$kind.failed"
    done
    judge redis
}

# postgresql_server KIND COMMAND...: the suite against a server on a new cluster
postgresql_server() {
    local folder=$work/postgresql.$1 regress=$work/postgresql-source/src/test/regress bin=/usr/lib/postgresql/15/bin log=$work/postgresql.$1.log
    local as="runuser -u postgres --" psql name started
    shift
    rm -rf "$folder" && mkdir -p "$folder/out" && chown -R postgres "$folder"
    $as "$bin/initdb" -D "$folder/data" -A trust --no-sync --no-locale -E SQL_ASCII >"$log"
    printf "fsync=off\nmax_prepared_transactions=2\nlisten_addresses=''\nunix_socket_directories='%s'\n" "$folder" >>"$folder/data/postgresql.conf"
    (cd "$folder" && exec $as "$@" "$bin/postgres" -D "$folder/data") >>"$log" 2>&1 &
    started=$!
    for _ in {1..120}; do "$bin/pg_isready" -q -h "$folder" && break || sleep 0.5; done
    psql="$bin/psql -q -h $folder -U postgres" # as pg_regress makes its database
    $psql -c 'CREATE DATABASE regression TEMPLATE=template0'
    for name in lc_messages=C lc_monetary=C lc_numeric=C lc_time=C bytea_output=hex timezone_abbreviations=Default; do
        $psql -c "ALTER DATABASE regression SET ${name%=*} TO '${name#*=}'"
    done
    (cd "$regress" && $as ./pg_regress --use-existing --host="$folder" --user=postgres --bindir="$bin" --dlpath="$regress" \
        --inputdir="$regress" --outputdir="$folder/out" --max-concurrent-tests=20 --schedule=parallel_schedule) >>"$log" 2>&1 || true
    grep -q 'tests passed\|tests failed' "$log" || { echo "${folder##*/}: did not end" && bad=1; }
    sed -n 's/^\(test\)\? *\([a-z_0-9.]*\) *\.\.\. FAILED.*/\2/p' "$log" >"$folder.failed"
    kill -INT "$(head -1 "$folder/data/postmaster.pid")"
    wait "$started" || true
}

run_postgresql() {
    unpack postgresql-15 postgresql-15 postgresql-source
    (cd "$work/postgresql-source" && { [ -f src/Makefile.global ] || ./configure --without-readline --without-zlib; } &&
        make -j2 -C src/backend generated-headers && make -j2 -C src/test/regress all) >"$work/postgresql.make" 2>&1
    rm -rf "$work/postgresql.files" && mkdir "$work/postgresql.files" && chown postgres "$work/postgresql.files"
    postgresql_server plain env
    # shellcheck disable=SC2086 # words
    postgresql_server recorded $record "$work/postgresql.files/%p.bin" --
    judge postgresql
}

for suite in "${suites[@]}"; do "run_$suite"; done
exit $bad
