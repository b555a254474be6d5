#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh [PART...] - what is given away beside the source; see README.md.
#
#   types      mypy --strict on the Python package, and on a program that uses it
#   debian     Debian's packages: built, looked at by lintian, installed in a plain Debian, used there
#   container  the recipe of contrib/container, followed in plain Debians
#
# Without PARTs all of them; debian and container as root. Builds and logs are in $RBWP_PORTABILITY_DIR/packages (default
# build/portability/packages). Each part ends with "PART: good", or the script with 1.
. "$(dirname "$0")/../portability/lib.sh"
parts=("$@")
((${#parts[@]})) || parts=(types debian container)
variables=() # of the recipe

# inside SYSTEM COMMAND...: in that folder as in a system of its own.
inside() {
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --pid --fork --kill-child bash -euc '
        system=$1 && shift
        mount -t proc proc "$system/proc"
        mount --rbind /dev "$system/dev"
        exec chroot "$system" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' inside "$1" "${variables[@]}" "${@:2}"
}

# logged NAME COMMAND...: its output is in NAME.log; the end of it where it fails.
logged() { "${@:2}" >"$dir/$1.log" 2>&1 || { tail -n 20 "$dir/$1.log" && exit 1; }; }

# system NAME: a plain Debian 12 in $dir/NAME.
system() {
    ((EUID == 0)) || skip "needs root, for chroot and mounts"
    if [[ ! -e $dir/plain/complete ]]; then
        need debootstrap util-linux
        rm -rf "$dir/plain"
        logged debootstrap debootstrap --variant=minbase --include=ca-certificates bookworm "$dir/plain"
        # As this machine's apt is set; and without a user of its own, who could not read what root has put here.
        { apt-config dump | grep -E '^Acquire::(http|https|Check-)'; echo 'APT::Sandbox::User "root";'; } >"$dir/plain/etc/apt/apt.conf.d/90machine"
        touch "$dir/plain/complete"
    fi
    rm -rf "${dir:?}/$1"
    cp -a "$dir/plain" "$dir/$1"
}

# source_to FOLDER: the files of this tree that git has, or would have.
source_to() {
    mkdir -p "$1"
    git -C "$root" ls-files -z --cached --others --exclude-standard | tar -C "$root" -c --null -T - | tar -C "$1" -x
}

# equal WHAT IS WANTED
equal() { [[ $2 == "$3" ]] || { echo "$1: '$2', not '$3'"; exit 1; }; }

part_types() {
    need mypy python3-numpy
    cat >"$dir/program.py" <<'END'
import rbwp

@rbwp.item("flush")
def flush(blocks: int) -> bool:
    return blocks > 0

with rbwp.item("parse", tenant=7)(tenant=8) as parse:
    reveal_type(parse)
reveal_type(flush)
spans = rbwp.spans("bgwork_0.bin")
reveal_type(spans["start"])
reveal_type(spans[spans["args.bytes"] > 1 << 20])
flush("none")
END
    (cd "$root" && mypy --cache-dir "$dir/mypy") || exit 1
    ! MYPYPATH=$root/python mypy --strict --cache-dir "$dir/mypy" --config-file "$root/pyproject.toml" "$dir/program.py" >"$dir/types.log" ||
        { echo "a wrong argument is not found"; exit 1; }
    sed 's/^[^:]*:\([0-9]*\): [a-z]*: /\1 /; /^Found/d' "$dir/types.log" | diff - <(cat <<'END'
8 Revealed type is "rbwp.recording.item"
9 Revealed type is "def (blocks: builtins.int) -> builtins.bool"
11 Revealed type is "numpy.ndarray[Any, numpy.dtype[Any]]"
12 Revealed type is "rbwp.columns.Spans"
13 Argument 1 to "flush" has incompatible type "str"; expected "int"  [arg-type]
END
    ) || exit 1
}

part_debian() {
    need build-essential cmake debhelper dh-python libdw-dev libsqlite3-dev lintian pkg-config python3 zlib1g-dev
    rm -rf "$dir/debian" && source_to "$dir/debian/rbwp"
    cd "$dir/debian/rbwp"
    equal "debian/changelog's version" "$(dpkg-parsechangelog -S Version)" \
        "$(sed -n 's/^#define RBWP_VERSION_STRING "\(.*\)"/\1/p' format/include/rbwp_format.h)"
    DEB_BUILD_OPTIONS=parallel=$jobs logged dpkg-buildpackage dpkg-buildpackage -us -uc -b
    logged lintian lintian --allow-root --fail-on error ../*.changes
    (cd .. && ls -s --block-size=K ./*.deb)
    system debian-system
    cp ../*.deb examples/queue_depth/queue_depth.c "$dir/debian-system/root"
    logged debian-install inside "$dir/debian-system" sh -euc \
        'apt-get update && apt-get install -y --no-install-recommends /root/*.deb gcc libc6-dev pkg-config'
    logged debian-use inside "$dir/debian-system" sh -eux <<'END'
cd /root
cc -O2 -pthread queue_depth.c $(pkg-config --cflags --libs rbwp) -Wl,--as-needed -o queue_depth
./queue_depth -bgworkprofile 2
rbwp check bgwork_0.bin
rbwp stats bgwork_0.bin
rbwp record --what threads -o threads.bin -- ./queue_depth
rbwp stats threads.bin
python3 -c 'import rbwp; print(rbwp.spans("bgwork_0.bin")); rbwp.start(logfile="python.bin")
with rbwp.item("parse"): pass
assert rbwp.stop().records > 0'
rbwp export --to sqlite -o python.db python.bin
man_pages=$(dpkg -L rbwp librbwp-dev | grep -c '/man/man[1-7]/.*gz')
test "$man_pages" -gt 40
apt-get purge -y rbwp librbwp-dev librbwp0.2 python3-rbwp
test -z "$(find /usr -name '*rbwp*')"
END
}

# What a recipe says, line by line; each FROM begins a plain Debian.
part_container() {
    local line word rest stage= number=0 entry=
    local -A stages
    while read -r word rest; do
        case $word in
        FROM)
            equal "the image" "${rest%% *}" debian:12
            stage=$dir/container-$((++number)) variables=()
            [[ $rest != *' AS '* ]] || stages[${rest##* }]=$stage
            system "${stage##*/}"
            ;;
        RUN) logged "container-run" inside "$stage" sh -c "$rest" ;;
        COPY)
            if [[ $rest == --from=* ]]; then
                line=${rest#--from=} && read -r word from to <<<"$line"
                cp -a "${stages[$word]}$from/." "$stage$to"
            else
                equal "what is copied" "${rest%% *}" .
                source_to "$stage${rest##* }"
            fi
            ;;
        ENV) variables+=("$rest") ;;
        WORKDIR) mkdir -p "$stage$rest" && entry="cd $rest && " ;;
        ENTRYPOINT) entry+="exec $(tr -d '[],' <<<"$rest")" ;;
        *) echo "not known here: $word" && exit 1 ;;
        esac
    done < <(sed -e ':more' -e '/\\$/{N;s/\\\n *//;b more' -e '}' -e '/^#/d;/^$/d' "$root/contrib/container/Dockerfile")
    cp "$root/tests/golden/multi_thread.bin" "$stage/recordings"
    logged container-use inside "$stage" sh -c "$entry \"\$@\"" rbwp stats multi_thread.bin
    grep -q 'memcpy channel' "$dir/container-use.log" || { echo "rbwp stats shows no work item"; exit 1; }
    logged container-use inside "$stage" python3 -c \
        'import rbwp; assert len(rbwp.spans("/recordings/multi_thread.bin")) == 820; assert rbwp.native.library()'
    du -shx "$stage" | cut -f1
}

for part in "${parts[@]}"; do
    began=$SECONDS
    "part_$part"
    echo "$part: good, $((SECONDS - began)) s"
done
