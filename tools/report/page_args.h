/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_args.h - what programs noted of single calls, for the page.
 *
 * Element args0: for each span its track and the number of its kind (varints), its start (8 bytes,
 * ns, little-endian), and its arguments as arg_list.h has them, with their length (a varint) in
 * front. So many as fit into PAGE_ARGS_BYTES, those that come first; of the others the number is
 * known.
 */
#ifndef PAGE_ARGS_H
#define PAGE_ARGS_H

#include "page_data.h"
#include "trace.h"

enum { PAGE_ARGS_BYTES = 8 << 20 };

/* Zero is none. */
struct page_args {
    struct byte_buffer bytes;
    uint64_t left_out; /* spans */
};

/* False without memory. names: by number, of the trace. */
bool page_args_add(struct page_args *args, const struct trace_span *span, uint32_t kind,
                   const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count);
bool page_args_write(const struct page_args *args, struct page_data *data);
void page_args_free(struct page_args *args);

#endif /* PAGE_ARGS_H */
