/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - the walk over a file: header, blocks, what to do about damage,
 * tables and trailer.
 *
 * The walk is the same for memory, files and streams; the only difference is
 * that the tail of a stream is loaded when the blocks end, and otherwise at
 * open. Decoding a block is block.c's, finding the next one after damage is
 * resync.c's; here is decided what a failure means: damage to note, a cut at
 * the end of an unfinished file, or the end of all reading.
 */
#include "reader.h"

#include "archive_source.h"
#include "grow.h"
#include "header.h"
#include "rbwp_recover.h"
#include "reader_error.h"
#include "resync.h"
#include "failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what stands behind the blocks ----------------------------------------------------------- */
/*
 * Descriptor tables, trailer, footer.
 *
 * The tail is read whole, in pieces, so that file, memory
 * and stream are the same from here on; names point into it.
 */

/* ---- what a reader found wrong --------------------------------------------------------------- */
/*
 * The first ones kept, all counted.
 *
 * Bounded, since a hostile file can break a rule every few bytes.
 */

/* Adds one. Without memory it is only counted: false. */
static bool problems_add(struct problems *problems, const struct rbwp_problem *problem)
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

/* Adds one that is an error and nothing else. */
static void problems_add_error(struct problems *problems, const struct rbwp_error *error)
{
    struct rbwp_problem problem = {.error = *error};
    (void)problems_add(problems, &problem); /* it is counted in any case */
}

static void problems_clear(struct problems *problems)
{
    problems->kept_count = 0;
    problems->count = 0;
}

static void problems_free(struct problems *problems)
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

/*
 * Reads and decodes the tail that begins at the descriptor offset. What is wrong with it goes to
 * tail->problems. RBWP_E_VERSION: the file must be refused (R54), error says why. RBWP_E_IO,
 * RBWP_E_MEMORY. error is not NULL and may be written in each case. Free the tail in each case.
 */
static enum rbwp_status tail_load(struct tail *tail, struct source *source,
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

/* Tables and trailer are none; the problems stay. */
static void tail_forget(struct tail *tail)
{
    descriptor_free(&tail->descriptors);
    trailer_free(&tail->trailer);
    buffer_free(&tail->buffer);
    tail->has_trailer = false;
}

static void tail_free(struct tail *tail)
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

/*
 * For a file that was not finalised: if it ends in a whole trailer that says where the tables are
 * (SPEC.md, section 10.8), the last three fields of header are set from it. Not for streams.
 */
static enum rbwp_status tail_find_tables(struct source *source, struct rbwp_file_header *header,
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

/* ---- reader ---------------------------------------------------------------------------------- */

#define SKIP_BYTES (64u << 10)

struct rbwp_reader {
    struct source source;
    struct block_decoder decoder;
    struct resync resync;
    struct rbwp_file_header header;  /* as stored */
    struct rbwp_file_header located; /* with tables found through the trailer */
    bool no_resync, follow;
    bool waiting; /* the end was reported; the file is looked at again */

    uint64_t next_offset, next_index; /* of the next block */
    bool ended;                       /* the last block was passed */
    bool end_told;                    /* once: what is wrong behind it was noted */
    enum rbwp_status failed;          /* RBWP_OK while reading can go on */
    struct view stored;
    rbwp_decoded_fn *decoded; /* may be NULL */
    void *decoded_context;

    bool tail_loaded;
    struct tail tail;
    struct rbwp_tables tables;
    const struct rbwp_live *live; /* speaks for the tail until that is loaded; may be NULL */
    struct problems problems;
};

/* ---- open and close ------------------------------------------------------------ */

/* Where the blocks end, as far as the file says; UINT64_MAX: at the end of the data. */
static uint64_t blocks_end(const struct rbwp_reader *reader)
{
    uint64_t offset = reader->located.descriptor_offset;
    return offset >= RBWP_FILE_HEADER_BYTES ? offset : UINT64_MAX;
}

static enum rbwp_status load_tail(struct rbwp_reader *reader, struct rbwp_error *error)
{
    enum rbwp_status status = tail_load(&reader->tail, &reader->source, &reader->located, error);
    if (status != RBWP_OK)
        return status;
    const struct descriptor_tables *tables = &reader->tail.descriptors;
    reader->tables = (struct rbwp_tables){
        .work_items = tables->work_items,
        .sub_items = tables->sub_items,
        .work_item_count = tables->work_item_count,
        .sub_item_count = tables->sub_item_count,
    };
    reader->tail_loaded = true;
    return RBWP_OK;
}

/* The trailer that said where the tables are does not fit them (R50): so nothing says it. */
static void forget_tail(struct rbwp_reader *reader)
{
    tail_forget(&reader->tail);
    reader->tables = (struct rbwp_tables){0};
    reader->located = reader->header;
}

static enum rbwp_status read_header(struct rbwp_reader *reader, struct rbwp_error *error)
{
    struct source *source = &reader->source;
    struct view view;
    uint64_t size = source->kind == SOURCE_STREAM ? UINT64_MAX : source->size;
    enum rbwp_status status = source_view(source, 0, RBWP_FILE_HEADER_BYTES, &view, error);
    if (status == RBWP_OK)
        status = header_decode(view.bytes, view.count, size, &reader->header, error);
    if (status != RBWP_OK)
        return status;
    reader->located = reader->header;
    reader->next_offset = RBWP_FILE_HEADER_BYTES;
    if (source->kind == SOURCE_STREAM)
        return RBWP_OK;
    if (reader->header.descriptor_offset == 0)
        status = tail_find_tables(source, &reader->located, error);
    if (status == RBWP_OK && blocks_end(reader) <= source->size) {
        status = load_tail(reader, error);
        if (reader->header.descriptor_offset == 0 && !reader->tail.has_trailer)
            forget_tail(reader);
        source_rewind(source);
    }
    return status;
}

/* Takes over source, also on failure. */
static enum rbwp_status open_source(struct source *source,
                                    const struct rbwp_reader_options *options,
                                    struct rbwp_reader **reader_out, struct rbwp_error *error)
{
    struct rbwp_reader_options chosen = {0};
    enum rbwp_status status =
        options ? sized_take(&chosen, sizeof chosen, options, "rbwp_reader_options", error)
                : RBWP_OK;
    if (status != RBWP_OK) {
        source_close(source);
        return status;
    }
    struct rbwp_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        source_close(source);
        return error_set_memory(error, "file");
    }
    struct rbwp_error reason;
    status = source_open_archive(source, &reason);
    reader->source = *source;
    reader->no_resync = chosen.no_resync;
    reader->follow = chosen.follow && source->kind == SOURCE_FILE && !source->archive;
    reader->decoder.block_bytes_max = block_bytes_limit(chosen.block_bytes_max);
    if (status == RBWP_OK)
        status = read_header(reader, &reason);
    if (status != RBWP_OK) {
        if (error)
            *error = reason;
        rbwp_reader_close(reader);
        return status;
    }
    *reader_out = reader;
    return RBWP_OK;
}

enum rbwp_status rbwp_reader_open(const char *path, const struct rbwp_reader_options *options,
                                  struct rbwp_reader **reader_out, struct rbwp_error *error)
{
    struct source source;
    *reader_out = NULL;
    enum rbwp_status status = source_open_path(&source, path, error);
    return status == RBWP_OK ? open_source(&source, options, reader_out, error) : status;
}

enum rbwp_status rbwp_reader_open_fd(int fd, const struct rbwp_reader_options *options,
                                     struct rbwp_reader **reader_out, struct rbwp_error *error)
{
    struct source source;
    *reader_out = NULL;
    enum rbwp_status status = source_open_fd(&source, fd, error);
    return status == RBWP_OK ? open_source(&source, options, reader_out, error) : status;
}

enum rbwp_status rbwp_reader_open_memory(const void *data, size_t size_bytes,
                                         const struct rbwp_reader_options *options,
                                         struct rbwp_reader **reader_out, struct rbwp_error *error)
{
    struct source source;
    *reader_out = NULL;
    source_open_memory(&source, data, size_bytes);
    return open_source(&source, options, reader_out, error);
}

void rbwp_reader_close(struct rbwp_reader *reader)
{
    if (!reader)
        return;
    tail_free(&reader->tail);
    problems_free(&reader->problems);
    block_decoder_free(&reader->decoder);
    source_close(&reader->source);
    free(reader);
}

/* ---- blocks ----------------------------------------------------------------------- */

static enum rbwp_status reader_fail(struct rbwp_reader *reader, const struct rbwp_error *error)
{
    reader->failed = error->status;
    problems_add_error(&reader->problems, error);
    return error->status;
}

/* Reads and checks the header of the block at block->offset, behind which there is room. */
static enum rbwp_status take_header(struct rbwp_reader *reader, struct rbwp_block *block,
                                    uint64_t room, struct rbwp_problem *problem)
{
    struct rbwp_error *error = &problem->error;
    size_t want = room < RBWP_BLOCK_HEADER_BYTES ? (size_t)room : RBWP_BLOCK_HEADER_BYTES;
    struct view view;
    enum rbwp_status status = source_view(&reader->source, block->offset, want, &view, error);
    if (status != RBWP_OK)
        return status;
    if (view.count == 0)
        return RBWP_END;
    struct place place = {"block", block->offset, RULE_BLOCK_HEADER};
    if (view.count < RBWP_BLOCK_HEADER_BYTES)
        return error_set(error, view.count == room ? RBWP_E_CORRUPT : RBWP_E_TRUNCATED, place,
                         "only %zu bytes are left for a block header of 32", view.count);
    block_header_decode(view.bytes, &block->header);
    problem->has_block = true;
    problem->block = block->header;
    return block_header_check(&reader->decoder, &block->header, block->offset, error);
}

/*
 * Reads and checks the block at block->offset. RBWP_END: the data end there. RBWP_E_CORRUPT and
 * RBWP_E_TRUNCATED: damage, described in problem. Other failures are the end of reading.
 */
static enum rbwp_status reader_on_block(struct rbwp_reader *reader, struct rbwp_block *block,
                                        struct rbwp_problem *problem)
{
    struct rbwp_error *error = &problem->error;
    uint64_t room = blocks_end(reader) - block->offset;
    enum rbwp_status status = take_header(reader, block, room, problem);
    if (status != RBWP_OK)
        return status;
    uint32_t payload_bytes = block_payload_bytes(&block->header);
    struct place place = {"block", block->offset, RULE_BLOCK_PAYLOAD};
    if (payload_bytes > room - RBWP_BLOCK_HEADER_BYTES)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "a block's payload of %" PRIu32 " bytes runs over the descriptor offset",
                         payload_bytes);
    size_t want = RBWP_BLOCK_HEADER_BYTES + (size_t)payload_bytes;
    struct view view;
    status = source_view(&reader->source, block->offset, want, &view, error);
    if (status != RBWP_OK)
        return status;
    size_t there = view.count - RBWP_BLOCK_HEADER_BYTES;
    const uint8_t *payload = view.bytes + RBWP_BLOCK_HEADER_BYTES;
    if (view.count < want) {
        bool contradicted = block->header.records &&
                            !block_looks_valid(&reader->decoder, &block->header, payload, there);
        return error_set(error, contradicted ? RBWP_E_CORRUPT : RBWP_E_TRUNCATED, place,
                         "only %zu of the %" PRIu32 " payload bytes of a block are there", there,
                         payload_bytes);
    }
    reader->stored = view;
    if (reader->decoded && reader->decoded(reader->decoded_context, block))
        return RBWP_OK;
    return block_decode(&reader->decoder, payload, block, error);
}

/* Moves to the end of the blocks, or of the data. */
static enum rbwp_status skip_rest(struct rbwp_reader *reader, struct rbwp_error *error)
{
    uint64_t end = blocks_end(reader), size = reader->source.size;
    if (reader->source.kind != SOURCE_STREAM) {
        reader->next_offset = end < size ? end : size;
        return RBWP_OK;
    }
    while (reader->next_offset < end) {
        struct view view;
        uint64_t left = end - reader->next_offset;
        size_t want = left < SKIP_BYTES ? (size_t)left : SKIP_BYTES;
        enum rbwp_status status =
            source_view(&reader->source, reader->next_offset, want, &view, error);
        if (status != RBWP_OK)
            return status;
        reader->next_offset += view.count;
        if (view.count < want)
            break;
    }
    return RBWP_OK;
}

/* Goes on behind the damaged block at next_offset and notes the problem. */
static enum rbwp_status pass_damage(struct rbwp_reader *reader, struct rbwp_problem *problem)
{
    uint64_t damaged = reader->next_offset;
    struct rbwp_error error;
    struct resync_range range = {.from = damaged + 1, .end = blocks_end(reader)};
    if (problem->has_block)
        range.block_end = damaged + RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&problem->block);
    enum rbwp_status status = RBWP_E_LIMIT;
    uint64_t chunk_end = source_damage_end(&reader->source, damaged);
    if (chunk_end) {
        reader->next_offset = chunk_end < range.end ? chunk_end : range.end;
        status = RBWP_OK;
    } else if (!reader->no_resync)
        status = resync_find(&reader->resync, &reader->source, &reader->decoder, range,
                             &reader->next_offset, &error);
    /* A file that was not finalised may just stop; one that says it is whole may not. */
    problem->cut_tail = status == RBWP_END && problem->error.status == RBWP_E_TRUNCATED &&
                        reader->located.descriptor_offset == 0;
    if (status == RBWP_E_LIMIT) {
        status = skip_rest(reader, &error);
        size_t used = strlen(problem->error.text);
        snprintf(problem->error.text + used, sizeof(problem->error.text) - used,
                 "; the search for the next block was given up");
    }
    problem->skipped_bytes = reader->next_offset - damaged;
    if (!problems_add(&reader->problems, problem)) {
        status = error_set_memory(&error, "block");
    }
    return status == RBWP_OK || status == RBWP_END ? RBWP_OK : reader_fail(reader, &error);
}

/* Once, behind the last block: the tail of a stream, and what is wrong with header and tail. */
static enum rbwp_status reader_finish(struct rbwp_reader *reader)
{
    struct rbwp_error error;
    uint64_t offset = reader->header.descriptor_offset;
    struct place place = {"header", 28, RULE_DESCRIPTOR_OFFSET};
    reader->ended = true;
    if (reader->end_told)
        return RBWP_END;
    if (offset != 0 && offset < RBWP_FILE_HEADER_BYTES) {
        error_set(&error, RBWP_E_CORRUPT, place,
                  "descriptor offset %" PRIu64 " lies inside the header and is ignored", offset);
        problems_add_error(&reader->problems, &error);
    } else if (reader->next_offset < blocks_end(reader) && offset != 0) {
        place.offset = reader->next_offset;
        error_set(&error, RBWP_E_TRUNCATED, place,
                  "the end of the file is missing: it has no tables, which should be at %" PRIu64,
                  offset);
        problems_add_error(&reader->problems, &error);
    } else if (!reader->tail_loaded && blocks_end(reader) != UINT64_MAX) {
        if (load_tail(reader, &error) != RBWP_OK)
            return reader_fail(reader, &error);
    }
    if (source_is_cut(&reader->source, &error))
        problems_add_error(&reader->problems, &error);
    for (size_t i = 0; i < reader->tail.problems.kept_count; i++)
        (void)problems_add(&reader->problems, &reader->tail.problems.kept[i]);
    reader->end_told = true;
    return RBWP_END;
}

/* A file that is followed: the header is read before the size, since it is written last. */
static enum rbwp_status look_again(struct rbwp_reader *reader, struct rbwp_error *error)
{
    uint8_t bytes[RBWP_FILE_HEADER_BYTES];
    int64_t zero_time_ns = reader->header.zero_time_ns;
    enum rbwp_status status = source_copy(&reader->source, 0, bytes, sizeof bytes, error);
    if (status == RBWP_OK)
        status = source_look_again(&reader->source, error);
    if (status == RBWP_OK)
        status = header_decode(bytes, sizeof bytes, reader->source.size, &reader->header, error);
    if (status != RBWP_OK)
        return status;
    if (reader->source.size < reader->next_offset || reader->header.zero_time_ns != zero_time_ns)
        return error_set(error, RBWP_E_TRUNCATED, (struct place){"file", NOWHERE, 0},
                         "the file was truncated or written anew while it was read");
    reader->located = reader->header;
    reader->waiting = false;
    if (reader->tail_loaded || reader->header.descriptor_offset == 0 ||
        blocks_end(reader) > reader->source.size)
        return RBWP_OK;
    /* It was finalised: its last blocks need the names, too. */
    status = load_tail(reader, error);
    source_rewind(&reader->source);
    return status;
}

/* Where a file that is followed ends for now. */
static bool may_grow(const struct rbwp_reader *reader)
{
    return reader->follow && reader->located.descriptor_offset == 0;
}

static enum rbwp_status wait_here(struct rbwp_reader *reader)
{
    reader->waiting = true;
    return RBWP_AGAIN;
}

enum rbwp_status rbwp_reader_look_again(struct rbwp_reader *reader)
{
    struct rbwp_error error;
    if (reader->failed != RBWP_OK)
        return reader->failed;
    if (!may_grow(reader))
        return RBWP_END;
    if (look_again(reader, &error) != RBWP_OK)
        return reader_fail(reader, &error);
    return may_grow(reader) ? RBWP_AGAIN : RBWP_END;
}

enum rbwp_status rbwp_reader_next_block(struct rbwp_reader *reader, struct rbwp_block *block_out)
{
    if (reader->failed != RBWP_OK)
        return reader->failed;
    if (reader->ended)
        return RBWP_END;
    struct rbwp_error error;
    if (reader->waiting && look_again(reader, &error) != RBWP_OK)
        return reader_fail(reader, &error);
    while (reader->next_offset < blocks_end(reader)) {
        struct rbwp_block block = {.offset = reader->next_offset, .index = reader->next_index};
        struct rbwp_problem problem = {0};
        enum rbwp_status status = reader_on_block(reader, &block, &problem);
        if (status == RBWP_OK) {
            reader->next_offset += RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&block.header);
            reader->next_index++;
            *block_out = block;
            return RBWP_OK;
        }
        if ((status == RBWP_END || status == RBWP_E_TRUNCATED) && may_grow(reader))
            return wait_here(reader);
        if (status == RBWP_END)
            break;
        if (status != RBWP_E_CORRUPT && status != RBWP_E_TRUNCATED)
            return reader_fail(reader, &problem.error);
        status = pass_damage(reader, &problem);
        if (status != RBWP_OK)
            return status;
    }
    return reader_finish(reader);
}

void rbwp_reader_set_decoded(struct rbwp_reader *reader, rbwp_decoded_fn *decoded, void *context)
{
    reader->decoded = decoded;
    reader->decoded_context = context;
}

void reader_set_chunks(struct rbwp_reader *reader, chunk_taken_fn *taken, void *context)
{
    if (reader->source.archive)
        archive_set_chunks(reader->source.archive, taken, context);
}

enum rbwp_status rbwp_reader_rewind(struct rbwp_reader *reader)
{
    if (reader->source.kind == SOURCE_STREAM)
        return RBWP_E_STATE;
    source_rewind(&reader->source);
    problems_clear(&reader->problems);
    reader->resync = (struct resync){0};
    reader->next_offset = RBWP_FILE_HEADER_BYTES;
    reader->next_index = 0;
    reader->ended = reader->end_told = reader->waiting = false;
    reader->failed = RBWP_OK;
    return RBWP_OK;
}

enum rbwp_status rbwp_reader_seek(struct rbwp_reader *reader, uint64_t offset)
{
    if (reader->failed != RBWP_OK)
        return reader->failed;
    if (reader->source.kind == SOURCE_STREAM || reader->follow)
        return RBWP_E_STATE;
    if (offset < RBWP_FILE_HEADER_BYTES || offset > blocks_end(reader) ||
        offset > reader->source.size)
        return RBWP_E_INVALID;
    source_rewind(&reader->source);
    reader->next_offset = offset;
    reader->ended = false;
    return RBWP_OK;
}

bool rbwp_reader_set_live(struct rbwp_reader *reader, const struct rbwp_live *live)
{
    if (live && !rbwp_live_belongs(live, &reader->header))
        return false;
    reader->live = live;
    return true;
}

/* ---- looking ------------------------------------------------------------------------- */

const struct rbwp_file_header *rbwp_reader_header(const struct rbwp_reader *reader)
{
    return &reader->header;
}

uint64_t rbwp_reader_size(const struct rbwp_reader *reader)
{
    return reader->source.size;
}

bool rbwp_reader_is_archive(const struct rbwp_reader *reader)
{
    return reader->source.archive;
}

bool rbwp_reader_is_stream(const struct rbwp_reader *reader)
{
    return reader->source.kind == SOURCE_STREAM;
}

const struct rbwp_tables *rbwp_reader_tables(const struct rbwp_reader *reader)
{
    bool by_live = reader->live && !reader->tail_loaded;
    return by_live ? rbwp_live_tables(reader->live) : &reader->tables;
}

const struct rbwp_trailer *rbwp_reader_trailer(const struct rbwp_reader *reader)
{
    if (reader->live && !reader->tail_loaded)
        return rbwp_live_trailer(reader->live);
    return reader->tail.has_trailer ? &reader->tail.trailer.values : NULL;
}

uint64_t rbwp_reader_problem_count(const struct rbwp_reader *reader)
{
    return reader->problems.count;
}

const struct rbwp_problem *rbwp_reader_problem(const struct rbwp_reader *reader, uint64_t index)
{
    return index < reader->problems.kept_count ? &reader->problems.kept[index] : NULL;
}

bool reader_block_packed(const struct rbwp_reader *reader, const struct rbwp_block *block)
{
    return reader->source.archive ? archive_block_packed(reader->source.archive, block->offset)
                                  : block->header.stored_bytes != 0;
}

struct view reader_stored_block(const struct rbwp_reader *reader)
{
    return reader->stored;
}

const struct tail *reader_tail(const struct rbwp_reader *reader)
{
    return &reader->tail;
}
