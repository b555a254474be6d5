/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legion Prof logs: whatever declarations and records say, reading ends, and the spans that come
 * out are in order and nested. An input is a log, packed or not.
 */
#include "check_sink.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= INPUT_BYTES_MAX)
        check_trace_file(data, size, &trace_format_legion);
    return 0;
}
