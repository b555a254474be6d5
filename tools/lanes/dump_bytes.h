/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_bytes.h - a file of a copy of memory, whole; NumPy's head (.npy) taken off.
 */
#ifndef DUMP_BYTES_H
#define DUMP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMP_FIELDS_MAX 64
#define DUMP_FIELD_NAME_MAX 32

/* A field of a NumPy record. */
struct dump_field {
    char name[DUMP_FIELD_NAME_MAX];
    uint32_t bytes, offset; /* in the record */
};

struct dump_bytes {
    const char *name; /* for messages */
    uint8_t *memory;
    const uint8_t *bytes; /* behind the head, if there is one */
    size_t count;
    bool is_numpy;
    bool cut;                                  /* the head says that there is more */
    struct dump_field fields[DUMP_FIELDS_MAX]; /* none: plain numbers */
    uint32_t field_count, record_bytes;        /* of one, or of a number */
};

/* "-" is standard input. False with the message given. */
bool dump_bytes_read(struct dump_bytes *dump, const char *path);
void dump_bytes_free(struct dump_bytes *dump);

/* The same of bytes in memory: false if they begin as NumPy's do and go on otherwise; *reason_out
 * says why. */
bool dump_bytes_take(struct dump_bytes *dump, const uint8_t *bytes, size_t count,
                     const char **reason_out);

#endif /* DUMP_BYTES_H */
