#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# debian_source.sh PACKAGE FOLDER [PATCH] - Debian's source of a package, in a folder of FOLDER whose name is printed, with the patch. By
# lists of its own, as the system's may have no sources. What is there already is left as it is.
set -euo pipefail
package=$1 patch=${3:+$(realpath "$3")}
mkdir -p "$2/lists/partial"
cd "$2"
printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' >debian.sources
apt=(apt-get -o "Dir::Etc::SourceList=$PWD/debian.sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/lists"
    -o APT::Sandbox::User=root)
found() { find . -maxdepth 1 -type d -name "$package-[0-9]*" | head -n 1; }
if [[ ! $(found) ]]; then
    {
        [[ $(find lists -name '*_Sources*') ]] || "${apt[@]}" update
        "${apt[@]}" source --only-source -y "$package"
        [[ ! $patch ]] || patch -d "$(found)" -p1 --quiet <"$patch"
    } >apt.log 2>&1 || { tail -n 20 apt.log >&2; exit 1; }
fi
realpath "$(found)"
