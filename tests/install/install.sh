#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh CMAKE BUILD STAGE PREFIX TARGET - installs with DESTDIR, then moves
# the tree: whatever uses TARGET proves that DESTDIR is honoured and that no
# installed file knows where it was built or installed.
set -euo pipefail
cmake=$1 build=$2 stage=$3 prefix=$4 target=$5

rm -rf "$stage" "$target"
DESTDIR=$stage "$cmake" --install "$build"
mv "$stage$prefix" "$target"
if [[ $(find "$stage" -type f) ]]; then
    echo "installed outside the prefix:" && find "$stage" -type f
    exit 1
fi
if grep -rlF -e "$stage" -e "$prefix" --include='*.cmake' --include='*.pc' "$target"; then
    echo "the files above hold the path at which they were installed"
    exit 1
fi
