/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_instrument.h - a file of PTX with probes, in memory. */
#ifndef PTX_INSTRUMENT_H
#define PTX_INSTRUMENT_H

#include "ptx_config.h"
#include "ptx_source.h"
#include "ptx_tool.h"

struct ptx_instrumented {
    struct ptx_source source;
    struct ptx_config config;
    struct ptx_options options; /* as they held; the lists of active probes are gone */
    struct ptx_probes probes;
};

/* False with the message given; ptx_instrumented_free only after true. */
bool ptx_instrument(struct ptx_instrumented *made, const struct ptx_tool_options *tool,
                    const char *path);
void ptx_instrumented_free(struct ptx_instrumented *made);

enum exit_code ptx_instrumented_map(const struct ptx_instrumented *made,
                                    const struct out_options *output, struct operands inputs);

enum exit_code ptx_write_text(const struct out_options *output, struct operands inputs,
                              const char *text, size_t bytes);

/* Makes one that is not there yet; false with the message given. */
bool ptx_make_folder(const char *path);

#endif /* PTX_INSTRUMENT_H */
