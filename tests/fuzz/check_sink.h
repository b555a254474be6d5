/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sink.h - a sink that holds a reader to what trace.h promises sinks.
 */
#ifndef CHECK_SINK_H
#define CHECK_SINK_H

#include "importers.h"

/* Opens the bytes as a file and reads it if its content is of the format. What comes must keep the
 * promises of trace.h. */
void check_trace_file(const uint8_t *data, size_t size, const struct trace_format *format);

#endif /* CHECK_SINK_H */
