#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200.sh [DIRECTORY] - builds and runs the tests and the bench of gpu/ on a machine with an NVIDIA
# GPU. Needs gcc and zlib; uses no cmake, since such machines often have none.
#
#   CMOCKA=DIR    where include/cmocka.h and lib/libcmocka.so are, if not among the system's;
#                 without cmocka the tests are left out, said so, and the script ends with 77
#   ROUNDS=N      rounds of the bench (31)
#   SANITIZER=1   the tests once more under compute-sanitizer, if that is there
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/h200}
mkdir -p "$out/objects"
flags=(-std=gnu11 -O2 -g -DNDEBUG -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fno-strict-aliasing -fPIC
    -Iformat -Iruntime -Igpu)
libraries=(-lz -pthread -lm -ldl)

echo "== build"
for source in format/*.c runtime/*.c gpu/*.c bench/bench.c bench/bench_gpu.c; do
    gcc "${flags[@]}" -Ibench -c "$source" -o "$out/objects/$(basename "$source" .c).o" &
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
done
while (($(jobs -rp | wc -l))); do wait -n; done
library=()
for object in "$out"/objects/*.o; do
    [[ $object == */bench*.o ]] || library+=("$object")
done
gcc "$out"/objects/bench.o "$out"/objects/bench_gpu.o "${library[@]}" "${libraries[@]}" -o "$out/bench_gpu"

cmocka=()
[[ ${CMOCKA:-} ]] && cmocka=("-I$CMOCKA/include" "-L$CMOCKA/lib" "-Wl,-rpath,$CMOCKA/lib")
status=0
if printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\nint main(void) { return 0; }\n' |
    gcc "${cmocka[@]}" -x c - -lcmocka -o "$out/has_cmocka" 2>/dev/null; then
    gcc "${flags[@]}" -Itests/unit -Itests/gpu "${cmocka[@]}" tests/gpu/test_gpu_device.c \
        tests/gpu/gpu_support.c tests/unit/record_support.c "${library[@]}" "${libraries[@]}" \
        -lcmocka -o "$out/test_gpu_device"
    echo "== tests: cuda"
    "$out/test_gpu_device" cuda
    if [[ ${SANITIZER:-} ]] && command -v compute-sanitizer >/dev/null; then
        echo "== tests under compute-sanitizer"
        compute-sanitizer --tool memcheck --error-exitcode 9 "$out/test_gpu_device" cuda
    fi
else
    echo "== tests: skipped, there is no cmocka (CMOCKA=DIR says where one is)"
    status=77
fi

echo "== bench: cuda"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
"$out/bench_gpu" cuda "${ROUNDS:-31}"
exit "$status"
