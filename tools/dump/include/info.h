/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.h - what a file holds, counted, as text and as result tables.
 *
 * info_gather walks the file once.
 */
#ifndef INFO_H
#define INFO_H

#include "file_columns.h"
#include "losses.h"
#include "slot_rows.h"
#include "thread_map.h"

enum { INFO_KINDS = 64, INFO_TAGS_MAX = 32, INFO_THREADS_SHOWN = 64 };

/* Counts of one thread. */
struct info_thread {
    uint64_t thread_id;
    uint64_t blocks, records;
    int64_t first_ns, last_ns;
};

/* Opaque blocks of one tag. */
struct info_tag {
    char tag[4];
    uint8_t bytes; /* of the tag: less than 4 in a block too short to have one */
    uint64_t blocks, data_bytes;
};

struct info {
    struct input *input;
    struct names names;
    struct slot_rows slots;
    bool counted;                    /* false with --quick: all counts are 0 */
    bool index;                      /* where blocks are is to be shown, too */
    uint64_t kinds[INFO_KINDS];      /* records, by kind as stored */
    uint64_t *sub_items;             /* fine begins by sub-item, RBWP_SUB_ITEMS_MAX of them */
    uint32_t last_sub_item;          /* the greatest of them */
    uint64_t data_bytes, file_bytes; /* of blocks with records: uncompressed, and as stored */
    int64_t first_ns, last_ns;       /* valid when there are records */
    uint64_t opaque_blocks, other_tag_blocks;
    struct info_tag tags[INFO_TAGS_MAX];
    unsigned tag_count;
    struct result_rows used_slots, known_slots, used_sub_items;
    struct file_shown file; /* what else is in it */
    struct losses losses;
    struct file_tables tables; /* the catalog's counts are those of the file */
    struct thread_map map;
    struct info_thread *threads; /* map.count of them */
    uint32_t thread_capacity;
};

/*
 * Loads the names and walks the input (unless quick). The input must have been opened with
 * names_first. False with the message given.
 */
bool info_gather(struct info *info, struct input *input, bool quick);
void info_free(struct info *info);

void info_text(struct out *out, const struct info *info);
/* One list, "files", of rows of struct info. */
const struct result_column *info_document(void);

/* What text and JSON share. */
extern const struct result_column info_kind_columns[];
extern const struct result_table info_slots_table, info_threads_table;
struct result_rows info_thread_rows(const struct info *info);
void info_show_name(struct out *out, const struct name *name);
/* "KIND ", of a kind of the program's own; false: it is of none. */
bool info_show_kind(struct out *out, const struct name *name);

#endif /* INFO_H */
