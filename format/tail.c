/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.c - see tail.h. The tail is read whole, in pieces, so that file, memory
 * and stream are the same from here on; names point into it.
 */
#include "tail.h"

#include "grow.h"
#include "reader_error.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what a reader found wrong --------------------------------------------------------------- */
/*
 * The first ones kept, all counted.
 *
 * Bounded, since a hostile file can break a rule every few bytes.
 */

bool problems_add(struct problems *problems, const struct rbwp_problem *problem)
{
    problems->count++;
    if (problems->kept_count == PROBLEMS_KEPT_MAX)
        return true;
    if (!grow_array(&problems->kept, &problems->capacity, problems->kept_count + 1,
                    sizeof *problems->kept))
        return false;
    problems->kept[problems->kept_count++] = *problem;
    return true;
}

void problems_add_error(struct problems *problems, const struct rbwp_error *error)
{
    struct rbwp_problem problem = {.error = *error};
    (void)problems_add(problems, &problem); /* it is counted in any case */
}

void problems_clear(struct problems *problems)
{
    problems->kept_count = 0;
    problems->count = 0;
}

void problems_free(struct problems *problems)
{
    free(problems->kept);
    *problems = (struct problems){0};
}

/* ---- tail ------------------------------------------------------------------------------------ */

#define TAIL_BYTES_MAX ((size_t)TABLES_BYTES_MAX + TRAILER_BYTES_MAX + FOOTER_BYTES)
#define PIECE_BYTES (64u << 10)

/* Appends the tail's bytes, up to the most it may have. */
static enum rbwp_status read_tail(struct tail *tail, struct source *source,
                                  struct rbwp_error *error)
{
    struct buffer *buffer = &tail->buffer;
    while (buffer->count < TAIL_BYTES_MAX) {
        struct view view;
        enum rbwp_status status =
            source_view(source, tail->offset + buffer->count, PIECE_BYTES, &view, error);
        if (status == RBWP_E_CORRUPT) { /* a damaged chunk of an archive */
            problems_add_error(&tail->problems, error);
            return RBWP_OK;
        }
        if (status != RBWP_OK)
            return status;
        buffer_append(buffer, view.bytes, view.count);
        if (buffer->failed)
            return error_set_memory(error, "descriptors");
        if (view.count == 0)
            break;
    }
    return RBWP_OK;
}

static void note_behind(struct tail *tail, uint64_t offset, struct rbwp_error *error)
{
    error_set(error, RBWP_E_CORRUPT, (struct place){"trailer", offset, RULE_BEHIND_TABLES},
              "bytes behind the descriptor tables that are no trailer are ignored");
    problems_add_error(&tail->problems, error);
}

/* What stands behind the tables, which end at byte `begin` of the tail if they are whole. */
static enum rbwp_status load_trailer(struct tail *tail, size_t begin, bool tables_whole,
                                     struct rbwp_error *error)
{
    const struct buffer *buffer = &tail->buffer;
    struct footer footer;
    if (buffer->count < begin + FOOTER_BYTES ||
        footer_decode(buffer->bytes + buffer->count - FOOTER_BYTES, &footer) != RBWP_OK) {
        if (tables_whole && buffer->count > begin)
            note_behind(tail, tail->offset + begin, error);
        return RBWP_OK;
    }
    uint64_t footer_offset = tail->offset + buffer->count - FOOTER_BYTES;
    enum rbwp_status status = footer_check(&footer, footer_offset, error);
    if (status == RBWP_OK && (footer.offset < tail->offset + begin ||
                              (tables_whole && footer.offset != tail->offset + begin)))
        status = error_set(
            error, RBWP_E_CORRUPT, (struct place){"trailer", footer_offset, RULE_TRAILER_PLACE},
            "the trailer at %" PRIu64 " does not begin where the tables end, %" PRIu64,
            footer.offset, tail->offset + begin);
    if (status != RBWP_OK) {
        problems_add_error(&tail->problems, error);
        return RBWP_OK;
    }
    status = trailer_decode(buffer->bytes + (footer.offset - tail->offset), &footer, &tail->trailer,
                            error);
    if (status == RBWP_E_CORRUPT)
        problems_add_error(&tail->problems, error);
    tail->has_trailer = status == RBWP_OK;
    return status == RBWP_E_CORRUPT ? RBWP_OK : status;
}

enum rbwp_status tail_load(struct tail *tail, struct source *source,
                           const struct rbwp_file_header *header, struct rbwp_error *error)
{
    tail->offset = header->descriptor_offset;
    enum rbwp_status status = read_tail(tail, source, error);
    if (status != RBWP_OK)
        return status;
    struct descriptor_counts counts = {header->work_items, header->sub_items};
    status = descriptor_decode(tail->buffer.bytes, tail->buffer.count, tail->offset, counts,
                               &tail->descriptors, error);
    if (status == RBWP_E_MEMORY)
        return status;
    if (status != RBWP_OK)
        problems_add_error(&tail->problems, error);
    return load_trailer(tail, tail->descriptors.bytes, status == RBWP_OK, error);
}

void tail_forget(struct tail *tail)
{
    descriptor_free(&tail->descriptors);
    trailer_free(&tail->trailer);
    buffer_free(&tail->buffer);
    tail->has_trailer = false;
}

void tail_free(struct tail *tail)
{
    tail_forget(tail);
    problems_free(&tail->problems);
}

/* Copies the trailer that ends the file into buffer. RBWP_END if there is no sound one. */
static enum rbwp_status copy_trailer(struct source *source, struct buffer *buffer,
                                     struct footer *footer_out, struct rbwp_error *error)
{
    uint8_t bytes[FOOTER_BYTES];
    if (source->size < RBWP_FILE_HEADER_BYTES + FOOTER_BYTES)
        return RBWP_END;
    uint64_t footer_offset = source->size - FOOTER_BYTES;
    enum rbwp_status status = source_copy(source, footer_offset, bytes, FOOTER_BYTES, error);
    if (status != RBWP_OK)
        return status;
    if (footer_decode(bytes, footer_out) != RBWP_OK ||
        footer_check(footer_out, footer_offset, NULL) != RBWP_OK)
        return RBWP_END;
    if (!buffer_reserve(buffer, (size_t)footer_out->bytes))
        return error_set_memory(error, "trailer");
    return source_copy(source, footer_out->offset, buffer->bytes, (size_t)footer_out->bytes, error);
}

enum rbwp_status tail_find_tables(struct source *source, struct rbwp_file_header *header,
                                  struct rbwp_error *error)
{
    struct buffer buffer = {0};
    struct footer footer;
    struct trailer trailer;
    enum rbwp_status status = copy_trailer(source, &buffer, &footer, error);
    if (status == RBWP_OK)
        status = trailer_decode(buffer.bytes, &footer, &trailer, error);
    if (status == RBWP_OK) {
        const struct trailer_tables *tables = &trailer.tables;
        if (tables->present && tables->offset >= RBWP_FILE_HEADER_BYTES &&
            tables->offset <= footer.offset) {
            header->descriptor_offset = tables->offset;
            header->work_items = tables->work_items;
            header->sub_items = tables->sub_items;
        }
        trailer_free(&trailer);
    }
    buffer_free(&buffer);
    /* A damaged trailer finds nothing; what it was is reported with the blocks. */
    return status == RBWP_END || status == RBWP_E_CORRUPT ? RBWP_OK : status;
}
