/* SPDX-License-Identifier: Apache-2.0 */
#include "summary_cache.h"

#include "buffer.h"
#include "bytes.h"
#include "crc32c.h"
#include "message.h"
#include "rbwp_format.h"
#include "stats.h"
#include "stats_fill.h"
#include "temporary_file.h"
#include "text_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- stats summary --------------------------------------------------------------------------- */
/*
 * Sums of one file as bytes, to be put together with others (stats_merge.h) another time.
 *
 * Numbers are varints (SPEC.md, 9.2), in an order that both ways share. Bytes are not believed:
 * what does not fit together is no summary.
 *
 * Each function goes both ways: it writes what stands in the sums, or reads it into them.
 */

struct transfer {
    struct buffer *out; /* NULL: it is read */
    struct cursor in;
    struct stats *stats;
    bool broken;
};

/* ---- numbers and texts ------------------------------------------------------------------ */

static void put_varint(struct buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    buffer_append(out, bytes, count);
}

static uint64_t take_varint(struct transfer *transfer)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = cursor_take(&transfer->in, 1);
        if (!byte)
            break;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return value;
    }
    transfer->broken = true;
    return 0;
}

static void u64(struct transfer *transfer, uint64_t *value)
{
    if (transfer->out)
        put_varint(transfer->out, *value);
    else
        *value = take_varint(transfer);
}

static void i64(struct transfer *transfer, int64_t *value)
{
    uint64_t zigzag = (uint64_t)*value << 1 ^ (uint64_t)(*value < 0 ? -1 : 0);
    u64(transfer, &zigzag);
    *value = (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
}

static void u32(struct transfer *transfer, uint32_t *value)
{
    uint64_t wide = *value;
    u64(transfer, &wide);
    transfer->broken |= wide > UINT32_MAX;
    *value = (uint32_t)wide;
}

static void u8(struct transfer *transfer, uint8_t *value)
{
    uint32_t wide = *value;
    u32(transfer, &wide);
    transfer->broken |= wide > UINT8_MAX;
    *value = (uint8_t)wide;
}

static void flag(struct transfer *transfer, bool *value)
{
    uint8_t wide = *value;
    u8(transfer, &wide);
    *value = wide != 0;
}

static void f64(struct transfer *transfer, double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    u64(transfer, &bits);
    memcpy(value, &bits, sizeof bits);
}

static void text(struct transfer *transfer, struct trace_text *value)
{
    u32(transfer, &value->bytes);
    if (transfer->out) {
        buffer_append(transfer->out, value->text, value->bytes);
        return;
    }
    const uint8_t *bytes = cursor_take(&transfer->in, value->bytes);
    char *copy = bytes && !transfer->broken ? malloc(value->bytes + (size_t)1) : NULL;
    transfer->broken |= !copy;
    value->text = copy;
    value->bytes = copy ? value->bytes : 0;
    if (copy) {
        memcpy(copy, bytes, value->bytes);
        copy[value->bytes] = '\0';
    }
}

/* A number of something; each takes a byte at least, so there can be no more of them than bytes. */
static void count_of(struct transfer *transfer, uint32_t *count, uint32_t most)
{
    u32(transfer, count);
    if (!transfer->out && (*count > transfer->in.left || *count > most || transfer->broken)) {
        transfer->broken = true;
        *count = 0;
    }
}

static void below(struct transfer *transfer, uint32_t *number, uint32_t count, bool may_be_none)
{
    u32(transfer, number);
    transfer->broken |= *number >= count && !(may_be_none && *number == TRACE_NONE);
}

/* ---- parts ------------------------------------------------------------------------------ */

static void histogram(struct transfer *transfer, struct histogram *histogram)
{
    u32(transfer, &histogram->first);
    count_of(transfer, &histogram->buckets, HISTOGRAM_BUCKETS);
    u64(transfer, &histogram->total);
    if (!transfer->out) {
        transfer->broken |= histogram->first > HISTOGRAM_BUCKETS - histogram->buckets;
        histogram->counts = calloc(histogram->buckets + (size_t)1, sizeof *histogram->counts);
        transfer->broken |= !histogram->counts;
    }
    for (uint32_t i = 0; i < histogram->buckets && !transfer->broken; i++)
        u64(transfer, &histogram->counts[i]);
}

static void busy(struct transfer *transfer, struct busy *busy)
{
    flag(transfer, &busy->any);
    i64(transfer, &busy->first_ns);
    i64(transfer, &busy->from_ns);
    i64(transfer, &busy->until_ns);
    u64(transfer, &busy->busy_ns);
    u64(transfer, &busy->gaps);
    u64(transfer, &busy->longest_gap_ns);
    i64(transfer, &busy->longest_gap_at_ns);
}

static void cells(struct transfer *transfer, struct busy_cells *cells)
{
    uint32_t power = cells->power, count = 0;
    if (cells->busy_ns)
        count = (uint32_t)(cells->last - cells->first) + 1;
    count_of(transfer, &count, BUSY_CELLS);
    if (count == 0)
        return;
    u32(transfer, &power);
    i64(transfer, &cells->first);
    if (!transfer->out) {
        /* The grid of a real axis; the next number is no other one's. */
        transfer->broken |= power > 62 || cells->first > (INT64_MAX >> power) - BUSY_CELLS ||
                            cells->first < INT64_MIN >> power;
        cells->busy_ns = calloc(BUSY_CELLS, sizeof *cells->busy_ns);
        transfer->broken |= !cells->busy_ns;
        cells->power = power;
        cells->last = transfer->broken ? cells->first : cells->first + count - 1;
    }
    for (uint32_t i = 0; i < count && !transfer->broken; i++)
        u64(transfer, &cells->busy_ns[((uint64_t)cells->first + i) % BUSY_CELLS]);
}

static void process(struct transfer *transfer, struct stats_process *process)
{
    u32(transfer, &process->node);
    text(transfer, &process->name);
    text(transfer, &process->source);
    flag(transfer, &process->began_before);
    flag(transfer, &process->has_gap);
    flag(transfer, &process->by_rule);
    text(transfer, &process->rule);
    u64(transfer, &process->empty_polls);
    cells(transfer, &process->cells);
}

static void launches(struct transfer *transfer, struct launch_sums *sums)
{
    u64(transfer, &sums->count);
    u64(transfer, &sums->early);
    u64(transfer, &sums->total_ns);
    u64(transfer, &sums->min_ns);
    u64(transfer, &sums->max_ns);
    u64(transfer, &sums->bounded);
    busy(transfer, &sums->certain);
    histogram(transfer, &sums->latencies);
}

static void counter(struct transfer *transfer, struct counter_sums *sums)
{
    u64(transfer, &sums->count);
    f64(transfer, &sums->min);
    f64(transfer, &sums->max);
    f64(transfer, &sums->last);
    f64(transfer, &sums->area);
    i64(transfer, &sums->first_ns);
    i64(transfer, &sums->last_ns);
}

/* What only some tracks have; made when it is read. */
static bool has(struct transfer *transfer, void *part, size_t bytes)
{
    void **at = part;
    bool there = *at != NULL;
    flag(transfer, &there);
    if (there && !transfer->out && !transfer->broken) {
        *at = calloc(1, bytes);
        transfer->broken |= !*at;
    }
    return there && *at;
}

static void track(struct transfer *transfer, struct stats_track *track)
{
    uint32_t kind = track->track.kind;
    below(transfer, &track->track.process, transfer->stats->process_count, false);
    below(transfer, &track->track.parent, transfer->stats->track_count, true);
    below(transfer, &kind, TRACE_TRACK_KINDS, false);
    track->track.kind = kind;
    u64(transfer, &track->track.id);
    u64(transfer, &track->track.os_id);
    text(transfer, &track->track.name);
    text(transfer, &track->track.unit);
    busy(transfer, &track->busy);
    i64(transfer, &track->first_ns);
    i64(transfer, &track->last_ns);
    u64(transfer, &track->spans);
    u64(transfer, &track->unfinished);
    u64(transfer, &track->calls);
    u64(transfer, &track->lost_records);
    u64(transfer, &track->waiting_ns);
    if (has(transfer, &track->launches, sizeof *track->launches))
        launches(transfer, track->launches);
    if (has(transfer, &track->counter, sizeof *track->counter))
        counter(transfer, track->counter);
}

static void row(struct transfer *transfer, struct stats_row *row)
{
    u8(transfer, &row->category);
    transfer->broken |= row->category >= TRACE_CATEGORIES;
    u32(transfer, &row->item);
    text(transfer, &row->name);
    text(transfer, &row->kind);
    u64(transfer, &row->count);
    u64(transfer, &row->unfinished);
    u64(transfer, &row->open);
    u64(transfer, &row->open_ns);
    u64(transfer, &row->total_ns);
    u64(transfer, &row->nested_ns);
    u64(transfer, &row->min_ns);
    u64(transfer, &row->max_ns);
    histogram(transfer, &row->durations);
}

static void call(struct transfer *transfer, struct stats_call *call)
{
    i64(transfer, &call->start_ns);
    u64(transfer, &call->duration_ns);
    u64(transfer, &call->id);
    below(transfer, &call->track, transfer->stats->track_count, false);
    below(transfer, &call->row, transfer->stats->row_count, false);
    text(transfer, &call->args);
}

static void loss(struct transfer *transfer, struct stats_loss *loss)
{
    below(transfer, &loss->process, transfer->stats->process_count, false);
    below(transfer, &loss->track, transfer->stats->track_count, true);
    text(transfer, &loss->cause);
    below(transfer, &loss->refused, RBWP_LOSS_CAUSE_MAX + 1, false);
    u64(transfer, &loss->count);
    u64(transfer, &loss->bytes);
    i64(transfer, &loss->first_ns);
    i64(transfer, &loss->last_ns);
}

/* ---- lists -------------------------------------------------------------------------------- */

/* The array behind list, of elements zeroed when they are read. */
static bool list(struct transfer *transfer, void *list, uint32_t *room, uint32_t *count,
                 uint32_t most, size_t bytes)
{
    count_of(transfer, count, most);
    if (!transfer->out && !transfer->broken && *count)
        transfer->broken |= !stats_grow(transfer->stats, list, room, *count, bytes);
    if (transfer->broken && !transfer->out)
        *count = 0;
    return *count > 0;
}

static void lists(struct transfer *transfer)
{
    struct stats *stats = transfer->stats;
    if (list(transfer, &stats->processes, &stats->process_room, &stats->process_count, UINT32_MAX,
             sizeof *stats->processes))
        for (uint32_t i = 0; i < stats->process_count; i++)
            process(transfer, &stats->processes[i]);
    if (list(transfer, &stats->tracks, &stats->track_room, &stats->track_count, UINT32_MAX,
             sizeof *stats->tracks))
        for (uint32_t i = 0; i < stats->track_count; i++) {
            stats->tracks[i].track.number = i;
            track(transfer, &stats->tracks[i]);
        }
    if (list(transfer, &stats->rows, &stats->row_room, &stats->row_count, STATS_ROWS_MAX,
             sizeof *stats->rows))
        for (uint32_t i = 0; i < stats->row_count; i++)
            row(transfer, &stats->rows[i]);
}

static void kept_lists(struct transfer *transfer)
{
    struct stats *stats = transfer->stats;
    count_of(transfer, &stats->longest_count, stats->options.top);
    for (uint32_t i = 0; i < stats->longest_count; i++)
        call(transfer, &stats->longest[i]);
    count_of(transfer, &stats->open_count, STATS_OPEN_MAX);
    for (uint32_t i = 0; i < stats->open_count; i++)
        call(transfer, &stats->open[i]);
    count_of(transfer, &stats->loss_count, STATS_LOSSES_MAX);
    for (uint32_t i = 0; i < stats->loss_count; i++)
        loss(transfer, &stats->losses[i]);
}

static void levels(struct transfer *transfer)
{
    struct concurrency_result *result = &transfer->stats->concurrency;
    uint32_t room = 0;
    if (list(transfer, &result->level_ns, &room, &result->levels, UINT32_MAX,
             sizeof *result->level_ns))
        for (uint32_t i = 0; i < result->levels; i++)
            u64(transfer, &result->level_ns[i]);
}

static void sums(struct transfer *transfer)
{
    struct stats *stats = transfer->stats;
    u64(transfer, &stats->spans);
    u64(transfer, &stats->cut);
    u64(transfer, &stats->links);
    u64(transfer, &stats->samples);
    u64(transfer, &stats->table_rows);
    u64(transfer, &stats->lost_records);
    for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++)
        u64(transfer, &stats->refused[cause]);
    u64(transfer, &stats->skipped_bytes);
    u64(transfer, &stats->open_spans);
}

static void all_of(struct transfer *transfer)
{
    lists(transfer);
    kept_lists(transfer);
    levels(transfer);
    sums(transfer);
}

/* Of finished sums, without what happened inside kernels. False without memory. */
static bool stats_summary_write(struct stats *stats, struct buffer *bytes)
{
    struct transfer transfer = {.out = bytes, .stats = stats};
    all_of(&transfer);
    return !bytes->failed;
}

/* stats is started, with the options that the sums were made with, and finished now. False: these
 * are no such bytes, or there is no memory; stats is to be freed in either case. */
static bool stats_summary_read(struct stats *stats, const uint8_t *bytes, size_t count)
{
    struct transfer transfer = {.in = {bytes, count}, .stats = stats};
    all_of(&transfer);
    return !transfer.broken && !stats->failed && transfer.in.left == 0;
}

/* ---- summary cache --------------------------------------------------------------------------- */

/* Its last byte counts up when summary_cache.c, or what it carries, changes. */
static const char magic[8] = "RBWPSUM\4";
enum { HEAD_BYTES = 20, TAIL_BYTES = 64 }; /* magic, which file, sum of what is behind */

bool summary_cache_open(const char *place)
{
    struct stat status;
    if (strcmp(place, SUMMARY_BESIDE) == 0 || mkdir(place, 0777) == 0 ||
        (stat(place, &status) == 0 && S_ISDIR(status.st_mode)))
        return true;
    message("%s: no folder for sums can be made: %s", place,
            errno == EEXIST ? "there is a file of that name" : strerror(errno));
    return false;
}

/* ---- which file ------------------------------------------------------------------------- */

/* 0: it cannot be told. */
static uint64_t fingerprint(const struct summary_cache *cache)
{
    struct stat status;
    uint8_t tail[TAIL_BYTES];
    int fd = open(cache->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_size >= TAIL_BYTES &&
                read_all_at(fd, tail, sizeof tail, (uint64_t)status.st_size - TAIL_BYTES);
    if (fd >= 0)
        close(fd);
    if (!good)
        return 0;
    const uint64_t facts[] = {cache->question, (uint64_t)status.st_size,
                              (uint64_t)status.st_mtim.tv_sec, (uint64_t)status.st_mtim.tv_nsec};
    uint64_t hash = text_hash(TEXT_HASH_FIRST, facts, sizeof facts);
    hash = text_hash(hash, tail, sizeof tail);
    return text_hash(hash, rbwp_version(), strlen(rbwp_version())) | 1;
}

/* In memory that the caller frees; NULL: there is none. */
static char *name_of(const struct summary_cache *cache)
{
    char *name = NULL, whole[PATH_MAX];
    if (strcmp(cache->place, SUMMARY_BESIDE) == 0)
        return asprintf(&name, "%s.summary", cache->path) < 0 ? NULL : name;
    if (!realpath(cache->path, whole))
        return NULL;
    const char *slash = strrchr(whole, '/');
    int bytes =
        asprintf(&name, "%s/%.100s-%016" PRIx64 ".summary", cache->place, slash ? slash + 1 : whole,
                 text_hash(TEXT_HASH_FIRST, whole, strlen(whole)));
    return bytes < 0 ? NULL : name;
}

/* ---- both ways ---------------------------------------------------------------------------- */

/* Sums are believed that we wrote, or root, or who could as well have written the recording. */
static bool is_trusted(const struct summary_cache *cache, const struct stat *status)
{
    struct stat recording;
    return !(status->st_mode & S_IWOTH) &&
           (status->st_uid == geteuid() || status->st_uid == 0 ||
            (stat(cache->path, &recording) == 0 && status->st_uid == recording.st_uid));
}

static uint8_t *load(const struct summary_cache *cache, const char *name, size_t *count_out)
{
    struct stat status;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                is_trusted(cache, &status) && status.st_size > HEAD_BYTES &&
                status.st_size <= SUMMARY_BYTES_MAX;
    uint8_t *bytes = good ? malloc((size_t)status.st_size) : NULL;
    if (bytes && !read_all_at(fd, bytes, (size_t)status.st_size, 0)) {
        free(bytes);
        bytes = NULL;
    }
    *count_out = bytes ? (size_t)status.st_size : 0;
    if (fd >= 0)
        close(fd);
    return bytes;
}

bool summary_cache_read(const struct summary_cache *cache, struct stats *stats)
{
    size_t count;
    char *name = name_of(cache);
    uint8_t *bytes = name ? load(cache, name, &count) : NULL;
    bool good = bytes && memcmp(bytes, magic, sizeof magic) == 0 &&
                load_le64(bytes + 8) == fingerprint(cache) &&
                load_le32(bytes + 16) == crc32c(0, bytes + HEAD_BYTES, count - HEAD_BYTES) &&
                stats_summary_read(stats, bytes + HEAD_BYTES, count - HEAD_BYTES);
    free(bytes);
    free(name);
    return good;
}

/* As another file first. */
static void store(const char *name, const struct buffer *bytes)
{
    char *other;
    if (asprintf(&other, "%s.XXXXXX", name) < 0)
        return;
    int fd = mkostemp(other, O_CLOEXEC);
    mode_t mask = umask(0);
    umask(mask);
    if (fd >= 0) {
        bool good = fchmod(fd, 0666 & ~mask) == 0 &&
                    write_all(fd, (const char *)bytes->bytes, bytes->count);
        good = close(fd) == 0 && good;
        if (!good || rename(other, name) != 0)
            unlink(other);
    }
    free(other);
}

void summary_cache_write(const struct summary_cache *cache, struct stats *stats)
{
    struct buffer bytes = {0};
    uint8_t head[HEAD_BYTES] = {0};
    char *name = name_of(cache);
    uint64_t file = fingerprint(cache);
    buffer_append(&bytes, head, sizeof head);
    if (name && file && stats_summary_write(stats, &bytes) && bytes.count <= SUMMARY_BYTES_MAX) {
        memcpy(bytes.bytes, magic, sizeof magic);
        store_le64(bytes.bytes + 8, file);
        store_le32(bytes.bytes + 16, crc32c(0, bytes.bytes + HEAD_BYTES, bytes.count - HEAD_BYTES));
        store(name, &bytes);
    }
    buffer_free(&bytes);
    free(name);
}
