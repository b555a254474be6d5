# SPDX-License-Identifier: Apache-2.0
# What is fetched with npm into VIEWERS_DIR, once: sourced by the scripts beside it. From them: here.

skip() {
    echo "skipped: $*"
    exit 77
}
command -v node >/dev/null && command -v npm >/dev/null || skip "no node and npm here"

# npm_modules FOLDER WHAT: the packages of FOLDER/package-lock.json, version and hashes; $modules is
# where they are. False, with the reason in $why, when they cannot be had.
npm_modules() {
    modules=${VIEWERS_DIR:?where to keep what is fetched}/$1
    mkdir -p "$modules" && cp "$here/$1"/*.json "$modules"
    (
        flock 9 # of tests at the same time one fetches
        cd "$modules" && npm ls --silent >/dev/null 2>&1 ||
            timeout 240 npm install --no-save --ignore-scripts --no-audit --no-fund >npm.log 2>&1
    ) 9>"$modules.lock"
    local code=$?
    ((code)) || return 0
    # Whatever is not the network's or the mirror's doing, above all a wrong hash, is a failure.
    if ((code == 124)) || grep -qE 'code (E404|ETARGET|ENOTFOUND|EAI_AGAIN|ECONN[A-Z]*|ENET[A-Z]*|ETIMEDOUT|ERR_SOCKET_TIMEOUT)' "$modules/npm.log"; then
        why="npm cannot fetch $2: $(grep -m 1 'error' "$modules/npm.log")"
        return 1
    fi
    cat "$modules/npm.log"
    exit 1
}
