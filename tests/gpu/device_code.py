#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""device_code.py HEADER [PART|all] - what compilers for kernels make of rbwp_device.h (beside which the other headers
are that programs see).

Guards: the header compiles everywhere without a warning and without an SDK; disabled code, by the
template's argument or by the switch, is instruction for instruction what it is without markers;
enabled code has the timer's read, the store and the fence of each record, each once, and spills no
register.

Parts, each by its compilers: nvidia and amd (Debian's clangs), host, hip (its headers), nvrtc, hiprtc (whose library
compiles for an AMD GPU that is not there), nvcc. Exit status 77, with what is lacking, where a part could not
be tried, or not on all its targets; without a part, or with all (nvcc, too), where nothing could.
"""
import ctypes
import glob
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

header = pathlib.Path(sys.argv[1])
PART = sys.argv[2] if len(sys.argv) > 2 else ""
source = pathlib.Path(__file__).resolve().with_name("device_kernels.cu")
examples = source.parents[2] / "examples" / "gpu_lanes"
warnings = "-Wall -Wextra -Wshadow -Wconversion -Werror -Wno-unused-parameter -Wno-unknown-cuda-version".split()
# Each with what it must be equal to.
disabled = [["-DOFF"], ["-DRBWP_DEVICE_ENABLED=0"], ["-DOFF", "-DWARPSCOPE"]]
disabled_macros = [["-DMACROS", "-DRBWP_DISABLE"]]
variants = [["-DRBWP_DEV_EVENT_COUNTERS=3", "-DRBWP_DEV_EVENT_KEEP=1"], ["-DMACROS"],
            ["-DRBWP_DEV_EVENT_AHEAD=1", "-DRBWP_DEV_EVENT_COUNTERS=4"],
            ["-DRBWP_DEV_EVENT_ONCE=0"], ["-DRBWP_DEV_EVENT_ONCE=1"], ["-DRBWP_DEV_EVENT_WARP=1"]]
failures, done, lacking = [], [], []


def check(good, what):
    if not good:
        failures.append(what)


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


def functions(text, end):
    """{kernel: its lines, without comments and debug words}."""
    found = {}
    for name in re.findall(r"^\s*(?:\.visible )?\.entry (\w+)|^(\w+):\s*(?:;.*)?$", text, re.M):
        name = name[0] or name[1]
        if name in ("one_span", "one_event", "loop", "opened"):
            at = re.search(rf"(?:\.entry {name}\b|^{name}:)", text, re.M).start()
            body = text[at:text.index(end, at)]
            body = re.sub(r"(//|;).*$" if end == ".Lfunc_end" else r"//.*$", "", body, flags=re.M)
            found[name] = [" ".join(line.split()) for line in body.splitlines() if line.strip()]
    return found


class Clang:
    """A clang for one GPU, if one that is here knows it."""

    def __init__(self, vendor, gpu):
        self.name, self.vendor, self.gpu, self.command = f"clang {gpu}", vendor, gpu, None
        flags = {"nvidia": ["-x", "cuda", f"--cuda-gpu-arch={gpu}", "-nocudainc", "-nocudalib"],
                 "amd": ["-x", "hip", f"--offload-arch={gpu}", "-nogpuinc", "-nogpulib"]}[vendor]
        for clang in ["clang"] + sorted({pathlib.Path(path).name for path in glob.glob("/usr/bin/clang-[0-9][0-9]")}):
            command = [clang, *flags, "--cuda-device-only", "-O2", "-std=c++11", *warnings, "-I", header.parent]
            if shutil.which(clang) and run(*command, "-DPLAIN", "-S", "-o", "/dev/null", source).returncode == 0:
                self.command, self.name = command, f"{clang} {gpu}"
                return

    def text(self, *options):
        made = run(*self.command, *options, "-S", "-o", "-", source)
        check(made.returncode == 0, f"{self.name} {options}: {made.stderr[:600]}")
        return made.stdout

    def code(self, *options):
        return functions(self.text(*options), ".Lfunc_end" if self.vendor == "amd" else "\n}")

    def fences(self, kernel, *options):
        made = run(*self.command, *options, "-S", "-emit-llvm", "-o", "-", source).stdout
        body = made[made.index(f"@{kernel}("):]
        return len(re.findall(r'^\s*fence syncscope\("workgroup"\) acq_rel', body[:body.index("\n}")], re.M))


def no_spills(clang, text, what):
    if clang.vendor == "amd":
        spills = re.findall(r"(?:spill_count|private_segment_fixed_size):? +(\d+)", text)
        check(spills and not any(map(int, spills)), f"{what}: spills {spills}")
    else:
        check(".local" not in text and ".entry" in text, f"{what}: has local memory")


def look_at_code(clang):
    """All of it on one GPU of each vendor, what may differ between GPUs on all."""
    all_of_it = not any(name.split()[1][:2] == clang.gpu[:2] for name in done)
    plain = clang.code("-DPLAIN")
    check(len(plain) == 4, f"{clang.name}: found only {list(plain)}")
    for options in (disabled + disabled_macros if all_of_it else disabled[:1]):
        for name, lines in clang.code(*options).items():
            check(lines == plain[name], f"{clang.name} {options}: {name} is not what it is without markers")
    text = clang.text()
    if not text:
        return
    no_spills(clang, text, clang.name)
    code = {name: "\n".join(lines) for name, lines in functions(
        text, ".Lfunc_end" if clang.vendor == "amd" else "\n}").items()}
    nvidia = clang.vendor == "nvidia"
    if all_of_it:
        check("\n".join(clang.code("-DWARPSCOPE")["one_span"]) == code["one_span"], f"{clang.name}: ws::Profiler is other code")
    timer, add = (r"%globaltimer\b|%globaltimer_lo", r"atom\.global\.add\.u64") if nvidia else (
        "s_memrealtime|s_sendmsg_rtn_b64", "global_atomic_add_(?:x2|u64)")
    store_4, store_8 = (r"st\.global\.u32", r"st\.global\.u64") if nvidia else (
        r"global_store_(?:dword|b32) ", r"global_store_(?:dwordx2|b64)")
    # Of an event 10 columns have 4 bytes, 3 have 8, and the end is stored twice. NVIDIA's has a second way beside.
    for kernel, what, pattern, least, most in [
            ("one_span", "timer", timer, 3, 3), ("one_span", "store", store_8, 4, 4),
            ("one_event", "timer", timer, 2, 3), ("one_event", "64-bit add", add, 1, 1),
            ("one_event", "store of 4 bytes", store_4, 10, 14), ("one_event", "store of 8 bytes", store_8, 4, 5),
            ("opened", "timer", timer, 2, 3), ("opened", "store of 8 bytes", store_8, 3, 5)]:
        found = len(re.findall(pattern, code[kernel]))
        check(least <= found <= most, f"{clang.name}: {kernel} has {found} of {what}, not {least} to {most}")
    for options, count in ((), 3), (("-DRBWP_DEV_FENCE=0",), 0):
        if options and not all_of_it:
            continue
        if nvidia:
            lines = clang.code(*options) if options else code
            found = len(re.findall(r"fence\.acq_rel\.cta", "".join(lines["one_span"])))
        else:
            found = clang.fences("one_span", *options)
        check(found == count, f"{clang.name} {options}: {found} fences, not {count}")
    for options in variants if all_of_it else []:
        no_spills(clang, clang.text(*options), f"{clang.name} {options}")
    done.append(clang.name)


def sections(path):
    """{name: bytes} of an ELF file."""
    data = path.read_bytes()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    text = data[rows[names][4]:][:rows[names][5]]
    return {text[row[0]:text.index(b"\0", row[0])].decode(): data[row[4]:row[4] + row[5]]
            for row in rows if row[1] == 1}


def look_at_cubins(nvcc, gpu, work):
    """NVIDIA's own compiler, down to the machine code."""
    def cubin(*options):
        made = run(nvcc, f"-arch={gpu}", "-O3", "-std=c++17", "-I", header.parent, "-Xptxas=-v", "-cubin",
                   "-Xcompiler=-Wall,-Wextra", "-o", work / "cubin", *options, source)
        check(made.returncode == 0 and "warning" not in made.stderr, f"nvcc {gpu} {options}: {made.stderr[:600]}")
        check(set(re.findall(r"(\d+) bytes (?:stack frame|spill)", made.stderr)) <= {"0"}, f"nvcc {gpu} {options}: spills")
        return {name: code for name, code in sections(work / "cubin").items() if name.startswith(".text.")}

    plain = cubin("-DPLAIN")
    check(len(plain) == 4, f"nvcc: found only {list(plain)}")
    for options in disabled + disabled_macros:
        for name, code in cubin(*options).items():
            check(code == plain[name], f"nvcc {gpu} {options}: {name} is not what it is without markers")
    for options in [], variants[-1]:
        for name, code in cubin(*options).items():
            check(code != plain[name], f"nvcc {gpu} {options}: {name} has no markers")
    check(cubin("-DWARPSCOPE") == cubin(), f"nvcc {gpu}: ws::Profiler is other code")
    # The host's half of the same file compiles as well.
    made = run(nvcc, f"-arch={gpu}", "-I", header.parent, "-Xcompiler=-Wall,-Wextra", "-c", "-o", work / "o", source)
    check(made.returncode == 0 and "warning" not in made.stderr, f"nvcc, host: {made.stderr[:600]}")
    for example in examples.glob("*.cu"):
        made = run(nvcc, f"-arch={gpu}", "-std=c++17", "-I", header.parent, "-Xcompiler=-Wall,-Wextra", "-c", "-o", work / "o", example)
        check(made.returncode == 0 and "warning" not in made.stderr, f"nvcc, {example.name}: {made.stderr[:600]}")
    done.append(f"nvcc {gpu}")


def run_time_compiler(path, prefix, arch):
    """The header given to NVRTC or hipRTC as a text, by name."""
    library = ctypes.CDLL(path)
    call = lambda name: getattr(library, prefix + name)
    for text, options in [(source, options) for options in [[]] + disabled_macros] + [
            (examples / "persistent_kernel.h", [])]:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        texts, names = (ctypes.c_char_p * 1)(header.read_bytes()), (ctypes.c_char_p * 1)(b"rbwp_device.h")
        words = [arch.encode()] + [option.encode() for option in options]
        if call("CreateProgram")(ctypes.byref(program), text.read_bytes(), b"kernels", 1, texts, names) != 0:
            lacking.append(f"{prefix}: makes no program")
            return
        if call("CompileProgram")(program, len(words), (ctypes.c_char_p * len(words))(*words)) != 0:
            call("GetProgramLogSize")(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            call("GetProgramLog")(program, log)
            check(False, f"{prefix} {text.name} {options}: {log.value.decode()[:600]}")
        call("DestroyProgram")(ctypes.byref(program))
    done.append(prefix)


def with_hip_headers(work):
    """As hipcc compiles it: with HIP's own headers, for the device and for the host."""
    headers = first_library("/opt/rocm*/include/hip/hip_runtime.h", "/usr/include/hip/hip_runtime.h")
    root = headers and pathlib.Path(headers).parents[2]
    for half in ["--cuda-device-only", "--cuda-host-only"] if root and shutil.which("clang++") else []:
        made = run("clang++", "-x", "hip", f"--rocm-path={root}", "-nogpulib", "--offload-arch=gfx90a", "-D__HIP_PLATFORM_AMD__",
                   half, "-S", "-include", "hip/hip_runtime.h", "-I", header.parent, "-o", work / "s",
                   examples / "persistent_kernel.h")
        check(made.returncode == 0, f"HIP's headers, {half}: {made.stderr[:600]}")
    (done if root else lacking).append("HIP's headers")


def host_classes(work):
    for compiler, standard in ("g++", "11"), ("clang++", "17"):
        if not shutil.which(compiler):
            lacking.append(f"no {compiler}")
            continue
        for options in [], ["-DRBWP_DEVICE_ENABLED=0"]:
            made = run(compiler, f"-std=c++{standard}", "-O1", *warnings[:-1], "-I", header.parent, *options,
                       source.with_name("device_host.cpp"), "-o", work / "host")
            check(made.returncode == 0, f"{compiler} {options}: {made.stderr[:600]}")
            ran = run(work / "host") if made.returncode == 0 else made
            check(ran.returncode == 0, f"{compiler} -std=c++{standard} {options}: {ran.stdout}")
        done.append(compiler)


def first_library(*patterns):
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern))), None)


def wanted(part):
    return PART in (part, "all") or (PART == "" and part != "nvcc")


def main():
    for vendor, gpu in [("nvidia", "sm_90"), ("nvidia", "sm_86"), ("amd", "gfx90a"),
                        ("amd", "gfx940"), ("amd", "gfx942"), ("amd", "gfx1100")]:
        if not wanted(vendor):
            continue
        clang = Clang(vendor, gpu)
        look_at_code(clang) if clang.command else lacking.append(f"no clang here knows {gpu}")
    nvcc = wanted("nvcc") and (shutil.which("nvcc") or first_library("/usr/local/cuda*/bin/nvcc"))
    with tempfile.TemporaryDirectory() as work:
        if wanted("host"):
            host_classes(pathlib.Path(work))
        if wanted("hip"):
            with_hip_headers(pathlib.Path(work))
        if wanted("nvcc"):
            look_at_cubins(nvcc, "sm_90", pathlib.Path(work)) if nvcc else lacking.append("no nvcc")
    packages = [f"{path}/nvidia/*/lib/libnvrtc.so.1[23]" for path in sys.path]
    nvrtc = first_library("/usr/local/cuda*/lib64/libnvrtc.so.1[23]", "/usr/local/cuda*/lib/libnvrtc.so.1[23]", *packages)
    if wanted("nvrtc"):
        run_time_compiler(nvrtc, "nvrtc", "--gpu-architecture=compute_90") if nvrtc else lacking.append("no NVRTC")
    hiprtc = first_library("/opt/rocm*/lib/libhiprtc.so", "/usr/lib/*/libhiprtc.so.[0-9]", "/usr/lib/*/libamdhip64.so.[0-9]")
    if wanted("hiprtc"):
        run_time_compiler(hiprtc, "hiprtc", "--offload-arch=gfx90a") if hiprtc else lacking.append("no hipRTC")


main()
print("compiled with:", ", ".join(done) or "nothing")
print("not tried:", ", ".join(lacking) or "nothing")
print("\n".join(f"FAILED: {failure}" for failure in failures), end="\n" if failures else "")
sys.exit(1 if failures else 77 if not done or (lacking and PART not in ("", "all")) else 0)
