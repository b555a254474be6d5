#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bgpack against tar: whatever a tree holds, tar lists and extracts it as it was. Guards names and
# sizes at the limits of the tar format, order and boundaries of gzip members, and what happens to
# entries that cannot be read, disks that are full, archives that exist.
. "$(dirname "$0")/lib.bash"

long=$(printf 'n%.0s' {1..250})
make_tree() {
    mkdir -p tree/empty tree/deep/"$long"/"$long" tree/private
    printf 'x' >tree/one
    : >tree/nothing
    head -c 512 /dev/urandom >tree/block
    head -c 513 /dev/urandom >tree/block+1
    head -c 1048576 /dev/urandom >tree/chunk
    head -c 3000001 /dev/urandom >tree/random
    seq 1 300000 >tree/numbers
    truncate -s 70M tree/sparse
    printf 'end' >>tree/sparse
    printf 'deep' >tree/deep/"$long"/"$long"/"$long"
    printf 'hundred' >tree/"$(printf 'h%.0s' {1..98})" # with ./ in front exactly 100 bytes
    printf 'hundred and one' >tree/"$(printf 'i%.0s' {1..99})"
    printf 'newline' >$'tree/two\nlines'
    printf 'bytes' >$'tree/not\xff\xfeutf8'
    printf 'dash' >tree/-rf
    printf ' blank ' >'tree/ blank '
    ln -s one tree/link
    ln -s /nowhere/at/all tree/dangling
    ln -s "$long/$long" tree/link_long
    ln -s empty tree/link_to_directory
    ln -s . tree/loop
    ln tree/one tree/hard
    mkfifo tree/fifo
    chmod 0600 tree/one
    chmod 4751 tree/numbers
    chmod 1777 tree/empty
    printf 'secret' >tree/private/file
    chmod 0500 tree/private
    touch -d '1999-12-31 23:59:59' tree/block
    touch -d '1969-01-01' tree/nothing
}

# facts DIR: everything about each entry that the archive should keep; directories' times apart.
facts() {
    (cd "$1" && find . \( -type d -printf '%P %y %m\0' \) -o \( -type l -printf '%P %y %l\0' \) -o \
        -printf '%P %y %m %s %Ts\0' | sort -z | tr '\0' '\n')
}

expect_same_tree() {
    facts tree >facts.before
    facts "$1" >facts.after
    cmp -s facts.before facts.after || fail "entries differ: $(diff facts.before facts.after | head -5)"
    # tar makes no fifo that diff could read; it was compared by its facts
    diff -r --no-dereference --exclude=fifo tree "$1" >diff.out 2>&1 || fail "contents: $(head -3 diff.out)"
}

make_tree

# The whole job, profiled.
expect 0 "$BGPACK" -bgworkprofile 2 -bgworkprofile_logfile job_%.bin tree job.tar.gz
"$RBWP" export --to ndjson job_0.bin >job.ndjson || fail "the profile of the job cannot be exported"
grep -q '"step".*walk and headers\|walk and headers.*"step"' job.ndjson || fail "steps of the job are no steps: $(grep -m 1 walk job.ndjson)"
expect_output '^packed .*skipped 0$'
expect_output '^verified .*wrong 0$'
expect_output '^profile .*job_0.bin.*lost 0, calls refused 0$'
[[ -e job.tar.gz.part ]] && fail "a .part is left"
gzip -t job.tar.gz || fail "gzip does not like the archive"
entries=$(find tree -printf '.' | wc -c)
listed=$(tar tzf job.tar.gz --quoting-style=escape | wc -l)
((entries == listed)) || fail "tar lists $listed of $entries entries"
mkdir out.d
tar xzpf job.tar.gz -C out.d 2>tar.err || fail "tar does not extract: $(cat tar.err)"
expect_same_tree out.d

# What the profile says: all stages, their sub-items, nothing lost.
expect 0 "$dump" --spans job_0.bin
for name in 'bgpack read' 'bgpack write' 'bgpack compress 0' 'bgpack verify' 'bgpack file reads' \
    'bgpack archive writes' 'bgpack deflate' 'bgpack inflate' 'file read channel' 'file write channel'; do
    expect_output "$name"
done
expect 0 "$RBWP" info job_0.bin

# The number of workers and the slices change nothing in the archive.
expect 0 "$BGPACK" -q -bgwork 1 -bgslice 20 tree one.tar.gz
[[ -s out ]] && fail "--quiet talks"
expect 0 "$BGPACK" -q -bgwork 5 -ll:bgslice 1000 tree five.tar.gz
cmp one.tar.gz five.tar.gz || fail "archives of 1 and 5 workers differ"
cmp one.tar.gz job.tar.gz || fail "profiling changes the archive"
compgen -G 'bgwork_*' >/dev/null && fail "a profile was written without being asked for"

# An empty directory, the archive inside the directory, a level.
mkdir void
expect 0 "$BGPACK" -l 1 void void/void.tar.gz
[[ $(tar tzf void/void.tar.gz) == ./ ]] || fail "an empty directory is not one entry"

# The order of the entries is that of their names, whatever a file system says.
mkdir order
(cd order && touch $(seq 100 -3 1) $(seq 199 -7 101))
expect 0 "$BGPACK" order order.tar.gz
tar tzf order.tar.gz | sort -c 2>/dev/null || fail "the entries are not sorted"

# Archives that exist, wrong usage.
expect 1 "$BGPACK" tree one.tar.gz
expect_error '--force'
cmp one.tar.gz five.tar.gz || fail "a refused archive was touched"
expect 0 "$BGPACK" -q --force -l 1 tree one.tar.gz
expect 1 "$BGPACK" nosuchtree x.tar.gz
expect_error 'nosuchtree'
expect 1 "$BGPACK" tree nosuchfolder/x.tar.gz
for usage in '' 'tree' 'tree a b' '--nonsense tree a' '-l 0 tree a' '-l 10 tree a' '-bgwork x tree a' \
    '-bgworkprofile 3 tree a'; do
    expect 2 "$BGPACK" $usage
    [[ $(wc -l <err) == 1 ]] || fail "'$usage': not one line: $(cat err)"
done

# A profile that cannot be opened: the job is done all the same.
expect 0 "$BGPACK" -bgworkprofile 1 -bgworkprofile_logfile nosuchfolder/p.bin tree unprofiled.tar.gz
expect_error 'nosuchfolder/p.bin'

# A disk that is full: said, and nothing left behind. (A limit stands for the disk.)
expect 1 bash -c "trap '' XFSZ; ulimit -f 1000; exec '$BGPACK' tree full.tar.gz"
expect_error 'writing the archive'
compgen -G 'full.tar.gz*' >/dev/null && fail "a broken archive was left"

# A file that nobody may read is named and left out; all else is there.
printf 'unreadable' >tree/unreadable
chmod 000 tree/unreadable
rm -r tree/private
as_user=()
if ((EUID == 0)); then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 711 "$work"
    chmod -R u+rwX,go+rX tree
    chmod 000 tree/unreadable
    mkdir -m 777 open
else
    mkdir open
fi
if "${as_user[@]}" "$BGPACK" --version >/dev/null 2>&1; then
    expect 1 "${as_user[@]}" "$BGPACK" tree open/part.tar.gz
    expect_error 'unreadable: Permission denied'
    expect_output 'skipped 1$'
    expect_output 'wrong 0$'
    (($(find tree -printf '.' | wc -c) - 1 == $(tar tzf open/part.tar.gz --quoting-style=escape | wc -l))) ||
        fail "more than the unreadable file is missing"
else
    echo "note: user 65534 cannot run $BGPACK; the unreadable file was not tried"
fi
finish
