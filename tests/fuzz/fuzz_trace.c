/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RBWP files as traces: whatever records, facts of GPU work and tables say, reading ends, and what
 * comes out keeps the promises of trace.h.
 */
#include "check_sink.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= INPUT_BYTES_MAX)
        check_trace_file(data, size, &trace_format_rbwp);
    return 0;
}
