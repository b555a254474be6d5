/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_loader.h - what CUDA and HIP do alike: drivers, streams, events, code and launches.
 *
 * Knows the calls that both have (driver_abi.h), and how text becomes a module and a module's
 * functions are found and launched by them.
 */
#ifndef RBWP_CODE_LOADER_H
#define RBWP_CODE_LOADER_H

#include "driver_abi.h"
#include "gpu_backend.h"
#include "gpu_loader.h"

#include <pthread.h>

/* Compiles CUDA or HIP source text at run time, with NVRTC or hipRTC.
 *
 * Both libraries have the same calls under other names, so there is one struct
 * of functions, and a table of names for each. What comes out is PTX text or a
 * code object, for the driver's module loader. */

#ifndef RBWP_ABI_REAL
typedef void *rtc_program;
typedef int rtc_result;
#endif

/* X(member, parameters, NVRTC's symbol, hipRTC's): all return an int, 0 for success. From CUDA 13.0
 * and ROCm 5.2. */
#define RTC_CALLS(X)                                                                               \
    X(create,                                                                                      \
      (rtc_program *, const char *, const char *, int, const char *const *, const char *const *),  \
      nvrtcCreateProgram, hiprtcCreateProgram)                                                     \
    X(compile, (rtc_program, int, const char *const *), nvrtcCompileProgram, hiprtcCompileProgram) \
    X(code_size, (rtc_program, size_t *), nvrtcGetPTXSize, hiprtcGetCodeSize)                      \
    X(code, (rtc_program, char *), nvrtcGetPTX, hiprtcGetCode)                                     \
    X(log_size, (rtc_program, size_t *), nvrtcGetProgramLogSize, hiprtcGetProgramLogSize)          \
    X(log, (rtc_program, char *), nvrtcGetProgramLog, hiprtcGetProgramLog)                         \
    X(destroy, (rtc_program *), nvrtcDestroyProgram, hiprtcDestroyProgram)

struct rtc_functions {
#define RTC_MEMBER(member, parameters, nvrtc, hiprtc) rtc_result(*member) parameters;
    RTC_CALLS(RTC_MEMBER)
#undef RTC_MEMBER
};

enum rtc_kind { RTC_NVRTC, RTC_HIPRTC };

/* ---- the drivers of CUDA and HIP, which are found, started and closed alike ------------------ */

struct code_driver;

/* What a backend says of its driver. */
struct code_driver_kind {
    const struct gpu_backend *backend;
    const char *const *so_names; /* NULL-terminated */
    const struct gpu_symbol
        *symbols;        /* up to one without name; they go into the backend's struct */
    size_t driver_bytes; /* of that struct, which begins with code_driver */
    const char *init_name, *count_name; /* for messages */
    driver_attribute multiprocessors, warp_threads, block_threads_max, shared_bytes_max;
    enum rtc_kind compiler_kind;
    bool takes_ptx;
    bool names_arch;        /* the compiler has to be given the device it compiles for */
    bool may_have_compiler; /* older libraries of the driver have the compiler in them */
};

/* An open driver; the backend's own struct begins with it. */
struct code_driver {
    struct gpu_driver base;
    const struct code_driver_kind *kind;
    struct driver_functions calls;
    void *library;

    /* The compiler is looked for when it is first needed. */
    pthread_mutex_t compiler_lock; /* guards what follows; nothing is taken inside it */
    char *compiler_path;           /* NULL: the usual names */
    bool compiler_open;
    struct rtc_functions compiler;
};

static inline const struct driver_functions *code_calls(const struct gpu_driver *driver)
{
    return &((const struct code_driver *)driver)->calls;
}

/* gpu_backend.open and close. libraries may be NULL. */
enum rbwp_status code_driver_open(const struct code_driver_kind *kind,
                                  const struct gpu_libraries *libraries,
                                  struct gpu_driver **driver_out, struct rbwp_error *error);
void code_close(struct gpu_driver *driver);

/* 0 if the driver does not say. */
uint32_t code_attribute(const struct gpu_driver *driver, driver_device device,
                        driver_attribute which);
/* Name, memory, and what the kind has attributes for. */
int code_device_info(const struct gpu_driver *driver, driver_device device,
                     struct gpu_device_info *info_out);

/* From here on this thread's calls leave captures alone. Returns what was. */
driver_capture_mode code_spare_captures(const struct gpu_driver *driver);
void code_restore_captures(const struct gpu_driver *driver, driver_capture_mode mode);

/* ---- rows of GPU_BACKEND that are the same for both ------------------------------------------ */

int code_stream_create(struct gpu_context *context, void **stream_out);
int code_stream_destroy(struct gpu_context *context, void *stream);
int code_stream_flush(struct gpu_context *context, void *stream);
int code_stream_wait(struct gpu_context *context, void *stream);
bool code_stream_capturing(struct gpu_context *context, void *stream);
int code_event_create(struct gpu_context *context, struct gpu_event *event_out);
void code_event_destroy(struct gpu_context *context, struct gpu_event *event);
int code_event_record(struct gpu_context *context, struct gpu_event *event, void *stream);
int code_event_query(struct gpu_context *context, const struct gpu_event *event);
void code_host_free(struct gpu_context *context, void *host);
enum rbwp_status code_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                  struct gpu_module **module_out, struct rbwp_error *error);
void code_module_unload(struct gpu_module *module);
int code_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
int code_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream);

#endif /* RBWP_CODE_LOADER_H */
