/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_file.c - see live_file.h.
 *
 * Read with pread, never mapped: the process that has the file mapped may
 * truncate or change it at any time. Holes are skipped where the file system
 * names them, so a sparse file of any length costs only what is in it.
 */
#include "live_file.h"

#include "reader_error.h"
#include "grow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES_MIN 256u
#define COMMIT_TRIES 100

static const char section[] = "live file";

static enum rbwp_status live_file_refuse(struct rbwp_error *error, enum rbwp_status status,
                                         const char *text)
{
    return error_set(error, status, (struct place){section, NOWHERE, 0}, "%s", text);
}

/* Reads up to count bytes; fewer where the file ends. */
static enum rbwp_status read_at(const struct live_file *live, uint64_t offset, void *to,
                                size_t count, size_t *got_out, struct rbwp_error *error)
{
    size_t done = 0;
    *got_out = 0;
    while (done < count) {
        ssize_t got = pread(live->fd, (char *)to + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_os(error, section, "read the live file");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *got_out = done;
    return RBWP_OK;
}

/* ---- head ------------------------------------------------------------------------------ */

static enum rbwp_status check_head(const struct live_head *head, struct rbwp_error *error)
{
    if (memcmp(head->magic, LIVE_MAGIC, sizeof head->magic) != 0)
        return live_file_refuse(error, RBWP_E_NOT_RBWP,
                                "not a live file: it does not begin with \"" LIVE_MAGIC "\"");
    if (head->byte_order == __builtin_bswap32(LIVE_BYTE_ORDER))
        return live_file_refuse(
            error, RBWP_E_UNSUPPORTED,
            "written on a machine of the other byte order; recover it on such a machine");
    if (head->byte_order != LIVE_BYTE_ORDER)
        return live_file_refuse(error, RBWP_E_CORRUPT, "its byte-order mark is damaged");
    if (head->version < LIVE_VERSION_MIN || head->version > LIVE_VERSION)
        return error_set(error, RBWP_E_VERSION, (struct place){section, NOWHERE, 0},
                         "version %" PRIu32 "; this library reads version %u", head->version,
                         LIVE_VERSION);
    uint32_t chunk = head->chunk_bytes, chunk_head = head->chunk_head_bytes;
    if (chunk < CHUNK_BYTES_MIN || chunk > LIVE_SEGMENT_BYTES_MAX || chunk % 8 != 0 ||
        chunk_head < sizeof(struct live_chunk_head) || chunk_head > chunk - 8 ||
        chunk_head % 8 != 0)
        return error_set(error, RBWP_E_CORRUPT, (struct place){section, NOWHERE, 0},
                         "chunks of %" PRIu32 " bytes with heads of %" PRIu32 " cannot be", chunk,
                         chunk_head);
    return RBWP_OK;
}

static enum rbwp_status live_file_read_head(const struct live_file *live,
                                            struct live_head *head_out, struct rbwp_error *error)
{
    size_t got;
    enum rbwp_status status = read_at(live, 0, head_out, sizeof *head_out, &got, error);
    if (status != RBWP_OK)
        return status;
    static const char none[sizeof head_out->magic];
    if (got == 0 || (got >= sizeof none && memcmp(head_out->magic, none, sizeof none) == 0))
        return live_file_refuse(error, RBWP_E_TRUNCATED,
                                "its head was not written: nothing had been recorded yet");
    if (got < sizeof *head_out)
        return live_file_refuse(error, RBWP_E_NOT_RBWP,
                                "not a live file: it is too short for a head");
    return check_head(head_out, error);
}

enum rbwp_status live_file_open(struct live_file *live, const char *path, struct rbwp_error *error)
{
    return live_file_take(live, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error);
}

enum rbwp_status live_file_take(struct live_file *live, int fd, struct rbwp_error *error)
{
    struct stat file = {0};
    *live = (struct live_file){.fd = fd};
    if (live->fd < 0)
        return error_set_os(error, section, "open the live file");
    enum rbwp_status status = RBWP_OK;
    if (fstat(live->fd, &file) != 0)
        status = error_set_os(error, section, "look at the live file");
    else if (!S_ISREG(file.st_mode))
        status = live_file_refuse(error, RBWP_E_NOT_RBWP, "not a live file: it is no regular file");
    live->device = file.st_dev;
    live->inode = file.st_ino;
    if (status == RBWP_OK)
        status = live_file_read_head(live, &live->head, error);
    if (status == RBWP_OK)
        status = live_file_commit(live, error);
    if (status != RBWP_OK)
        live_file_close(live);
    return status;
}

bool live_file_is_still(const struct live_file *live)
{
    struct stat file;
    return live->fd >= 0 && fstat(live->fd, &file) == 0 && file.st_dev == live->device &&
           file.st_ino == live->inode;
}

void live_file_close(struct live_file *live)
{
    if (live_file_is_still(live))
        close(live->fd);
    live->fd = -1;
}

/* The two take turns, so the one that the index names is whole if the index stays the same. */
enum rbwp_status live_file_commit(struct live_file *live, struct rbwp_error *error)
{
    struct live_head first, second;
    enum rbwp_status status = live_file_read_head(live, &first, error);
    for (int i = 0; status == RBWP_OK && i < COMMIT_TRIES; i++) {
        status = live_file_read_head(live, &second, error);
        if (status != RBWP_OK || first.commit_index == second.commit_index)
            break;
        first = second;
    }
    if (status != RBWP_OK)
        return status;
    if (first.commit_index > 1)
        return error_set(error, RBWP_E_CORRUPT, (struct place){section, NOWHERE, 0},
                         "the index of its commit is %" PRIu32 ", not 0 or 1", first.commit_index);
    live->commit = first.commit[first.commit_index];
    return RBWP_OK;
}

/* Only a shared lock that is given back at once: a recorder that starts just now must not be kept
 * from it. */
bool live_file_is_locked(const struct live_file *live)
{
    if (live->is_own)
        return true;
    if (flock(live->fd, LOCK_SH | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(live->fd, LOCK_UN);
    return false;
}

bool live_file_belongs(const struct live_file *live, const struct rbwp_file_header *header)
{
    return live->head.zero_time_ns == header->zero_time_ns && live->head.node == header->node;
}

/* ---- segments --------------------------------------------------------------------------- */

/* Where the next data are, at or behind offset; UINT64_MAX behind the last. */
static uint64_t next_data(const struct live_file *live, uint64_t offset)
{
    off_t found = lseek(live->fd, (off_t)offset, SEEK_DATA);
    if (found >= 0)
        return (uint64_t)found;
    return errno == ENXIO ? UINT64_MAX : offset; /* a file system that does not know */
}

#define ENTRIES_AT_ONCE 256u /* of the table: a page of it */

/* Goes through the table. Zeros are a valid start. */
struct segment_walk {
    uint32_t next;   /* number */
    uint64_t behind; /* where the last one ended: offsets go up, so no byte counts twice */
    uint64_t damaged;
    uint32_t first, have; /* numbers of the entries that were read, from first to before have */
    struct live_segment entries[ENTRIES_AT_ONCE];
};

/* Reads the entries that begin with walk->next, or those behind a hole. False at the end. */
static bool read_entries(const struct live_file *live, struct segment_walk *walk,
                         enum rbwp_status *status, struct rbwp_error *error)
{
    const uint64_t page = sizeof walk->entries;
    uint64_t at = LIVE_TABLE_OFFSET + (uint64_t)walk->next * sizeof(struct live_segment);
    uint64_t data = next_data(live, at);
    if (data >= LIVE_HEAD_BYTES)
        return false;
    at += (data - at) / page * page;
    walk->first = walk->next = (uint32_t)((at - LIVE_TABLE_OFFSET) / sizeof(struct live_segment));
    size_t got;
    *status = read_at(live, at, walk->entries, sizeof walk->entries, &got, error);
    walk->have = walk->next + (uint32_t)(got / sizeof(struct live_segment));
    return *status == RBWP_OK && walk->have > walk->next;
}

/* True when the file ends before this. (It only grows while its process lives.) */
static bool is_cut(const struct live_file *live, uint64_t end)
{
    struct stat file;
    return fstat(live->fd, &file) == 0 && (uint64_t)file.st_size < end;
}

/* The next segment of this kind. False behind the last, or with *status below 0. */
static bool next_segment(const struct live_file *live, struct segment_walk *walk,
                         enum live_segment_kind kind, struct live_segment *segment_out,
                         enum rbwp_status *status, struct rbwp_error *error)
{
    for (;; walk->next++) {
        if (walk->next == walk->have && !read_entries(live, walk, status, error))
            return false;
        const struct live_segment *entry = &walk->entries[walk->next - walk->first];
        if (entry->kind == LIVE_NONE)
            continue;
        uint64_t begin = walk->behind ? walk->behind : LIVE_HEAD_BYTES;
        if (entry->kind > LIVE_RING || entry->offset < begin || entry->offset > INT64_MAX / 2 ||
            entry->bytes == 0 || entry->bytes > LIVE_SEGMENT_BYTES_MAX) {
            walk->damaged++;
            continue;
        }
        walk->behind = entry->offset + entry->bytes;
        walk->damaged += is_cut(live, walk->behind);
        if (entry->kind != (uint32_t)kind)
            continue;
        *segment_out = *entry;
        walk->next++;
        return true;
    }
}

enum rbwp_status live_file_ring(const struct live_file *live, live_segment_fn *found, void *context,
                                struct rbwp_error *error)
{
    struct segment_walk walk = {0};
    struct live_segment segment;
    enum rbwp_status status = RBWP_OK;
    while (next_segment(live, &walk, LIVE_RING, &segment, &status, error) &&
           found(context, &segment))
        ;
    return status;
}

size_t live_file_read(const struct live_file *live, uint64_t offset, void *to, size_t count)
{
    size_t got;
    return read_at(live, offset, to, count, &got, NULL) == RBWP_OK ? got : 0;
}

/* ---- counts and clock ---------------------------------------------------------------------- */

struct live_ring_facts live_file_ring_facts(const struct live_file *live)
{
    struct live_head head;
    return live_file_read_head(live, &head, NULL) == RBWP_OK ? head.ring
                                                             : (struct live_ring_facts){0};
}

struct live_counts live_file_counts(const struct live_file *live)
{
    struct live_head head;
    return live_file_read_head(live, &head, NULL) == RBWP_OK ? head.counts
                                                             : (struct live_counts){0};
}

static int by_ticks(const void *left, const void *right)
{
    const struct rbwp_clock_sample *a = left, *b = right;
    return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

uint32_t live_file_samples(const struct live_file *live, struct rbwp_clock_sample *samples_out)
{
    struct live_sample places[LIVE_FILE_SAMPLES_MAX];
    uint32_t count = 0;
    size_t got;
    if (read_at(live, LIVE_SAMPLES_OFFSET, places, sizeof places, &got, NULL) != RBWP_OK)
        return 0;
    for (size_t i = 0; i < got / sizeof places[0]; i++)
        if (places[i].check == live_sample_check(&places[i].sample))
            samples_out[count++] = places[i].sample;
    if (count)
        qsort(samples_out, count, sizeof *samples_out, by_ticks);
    return count;
}

/* ---- log ---------------------------------------------------------------------------------- */

/* False when the caller wants no more. */
static bool walk_log(const uint8_t *segment, size_t size, live_entry_fn *entry, void *context,
                     uint64_t *damaged)
{
    size_t at = 0;
    while (size - at >= sizeof(struct live_entry)) {
        struct live_entry head;
        memcpy(&head, segment + at, sizeof head);
        if (head.bytes == 0)
            return true;
        if (head.bytes < sizeof head || head.bytes > size - at) {
            ++*damaged;
            return true;
        }
        if (!entry(context, head.kind, segment + at + sizeof head, head.bytes - sizeof head))
            return false;
        size_t padded = ((size_t)head.bytes + 7) / 8 * 8;
        at += padded < size - at ? padded : size - at;
    }
    return true;
}

enum rbwp_status live_file_log(const struct live_file *live, live_entry_fn *entry, void *context,
                               uint64_t *damaged_out, struct rbwp_error *error)
{
    struct segment_walk walk = {0};
    struct live_segment segment;
    enum rbwp_status status = RBWP_OK;
    bool more = true;
    *damaged_out = 0;
    uint8_t *bytes = malloc(LIVE_SEGMENT_BYTES_MAX);
    if (!bytes)
        return error_set_memory(error, section);
    while (more && next_segment(live, &walk, LIVE_LOG, &segment, &status, error)) {
        size_t got;
        if (walk.next - 1 < live->head.log_first ||
            next_data(live, segment.offset) >= segment.offset + segment.bytes)
            continue;
        status = read_at(live, segment.offset, bytes, segment.bytes, &got, error);
        if (status != RBWP_OK)
            break;
        more = walk_log(bytes, got, entry, context, damaged_out);
    }
    *damaged_out += walk.damaged;
    free(bytes);
    return status;
}

/* ---- chunks --------------------------------------------------------------------------------- */

static enum rbwp_status add_chunk(struct live_chunks *chunks, const struct live_chunk *chunk,
                                  struct rbwp_error *error)
{
    if (chunks->count == LIVE_CHUNKS_MAX) {
        chunks->left_out++;
        return RBWP_OK;
    }
    if (!grow_array(&chunks->list, &chunks->capacity, chunks->count + 1, sizeof *chunks->list))
        return error_set_memory(error, section);
    chunks->list[chunks->count++] = *chunk;
    return RBWP_OK;
}

/* Reads the head of the chunk at offset. True if it has events or rows, or may have. */
static bool read_chunk_head(const struct live_file *live, uint64_t offset,
                            struct live_chunk *chunk_out)
{
    struct live_chunk_head head;
    uint64_t word = 0;
    size_t got;
    if (read_at(live, offset, &head, sizeof head, &got, NULL) != RBWP_OK || got < sizeof head ||
        read_at(live, offset + live->head.chunk_head_bytes, &word, sizeof word, &got, NULL) !=
            RBWP_OK)
        return false;
    *chunk_out = (struct live_chunk){.thread_id = head.thread_id,
                                     .base_ticks = head.base_ticks,
                                     .ticket = head.ticket,
                                     .offset = offset,
                                     .table = head.table,
                                     .columns = head.columns,
                                     .rows = head.table ? head.rows : 0,
                                     .tick_columns = head.tick_columns};
    return got == sizeof word && (head.table ? head.rows != 0 : word != 0);
}

static enum rbwp_status list_segment(const struct live_file *live,
                                     const struct live_segment *segment, struct live_chunks *chunks,
                                     struct rbwp_error *error)
{
    uint64_t begin = segment->offset;
    uint32_t bytes = live->head.chunk_bytes;
    for (uint64_t at = 0; at + bytes <= segment->bytes; at += bytes) {
        uint64_t data = next_data(live, begin + at);
        if (data - begin >= segment->bytes)
            return RBWP_OK;
        at = (data - begin) / bytes * bytes;
        if (at + bytes > segment->bytes)
            return RBWP_OK;
        struct live_chunk chunk;
        bool events = read_chunk_head(live, begin + at, &chunk);
        bool written = chunk.ticket != 0 && chunk.ticket <= live->commit.ticket;
        if (events && !written) {
            enum rbwp_status status = add_chunk(chunks, &chunk, error);
            if (status != RBWP_OK)
                return status;
        }
    }
    return RBWP_OK;
}

/* By thread, then time; of chunks that began at the same tick those taken first are older. */
static int by_time(const void *left, const void *right)
{
    const struct live_chunk *a = left, *b = right;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    if (a->base_ticks != b->base_ticks)
        return a->base_ticks < b->base_ticks ? -1 : 1;
    uint64_t a_ticket = a->ticket - 1, b_ticket = b->ticket - 1; /* none: the last */
    if (a_ticket != b_ticket)
        return a_ticket < b_ticket ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

enum rbwp_status live_file_chunks(const struct live_file *live, struct live_chunks *chunks_out,
                                  struct rbwp_error *error)
{
    struct segment_walk walk = {0};
    struct live_segment segment;
    enum rbwp_status status = RBWP_OK;
    *chunks_out = (struct live_chunks){0};
    while (status == RBWP_OK && next_segment(live, &walk, LIVE_CHUNKS, &segment, &status, error))
        status = list_segment(live, &segment, chunks_out, error);
    if (chunks_out->count)
        qsort(chunks_out->list, chunks_out->count, sizeof *chunks_out->list, by_time);
    return status;
}

void live_chunks_free(struct live_chunks *chunks)
{
    free(chunks->list);
    *chunks = (struct live_chunks){0};
}

size_t live_chunk_words(const struct live_file *live)
{
    return (live->head.chunk_bytes - live->head.chunk_head_bytes) / sizeof(uint64_t);
}

bool live_chunk_look(const struct live_file *live, const struct live_chunk *chunk,
                     struct live_chunk *now_out)
{
    return read_chunk_head(live, chunk->offset, now_out) &&
           now_out->thread_id == chunk->thread_id && now_out->base_ticks == chunk->base_ticks;
}

bool live_chunk_read(const struct live_file *live, const struct live_chunk *chunk, uint64_t *words,
                     size_t *count_out)
{
    size_t got;
    struct live_chunk now;
    if (read_at(live, chunk->offset + live->head.chunk_head_bytes, words,
                live_chunk_words(live) * sizeof *words, &got, NULL) != RBWP_OK)
        return false;
    *count_out = got / sizeof *words;
    /* Looked at again behind the words: a chunk that was given back meanwhile has lost some. */
    return live_chunk_look(live, chunk, &now);
}

/* ---- events -----------------------------------------------------------------------------------
 */

bool live_event_next(struct live_events *events, struct live_event *event_out)
{
    if (events->damaged || events->next == events->count || events->words[events->next] == 0)
        return false;
    uint64_t word = events->words[events->next];
    unsigned kind = live_event_record_kind(word);
    size_t left = events->count - events->next,
           size = kind == RBWP_GPU_WORK ? LIVE_GPU_EVENT_WORDS : 1;
    if (kind == 0 || left < size) {
        events->damaged = true;
        return false;
    }
    *event_out = (struct live_event){
        .kind = kind,
        .id = live_event_id(word),
        .ticks = events->base_ticks + live_event_ticks(word),
    };
    if (kind == RBWP_GPU_WORK)
        memcpy(event_out->gpu, &events->words[events->next + 1], sizeof event_out->gpu);
    events->next += size;
    return true;
}
