/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_instrument.h - a file of PTX with probes, in memory. */
#ifndef PTX_INSTRUMENT_H
#define PTX_INSTRUMENT_H

#include "ptx_source.h"
#include "ptx_tool.h"

/* A file config.ini, with the sections and keys of compatible tools.
 *
 * [instrument] mode, target_file, t_start, t_end, n_probes_estimate; [output] output_dir, raw_csv,
 * trace_json, dump_ptx; [analysis] analysis_dir, loc_map, active_list; [sanitizer] enable, dead,
 * merge. What a file does not say is as it was; other sections and keys are passed over. */

#define PTX_CONFIG_TEXT 256

struct ptx_config {
    char mode[PTX_CONFIG_TEXT];
    uint32_t target_file, t_start, t_end, n_probes_estimate;
    char output_dir[PTX_CONFIG_TEXT], raw_csv[PTX_CONFIG_TEXT], trace_json[PTX_CONFIG_TEXT];
    bool dump_ptx;
    char analysis_dir[PTX_CONFIG_TEXT], loc_map[PTX_CONFIG_TEXT], active_list[PTX_CONFIG_TEXT];
    bool enable, dead, merge;
};

/* Without a file. dead and merge are off without a section [sanitizer]. */
void ptx_config_defaults(struct ptx_config *config);
/* Defaults, and what the file says. False with the message given. */
bool ptx_config_read(struct ptx_config *config, const char *path);

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
