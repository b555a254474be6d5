/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto traces: whatever the bytes are, reading ends, and the spans and links that come out are
 * in order and nested. An input is the trace, packed or not.
 */
#include "check_sink.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= INPUT_BYTES_MAX)
        check_trace_file(data, size, &trace_format_perfetto);
    return 0;
}
