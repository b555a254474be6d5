/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_file.h - one part of an RBWP file, being written.
 *
 * Knows its name, its descriptor and how many records of each thread are in
 * it, which its trailer must say; leaves to split.h what goes into it.
 */
#ifndef PART_FILE_H
#define PART_FILE_H

#include "rbwp_reader.h"
#include "rbwp_writer.h"
#include "table_parts.h"

struct part_file {
    char *path; /* NULL: not begun */
    int fd;
    struct rbwp_writer *writer;
    uint32_t sequence;
    uint64_t records, rows;
    int64_t first_ns, last_ns; /* of records */
    uint64_t *thread_records;  /* by number of the thread */
    uint32_t thread_room;
    struct part_tables tables;
};

/* Takes path, which is allocated. An existing file is refused unless forced, and the original
 * always. False with the message given. */
bool part_file_begin(struct part_file *part, char *path, bool force, struct rbwp_reader *original,
                     int original_fd);
/* thread: its number. False with the message given. */
bool part_file_add(struct part_file *part, uint32_t thread, const struct rbwp_sealed_block *block);

/* A block of rows, and what is no record and comes as it is. False with the message given. */
bool part_file_add_table(struct part_file *part, const struct rbwp_sealed_block *block);
bool part_file_add_opaque(struct part_file *part, const char tag[4], const void *data,
                          uint32_t bytes);

/* Which losses a part tells: each one of the original's is told by one part, also where no part
 * has records of that time or thread, unless filters exclude it. */
struct part_file_facts {
    bool is_first;          /* losses of unknown time or thread, empty calls */
    bool takes_rest;        /* losses before from_ns, and of threads without a part */
    int64_t from_ns, to_ns; /* losses that began in between; */
    bool by_thread;         /* instead: of thread_id */
    uint64_t thread_id;
    uint32_t part; /* of those that the original is cut into, from 1; 0: it is a window */
    int64_t complete_from_ns; /* 0: from the beginning on */
    const uint64_t *threads;  /* ids by number */
    uint32_t thread_count;
};
/* Tables and trailer. False with the message given. */
bool part_file_finish(struct part_file *part, const struct rbwp_reader *original,
                      const struct part_file_facts *facts);
/* Closes, and takes the file away if remove. Frees all but path. */
void part_file_close(struct part_file *part, bool remove);

#endif /* PART_FILE_H */
