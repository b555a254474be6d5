/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_tool.h - what rbwp ptx does, one call a subcommand.
 *
 * Each takes the file that stands behind its name and writes to standard output or where the
 * options say. What gpu/ptx refuses is reported with file, line, column, the line, and a caret.
 */
#ifndef PTX_TOOL_H
#define PTX_TOOL_H

#include "out.h"
#include "ptx_probe.h"
#include "terminal.h"

struct ptx_tool_options {
    struct ptx_options probes; /* zero where nothing is said; see ptx_instrument.c */
    const char *file;          /* --file: a number of .loc, a source's path, or all */
    const char *active, *map, *config, *folder, *loc_map, *source, *profile;
    bool mode_given, json, compat, keep_dead, keep_edges, csv_header;
    uint32_t pair_cost;
    bool pair_cost_given;
    struct out_options output;
    struct terminal_options terminal;
};

extern const struct option_group ptx_option_groups[]; /* of struct ptx_tool_options */

enum exit_code ptx_tool_print(const struct ptx_tool_options *options, struct operands files);
enum exit_code ptx_tool_blocks(const struct ptx_tool_options *options, struct operands files);
enum exit_code ptx_tool_instrument(const struct ptx_tool_options *options, struct operands files);
enum exit_code ptx_tool_decode(const struct ptx_tool_options *options, struct operands files);
/* Without a file: the one that the configuration names. */
enum exit_code ptx_tool_sanitize(const struct ptx_tool_options *options, struct operands files);
enum exit_code ptx_tool_annotate(const struct ptx_tool_options *options, struct operands files);

#endif /* PTX_TOOL_H */
