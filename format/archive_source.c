/* SPDX-License-Identifier: Apache-2.0 */
/* archive_source.c - see archive_source.h. */
#include "archive_source.h"

#include "bytes.h"
#include "crc32c.h"
#include "grow.h"
#include "reader_error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- a chunk of an archive and the bytes of the plain file that it gives --------------------- */

struct chunk_holder *chunk_holder_new(void)
{
    return calloc(1, sizeof(struct chunk_holder));
}

static void chunk_holder_end(struct chunk_holder *holder)
{
    chunk_decoder_free(&holder->decoder);
    free(holder->data);
}

void chunk_holder_free(struct chunk_holder *holder)
{
    if (holder)
        chunk_holder_end(holder);
    free(holder);
}

/* Whether it is no larger than a chunk may be. */
static bool chunk_fits(const struct archive_chunk *chunk)
{
    return chunk->bytes <= ARCHIVE_CHUNK_BYTES_MAX &&
           chunk->payload_bytes <= ARCHIVE_CHUNK_BYTES_MAX;
}

static bool reserve_data(struct chunk_holder *holder, size_t bytes)
{
    if (bytes <= holder->data_room)
        return true;
    free(holder->data);
    holder->data = malloc(bytes);
    holder->data_room = holder->data ? bytes : 0;
    return holder->data;
}

static const char *fill_bytes(struct chunk_holder *holder, const uint8_t *payload)
{
    struct chunk_decoder *decoder = &holder->decoder;
    struct cursor cursor = {payload, holder->chunk.payload_bytes};
    struct stream_view stream;
    decoder->head_count = 0;
    if (!decoder->inflater && !(decoder->inflater = malloc(sizeof *decoder->inflater)))
        return chunk_no_memory;
    bool good = stream_next(&cursor, &stream) && cursor.left == 0 &&
                stream.bytes == holder->chunk.bytes &&
                stream_unpack(&stream, decoder->inflater, holder->data);
    return good ? NULL : "its bytes cannot be unpacked";
}

/* The payload has the right sum. NULL: it is decoded, else what is wrong; chunk_no_memory. */
static const char *chunk_holder_fill(struct chunk_holder *holder, const uint8_t *payload)
{
    const struct archive_chunk *chunk = &holder->chunk;
    if (!reserve_data(holder, (size_t)chunk->bytes + CHUNK_SLACK))
        return chunk_no_memory;
    return chunk->tag == ARCHIVE_BYTES
               ? fill_bytes(holder, payload)
               : chunk_decode(&holder->decoder, payload, chunk->payload_bytes, holder->data,
                              chunk->bytes);
}

uint32_t chunk_holder_begin(struct chunk_holder *holder, const uint8_t *head)
{
    bool good = archive_chunk_decode(head, &holder->chunk) && chunk_fits(&holder->chunk) &&
                holder->chunk.tag != ARCHIVE_INDEX;
    return good ? holder->chunk.payload_bytes : 0;
}

bool chunk_holder_decode(struct chunk_holder *holder, const uint8_t *payload)
{
    return crc32c(0, payload, holder->chunk.payload_bytes) == holder->chunk.crc32c &&
           !chunk_holder_fill(holder, payload);
}

/* ---- archive source -------------------------------------------------------------------------- */

bool archive_begins(const uint8_t *bytes, size_t count)
{
    return count >= RBWP_FILE_HEADER_BYTES && memcmp(bytes, RBWP_MAGIC, 4) == 0 &&
           load_le16(bytes + 4) == ARCHIVE_VERSION;
}

static struct place archive_source_place_of(uint64_t offset, enum rule rule)
{
    return (struct place){"archive", offset, rule};
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The head of the chunk at this offset. RBWP_E_CORRUPT: there is none. */
static enum rbwp_status archive_source_read_head(struct archive *archive, uint64_t offset,
                                                 struct archive_chunk *chunk_out,
                                                 struct rbwp_error *error)
{
    struct view view;
    enum rbwp_status status =
        source_view(&archive->inner, offset, ARCHIVE_CHUNK_HEAD_BYTES, &view, error);
    if (status != RBWP_OK)
        return status;
    if (view.count < ARCHIVE_CHUNK_HEAD_BYTES)
        return error_set(error, RBWP_E_CORRUPT, archive_source_place_of(offset, RULE_ARCHIVE_END),
                         "the archive was cut: it ends before its last chunk; what is before can "
                         "be read, for the rest take another copy");
    if (!archive_chunk_decode(view.bytes, chunk_out))
        return error_set(error, RBWP_E_CORRUPT, archive_source_place_of(offset, RULE_ARCHIVE_CHUNK),
                         "the head of a chunk is damaged; take another copy of the archive");
    if (!chunk_fits(chunk_out))
        return error_set(error, RBWP_E_CORRUPT, archive_source_place_of(offset, RULE_ARCHIVE_CHUNK),
                         "a chunk of %" PRIu32 " bytes that gives %" PRIu32
                         " is larger than one may be",
                         chunk_out->payload_bytes, chunk_out->bytes);
    return RBWP_OK;
}

/* The payload behind a head, as long as the next call on the source. */
static enum rbwp_status read_payload(struct archive *archive, uint64_t offset,
                                     const struct archive_chunk *chunk, struct view *view_out,
                                     struct rbwp_error *error)
{
    enum rbwp_status status = source_view(&archive->inner, offset + ARCHIVE_CHUNK_HEAD_BYTES,
                                          chunk->payload_bytes, view_out, error);
    if (status != RBWP_OK)
        return status;
    if (view_out->count < chunk->payload_bytes)
        return error_set(error, RBWP_E_CORRUPT, archive_source_place_of(offset, RULE_ARCHIVE_END),
                         "the archive was cut: only %zu of the %" PRIu32
                         " bytes of a chunk are there; what is before can be read, for the rest "
                         "take another copy",
                         view_out->count, chunk->payload_bytes);
    if (crc32c(0, view_out->bytes, view_out->count) != chunk->crc32c)
        return error_set(error, RBWP_E_CORRUPT, archive_source_place_of(offset, RULE_ARCHIVE_SUM),
                         "the sum of a chunk with %" PRIu32
                         " records is wrong: they are dropped; take another copy of the archive",
                         chunk->records);
    return RBWP_OK;
}

/* Decodes the chunk that is held. */
static enum rbwp_status archive_source_decode(struct archive *archive, uint64_t offset,
                                              struct rbwp_error *error)
{
    const struct archive_chunk *chunk = &archive->chunk;
    struct view view;
    enum rbwp_status status = read_payload(archive, offset, chunk, &view, error);
    if (status != RBWP_OK)
        return status;
    archive->held = &archive->own;
    archive->own.chunk = *chunk;
    const char *wrong = chunk_holder_fill(&archive->own, view.bytes);
    if (wrong == chunk_no_memory)
        return error_set_memory(error, "archive");
    if (wrong)
        return error_set(error, RBWP_E_CORRUPT,
                         archive_source_place_of(offset, RULE_ARCHIVE_COLUMNS),
                         "a chunk with %" PRIu32 " records is dropped: %s", chunk->records, wrong);
    return RBWP_OK;
}

static bool same_chunk(const struct archive_chunk *a, const struct archive_chunk *b)
{
    return a->tag == b->tag && a->payload_bytes == b->payload_bytes && a->place == b->place &&
           a->bytes == b->bytes && a->records == b->records && a->crc32c == b->crc32c;
}

/* True where it was decoded ahead. */
static bool take_decoded(struct archive *archive, uint64_t offset)
{
    const struct chunk_holder *holder =
        archive->taken ? archive->taken(archive->taken_context, offset) : NULL;
    if (!holder || !same_chunk(&holder->chunk, &archive->chunk))
        return false;
    archive->held = holder;
    return true;
}

/* Holds this chunk. What is wrong with it alone is kept, and reported to who asks for its bytes. */
static enum rbwp_status hold(struct archive *archive, uint64_t offset,
                             const struct archive_chunk *chunk, struct rbwp_error *error)
{
    archive->chunk = *chunk;
    archive->has_chunk = true;
    archive->wrong.status = RBWP_OK;
    archive->looked = 0;
    archive->looked_place = chunk->place;
    if (take_decoded(archive, offset))
        return RBWP_OK;
    enum rbwp_status status = archive_source_decode(archive, offset, &archive->wrong);
    if (status == RBWP_OK || status == RBWP_E_CORRUPT)
        return RBWP_OK;
    archive->has_chunk = false;
    *error = archive->wrong;
    return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool add_place(struct archive *archive, uint64_t offset, uint64_t place)
{
    if (!grow_array(&archive->places, &archive->room, archive->count + 1, sizeof *archive->places))
        return false;
    archive->places[archive->count++] = (struct archive_place){offset, place};
    return true;
}

/* Goes from chunk to chunk: the archive's end is missing, or cannot be believed. */
static enum rbwp_status find_chunks(struct archive *archive, struct rbwp_error *error)
{
    uint64_t offset = RBWP_FILE_HEADER_BYTES, end = archive->inner.size;
    archive->count = 0;
    archive->bytes = RBWP_FILE_HEADER_BYTES;
    archive->cut = true;
    while (offset < end) {
        struct archive_chunk chunk;
        enum rbwp_status status = archive_source_read_head(archive, offset, &chunk, error);
        if (status == RBWP_E_CORRUPT)
            break;
        if (status != RBWP_OK)
            return status;
        uint64_t left = end - offset - ARCHIVE_CHUNK_HEAD_BYTES;
        if (chunk.tag == ARCHIVE_INDEX || chunk.place != archive->bytes ||
            chunk.payload_bytes > left || chunk.bytes == 0)
            break;
        if (!add_place(archive, offset, chunk.place))
            return error_set_memory(error, "archive");
        archive->bytes += chunk.bytes;
        offset += ARCHIVE_CHUNK_HEAD_BYTES + (uint64_t)chunk.payload_bytes;
    }
    archive->next_offset = offset;
    return RBWP_OK;
}

/* Takes the places of an index chunk. False: it does not fit the footer. */
static bool take_places(struct archive *archive, const struct archive_footer *footer,
                        const struct view *view)
{
    if (view->count != (uint64_t)footer->chunks * ARCHIVE_PLACE_BYTES)
        return false;
    uint64_t offset = 0, place = RBWP_FILE_HEADER_BYTES;
    for (uint32_t i = 0; i < footer->chunks; i++) {
        const uint8_t *bytes = view->bytes + (size_t)i * ARCHIVE_PLACE_BYTES;
        uint64_t next_offset = load_le64(bytes), next_place = load_le64(bytes + 8);
        bool first = i == 0;
        if (first ? next_place != place || next_offset != RBWP_FILE_HEADER_BYTES
                  : next_place <= place || next_offset <= offset)
            return false;
        if (next_offset >= footer->index_offset || next_place >= footer->bytes ||
            !add_place(archive, next_offset, next_place))
            return false;
        offset = next_offset;
        place = next_place;
    }
    archive->bytes = footer->bytes;
    return footer->chunks || footer->bytes == RBWP_FILE_HEADER_BYTES;
}

/* RBWP_E_CORRUPT: the end is not that of an archive. */
static enum rbwp_status read_places(struct archive *archive, struct rbwp_error *error)
{
    uint8_t bytes[ARCHIVE_FOOTER_BYTES];
    struct archive_footer footer;
    struct archive_chunk chunk;
    struct view view;
    uint64_t size = archive->inner.size;
    if (size < RBWP_FILE_HEADER_BYTES + ARCHIVE_CHUNK_HEAD_BYTES + ARCHIVE_FOOTER_BYTES)
        return RBWP_E_CORRUPT;
    uint64_t end = size - ARCHIVE_FOOTER_BYTES;
    enum rbwp_status status = source_copy(&archive->inner, end, bytes, sizeof bytes, error);
    if (status != RBWP_OK)
        return status;
    if (!archive_footer_decode(bytes, &footer) || footer.bytes > INT64_MAX ||
        footer.index_offset > end - ARCHIVE_CHUNK_HEAD_BYTES)
        return RBWP_E_CORRUPT;
    status = archive_source_read_head(archive, footer.index_offset, &chunk, error);
    if (status == RBWP_OK &&
        (chunk.tag != ARCHIVE_INDEX ||
         chunk.payload_bytes != end - footer.index_offset - ARCHIVE_CHUNK_HEAD_BYTES))
        status = RBWP_E_CORRUPT;
    if (status == RBWP_OK)
        status = read_payload(archive, footer.index_offset, &chunk, &view, error);
    if (status == RBWP_OK && !take_places(archive, &footer, &view))
        status = RBWP_E_CORRUPT;
    source_rewind(&archive->inner);
    return status;
}

enum rbwp_status archive_open(struct source *inner, struct archive **archive_out,
                              struct rbwp_error *error)
{
    struct view view;
    struct archive *archive = calloc(1, sizeof *archive);
    if (!archive) {
        source_close(inner);
        return error_set_memory(error, "archive");
    }
    archive->inner = *inner;
    archive->next_offset = archive->bytes = RBWP_FILE_HEADER_BYTES;
    enum rbwp_status status = source_view(&archive->inner, 0, RBWP_FILE_HEADER_BYTES, &view, error);
    if (status == RBWP_OK) {
        memcpy(archive->header, view.bytes, sizeof archive->header);
        store_le16(archive->header + 4, RBWP_FILE_VERSION);
    }
    if (status == RBWP_OK && inner->kind != SOURCE_STREAM) {
        status = read_places(archive, error);
        if (status == RBWP_E_CORRUPT)
            status = find_chunks(archive, error);
        source_rewind(&archive->inner);
    }
    if (status != RBWP_OK) {
        archive_close(archive);
        return status;
    }
    *archive_out = archive;
    return RBWP_OK;
}

void archive_set_chunks(struct archive *archive, chunk_taken_fn *taken, void *context)
{
    archive->taken = taken;
    archive->taken_context = context;
    archive->has_chunk = false; /* it may be of who decoded ahead */
}

void archive_close(struct archive *archive)
{
    if (!archive)
        return;
    source_close(&archive->inner);
    chunk_holder_end(&archive->own);
    free(archive->places);
    free(archive);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool holds(const struct archive *archive, uint64_t offset)
{
    return archive->has_chunk && offset >= archive->chunk.place &&
           offset - archive->chunk.place < archive->chunk.bytes;
}

/* The next chunk of a stream. RBWP_END behind the last one. */
static enum rbwp_status next_chunk(struct archive *archive, struct rbwp_error *error)
{
    struct archive_chunk chunk;
    enum rbwp_status status =
        archive_source_read_head(archive, archive->next_offset, &chunk, error);
    if (status != RBWP_OK)
        return status;
    if (chunk.tag == ARCHIVE_INDEX) {
        archive->at_end = true;
        return RBWP_END;
    }
    uint64_t offset = archive->next_offset;
    if (chunk.place != archive->bytes || chunk.bytes == 0)
        return error_set(error, RBWP_E_CORRUPT,
                         archive_source_place_of(offset, RULE_ARCHIVE_PLACES),
                         "a chunk does not follow the one before it");
    archive->next_offset += ARCHIVE_CHUNK_HEAD_BYTES + (uint64_t)chunk.payload_bytes;
    archive->bytes += chunk.bytes;
    return hold(archive, offset, &chunk, error);
}

/* Of a stream. What is wrong between chunks ends it. */
static enum rbwp_status go_on_to(struct archive *archive, uint64_t offset, struct rbwp_error *error)
{
    while (!holds(archive, offset) && !archive->at_end && !archive->cut) {
        enum rbwp_status status = next_chunk(archive, error);
        archive->cut = status == RBWP_E_CORRUPT;
        if (status != RBWP_OK)
            return status == RBWP_END ? RBWP_OK : status;
    }
    return RBWP_OK;
}

/* The number of the last chunk that begins at or before this offset. */
static size_t find_place(const struct archive *archive, uint64_t offset)
{
    size_t low = 0, high = archive->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (archive->places[middle].place <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A chunk whose head is damaged still has a place. */
static void hold_damaged(struct archive *archive, uint64_t place, uint64_t end,
                         const struct rbwp_error *error)
{
    archive->chunk = (struct archive_chunk){
        .place = place, .bytes = end - place < UINT32_MAX ? (uint32_t)(end - place) : UINT32_MAX};
    archive->has_chunk = true;
    archive->wrong = *error;
}

/* Of a file or memory. */
static enum rbwp_status go_to(struct archive *archive, uint64_t offset, struct rbwp_error *error)
{
    if (holds(archive, offset) || archive->count == 0)
        return RBWP_OK;
    size_t at = find_place(archive, offset);
    const struct archive_place *place = &archive->places[at];
    uint64_t end = at + 1 < archive->count ? place[1].place : archive->bytes;
    struct archive_chunk chunk;
    struct rbwp_error wrong;
    if (place->offset < archive->inner.window_offset)
        source_rewind(&archive->inner);
    enum rbwp_status status = archive_source_read_head(archive, place->offset, &chunk, &wrong);
    if (status == RBWP_OK && (chunk.place != place->place || chunk.bytes != end - place->place ||
                              chunk.tag == ARCHIVE_INDEX))
        status = error_set(&wrong, RBWP_E_CORRUPT,
                           archive_source_place_of(place->offset, RULE_ARCHIVE_PLACES),
                           "a chunk is not the one that the archive's end says");
    if (status == RBWP_OK)
        return hold(archive, place->offset, &chunk, error);
    if (status == RBWP_E_CORRUPT) {
        hold_damaged(archive, place->place, end, &wrong);
        return RBWP_OK;
    }
    *error = wrong;
    return status;
}

enum rbwp_status archive_view(struct archive *archive, uint64_t offset, struct view *view_out,
                              struct rbwp_error *error)
{
    *view_out = (struct view){0};
    if (offset < RBWP_FILE_HEADER_BYTES) {
        view_out->bytes = archive->header + offset;
        view_out->count = (size_t)(RBWP_FILE_HEADER_BYTES - offset);
        return RBWP_OK;
    }
    bool stream = archive->inner.kind == SOURCE_STREAM;
    if (!stream && offset >= archive->bytes)
        return RBWP_OK;
    enum rbwp_status status =
        stream ? go_on_to(archive, offset, error) : go_to(archive, offset, error);
    if (status != RBWP_OK || !holds(archive, offset))
        return status;
    if (archive->wrong.status != RBWP_OK) {
        *error = archive->wrong;
        return archive->wrong.status;
    }
    size_t from = (size_t)(offset - archive->chunk.place);
    view_out->bytes = archive->held->data + from;
    view_out->count = archive->chunk.bytes - from;
    return RBWP_OK;
}

uint64_t archive_damage_end(const struct archive *archive, uint64_t offset)
{
    bool damaged = holds(archive, offset) && archive->wrong.status != RBWP_OK;
    return damaged ? archive->chunk.place + archive->chunk.bytes : 0;
}

bool archive_block_packed(struct archive *archive, uint64_t offset)
{
    if (!holds(archive, offset) || archive->wrong.status != RBWP_OK)
        return false;
    const struct chunk_decoder *decoder = &archive->held->decoder;
    for (; archive->looked < decoder->head_count; archive->looked++) {
        const uint8_t *head = decoder->heads + archive->looked * CHUNK_HEAD_BYTES;
        if (archive->looked_place >= offset)
            return archive->looked_place == offset && head[CHUNK_HEAD_FLAGS] & CHUNK_BLOCK_PACKED;
        archive->looked_place += RBWP_BLOCK_HEADER_BYTES + (uint64_t)load_le32(head + 24);
    }
    return false;
}

/* ---- parts of the file ----------------------------------------------------------------------- */

static const uint8_t tags[ARCHIVE_TAGS][4] = {
    {'B', 'L', 'K', 'S'}, {'B', 'Y', 'T', 'S'}, {'I', 'N', 'D', 'X'}};
static const uint8_t end_magic[8] = {'R', 'B', 'W', 'A', '.', 'E', 'N', 'D'};

void archive_chunk_encode(const struct archive_chunk *chunk, const uint8_t *payload,
                          uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES])
{
    memcpy(head, tags[chunk->tag], 4);
    store_le32(head + 4, chunk->payload_bytes);
    store_le64(head + 8, chunk->place);
    store_le32(head + 16, chunk->bytes);
    store_le32(head + 20, chunk->records);
    store_le32(head + 24, crc32c(0, payload, chunk->payload_bytes));
    store_le32(head + 28, crc32c(0, head, 28));
}

bool archive_chunk_decode(const uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES],
                          struct archive_chunk *chunk_out)
{
    unsigned tag = 0;
    while (tag < ARCHIVE_TAGS && memcmp(head, tags[tag], 4) != 0)
        tag++;
    if (tag == ARCHIVE_TAGS || load_le32(head + 28) != crc32c(0, head, 28))
        return false;
    *chunk_out = (struct archive_chunk){
        .tag = (enum archive_tag)tag,
        .payload_bytes = load_le32(head + 4),
        .place = load_le64(head + 8),
        .bytes = load_le32(head + 16),
        .records = load_le32(head + 20),
        .crc32c = load_le32(head + 24),
    };
    return true;
}

void archive_footer_encode(const struct archive_footer *footer, uint8_t bytes[ARCHIVE_FOOTER_BYTES])
{
    store_le64(bytes, footer->index_offset);
    store_le64(bytes + 8, footer->bytes);
    store_le32(bytes + 16, footer->chunks);
    store_le32(bytes + 20, crc32c(0, bytes, 20));
    memcpy(bytes + 24, end_magic, sizeof end_magic);
}

bool archive_footer_decode(const uint8_t bytes[ARCHIVE_FOOTER_BYTES],
                           struct archive_footer *footer_out)
{
    if (memcmp(bytes + 24, end_magic, sizeof end_magic) != 0 ||
        load_le32(bytes + 20) != crc32c(0, bytes, 20))
        return false;
    *footer_out = (struct archive_footer){
        .index_offset = load_le64(bytes),
        .bytes = load_le64(bytes + 8),
        .chunks = load_le32(bytes + 16),
    };
    return true;
}
