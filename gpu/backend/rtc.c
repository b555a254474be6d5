/* SPDX-License-Identifier: Apache-2.0 */
#include "rtc.h"

#include "gpu_failure.h"
#include "gpu_loader.h"

#include <stdlib.h>
#include <string.h>

#define NVRTC_SYMBOL(member, parameters, nvrtc, hiprtc)                                            \
    {#nvrtc, offsetof(struct rtc_functions, member), false},
#define HIPRTC_SYMBOL(member, parameters, nvrtc, hiprtc)                                           \
    {#hiprtc, offsetof(struct rtc_functions, member), false},
static const struct rtc_library {
    const char *name;
    const char *const *libraries;
    const struct gpu_symbol *symbols;
} libraries[] = {
    [RTC_NVRTC] = {"nvrtc",
                   (const char *const[]){"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                         "libnvrtc.so.11.2", NULL},
                   (const struct gpu_symbol[]){RTC_CALLS(NVRTC_SYMBOL){NULL, 0, false}}},
    [RTC_HIPRTC] = {"hiprtc",
                    (const char *const[]){"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6",
                                          "libhiprtc.so.5", NULL},
                    (const struct gpu_symbol[]){RTC_CALLS(HIPRTC_SYMBOL){NULL, 0, false}}},
};

enum rbwp_status rtc_open(enum rtc_kind kind, const char *given, void *else_library,
                          struct rtc_functions *functions_out, struct rbwp_error *error)
{
    const struct rtc_library *row = &libraries[kind];
    void *library = gpu_library_open(given, row->libraries, row->name, error);
    if (!library && !given)
        library = else_library;
    if (!library)
        return RBWP_E_UNSUPPORTED;
    return gpu_symbols_load(library, row->symbols, functions_out, row->name, error);
}

/* The compiler's words go to text->log, their first line with an error into error. */
static enum rbwp_status rtc_explain(const struct rtc_functions *rtc, rtc_program program,
                                    const struct gpu_code_text *text, struct rbwp_error *error)
{
    size_t size = 0;
    char *log = NULL;
    if (rtc->log_size(program, &size) == 0 && (log = calloc(1, size + 1)))
        rtc->log(program, log);
    const char *line = log ? strstr(log, "error") : NULL;
    while (line && line > log && line[-1] != '\n')
        line--;
    line = line ? line : log ? log : "";
    gpu_failure(error, RBWP_E_INVALID, "%s does not compile: %.*s", text->name,
                (int)strcspn(line, "\n"), line);
    if (log && text->log && text->log_bytes) {
        size_t kept = size < text->log_bytes ? size : text->log_bytes - 1;
        memcpy(text->log, log, kept);
        text->log[kept] = 0;
    }
    free(log);
    return RBWP_E_INVALID;
}

static enum rbwp_status take_code(const struct rtc_functions *rtc, rtc_program program,
                                  const struct gpu_code_text *text, char **code_out,
                                  struct rbwp_error *error)
{
    size_t size = 0;
    if (rtc->code_size(program, &size) != 0)
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler gives no code", text->name);
    char *code = calloc(1, size + 1);
    if (!code)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for the code of %s", text->name);
    if (rtc->code(program, code) != 0) {
        free(code);
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler gives no code", text->name);
    }
    *code_out = code;
    return RBWP_OK;
}

enum rbwp_status rtc_compile(const struct rtc_functions *rtc, const struct gpu_code_text *text,
                             const char *arch, char **code_out, struct rbwp_error *error)
{
    rtc_program program = NULL;
    if (rtc->create(&program, text->source, text->name, 0, NULL, NULL) != 0)
        return gpu_failure(error, RBWP_E_IO, "%s: the compiler does not start", text->name);
    enum rbwp_status status = rtc->compile(program, arch != NULL, &arch) == 0
                                  ? take_code(rtc, program, text, code_out, error)
                                  : rtc_explain(rtc, program, text, error);
    rtc->destroy(&program);
    return status;
}
