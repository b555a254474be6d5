/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_emit.h - the text of probes. */
#ifndef PTX_EMIT_H
#define PTX_EMIT_H

#include "ptx_probe.h"
#include "ptx_shape.h"

struct ptx_emit {
    struct ptx_edits *edits;
    const struct ptx_module *module;
    const struct ptx_options *options;
    const struct ptx_probes *probes; /* cells, lane, lanes, hash, param */
};

/* The module's variables, which stand before its first function. */
void ptx_emit_variables(const struct ptx_emit *emit);
/* The parameter behind the function's last. */
void ptx_emit_param(const struct ptx_emit *emit, const struct ptx_function *function);
/* What a kernel does first: its lane, and where that writes. */
void ptx_emit_head(const struct ptx_emit *emit, const struct ptx_function *function);
void ptx_emit_start(const struct ptx_emit *emit, const struct ptx_probe *probe);
/* Before an instruction that may end the kernel: what found no room is counted. */
void ptx_emit_leave(const struct ptx_emit *emit, uint32_t statement);
void ptx_emit_end(const struct ptx_emit *emit, const struct ptx_probe *probe);

#endif /* PTX_EMIT_H */
