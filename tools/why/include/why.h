/* SPDX-License-Identifier: Apache-2.0 */
/* why.h - why some calls took far longer than others of their name, from files to the answer. */
#ifndef WHY_H
#define WHY_H

#include "result_table.h"
#include "trace_pass.h"

struct why_options {
    struct reading_options reading;
    bool json;
    const char *csv, *name; /* name: a pattern; NULL: all */
    struct filter_time slower_than;
    uint32_t limit, max_bytes; /* causes and bytes of text; 0: as many as is usual */
};

extern const struct result_column why_columns[]; /* the document */

/* Hands on what was found, a name after the other, while threads and names are known; of
 * why_view.h. Its lines about files are dropped: who calls it has read them, too. EXIT_USAGE: a
 * file can be read once alone, and nobody was asked; EXIT_PARTIAL: there was no memory. */
struct why_view;
typedef enum exit_code (*why_receiver)(const struct why_view *view, void *context);
enum exit_code why_find(const struct why_options *options, struct operands files,
                        why_receiver receive, void *context);

/* What is read twice is a file: the first that is none; NULL: all are. */
const char *why_no_file(struct operands files);
enum exit_code why_show(const struct why_options *options, struct operands files);

#endif /* WHY_H */
