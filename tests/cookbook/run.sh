#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [FOLDER [TOPIC...]] - builds Redis, libuv and LevelDB from Debian's sources with the patches that stand beside this
# script, runs them and a prefork server with a profile, and shows what docs/cookbook tells of. TOPIC: redis, libuv, leveldb,
# prefork; all of them without one. FOLDER (default: build/cookbook) keeps the sources, profiles and reports. Wants Debian 12, gcc, g++,
# CMake, patch and dpkg-dev; changes nothing outside FOLDER. Some minutes. No part of ./check.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
work=$(realpath -m "${1:-$top/build/cookbook}")
topics=("${@:2}")
((${#topics[@]})) || topics=(redis libuv leveldb prefork)
mkdir -p "$work"
cd "$work"

say() { printf '\n== %s\n' "$*"; }
quietly() { # LOG COMMAND...
    local log=$1
    shift
    "$@" >"$log" 2>&1 || { tail -n 20 "$log"; echo "run.sh: $log says why"; exit 1; }
}

say "RBWP, in $work/rbwp"
quietly rbwp.log cmake -S "$top" -B rbwp -DCMAKE_BUILD_TYPE=Release -DRBWP_WITH_MPI=OFF
quietly rbwp.log cmake --build rbwp -j "$(nproc)"
rbwp=$work/rbwp/tools/rbwp
cflags="-O2 -I$work/rbwp/include"
libs="-L$work/rbwp -lrbwp -Wl,-rpath,$work/rbwp"

# source_of PACKAGE: Debian's source in $source, with the topic's patch.
source_of() {
    source=$("$here/debian_source.sh" "$1" "$work" "$here/$topic.patch")
    echo "$(basename "$source") with $(grep -c '^+[^+]\|^+$' "$here/$topic.patch") lines of ours"
}

# A profile's flags; the file is TOPIC.bin unless said.
flags() { export RBWP_FLAGS="-bgworkprofile 2 -bgworkprofile_logfile $work/${1:-$topic}.bin"; }
look() { # FILE...
    "$rbwp" check "$@"
    "$rbwp" stats --findings "$@"
    "$rbwp" stats "$@"
    "$rbwp" report --force -o "$topic.html" "$@"
    echo "report    $work/$topic.html"
}

run_redis() {
    source_of redis
    quietly redis.log make -C "$source/src" MALLOC=libc OPTIMIZATION=-O2 REDIS_CFLAGS="-I$work/rbwp/include" \
        RBWP_LIBS="$libs" redis-server redis-cli redis-benchmark -j "$(nproc)"
    local data=$work/redis-data socket=$work/redis-data/redis.sock
    rm -rf "$data" && mkdir "$data"
    flags
    "$source/src/redis-server" --port 0 --dir "$data" --unixsocket redis.sock --appendonly yes --auto-aof-rewrite-percentage 0 --save "" --loglevel warning >redis-server.log 2>&1 &
    local server=$! cli=("$source/src/redis-cli" -s "$socket") key keys=()
    until "${cli[@]}" ping >/dev/null 2>&1; do
        kill -0 "$server" || { cat redis-server.log; exit 1; }
        sleep 0.1
    done
    for key in one two three four five six; do
        keys+=("$key")
        "${cli[@]}" eval 'for i = 1, 300000 do redis.call("sadd", KEYS[1], "member " .. i) end' 1 "$key" >/dev/null
    done
    "$source/src/redis-benchmark" -s "$socket" -t set,get -n 150000 -c 20 -q >redis-benchmark.log &
    local load=$!
    sleep 1
    "${cli[@]}" unlink "${keys[@]}"
    "${cli[@]}" flushall async
    "${cli[@]}" bgrewriteaof
    wait "$load"
    sleep 1
    "${cli[@]}" shutdown nosave || true
    wait "$server"
    look redis.bin
}

run_libuv() {
    source_of libuv1
    quietly libuv.log cmake -S "$source" -B libuv -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCMAKE_C_FLAGS="$cflags"
    quietly libuv.log cmake --build libuv -j "$(nproc)" --target uv_a
    # shellcheck disable=SC2086 # several words
    gcc $cflags -I"$source/include" -o libuv-program "$here/libuv.c" libuv/libuv_a.a $libs -lpthread -ldl
    flags libuv-4
    ./libuv-program
    flags libuv-12
    UV_THREADPOOL_SIZE=12 ./libuv-program
    look libuv-4.bin
    say "twelve threads instead of four"
    "$rbwp" stats libuv-12.bin
}

run_leveldb() {
    source_of leveldb
    quietly leveldb.log cmake -S "$source" -B leveldb -DCMAKE_BUILD_TYPE=Release -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF \
        -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_FLAGS="$cflags"
    quietly leveldb.log cmake --build leveldb -j "$(nproc)" --target leveldb
    # shellcheck disable=SC2086 # several words
    gcc $cflags -I"$source/include" -c -o leveldb-program.o "$here/leveldb.c"
    local snappy=()
    grep -q 'HAVE_SNAPPY:INTERNAL=1' leveldb/CMakeCache.txt && snappy=(-lsnappy)
    # shellcheck disable=SC2086
    g++ -o leveldb-program leveldb-program.o leveldb/libleveldb.a $libs "${snappy[@]}" -lpthread
    rm -rf leveldb-data
    flags
    ./leveldb-program leveldb-data
    look leveldb.bin
    "$rbwp" stats --by arg:level leveldb.bin
}

run_prefork() {
    # shellcheck disable=SC2086 # several words
    gcc $cflags -o prefork-program "$here/prefork.c" $libs -lpthread
    rm -f prefork*.bin
    flags
    ./prefork-program -bgworkprofile_children 1
    "$rbwp" processes prefork*.bin
    look prefork*.bin
}

for topic in "${topics[@]}"; do
    say "$topic"
    "run_$topic"
done
