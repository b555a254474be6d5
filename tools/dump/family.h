/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - processes as their files tell of them, and who is whose parent. */
#ifndef FAMILY_H
#define FAMILY_H

#include "input.h"

#define FAMILY_NONE UINT32_MAX

enum family_end {
    FAMILY_ENDED, /* its recording did, in order */
    FAMILY_RUNS,
    FAMILY_DIED
};

/* A process, or a further file of one. */
struct family_member {
    const char *file;
    char *title;   /* what it calls itself, else its program; NULL: not known */
    char *host;    /* NULL: not known */
    uint64_t pid;  /* 0: not known */
    int64_t elder; /* process id of its parent; 0: not known */
    uint8_t boot_id[16];
    int64_t born_ns; /* when it was started, since its machine was; 0: not known */
    /* Of its recording. Not known: both 0. Files of the first one's machine are on one axis. */
    int64_t start_ns, last_ns;
    enum family_end end;
    bool counted; /* the following are known */
    uint64_t records, threads;
    uint32_t parent, first_child, next_child; /* FAMILY_NONE: there is none */
    uint32_t next_file;                       /* of the same process; FAMILY_NONE: none */
    bool further;                             /* it is one of those, and nobody's child */
};

struct family {
    struct family_member *members;
    uint32_t count, room;
    /* Of the machine of the first file that tells one: wall clock - monotonic clock. */
    bool has_axis;
    uint8_t boot_id[16];
    int64_t ahead_ns;
};

/* False without memory. */
bool family_add(struct family *family, const struct input *input);
/* Puts them in the order of their starts, and says who belongs to whom. */
void family_join(struct family *family);
void family_free(struct family *family);

#endif /* FAMILY_H */
