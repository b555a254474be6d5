#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# layout.sh SOURCE PREFIX CONFIG CROSS [MPI...] - the installed files are these and no others: every
# rbwp_*.h and no private header, the libraries, shared and static, the commands, their completions (which a build for another machine,
# CROSS 1, cannot ask them for), the Python package, all man pages.
set -euo pipefail
shopt -s nullglob
source=$1 prefix=$2 config=$3 cross=$4 mpi=("${@:5}") # librbwp-mpi's, one for each MPI library here
read -ra preloaded <<<"$PRELOADED" # the libraries that want glibc, if that is here
version=$(sed -n 's/^#define RBWP_VERSION_STRING "\(.*\)"/\1/p' "$source/format/include/rbwp_format.h")
minor=${version%.*}

expected() {
    printf '%s\n' bin/rbwp bin/rbwp-config bin/rbwp-dump bin/rbwp-ptxas
    (cd "$source/python" && printf 'share/rbwp/python/%s\n' rbwp/*.py rbwp/compat/*.py rbwp/py.typed)
    (cd "$source" && printf '%s\n' {format,runtime/*,runtime/jobs/*,gpu/*}/include/rbwp_*.h runtime/foreign/include/rbwp.hpp) | sed 's|.*/include|include|'
    printf "$LIBDIR/%s\n" librbwp.a librbwp-inject.so librbwp-itt.so librbwp-ompt.so "${preloaded[@]}" librbwp.so "librbwp.so.$minor" "librbwp.so.$version" \
        librbwp-jobs.{a,so} "librbwp-jobs.so.$minor" "librbwp-jobs.so.$version" \
        "cmake/rbwp/rbwp-jobs-"{shared,static}{-library,"-library-$config"}.cmake pkgconfig/rbwp{,-jobs}.pc \
        cmake/rbwp/rbwp-{config,config-version,shared,static}.cmake \
        "cmake/rbwp/rbwp-"{shared,static}"-$config.cmake"
    for library in "${mpi[@]}"; do
        printf "$LIBDIR/%s\n" "lib$library.so" "lib$library.so.$minor" "lib$library.so.$version" \
            "pkgconfig/$library.pc" "cmake/rbwp/$library-library.cmake" "cmake/rbwp/$library-library-$config.cmake"
    done
    ((cross)) || printf 'share/%s\n' bash-completion/completions/rbwp fish/vendor_completions.d/rbwp.fish \
        zsh/site-functions/_rbwp rbwp/schema/{check,critical-path,ctl,diff,dump,events,export,info,lanes,processes,records,repair,spans,split,stacks,stats,tables,timeline,top,what-if,why}.json
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

# rbwp-config knows the moved tree.
for part in prefix: include:/include lib:/$LIBDIR python:/share/rbwp/python; do
    folder=$("$prefix/bin/rbwp-config" "--${part%%:*}")
    [[ $folder == "$prefix${part#*:}" && -d $folder ]] || { echo "rbwp-config --${part%%:*} says $folder"; exit 1; }
done
[[ $("$prefix/bin/rbwp-config" --version) == "$version" ]] || { echo "rbwp-config: other version"; exit 1; }
! "$prefix/bin/rbwp-config" 2>/dev/null || { echo "rbwp-config without a word is good"; exit 1; }
