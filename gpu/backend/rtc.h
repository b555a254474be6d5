/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtc.h - compiles CUDA or HIP source text at run time, with NVRTC or hipRTC.
 *
 * Both libraries have the same calls under other names, so there is one struct
 * of functions, and a table of names for each. What comes out is PTX text or a
 * code object, for the driver's module loader.
 */
#ifndef RBWP_RTC_H
#define RBWP_RTC_H

#include "gpu_backend.h"

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

/*
 * Opens the compiler: given, or the usual names, or else (may be NULL) a library that is open
 * already. RBWP_E_UNSUPPORTED with the reason.
 */
enum rbwp_status rtc_open(enum rtc_kind kind, const char *given, void *else_library,
                          struct rtc_functions *functions_out, struct rbwp_error *error);

/*
 * Compiles text->source with the option `arch` unless it is NULL. *code_out is to be freed.
 * RBWP_E_INVALID if it does not compile (first line of the log in error, all in text->log),
 * RBWP_E_MEMORY, RBWP_E_IO.
 */
enum rbwp_status rtc_compile(const struct rtc_functions *functions,
                             const struct gpu_code_text *text, const char *arch, char **code_out,
                             struct rbwp_error *error);

#endif /* RBWP_RTC_H */
