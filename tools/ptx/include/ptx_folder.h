/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_folder.h - a folder that launches with probes left, as a profile.
 *
 * launches-PID.ndjson has a line for each launch: the buffer that was read back (PID-N.raw), the
 * map of its probes (HASH.map.json), when and by whom it was launched, and pairs of times of both
 * clocks. The profile has a GPU_WORK record and a row of gpu_activity for each launch, and a row of
 * kernel_block for each record (SPEC.md, section 9.3). All of it may be anybody's: what does not
 * fit together is refused by its name, and the rest is written.
 */
#ifndef PTX_FOLDER_H
#define PTX_FOLDER_H

#include "out.h"

/* A source line of a kernel, of all launches. */
struct ptx_hot_line {
    uint64_t kernel, place; /* numbers of names in the file; found by the two texts */
    const char *kernel_name, *place_name;
    uint64_t count, cycles;
};

struct ptx_folder_summary {
    uint64_t launches;          /* with a buffer */
    uint64_t refused;           /* of these; a message was given for each */
    uint64_t skipped;           /* launches without a buffer */
    uint64_t records;           /* rows of kernel_block */
    uint64_t dropped;           /* records that found no room in their buffer */
    uint64_t cycles;            /* of all lines */
    struct ptx_hot_line *lines; /* most cycles first */
    uint32_t line_count, line_room;
    char *texts; /* of the lines */
};

/* Writes the profile to output->path, which may not be standard output. EXIT_PARTIAL: something was
 * refused; EXIT_BAD_DATA: nothing was written. Messages are given. told is to be freed in any case.
 */
enum exit_code ptx_folder_write(const char *folder, const struct out_options *output,
                                struct ptx_folder_summary *summary);
void ptx_folder_summary_free(struct ptx_folder_summary *summary);

/* What a second run can do without: probes that never fired, the inner sides of neighbours; and by
 * whose rule a cell is empty (ptx_sanitize.h). */
struct ptx_sanitizing {
    bool compat, dead, merge;
};

/*
 * For a second run with fewer probes: writes HASH.active.json into the folder `to`, made if need
 * be, for each map whose launches have records, by the rules of rbwp ptx sanitize over all of them
 * (of launches that lost records dead probes stay). rbwp-ptxas takes them from RBWP_PTX_ACTIVE.
 * count_out: how many. EXIT_PARTIAL: something was refused; EXIT_BAD_DATA: none was written.
 */
enum exit_code ptx_folder_active(const char *folder, const char *to, struct ptx_sanitizing how,
                                 uint32_t *count_out);

#endif /* PTX_FOLDER_H */
