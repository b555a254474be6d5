#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bgpack's check: guards that a wrong archive is never called good. Each case damages an archive,
# or changes the tree, in one way.
. "$(dirname "$0")/lib.bash"

mkdir -p tree/sub
head -c 2500000 /dev/urandom >tree/random
seq 1 200000 >tree/sub/numbers
ln -s random tree/link
expect 0 "$BGPACK" tree good.tar.gz
expect 0 "$BGPACK" --verify-only tree good.tar.gz
expect_output 'wrong 0$'

# damaged FILE TEXT: the check of FILE fails and says TEXT.
damaged() {
    expect 1 "$BGPACK" --verify-only tree "$1"
    expect_error "$2"
}

# One byte changed, at several places: header, data, checksum, between members.
size=$(stat -c %s good.tar.gz)
for at in 0 3 700 $((size / 3)) $((size / 2)) $((size - 9)) $((size - 1)); do
    cp good.tar.gz bad.tar.gz
    byte=$(od -An -tu1 -j "$at" -N 1 bad.tar.gz)
    printf "\\x$(printf %02x $((byte ^ 255)))" | dd of=bad.tar.gz bs=1 seek="$at" conv=notrunc status=none
    damaged bad.tar.gz 'the archive is damaged near byte'
done

# Cut off: inside a member, after a member, to nothing; and something appended.
for cut in 1 8 20 $((size / 2)); do
    head -c $((size - cut)) good.tar.gz >bad.tar.gz
    damaged bad.tar.gz 'stops inside a gzip member'
done
gunzip -c good.tar.gz >good.tar
head -c 2000896 good.tar | gzip >bad.tar.gz
damaged bad.tar.gz 'stops before the end of the tar'
: >bad.tar.gz
damaged bad.tar.gz 'damaged'
(cat good.tar.gz && echo more) >bad.tar.gz
damaged bad.tar.gz 'damaged'
damaged nosuch.tar.gz 'nosuch.tar.gz'

# A sound gzip of a wrong tar: one byte of contents, of a header, of a checksum.
cp good.tar bad.tar
byte=$(od -An -tu1 -j 1000000 -N 1 bad.tar)
printf "\\x$(printf %02x $((byte ^ 255)))" | dd of=bad.tar bs=1 seek=1000000 conv=notrunc status=none
gzip -c bad.tar >bad.tar.gz
damaged bad.tar.gz './random: not as in the archive: the contents differ'
cp good.tar bad.tar
printf 'X' | dd of=bad.tar bs=1 seek=2 conv=notrunc status=none
gzip -c bad.tar >bad.tar.gz
damaged bad.tar.gz 'checksum'

# Sound, but not this tree: a member too few, and every fact that can change.
tar c --format=ustar -C tree ./sub | gzip >bad.tar.gz
damaged bad.tar.gz 'there should be'
changed() {
    expect 1 "$BGPACK" --verify-only tree good.tar.gz
    expect_error "$1"
}
chmod 600 tree/random && changed 'permissions' && chmod 644 tree/random
touch -d '2001-01-01' tree/random && changed 'last change'
echo more >>tree/random && changed 'size'
rm tree/random && changed 'No such file'
ln -s x tree/random && changed 'another type'
ln -sfn numbers tree/link && changed 'points elsewhere'
finish
