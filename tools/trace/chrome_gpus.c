/* SPDX-License-Identifier: Apache-2.0 */
#include "chrome_gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const struct json_scan *scan)
{
    char text[32];
    size_t bytes = scan->text_bytes < sizeof text - 1 ? scan->text_bytes : sizeof text - 1;
    memcpy(text, scan->text, bytes);
    text[bytes] = '\0';
    return text[0] == '-' ? 0 : strtoull(text, NULL, 10);
}

static void take_value(struct chrome_gpu *gpu, const char *what, enum json_token token,
                       const struct json_scan *scan)
{
    if (token == JSON_TEXT && strcmp(what, "name") == 0)
        snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)scan->text_bytes, scan->text);
    if (token != JSON_NUMBER)
        return;
    if (strcmp(what, "id") == 0)
        gpu->id = (uint32_t)number_of(scan);
    else if (strcmp(what, "numSms") == 0)
        gpu->multiprocessors = number_of(scan);
    else if (strcmp(what, "totalGlobalMem") == 0)
        gpu->memory_bytes = number_of(scan);
}

/* False: it ends in the middle. */
static bool read_gpu(struct chrome_gpu *gpu, struct json_scan *scan)
{
    static const char *const keys[] = {"id", "name", "numSms", "totalGlobalMem", ""};
    enum json_token token;
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        int key = 0;
        while (*keys[key] && !json_scan_is(scan, keys[key]))
            key++;
        token = json_scan_next(scan);
        take_value(gpu, keys[key], token, scan);
        json_scan_skip(scan, token);
    }
    return token == JSON_OBJECT_END;
}

void chrome_gpus_read(struct chrome_gpus *gpus, struct json_scan *scan)
{
    enum json_token token = json_scan_next(scan);
    if (token != JSON_ARRAY) {
        json_scan_skip(scan, token);
        return;
    }
    while ((token = json_scan_next(scan)) != JSON_ARRAY_END && token != JSON_END) {
        struct chrome_gpu gpu = {0};
        if (token != JSON_OBJECT) {
            json_scan_skip(scan, token);
            continue;
        }
        if (!read_gpu(&gpu, scan))
            return;
        if (gpus->count < CHROME_GPUS_MAX)
            gpus->gpus[gpus->count++] = gpu;
    }
}

void chrome_gpus_add_facts(const struct chrome_gpus *gpus, struct trace *trace, uint32_t process)
{
    char key[64];
    for (uint32_t i = 0; i < gpus->count; i++) {
        const struct chrome_gpu *gpu = &gpus->gpus[i];
#define FACT(what, ...)                                                                            \
    do {                                                                                           \
        snprintf(key, sizeof key, "process.%" PRIu32 ".gpu.%" PRIu32 "." what, process, gpu->id);  \
        trace_add_fact(trace, key, __VA_ARGS__);                                                   \
    } while (0)
        if (*gpu->name)
            FACT("name", "%s", gpu->name);
        if (gpu->multiprocessors)
            FACT("multiprocessors", "%" PRIu64, gpu->multiprocessors);
        if (gpu->memory_bytes)
            FACT("memory_bytes", "%" PRIu64, gpu->memory_bytes);
#undef FACT
    }
}
