#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# layout.sh SOURCE PREFIX CONFIG - the installed files are these and no others: every
# rbwp_*.h and no private header, both libraries, both commands, their completions, all man pages.
set -euo pipefail
shopt -s nullglob
source=$1 prefix=$2 config=$3
version=$(sed -n 's/^#define RBWP_VERSION_STRING "\(.*\)"/\1/p' "$source/format/include/rbwp_format.h")
minor=${version%.*}

expected() {
    printf '%s\n' bin/rbwp bin/rbwp-dump
    (cd "$source" && printf '%s\n' {format,runtime/*,gpu/*}/include/rbwp_*.h) | sed 's|.*/include|include|'
    printf "$LIBDIR/%s\n" librbwp.a librbwp.so "librbwp.so.$minor" "librbwp.so.$version" \
        pkgconfig/rbwp.pc cmake/rbwp/rbwp-{config,config-version,shared,static}.cmake \
        "cmake/rbwp/rbwp-"{shared,static}"-$config.cmake"
    printf 'share/%s\n' bash-completion/completions/rbwp fish/vendor_completions.d/rbwp.fish \
        zsh/site-functions/_rbwp
    printf 'share/doc/rbwp/%s\n' LICENSE NEWS.md README.md SPEC.md
    for page in "$source"/docs/man/*.[1-9]; do
        printf 'share/man/man%s/%s\n' "${page##*.}" "$(basename "$page")"
    done
}
diff <(expected | sort) <(cd "$prefix" && find . ! -type d | sed 's|^\./||' | sort) ||
    { echo "expected (<) and installed (>) differ"; exit 1; }

soname=$(objdump -p "$prefix/$LIBDIR/librbwp.so" | awk '$1 == "SONAME" { print $2 }')
[[ $soname == "librbwp.so.$minor" ]] || { echo "SONAME is $soname"; exit 1; }
[[ $("$prefix/bin/rbwp-dump" --version) == *"$version"* ]] || { echo "rbwp-dump: other version"; exit 1; }
