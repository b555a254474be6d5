/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_folder.h - what recorded launches leave in the folder of RBWP_PTX_DIR.
 *
 * PID-N.raw, a buffer as it was (zero pages are holes), and a line for each in launches-PID.ndjson,
 * which is appended with one write, so that what was recorded before a crash is whole. Its first
 * line says what the host's clock was worth. docs/design/ptx.md has the members.
 */
#ifndef INJECT_FOLDER_H
#define INJECT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INJECT_ANCHORS 2

/* The device's timer read between two readings of the host's. */
struct inject_anchor {
    uint64_t device_ns, host_ns, bound_ns;
};

/* What a line says. */
struct inject_launch_line {
    uint64_t hash;
    const char *kernel;
    int device;
    const char *device_name;
    int sms, clock_khz; /* of the device: multiprocessors, and their clock at most */
    uint64_t stream;
    unsigned grid[3], block[3];
    uint32_t correlation;
    uint64_t launch_ns, launched_ns, done_ns;
    struct inject_anchor anchors[INJECT_ANCHORS];
    int anchor_count;
    uint64_t dropped, start_ns, stop_ns; /* of the device; 0: not known */
};

/* Makes the folder if it is not there. False with the line said. */
bool inject_folder_open(const char *path);

/* The raw file with tail_bytes behind the buffer, then its line. False with the line said. */
bool inject_folder_launch(const struct inject_launch_line *line, const uint8_t *buffer,
                          size_t bytes, const uint8_t *tail, size_t tail_bytes);

/* Launches that were not recorded: the first that is met, with count 0, and how many came later. */
void inject_folder_skipped(uint64_t hash, const char *kernel, const char *why, uint64_t count);

#endif /* INJECT_FOLDER_H */
