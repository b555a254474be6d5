/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_file.h - writes NumPy arrays as an .npz file: a ZIP archive whose members are .npy files.
 *
 * All arrays grow at the same time and are written at the end (spool.h). Members
 * are stored as they are, and their data begin at multiples of 64 bytes of the
 * file, so that whoever maps the file has the arrays without a copy.
 */
#ifndef NPZ_FILE_H
#define NPZ_FILE_H

#include "spool.h"

enum { NPZ_MEMBERS_MAX = 128, NPZ_NAME_BYTES = 48 };

struct npz_member {
    char name[NPZ_NAME_BYTES]; /* terminated; without ".npy" */
    const char *type;          /* as NumPy spells it: "<i8" */
    size_t item_bytes;
    uint64_t bytes;
    uint32_t crc32;
    bool absent;     /* not to be written after all */
    uint64_t offset; /* in the file, when it is written */
};

/* Does not move while it is in use. */
struct npz {
    struct spool spool;
    struct npz_member members[NPZ_MEMBERS_MAX];
    uint32_t count;
};

void npz_start(struct npz *npz);
void npz_free(struct npz *npz);
/* The user was told. */
static inline bool npz_failed(const struct npz *npz)
{
    return npz->spool.failed;
}

/* The number of a new member, NAME followed by SUFFIX. There must be room for it. */
uint32_t npz_add(struct npz *npz, const char *name, const char *suffix, const char *type,
                 size_t item_bytes);
void npz_put(struct npz *npz, uint32_t member, const void *bytes, size_t count);
/* count bytes of this value. */
void npz_pad(struct npz *npz, uint32_t member, uint8_t byte, uint64_t count);
/* Writes the archive. */
void npz_write(struct npz *npz, struct out *out);

#endif /* NPZ_FILE_H */
