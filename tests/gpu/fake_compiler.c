/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's compilers, NVRTC and hipRTC: the code is the source. Source with "#error" does
 * not compile. fake_fail knows their calls as "compiler_create" and so on.
 */
#include "code_loader.h"
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static const char log_text[] = "in line 1:\nerror: says the source\n";

/* None, or, where one may be named, the architecture alone (hip_shim.c names none). */
static bool compiler_options_are(const char *arch, int count, const char *const *options)
{
    const bool named = arch && count == 1 && strncmp(options[0], arch, strlen(arch)) == 0;
    if (named)
        (void)fake_call("compiler_arch");
    return named || count == 0;
}

#define COMPILER(arch, create, compile, code_size, code, log_size, log, destroy)                   \
    FAKE_API rtc_result create(rtc_program *, const char *, const char *, int,                     \
                               const char *const *, const char *const *);                          \
    FAKE_API rtc_result compile(rtc_program, int, const char *const *);                            \
    FAKE_API rtc_result code_size(rtc_program, size_t *);                                          \
    FAKE_API rtc_result code(rtc_program, char *);                                                 \
    FAKE_API rtc_result log_size(rtc_program, size_t *);                                           \
    FAKE_API rtc_result log(rtc_program, char *);                                                  \
    FAKE_API rtc_result destroy(rtc_program *);                                                    \
    rtc_result create(rtc_program *program, const char *source, const char *name, int headers,     \
                      const char *const *texts, const char *const *names)                          \
    {                                                                                              \
        rtc_result result = fake_call("compiler_create");                                          \
        if (!name || headers || texts || names)                                                    \
            return 3;                                                                              \
        if (result == 0)                                                                           \
            *program = strdup(source);                                                             \
        return result;                                                                             \
    }                                                                                              \
    rtc_result compile(rtc_program program, int count, const char *const *options)                 \
    {                                                                                              \
        if (!compiler_options_are(arch, count, options))                                           \
            return 5;                                                                              \
        return strstr(program, "#error") ? 6 : 0;                                                  \
    }                                                                                              \
    rtc_result code_size(rtc_program program, size_t *size)                                        \
    {                                                                                              \
        *size = strlen(program) + 1;                                                               \
        return fake_call("compiler_code_size");                                                    \
    }                                                                                              \
    rtc_result code(rtc_program program, char *text)                                               \
    {                                                                                              \
        strcpy(text, program);                                                                     \
        return fake_call("compiler_code");                                                         \
    }                                                                                              \
    rtc_result log_size(rtc_program program, size_t *size)                                         \
    {                                                                                              \
        (void)program;                                                                             \
        *size = sizeof log_text;                                                                   \
        return fake_call("compiler_log_size");                                                     \
    }                                                                                              \
    rtc_result log(rtc_program program, char *text)                                                \
    {                                                                                              \
        (void)program;                                                                             \
        strcpy(text, log_text);                                                                    \
        return 0;                                                                                  \
    }                                                                                              \
    rtc_result destroy(rtc_program *program)                                                       \
    {                                                                                              \
        free(*program);                                                                            \
        return 0;                                                                                  \
    }

COMPILER("--gpu-architecture=compute_", nvrtcCreateProgram, nvrtcCompileProgram, nvrtcGetPTXSize,
         nvrtcGetPTX, nvrtcGetProgramLogSize, nvrtcGetProgramLog, nvrtcDestroyProgram)
COMPILER(NULL, hiprtcCreateProgram, hiprtcCompileProgram, hiprtcGetCodeSize, hiprtcGetCode,
         hiprtcGetProgramLogSize, hiprtcGetProgramLog, hiprtcDestroyProgram)
