#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# production.sh [FOLDER [TOPIC...]] - makes the runs of docs/production.md again, and shows each command with what it says.
# TOPIC: hung, rule, control, family, queue; all of them without one. Another is why, of unmodified programs: it wants Debian's
# redis-server, memcached, libleveldb-dev, g++ and python3. libuv wants Debian's nodejs (NODE: which one), and fetches libuv's source.
# postgresql wants Debian's postgresql-15, and root. FOLDER (default: build/production) keeps programs, profiles and reports.
# Wants gcc and CMake; changes nothing outside FOLDER. Some two minutes. No part of ./check.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
work=$(realpath -m "${1:-$top/build/production}")
topics=("${@:2}")
((${#topics[@]})) || topics=(hung rule control family queue)
unset RBWP_FLAGS
mkdir -p "$work"
cd "$work"

quietly() { # LOG COMMAND...
    local log=$1
    shift
    "$@" >"$log" 2>&1 || { tail -n 20 "$log"; echo "production.sh: $log says why"; exit 1; }
}

echo "== RBWP, in $work/rbwp"
quietly rbwp.log cmake -S "$top" -B rbwp -DCMAKE_BUILD_TYPE=Release -DRBWP_WITH_MPI=OFF -DRBWP_BUILD_EXAMPLES=ON
quietly rbwp.log cmake --build rbwp -j "$(nproc)"
PATH=$work/rbwp/tools:$work/rbwp/examples:$PATH
for program in service prefork; do
    gcc -O2 -I"$work/rbwp/include" -o $program "$here/$program.c" -L"$work/rbwp" -lrbwp -Wl,-rpath,"$work/rbwp" -lpthread
done

typed() { # COMMAND...: as it would be typed
    printf '\n$'
    printf ' %s' "${@@Q}" | sed -E "s/'([A-Za-z0-9_.:,=%+/-]+)'/\1/g"
    echo
}
show() { # COMMAND...: and its answer
    typed "$@"
    "$@"
}
server=
trap '[[ ! $server ]] || kill -9 "$server"' EXIT
serve() { # FLAGS...: the service, $server is its process
    typed ./service 60 "$@"
    ./service 60 "$@" &
    server=$!
    sleep 3
}
kill_it() {
    kill -9 "$server"
    wait "$server" || true
    server=
}

run_hung() {
    rm -f service*.bin*
    serve -bgworkprofile 2 -bgworkprofile_logfile service.bin
    show rbwp ctl
    show kill -USR1 "$server" # asks for a compaction
    sleep 4
    show rbwp top --once -d 1s "$server"
    show rbwp stacks "$server"
    show rbwp stats --live --findings service.bin
    show rbwp stats --live --columns count,mean,max,name service.bin
    kill_it
    show rbwp repair service.bin
    show rbwp report -f -o hung.html service.repaired.bin
}

run_rule() {
    rm -f recorder*.bin*
    serve -bgworkprofile 2 -bgworkprofile_logfile recorder.bin -bgworkprofile_keep 64M,30s \
        -bgworkprofile_rule "call:request>30ms" -bgworkprofile_rule_every 5s
    show rbwp ctl "$server" rule
    show rbwp ctl "$server" rule "call:page cleaner>30ms"
    show rbwp ctl "$server" dump --last 500ms -o last.bin
    sleep 4
    show rbwp ctl "$server" rule
    kill_it
    show ls -s1h recorder*
    show rbwp info recorder.bin.dump-1
    show rbwp stats --findings recorder.bin.dump-1
    show rbwp report -f -o rule.html recorder.bin.dump-1
    show rbwp repair recorder.bin
}

run_control() {
    rm -f control*.bin*
    serve -bgworkprofile 1 -bgworkprofile_logfile control.bin
    show rbwp ctl "$server" status
    show rbwp ctl "$server" level 2
    sleep 2
    show rbwp ctl "$server" least "page cleaner" 10us
    sleep 2
    show rbwp ctl "$server" status
    show rbwp ctl "$server" stop
    kill_it
    show rbwp tables --table control control.bin
    show rbwp info control.bin
    show rbwp stats --slot "page cleaner" --columns count,total,p50,max,name control.bin
    show rbwp report -f -o control.html control.bin
}

run_family() {
    rm -f prefork*.bin*
    show ./prefork -bgworkprofile 2 -bgworkprofile_logfile prefork.bin -bgworkprofile_children 1
    show ls -s1 prefork*.bin
    show rbwp processes prefork*.bin
    show rbwp stats prefork*.bin
    show rbwp stats --findings prefork*.bin
    show rbwp report -f -o family.html prefork*.bin
}

run_queue() {
    rm -f pack*.bin* include.tar.gz
    show bgpack -bgwork 3 -bgworkprofile 2 -bgworkprofile_logfile pack.bin /usr/include/linux include.tar.gz
    show rbwp stats pack.bin
    show rbwp stats --findings pack.bin
    show rbwp report -f -o queue.html pack.bin
}

until_ready() { # COMMAND...: a server answers
    for ((tries = 0; tries < 100; tries++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    return 1
}
record() { # FILE PROGRAM...
    typed rbwp record --what threads --stacks 10ms -o "$@"
    rbwp record -f --what threads --stacks 10ms -o "$@" >>recorded.log 2>&1 &
}

run_why() {
    rm -f memcached.pid
    redis-server --port 7391 --save '' --dir . >>recorded.log 2>&1 & # the keys, unrecorded
    until_ready redis-cli -p 7391 ping
    for key in a b c; do
        redis-cli -p 7391 eval "for i = 1, 400000 do redis.call('sadd', KEYS[1], 'm' .. i) end" 1 $key >/dev/null
    done
    redis-cli -p 7391 save
    redis-cli -p 7391 shutdown nosave
    wait
    record redis.bin -- redis-server --port 7391 --save '' --dir .
    until_ready redis-cli -e -p 7391 ping # it loads them
    redis-benchmark -p 7391 -n 20000 -c 2 -q -t get &
    for key in a b c; do
        redis-cli -p 7391 del $key
    done
    wait $!
    redis-cli -p 7391 shutdown nosave
    wait
    show rbwp why redis.bin

    record memcached.bin -- memcached -u root -p 7511 -m 256 -o hashpower=13 -P "$work/memcached.pid"
    until_ready test -s memcached.pid
    python3 "$here/memcached_clients.py" 7511
    kill "$(<memcached.pid)"
    wait
    show rbwp why memcached.bin

    g++ -O2 -g -o leveldb_writers "$here/leveldb_writers.cc" -lleveldb -lpthread
    record leveldb.bin -- ./leveldb_writers leveldb
    wait
    show rbwp why leveldb.bin
}

run_libuv() {
    local source
    source=$("$here/debian_source.sh" libuv1 "$work/libuv" "$here/libuv.patch")
    RBWP_BUILD=$(realpath "${RBWP_BUILD:-rbwp}") "$top/contrib/libuv/build.sh" "$source" "$work/libuv/lib"
    LD_LIBRARY_PATH=$work/libuv/lib RBWP_FLAGS="-bgworkprofile 2 -bgworkprofile_logfile uv.bin -bgworkprofile_stacks 10ms" \
        show "${NODE:-node}" "$here/node_pool.js"
    show rbwp why uv.bin
    show rbwp stats --by stack uv.bin
    eval "show $(rbwp why uv.bin | sed -n '0,/.*: \(rbwp timeline.*\)/s//\1/p')"
    show rbwp report -f -o libuv.html uv.bin
    show "${NODE:-node}" --trace-event-categories node.fs.async,node.threadpoolwork.sync "$here/node_pool.js" # libuv as it is
    show rbwp stats node_trace.1.log
}

run_postgresql() { # a session keeps a row locked for 4 s, another one waits for it
    local bin=/usr/lib/postgresql/15/bin as="runuser -u postgres --" folder=$work/postgresql psql waiting
    rm -rf "$folder" && mkdir "$folder" && chown postgres "$folder"
    cd "$folder"
    $as $bin/initdb -D data -A trust >"$work/recorded.log"
    psql="$bin/psql -q -h $folder -p 7788 -U postgres"
    typed rbwp record --what threads -o 'pg-%p.bin' -- postgres -D data
    $as env RBWP_THREADS="${RBWP_THREADS:-$work/rbwp/librbwp-threads.so}" "$(type -p rbwp)" record --what threads -o 'pg-%p.bin' -- \
        $bin/postgres -D data -k "$folder" -h '' -p 7788 >>"$work/recorded.log" 2>&1 &
    until_ready $psql -c 'select'
    $psql -c 'create table accounts as select id, 0 as sum from generate_series(1, 100) id'
    (echo 'begin; update accounts set sum = 1 where id = 1;' && sleep 4 && echo 'commit') | $psql &
    sleep 0.5
    (for i in {1..20}; do echo 'update accounts set sum = sum + 1 where id = 2;'; done && echo 'update accounts set sum = 2 where id = 1') | $psql &
    sleep 2.5
    typed rbwp processes --json pg-*.bin
    rbwp processes --json pg-*.bin | grep waiting
    typed "$psql" -c 'select pid, pg_blocking_pids(pid), wait_event from pg_stat_activity'
    $psql -c 'select pid, pg_blocking_pids(pid), wait_event from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0'
    waiting=$($psql -Atc 'select pid from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0')
    sleep 3
    $as $bin/pg_ctl -D data -m fast stop >>"$work/recorded.log"
    wait
    show rbwp why "pg-$waiting.bin"
    cd "$work"
}

for topic in "${topics[@]}"; do
    printf '\n== %s\n' "$topic"
    "run_$topic"
done
