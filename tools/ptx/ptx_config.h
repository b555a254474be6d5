/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_config.h - config.ini, with the sections and keys of compatible tools.
 *
 * [instrument] mode, target_file, t_start, t_end, n_probes_estimate; [output] output_dir, raw_csv,
 * trace_json, dump_ptx; [analysis] analysis_dir, loc_map, active_list; [sanitizer] enable, dead,
 * merge. What a file does not say is as it was; other sections and keys are passed over.
 */
#ifndef PTX_CONFIG_H
#define PTX_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

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

#endif /* PTX_CONFIG_H */
