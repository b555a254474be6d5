/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_hip.c - the kernel of persistent_kernel.h through HIP: hipRTC compiles it when the
 * program runs, with rbwp_device.h given to it by name.
 *
 *     cc -D__HIP_PLATFORM_AMD__ -o persistent_hip persistent_hip.c -lrbwp -lamdhip64
 *     ./persistent_hip KERNELS INCLUDE -bgworkprofile 2       (folders of persistent_kernel.h and
 * rbwp_device.h)
 */
#include "persistent_job.h"
#include "trace.h"

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#define HIP(call)                                                                                  \
    do {                                                                                           \
        const hipError_t code_ = (call);                                                           \
        if (code_ != hipSuccess) {                                                                 \
            fprintf(stderr, "persistent_hip: %s: %s\n", #call, hipGetErrorName(code_));            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static char *read_text(const char *folder, const char *name)
{
    char path[4096], *text = NULL;
    long size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 &&
        (text = (char *)calloc(1, (size_t)size + 1)) != NULL) {
        rewind(file);
        if (fread(text, 1, (size_t)size, file) != (size_t)size)
            text[0] = 0;
    }
    if (file)
        fclose(file);
    if (!text || !text[0]) {
        perror(path);
        exit(1);
    }
    return text;
}

/* The kernel, compiled for the current device. */
static hipFunction_t compile(const char *kernels, const char *include)
{
    char *source = read_text(kernels, "persistent_kernel.h");
    char *header = read_text(include, "rbwp_device.h");
    const char *texts[] = {header}, *names[] = {"rbwp_device.h"};
    hiprtcProgram program;
    hipModule_t module;
    hipFunction_t function;
    size_t size = 0;
    if (hiprtcCreateProgram(&program, source, "persistent", 1, texts, names) != HIPRTC_SUCCESS)
        exit(1);
    if (hiprtcCompileProgram(program, 0, NULL) != HIPRTC_SUCCESS) {
        hiprtcGetProgramLogSize(program, &size);
        char *log = (char *)calloc(1, size + 1);
        if (log && hiprtcGetProgramLog(program, log) == HIPRTC_SUCCESS)
            fprintf(stderr, "persistent_hip: %s\n", log);
        exit(1);
    }
    hiprtcGetCodeSize(program, &size);
    char *code = (char *)calloc(1, size + 1);
    if (!code || hiprtcGetCode(program, code) != HIPRTC_SUCCESS)
        exit(1);
    HIP(hipModuleLoadData(&module, code));
    HIP(hipModuleGetFunction(&function, module, "persistent"));
    hiprtcDestroyProgram(&program);
    free(code);
    free(source);
    free(header);
    return function;
}

static void *copy_of(const void *bytes, size_t size, hipStream_t stream)
{
    void *memory;
    HIP(hipMalloc(&memory, size));
    HIP(hipMemcpyAsync(memory, bytes, size, hipMemcpyHostToDevice, stream));
    return memory;
}

int main(int argc, char **argv)
{
    int blocks;
    hipStream_t stream;
    struct trace trace;
    struct persistent_job job;
    HIP(hipInit(0));
    HIP(hipSetDevice(0));
    HIP(hipDeviceGetAttribute(&blocks, hipDeviceAttributeMultiprocessorCount, 0));
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    if (!trace_start(&trace, "persistent", RBWP_GPU_HIP, stream, &argc, argv) || argc < 3) {
        fprintf(stderr, "usage: persistent_hip KERNELS INCLUDE [-bgworkprofile 2 ...]\n");
        return 2;
    }
    hipFunction_t function = compile(argv[1], argv[2]);
    if (!persistent_job_make(&job, (unsigned)blocks) ||
        !trace_lanes_begin(&trace, (unsigned)blocks, persistent_groups, 1, persistent_events, 3,
                           job.max_records))
        return 1;

    const unsigned zero = 0;
    void *in = copy_of(job.in, job.in_bytes, stream),
         *sums = copy_of(job.sums, job.sums_bytes, stream);
    void *next = copy_of(&zero, sizeof zero, stream), *records = trace_records(&trace);
    void *arguments[] = {&in, &sums, &next, &job.tiles, &records, &job.max_records};
    HIP(hipStreamSynchronize(stream));
    trace_launch_begin(&trace);
    HIP(hipModuleLaunchKernel(function, (unsigned)blocks, 1, 1, 256, 1, 1, 0, stream, arguments,
                              NULL));
    trace_launch_end(&trace);
    HIP(hipStreamSynchronize(stream));
    HIP(hipMemcpyAsync(job.sums, sums, job.sums_bytes, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));

    bool good = persistent_job_check(&job);
    good = trace_lanes_end(&trace, "persistent_hip.lanes") && good;
    trace_stop(&trace);
    return good ? 0 : 1;
}
