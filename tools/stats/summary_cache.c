/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_files.h"

#include "crc32c.h"
#include "message.h"
#include "result_bytes.h"
#include "stats_fill.h"
#include "stats_tables.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sums as bytes --------------------------------------------------------------------------- */
/*
 * Sums of one file as bytes, to be put together with others (stats_files.h) another time. What is
 * kept are the fields of the tables' columns (result_bytes.h), and what is no table here.
 */

static void cells(struct result_bytes *bytes, struct busy_cells *cells)
{
    uint64_t power = cells->power;
    uint32_t count = 0;
    if (cells->busy_ns)
        count = (uint32_t)(cells->last - cells->first) + 1;
    result_bytes_count(bytes, &count, BUSY_CELLS);
    if (count == 0)
        return;
    result_bytes_u64(bytes, &power);
    result_bytes_i64(bytes, &cells->first);
    if (!bytes->out) {
        /* The grid of a real axis; the next number is no other one's. */
        bytes->broken |= power > 62 || cells->first > (INT64_MAX >> power) - BUSY_CELLS ||
                         cells->first < INT64_MIN >> power;
        cells->busy_ns = calloc(BUSY_CELLS, sizeof *cells->busy_ns);
        bytes->broken |= !cells->busy_ns;
        cells->power = (uint32_t)power;
        cells->last = bytes->broken ? cells->first : cells->first + count - 1;
    }
    for (uint32_t i = 0; i < count && !bytes->broken; i++)
        result_bytes_u64(bytes, &cells->busy_ns[((uint64_t)cells->first + i) % BUSY_CELLS]);
}

/* The array behind `array`, of rows zeroed when they are read; room NULL: there is room already.
 * thing: what a row is, or STATS_THINGS. */
static void list(struct result_bytes *bytes, struct stats *stats, void *array, uint32_t *room,
                 uint32_t *count, uint32_t most, const struct result_column *columns, size_t size,
                 unsigned thing)
{
    char *first;
    result_bytes_count(bytes, count, most);
    bytes->things[thing] = *count;
    if (room && !bytes->out && !bytes->broken && *count)
        bytes->broken |= !stats_grow(stats, array, room, *count, size);
    if (bytes->broken && !bytes->out)
        *count = 0;
    memcpy(&first, array, sizeof first);
    for (uint32_t i = 0; i < *count; i++)
        result_bytes_row(bytes, columns, first + i * size);
}

static void lists(struct result_bytes *bytes, struct stats *stats)
{
    list(bytes, stats, &stats->processes, &stats->process_room, &stats->process_count, UINT32_MAX,
         stats_process_columns, sizeof *stats->processes, STATS_PROCESSES);
    for (uint32_t i = 0; i < stats->process_count; i++)
        cells(bytes, &stats->processes[i].cells);
    list(bytes, stats, &stats->tracks, &stats->track_room, &stats->track_count, UINT32_MAX,
         stats_track_columns, sizeof *stats->tracks, STATS_TRACKS);
    for (uint32_t i = 0; i < stats->track_count; i++)
        stats->tracks[i].track.number = i;
    list(bytes, stats, &stats->rows, &stats->row_room, &stats->row_count, STATS_ROWS_MAX,
         stats_row_columns, sizeof *stats->rows, STATS_ROWS);
    list(bytes, stats, &stats->longest, NULL, &stats->longest_count, stats->options.top,
         stats_call_columns, sizeof *stats->longest, STATS_THINGS);
    list(bytes, stats, &stats->open, NULL, &stats->open_count, STATS_OPEN_MAX, stats_call_columns,
         sizeof *stats->open, STATS_THINGS);
    list(bytes, stats, &stats->losses, NULL, &stats->loss_count, STATS_LOSSES_MAX,
         stats_loss_columns, sizeof *stats->losses, STATS_THINGS);
}

static void all_of(struct result_bytes *bytes, struct stats *stats)
{
    static const struct result_column level[] = {{.unit = RESULT_NS, .bytes = sizeof(uint64_t)},
                                                 {.unit = RESULT_END}};
    struct concurrency_result *result = &stats->concurrency;
    uint32_t room = 0;
    lists(bytes, stats);
    list(bytes, stats, &result->level_ns, &room, &result->levels, UINT32_MAX, level,
         sizeof *result->level_ns, STATS_THINGS);
    result_bytes_row(bytes, stats_columns, stats);
    for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++)
        result_bytes_u64(bytes, &stats->refused[cause]);
}

/* Of finished sums, without what happened inside kernels. False without memory. */
static bool stats_summary_write(struct stats *stats, struct buffer *out)
{
    struct result_bytes bytes = {.out = out};
    all_of(&bytes, stats);
    return !out->failed;
}

/* stats is started, with the options that the sums were made with, and finished now. False: these
 * are no such bytes, or there is no memory; stats is to be freed in either case. */
static bool stats_summary_read(struct stats *stats, const uint8_t *in, size_t count)
{
    struct result_bytes bytes = {.in = {in, count}};
    all_of(&bytes, stats);
    return !bytes.broken && !stats->failed && bytes.in.left == 0;
}

/* ---- summary cache --------------------------------------------------------------------------- */

/* Its last byte counts up when what is carried changes: fields of stats_tables.c, too. */
static const char magic[8] = "RBWPSUM\6";
enum {
    SUMMARY_CACHE_HEAD_BYTES = 20,
    TAIL_BYTES = 64
}; /* magic, which file, sum of what is behind */

bool summary_cache_open(const char *place)
{
    struct stat status;
    if (strcmp(place, SUMMARY_BESIDE) == 0 || mkdir(place, 0777) == 0 ||
        (stat(place, &status) == 0 && S_ISDIR(status.st_mode)))
        return true;
    return message_fail("%s: no folder for sums can be made: %s", place,
                        errno == EEXIST ? "there is a file of that name" : strerror(errno));
}

/* ---- which file ------------------------------------------------------------------------- */

/* 0: not known. */
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
static char *summary_cache_name_of(const struct summary_cache *cache)
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

static uint8_t *summary_cache_load(const struct summary_cache *cache, const char *name,
                                   size_t *count_out)
{
    struct stat status;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                is_trusted(cache, &status) && status.st_size > SUMMARY_CACHE_HEAD_BYTES &&
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
    char *name = summary_cache_name_of(cache);
    uint8_t *bytes = name ? summary_cache_load(cache, name, &count) : NULL;
    bool good = bytes && memcmp(bytes, magic, sizeof magic) == 0 &&
                load_le64(bytes + 8) == fingerprint(cache) &&
                load_le32(bytes + 16) ==
                    crc32c(0, bytes + SUMMARY_CACHE_HEAD_BYTES, count - SUMMARY_CACHE_HEAD_BYTES) &&
                stats_summary_read(stats, bytes + SUMMARY_CACHE_HEAD_BYTES,
                                   count - SUMMARY_CACHE_HEAD_BYTES);
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
    uint8_t head[SUMMARY_CACHE_HEAD_BYTES] = {0};
    char *name = summary_cache_name_of(cache);
    uint64_t file = fingerprint(cache);
    buffer_append(&bytes, head, sizeof head);
    if (name && file && stats_summary_write(stats, &bytes) && bytes.count <= SUMMARY_BYTES_MAX) {
        memcpy(bytes.bytes, magic, sizeof magic);
        store_le64(bytes.bytes + 8, file);
        store_le32(bytes.bytes + 16, crc32c(0, bytes.bytes + SUMMARY_CACHE_HEAD_BYTES,
                                            bytes.count - SUMMARY_CACHE_HEAD_BYTES));
        store(name, &bytes);
    }
    buffer_free(&bytes);
    free(name);
}
