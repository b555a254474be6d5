#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas takes what comes out: each kernel in each mode. Without ptxas it is skipped."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess

from lib import CORPUS, WORK, check, finish, rbwp


def assemble():
    """P2: kernels in all modes assemble where the original does, for old and new GPUs."""
    ptxas = shutil.which("ptxas") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/ptxas"))), None)
    if not ptxas:
        print("skipped: no ptxas here (it comes with CUDA)")
        raise SystemExit(77)

    def takes(arch, path):
        return subprocess.run([ptxas, f"-arch={arch}", "-o", str(path) + ".cubin", str(path)], capture_output=True, text=True)

    def one(arch, original, mode):
        path = WORK / f"{original.stem}_{mode}.ptx"
        bind = "append" if mode in ("warp", "config") else "variable"
        rbwp("instrument", "-f", "-o", path, "--mode", mode, "--kernel", "*", "--file", "all", "--bind", bind, original)
        ran = takes(arch, path)
        check(f"{original.name} {mode}: {(ran.stdout + ran.stderr)[:300]}", ran.returncode, 0)
        return 1
    jobs, tried = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for arch, names in [("sm_80", "fixture_a nvcc_k triton_add"), ("sm_90a", "nvcc_k triton_layernorm triton_matmul"),
                            ("sm_100a", "many")]:
            for name in names.split():
                original = WORK / f"{name}_{arch}.ptx"
                original.write_text(re.sub(r"\.target .*", f".target {arch}", (CORPUS / f"{name}.ptx").read_text()))
                if takes(arch, original).returncode == 0: # an old ptxas does not know all
                    jobs += [pool.submit(one, arch, original, mode) for mode in
                             ["block", "single", "entire", "config", "cfg", "mma", "warp"]]
        tried = sum(job.result() for job in jobs)
    check("enough was assembled", tried >= 7 * 3, True)
    print(f"{tried} assembled")


assemble()
finish()
