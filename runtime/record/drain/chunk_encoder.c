/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events keep raw ticks until here: converting on the hot path would cost a
 * multiplication and a branch on the delta's size for each, and would fix the
 * clock's rate before it is known. The line between two clock samples is one
 * multiplication in double, exact to far below a nanosecond.
 */
#include "chunk_encoder.h"

#include "yield_hook.h"
#include "chunk_pool.h"
#include "live_layout.h"
#include "rbwp_record.h"
#include "sealed_block.h"
#include "tables.h"
#include "thread_registry.h"

#include <stdlib.h>
#include <string.h>

/* An event of one word becomes at most 8 + 1 + 2 bytes, a GPU event of four words 34. */
#define BYTES_PER_WORD_MAX 11u
#define WORDS_PER_BREATH 2048
/* Items that a chunk leaves open. Room for more cannot be made: near the cap threads that record
 * encode, also in a signal's handler. What is open behind a chunk with more is not known. */
#define OPEN_MAX 256u

struct chunk_encoder {
    struct rbwp_block_encoder *block_encoder;
    uint8_t *bytes; /* the finished blocks, one after the other */
    size_t size;
    struct rbwp_sealed_block *block;
    uint32_t blocks;
    struct yield_hook *yield_hook;

    struct rbwp_thread_state state; /* behind the last run */
    bool state_known;
    uint32_t open_words[OPEN_MAX]; /* where in the chunk those begin that it leaves open */
    struct rbwp_open_item open[OPEN_MAX];
};

void chunk_encoder_free(struct chunk_encoder *encoder)
{
    if (!encoder)
        return;
    rbwp_block_encoder_free(encoder->block_encoder);
    free(encoder->bytes);
    free(encoder->block);
    free(encoder);
}

enum rbwp_status chunk_encoder_new(uint32_t chunk_words, uint32_t block_bytes, int level,
                                   struct chunk_encoder **encoder_out)
{
    *encoder_out = NULL;
    struct chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return RBWP_E_MEMORY;
    enum rbwp_status status = rbwp_block_encoder_new(block_bytes, level, &encoder->block_encoder);
    if (status == RBWP_OK) {
        size_t data = (size_t)chunk_words * BYTES_PER_WORD_MAX;
        size_t blocks = data / (block_bytes - RBWP_RECORD_BYTES_MAX) + 2;
        encoder->bytes = malloc(data + blocks * RBWP_BLOCK_HEADER_BYTES);
        encoder->block = calloc(blocks, sizeof *encoder->block);
        status = encoder->bytes && encoder->block ? RBWP_OK : RBWP_E_MEMORY;
    }
    if (status != RBWP_OK) {
        chunk_encoder_free(encoder);
        return status;
    }
    *encoder_out = encoder;
    return RBWP_OK;
}

static void chunk_encoder_seal(struct chunk_encoder *encoder, uint64_t thread_id)
{
    struct rbwp_sealed_block *block = &encoder->block[encoder->blocks];
    if (rbwp_block_encoder_seal(encoder->block_encoder, thread_id, 0, block) != RBWP_OK)
        return;
    uint8_t *copy = encoder->bytes + encoder->size;
    memcpy(copy, block->bytes, block->bytes_count);
    block->bytes = copy;
    encoder->size += block->bytes_count;
    encoder->blocks++;
}

/* The time line is locked. */
static struct timeline_piece piece_to_use(struct timeline *line, uint32_t epoch, uint64_t ticks)
{
    /* Now, after all the chunk's events; ticks before the start do not show that others are beyond.
     */
    if (timeline_is_beyond(line, epoch, ticks) || line->samples == 1)
        timeline_sample(line);
    struct timeline_piece piece = timeline_find(line, epoch, ticks);
    if (piece.error_ns > line->deviation_ns)
        line->deviation_ns = piece.error_ns;
    return piece;
}

struct timeline_piece shared_timeline_piece(struct shared_timeline *timeline, uint32_t epoch,
                                            uint64_t ticks)
{
    pthread_mutex_lock(&timeline->lock);
    struct timeline_piece piece = piece_to_use(&timeline->line, epoch, ticks);
    pthread_mutex_unlock(&timeline->lock);
    return piece;
}

/* The piece for ticks that come after later ones: of the next epoch, if the counter was moved. */
static struct timeline_piece piece_behind_step(struct shared_timeline *timeline, uint32_t *epoch,
                                               uint64_t ticks)
{
    pthread_mutex_lock(&timeline->lock);
    struct timeline *line = &timeline->line;
    if (timeline_epoch_after(line, *epoch) == *epoch)
        timeline_sample(line); /* may be the first to see it */
    *epoch = timeline_epoch_after(line, *epoch);
    struct timeline_piece piece = piece_to_use(line, *epoch, ticks);
    pthread_mutex_unlock(&timeline->lock);
    return piece;
}

int64_t shared_timeline_ns(struct shared_timeline *timeline, uint32_t epoch, uint64_t ticks)
{
    struct timeline_piece piece = shared_timeline_piece(timeline, epoch, ticks);
    return timeline_piece_ns(&piece, ticks);
}

/* What a chunk holds may change at any time: each word is read once. */
static uint64_t chunk_encoder_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* ---- what is left open ------------------------------------------------------------- */

static bool add_open_word(struct chunk_encoder *encoder, uint32_t count, uint32_t at)
{
    if (count == OPEN_MAX)
        return false;
    encoder->open_words[count] = at;
    return true;
}

/* From the beginning, since words of GPU work may look like any event. False: they are more than
 * the thread has open, or nothing is known. */
static bool find_open_forwards(struct chunk_encoder *encoder, const struct chunk *chunk,
                               uint32_t *count_out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < chunk->used; i++) {
        switch (live_event_kind(chunk_encoder_load(&chunk->words[i]))) {
        case LIVE_EVENT_BEGIN:
        case LIVE_EVENT_FINE_BEGIN:
            if (!add_open_word(encoder, count++, i))
                return false;
            break;
        case LIVE_EVENT_END:
        case LIVE_EVENT_FINE_END:
            count -= count > 0;
            break;
        case LIVE_EVENT_GPU:
            i += LIVE_GPU_EVENT_WORDS - 1;
            break;
        default:
            return false;
        }
    }
    *count_out = count;
    return count <= chunk->open;
}

/*
 * The begins of what is open behind the chunk, as far as they are in it: from its end, where they
 * mostly are, and no further than it takes. The thread said how many are open. False where GPU work
 * may be among the words.
 */
static bool find_open_backwards(struct chunk_encoder *encoder, const struct chunk *chunk,
                                uint32_t *count_out)
{
    uint32_t count = 0, ended = 0, at = chunk->used;
    while (count < chunk->open && at > 0) {
        unsigned kind = live_event_kind(chunk_encoder_load(&chunk->words[--at]));
        if (kind == LIVE_EVENT_END || kind == LIVE_EVENT_FINE_END)
            ended++;
        else if (kind != LIVE_EVENT_BEGIN && kind != LIVE_EVENT_FINE_BEGIN)
            return false;
        else if (ended)
            ended--;
        else if (!add_open_word(encoder, count++, at))
            return false;
    }
    for (uint32_t i = at; count && i > 0 && at - i < LIVE_GPU_EVENT_WORDS - 1; i--)
        if (live_event_kind(chunk_encoder_load(&chunk->words[i - 1])) == LIVE_EVENT_GPU)
            return false;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = encoder->open_words[count - 1 - i];
        encoder->open_words[count - 1 - i] = encoder->open_words[i];
        encoder->open_words[i] = other;
    }
    *count_out = count;
    return true;
}

static void find_open(struct chunk_encoder *encoder, const struct chunk *chunk)
{
    uint32_t count = 0;
    encoder->state = (struct rbwp_thread_state){.size = sizeof encoder->state,
                                                .thread_id = chunk->thread->thread_id};
    encoder->state_known =
        chunk->open != CHUNK_OPEN_UNKNOWN &&
        (find_open_backwards(encoder, chunk, &count) || find_open_forwards(encoder, chunk, &count));
    if (!encoder->state_known)
        return;
    encoder->state.still_open = chunk->open - count;
    encoder->state.open_count = count;
    encoder->state.open = encoder->open;
}

/* Where the next one of them is, of which `noted` have been; at the end where there is none. */
static const uint64_t *next_open(const struct chunk_encoder *encoder, const struct chunk *chunk,
                                 uint32_t noted)
{
    bool more = encoder->state_known && noted < encoder->state.open_count;
    return chunk->words + (more ? encoder->open_words[noted] : chunk->used);
}

static void note_open(struct chunk_encoder *encoder, uint64_t word, int64_t time_ns, uint32_t noted)
{
    encoder->open[noted] = (struct rbwp_open_item){.begin_ns = time_ns,
                                                   .id = (uint16_t)live_event_id(word),
                                                   .kind = (uint8_t)live_event_record_kind(word)};
}

static void note_gpu_work(struct rbwp_thread_state *state, const struct rbwp_record *record)
{
    bool first = state->gpu_works++ == 0;
    if (first || record->start_ns < state->gpu_first_ns)
        state->gpu_first_ns = record->start_ns;
    if (first || record->stop_ns > state->gpu_last_ns)
        state->gpu_last_ns = record->stop_ns;
}

/* ---- events ------------------------------------------------------------------------ */

/* The word is the first of four at `at`. */
static enum rbwp_status encode_gpu_work(struct chunk_encoder *encoder, uint64_t word,
                                        const uint64_t *at, int64_t time_ns)
{
    struct rbwp_record record = {
        .time_ns = time_ns,
        .kind = RBWP_GPU_WORK,
        .slot = (uint8_t)live_event_id(word),
        .proc_id = chunk_encoder_load(at + 1),
        .start_ns = (int64_t)chunk_encoder_load(at + 2),
        .stop_ns = (int64_t)chunk_encoder_load(at + 3),
    };
    enum rbwp_status status = rbwp_block_encoder_add(encoder->block_encoder, &record);
    if (status == RBWP_OK)
        note_gpu_work(&encoder->state, &record);
    return status;
}

/* Where on the time line a chunk's events are. */
struct course {
    struct shared_timeline *timeline;
    struct timeline_piece piece;
    uint32_t epoch;
    int64_t ceiling_ns, most_ns; /* of the chunk; and of the piece, too */
    uint64_t plain_ticks;        /* since the piece's base: so far its line needs no bounds */
};

/* Ticks up to which a piece is the line without the bounds of timeline_piece_line_ns, and stays
 * below the most that its times may be. */
static uint64_t plain_ticks_of(const struct timeline_piece *piece, int64_t most_ns)
{
    const uint64_t ticks = piece->end_ticks - piece->base_ticks;
    const double least = 1, most = 1e15, room = (double)most_ns - (double)piece->base_ns;
    if (piece->end_ticks <= piece->base_ticks || piece->ns_per_tick < 0 || room < 2048)
        return 0;
    /* As a double a time now is up to 128 ns off. */
    const double until = (room < most ? room - 1024 : most) / (piece->ns_per_tick + 1e-9);
    return until < least ? 0 : until < (double)ticks ? (uint64_t)until : ticks;
}

/* For ticks behind the piece, or before the latest ones. Returns the new floor. */
static __attribute__((noinline)) int64_t change_course(struct course *course, uint64_t latest,
                                                       uint64_t ticks, int64_t floor_ns)
{
    if (ticks >= course->piece.end_ticks)
        course->piece = shared_timeline_piece(course->timeline, course->epoch, ticks);
    else if (clock_steps_back(latest, ticks))
        course->piece = piece_behind_step(course->timeline, &course->epoch, ticks);
    else
        return floor_ns;
    int64_t ceiling_ns = course->ceiling_ns, least_ns = course->piece.least_ns;
    course->most_ns = course->piece.most_ns < ceiling_ns ? course->piece.most_ns : ceiling_ns;
    course->plain_ticks = plain_ticks_of(&course->piece, course->most_ns);
    least_ns = least_ns < ceiling_ns ? least_ns : ceiling_ns;
    return floor_ns > least_ns ? floor_ns : least_ns;
}

static inline int64_t time_on(const struct course *course, uint64_t ticks, int64_t floor_ns)
{
    int64_t time_ns = timeline_piece_line_ns(&course->piece, ticks);
    time_ns = time_ns < course->most_ns ? time_ns : course->most_ns;
    return time_ns > floor_ns ? time_ns : floor_ns;
}

/* How far a chunk has been encoded. */
struct progress {
    const uint64_t *at, *end;
    const uint64_t *next_open; /* an event whose time is to be known, or the end */
    uint64_t base_ticks, latest;
    int64_t floor_ns;
};

/* What nearly all events become; the others have kind 0. */
struct form {
    uint8_t kind, payload;
};
static const struct form forms[1u << LIVE_EVENT_KIND_BITS] = {
    [LIVE_EVENT_BEGIN] = {RBWP_COARSE_BEGIN, 1},
    [LIVE_EVENT_END] = {RBWP_COARSE_END, 0},
    [LIVE_EVENT_FINE_BEGIN] = {RBWP_FINE_BEGIN, 2},
    [LIVE_EVENT_FINE_END] = {RBWP_FINE_END, 0},
};

/* Nearly all events: those of work items and sub-items on the same piece of the line, one shortly
 * after the other. Stops before the first that is none of these, and to yield. */
static void run_along(struct rbwp_block_encoder *blocks, const struct course *course,
                      struct progress *progress)
{
    struct block_cursor opened;
    block_cursor_open(blocks, &opened);
    /* In registers: what nobody has an address of. */
    struct block_cursor cursor = opened;
    struct progress now = *progress;
    const struct course here = *course;
    /* In ticks since the piece's base: the chunk's first ones, and the latest event. */
    const uint64_t ahead = now.base_ticks - here.piece.base_ticks;
    uint64_t latest = now.latest - here.piece.base_ticks;
    const uint64_t *const stop =
        now.next_open - now.at > WORDS_PER_BREATH ? now.at + WORDS_PER_BREATH : now.next_open;
    for (; now.at < stop; now.at++) {
        uint64_t word = chunk_encoder_load(now.at), since_base = ahead + live_event_ticks(word);
        const struct form *form = &forms[live_event_kind(word)];
        if (__builtin_expect(since_base >= here.plain_ticks || since_base < latest || !form->kind,
                             0))
            break;
        int64_t time_ns =
            here.piece.base_ns + (int64_t)((double)(int64_t)since_base * here.piece.ns_per_tick);
        time_ns = time_ns > now.floor_ns ? time_ns : now.floor_ns;
        if (!block_cursor_put(&cursor, time_ns, form->kind, form->payload, live_event_id(word)))
            break;
        latest = since_base;
        now.floor_ns = time_ns;
    }
    now.latest = latest + here.piece.base_ticks;
    opened = cursor;
    block_cursor_close(&opened, blocks);
    *progress = now;
}

/* One event, whatever it is. False: it is none. */
static bool encode_event(struct chunk_encoder *encoder, uint64_t thread_id, struct course *course,
                         struct progress *now)
{
    struct rbwp_block_encoder *blocks = encoder->block_encoder;
    uint64_t word = chunk_encoder_load(now->at), ticks = now->base_ticks + live_event_ticks(word);
    unsigned kind = live_event_record_kind(word);
    bool gpu_work = kind == RBWP_GPU_WORK;
    if (kind == 0 || (gpu_work && now->end - now->at < LIVE_GPU_EVENT_WORDS))
        return false;
    if (ticks >= course->piece.end_ticks || ticks < now->latest)
        now->floor_ns = change_course(course, now->latest, ticks, now->floor_ns);
    now->latest = ticks;
    now->floor_ns = time_on(course, ticks, now->floor_ns);
    enum rbwp_status status =
        gpu_work ? encode_gpu_work(encoder, word, now->at, now->floor_ns)
                 : rbwp_block_encoder_put(blocks, now->floor_ns, kind, live_event_id(word));
    if (status == RBWP_AGAIN)
        chunk_encoder_seal(encoder, thread_id);
    else
        now->at += gpu_work ? LIVE_GPU_EVENT_WORDS : 1;
    return true;
}

uint32_t chunk_encoder_run(struct chunk_encoder *encoder, const struct chunk *chunk,
                           struct shared_timeline *timeline, int64_t floor_ns, int64_t ceiling_ns)
{
    uint64_t thread_id = chunk->thread->thread_id;
    struct course course = {.timeline = timeline, .epoch = chunk->epoch, .ceiling_ns = ceiling_ns};
    struct progress now = {.at = chunk->words,
                           .end = chunk->words + chunk->used,
                           .base_ticks = chunk->base_ticks,
                           .floor_ns = floor_ns};
    uint32_t noted = 0;
    encoder->size = 0;
    encoder->blocks = 0;
    find_open(encoder, chunk);
    now.next_open = next_open(encoder, chunk, noted);
    while (now.at < now.end && encode_event(encoder, thread_id, &course, &now)) {
        if (now.at > now.next_open) {
            note_open(encoder, chunk_encoder_load(now.next_open), now.floor_ns, noted++);
            now.next_open = next_open(encoder, chunk, noted);
        }
        run_along(encoder->block_encoder, &course, &now);
        yield_hook_run(encoder->yield_hook);
    }
    chunk_encoder_seal(encoder, thread_id);
    encoder->state_known &= now.at == now.end;
    return (uint32_t)(now.end - now.at);
}

bool chunk_encoder_state(const struct chunk_encoder *encoder, struct rbwp_thread_state *state_out)
{
    *state_out = encoder->state;
    return encoder->state_known;
}

void chunk_encoder_pace(struct chunk_encoder *encoder, bool hurries, struct yield_hook *yield_hook)
{
    encoder->yield_hook = yield_hook;
    block_encoder_hurry(encoder->block_encoder, hurries);
    block_encoder_yield_by(encoder->block_encoder, yield_hook);
}

const struct rbwp_sealed_block *chunk_encoder_blocks(struct chunk_encoder *encoder,
                                                     uint32_t *sequence, uint32_t *count_out)
{
    for (uint32_t i = 0; i < encoder->blocks; i++)
        sealed_block_renumber((uint8_t *)(uintptr_t)encoder->block[i].bytes, (*sequence)++);
    *count_out = encoder->blocks;
    return encoder->block;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct row_chunk_encoder {
    struct row_block block;
    struct rbwp_sealed_block sealed;
    uint64_t *cells; /* of the chunk, column after column */
};

void row_chunk_encoder_free(struct row_chunk_encoder *encoder)
{
    if (!encoder)
        return;
    row_block_free(&encoder->block);
    free(encoder->cells);
    free(encoder);
}

struct row_chunk_encoder *row_chunk_encoder_new(uint32_t chunk_words, bool compress)
{
    struct row_chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    /* However many columns share the words. */
    uint64_t data = row_block_data_max(RBWP_COLUMNS_MAX, chunk_words / RBWP_COLUMNS_MAX + 1);
    encoder->cells = malloc((size_t)chunk_words * sizeof *encoder->cells);
    if (row_block_init(&encoder->block, data, compress) == RBWP_OK && encoder->cells)
        return encoder;
    row_chunk_encoder_free(encoder);
    return NULL;
}

/* One column out of the rows; each cell is read once. most: larger ones become 0. */
static void take_column(const uint64_t *words, uint32_t columns, uint32_t rows, uint64_t most,
                        uint64_t *cells_out)
{
    for (uint32_t i = 0; i < rows; i++, words += columns) {
        uint64_t cell = __atomic_load_n(words, __ATOMIC_RELAXED);
        cells_out[i] = cell <= most ? cell : 0;
    }
}

/* Most cells lie on the same piece of the line as the one before. */
static void to_times(const struct chunk *chunk, struct shared_timeline *timeline, uint64_t *cells)
{
    struct timeline_piece piece = {0};
    for (uint32_t i = 0; i < chunk->rows; i++) {
        uint64_t ticks = cells[i];
        if (!ticks)
            continue;
        if (ticks < piece.base_ticks || ticks >= piece.end_ticks)
            piece = shared_timeline_piece(timeline, chunk->epoch, ticks);
        cells[i] = (uint64_t)timeline_piece_ns(&piece, ticks);
    }
}

void row_chunk_encode(struct row_chunk_encoder *encoder, const struct chunk *chunk,
                      struct shared_timeline *timeline, uint64_t first_row)
{
    const struct rbwp_schema *schema = chunk->table->schema;
    const uint64_t *columns[RBWP_COLUMNS_MAX];
    uint64_t last_name = tables_last_name();
    for (uint32_t c = 0; c < schema->column_count; c++) {
        uint64_t *cells = encoder->cells + (size_t)c * chunk->rows;
        bool name = schema->columns[c].type == RBWP_COLUMN_NAME;
        take_column(chunk->words + c, schema->column_count, chunk->rows,
                    name ? last_name : UINT64_MAX, cells);
        if (c < 64 && chunk->table->tick_columns >> c & 1)
            to_times(chunk, timeline, cells);
        columns[c] = cells;
    }
    const struct row_batch batch = {
        .schema = schema,
        .cells = columns,
        .rows = chunk->rows,
        .thread_id = chunk->thread->thread_id,
        .first_row = first_row,
    };
    row_block_seal(&encoder->block, &batch, &encoder->sealed);
}

const struct rbwp_sealed_block *row_chunk_block(const struct row_chunk_encoder *encoder)
{
    return &encoder->sealed;
}
