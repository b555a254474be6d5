/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's compilers, NVRTC and hipRTC: the code is the source. Source with "#error" does
 * not compile.
 */
#include "fake.h"
#include "rtc.h"

#include <stdlib.h>
#include <string.h>

static const char log_text[] = "in line 1:\nerror: says the source\n";

#define COMPILER(create, compile, code_size, code, log_size, log, destroy)                         \
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
        (void)name, (void)headers, (void)texts, (void)names;                                       \
        *program = strdup(source);                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    rtc_result compile(rtc_program program, int count, const char *const *options)                 \
    {                                                                                              \
        (void)count, (void)options;                                                                \
        return strstr(program, "#error") ? 6 : 0;                                                  \
    }                                                                                              \
    rtc_result code_size(rtc_program program, size_t *size)                                        \
    {                                                                                              \
        *size = strlen(program) + 1;                                                               \
        return 0;                                                                                  \
    }                                                                                              \
    rtc_result code(rtc_program program, char *text)                                               \
    {                                                                                              \
        strcpy(text, program);                                                                     \
        return 0;                                                                                  \
    }                                                                                              \
    rtc_result log_size(rtc_program program, size_t *size)                                         \
    {                                                                                              \
        (void)program;                                                                             \
        *size = sizeof log_text;                                                                   \
        return 0;                                                                                  \
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

COMPILER(nvrtcCreateProgram, nvrtcCompileProgram, nvrtcGetPTXSize, nvrtcGetPTX,
         nvrtcGetProgramLogSize, nvrtcGetProgramLog, nvrtcDestroyProgram)
COMPILER(hiprtcCreateProgram, hiprtcCompileProgram, hiprtcGetCodeSize, hiprtcGetCode,
         hiprtcGetProgramLogSize, hiprtcGetProgramLog, hiprtcDestroyProgram)
