/* SPDX-License-Identifier: Apache-2.0 */
#include "page_args.h"

#include "arg_list.h"

static void args_put(struct byte_buffer *bytes, const struct trace_span *span, uint32_t kind,
                     struct trace_text list)
{
    buffer_varint(bytes, span->track);
    buffer_varint(bytes, kind);
    buffer_le(bytes, (uint64_t)span->start_ns, sizeof span->start_ns);
    buffer_varint(bytes, list.bytes);
    uint8_t *at = buffer_room(bytes, list.bytes);
    if (!at)
        return;
    memcpy(at, list.text, list.bytes);
    bytes->used += list.bytes;
}

bool page_args_add(struct page_args *args, const struct trace_span *span, uint32_t kind,
                   const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count)
{
    if (!detail || detail->arg_count == 0)
        return true;
    if (args->bytes.used >= PAGE_ARGS_BYTES) {
        args->left_out++;
        return true;
    }
    struct trace_text list;
    if (!arg_list_make(detail, names, name_count, &list))
        return false;
    if (list.bytes)
        args_put(&args->bytes, span, kind, list);
    free((char *)(uintptr_t)list.text);
    return !args->bytes.failed;
}

bool page_args_write(const struct page_args *args, struct page_data *data)
{
    return page_data_element(data, "args", 0, &args->bytes);
}

void page_args_free(struct page_args *args)
{
    buffer_free(&args->bytes);
}
