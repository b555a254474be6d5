/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the file a session writes, as a sink that survives a full disk, and a program that
 * closes its descriptor (held.h).
 *
 * A write that fails leaves nothing behind: the file is cut back to where it
 * was. Space for the tables and the trailer is kept allocated ahead of the
 * blocks, so that a disk that fills up stops the blocks, not the ending: little
 * at first, more the longer the file is. A
 * limit on the size of files (RLIMIT_FSIZE) counts as the end of the disk.
 *
 * What others do to the file meanwhile: a renamed one is written on under its
 * new name. One that is cut keeps what comes later, behind zeros, and its
 * header; one that is removed is gone. Both are noticed.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "held.h"
#include "rbwp_writer.h"

struct output {
    struct held file;
    void *pin;                /* a mapping that nobody reads; NULL: none */
    uint64_t size_bytes;      /* of the file, all of it good */
    uint64_t allocated_bytes; /* on disk, from the start */
    uint64_t limit_bytes;     /* that the file may have */
    int64_t sync_interval_ns; /* 0: never; else fdatasync after writes, at most so often */
    int64_t synced_ns;        /* CLOCK_MONOTONIC, the last time */
    bool ending;              /* the reserve may be used now */
    bool no_allocate;         /* the file system can't allocate ahead */
    bool is_regular;          /* a file, no device */
    bool was_cut;             /* somebody made the file shorter */
    bool was_closed;          /* by the program, and could not be opened again */
    bool was_removed;         /* set by output_close */
    uint8_t header[RBWP_FILE_HEADER_BYTES]; /* as it is in the file */
    /* The last byte that was written and is not 0, which a cut before its end makes 0; what a cut
     * behind it takes is zeros, and comes back as such. 0: none was written. */
    uint8_t mark;
    uint64_t mark_offset;
};

/*
 * Writes to this descriptor, of an empty file (output_lock.h) or a device, from now on and closes
 * it. While it is open the file keeps its inode and its lock, whoever closes the descriptor.
 */
void output_open(struct output *output, int fd);
/* The sink; context is the output. errno says why a call failed. */
struct rbwp_sink output_sink(struct output *output);
/* Gives back what was allocated ahead, and closes. */
enum rbwp_status output_close(struct output *output);

#endif /* OUTPUT_H */
