/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space for a segment is allocated before it is mapped: a store into a mapping
 * that the disk has no room for would kill the program (SIGBUS).
 */
#include "live.h"

#include "in_process.h"
#include "clock.h"
#include "live_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HEAD_ALLOCATED_BYTES 16384u /* the head proper and the clock; the table as it fills */
#define LOG_BYTES_MIN LIVE_UNIT_BYTES
#ifndef LOG_RETRY_NS
#define LOG_RETRY_NS INT64_C(1000000000) /* a disk that had no room is asked again so often */
#endif

/* A number and a place in the file that are given away together: in one word. */
#define RESERVED_UNITS_BITS 40

struct mapping {
    uint8_t *_Atomic at; /* written last */
    size_t bytes;
    uint64_t offset;
};

/* The segments of a log; of one that has more, the rest is not given back. */
#define LOG_RUN_SEGMENTS 64
struct log_run {
    uint32_t first; /* no segment of it has a lower number */
    uint32_t count, number[LOG_RUN_SEGMENTS];
    uint64_t bytes;
};
#define LOG_DUE_BYTES_MIN (8u << 20)
#define LOG_DUE_TIMES 3 /* what the log says */

_Static_assert(LIVE_COMMAND < LIVE_ENTRY_KINDS, "each kind of entry has its count");

/* All that the process goes by is here, in memory of its own. */
struct live {
    struct held file;
    bool in_pages;           /* written data may be in larger pages than touched ones */
    struct held *folder;     /* NULL: it has no name */
    char name[NAME_MAX + 1]; /* FILE.live's in it */
    char memory[LIVE_MEMORY_PATH_BYTES_MAX]; /* that it leads to */
    struct live_head *head;                  /* mapped, LIVE_HEAD_BYTES; written, never read */
    _Atomic uint64_t reserved;               /* segments, and LIVE_UNIT_BYTES of them together */
    uint32_t commit_index;                   /* that counts */
    _Atomic uint32_t part;                   /* as the head has it */
    uint64_t samples;
    uint8_t *log;         /* the segment being filled; this and what follows guarded by log_lock */
    uint32_t log_size;    /* of it */
    uint32_t log_bytes;   /* in it */
    uint32_t next_log;    /* how large the next one shall be */
    int64_t log_retry_ns; /* no segment could be had: not before; 0 if none was refused */
    struct log_run log_run, old_run;
    uint64_t log_due;        /* bytes of log_run at which the log is written anew */
    uint64_t log_refused;    /* entries that there was no room for */
    uint64_t refused_before; /* when that began */
    bool relogging;
    struct mapping mapping[LIVE_SEGMENTS_MAX];
};

static struct live
    *_Atomic now;            /* set and cleared by the session, which does one thing at a time */
static struct live *parents; /* of a forked child, which frees it when it begins its own */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is taken inside it */

static struct live *current(void)
{
    return atomic_load_explicit(&now, memory_order_acquire);
}

/* Memory that had a descriptor until the program closed it. */
static bool is_anonymous(const struct live *live)
{
    return !live->file.name && !held_is_ours(&live->file);
}

static bool live_allocate(struct live *live, off_t offset, off_t bytes)
{
    if (is_anonymous(live))
        return true;
    struct size_signal signal;
    int result, host_cancel = cancel_hold();
    size_signal_hold(&signal);
    do
        result = fallocate(held_fd(&live->file), 0, offset, bytes);
    while (result != 0 && (errno == EINTR || held_again(&live->file)));
    size_signal_release(&signal);
    cancel_release(host_cancel);
    return result == 0 || is_anonymous(live);
}

static void *map(struct live *live, uint64_t offset, size_t bytes)
{
    void *at;
    do
        at = is_anonymous(live)
                 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, held_fd(&live->file),
                        (off_t)offset);
    while (at == MAP_FAILED && errno == EBADF && (is_anonymous(live) || held_again(&live->file)));
    return at == MAP_FAILED ? NULL : at;
}

/* ---- open --------------------------------------------------------------------------- */

static bool make_head(struct live *live)
{
    if (!live_allocate(live, 0, HEAD_ALLOCATED_BYTES))
        return false;
    live->head = map(live, 0, LIVE_HEAD_BYTES);
    if (!live->head)
        return false;
    live->next_log = LOG_BYTES_MIN;
    live->log_due = LOG_DUE_BYTES_MIN;
    return true;
}

/* A file that was given our name meanwhile is not ours. */
static void remove_file(const struct held *file, struct held *in, const char *name)
{
    char memory[LIVE_MEMORY_PATH_BYTES_MAX];
    int folder = in ? held_fd(in) : -1;
    if (folder >= 0 &&
        held_is_at(file, folder, live_memory_of(folder, name, memory, NULL) ? memory : name))
        live_memory_remove(folder, name);
}

/* In memory it is opened again by that name: FILE.live may lead elsewhere by then. */
static void set_name(struct live *live, struct held *folder, const char *name)
{
    live->folder = folder;
    strcpy(live->name, name);
    const bool in_memory = live_memory_of(held_fd(folder), name, live->memory, NULL);
    held_name(&live->file, in_memory ? NULL : folder, in_memory ? live->memory : live->name,
              O_RDWR | O_NOFOLLOW);
}

static struct live *make(const struct held *file, struct held *folder, const char *name)
{
    struct live *live = calloc(1, sizeof *live);
    struct statfs system;
    free(parents);
    parents = NULL;
    if (!live)
        return NULL;
    live->in_pages = fstatfs(file->fd, &system) == 0 && system.f_type != TMPFS_MAGIC;
    live->file = *file;
    if (folder)
        set_name(live, folder, name);
    if (make_head(live))
        return live;
    const int reason = errno;
    free(live);
    errno = reason;
    return NULL;
}

bool live_open(int fd, struct held *folder, const char *name)
{
    struct held file;
    held_take(&file, fd);
    struct live *live = name && strlen(name) > NAME_MAX ? NULL : make(&file, folder, name);
    if (!live) {
        const int reason = errno;
        remove_file(&file, folder, name);
        held_close(&file);
        errno = reason;
        return false;
    }
    atomic_store_explicit(&now, live, memory_order_release);
    return true;
}

void live_begin(const struct live_facts *facts)
{
    struct live *live = current();
    if (!live)
        return;
    struct live_head *head = live->head;
    head->version = LIVE_VERSION;
    head->byte_order = LIVE_BYTE_ORDER;
    head->chunk_bytes = facts->chunk_bytes;
    head->chunk_head_bytes = facts->chunk_head_bytes;
    head->process_id = (uint64_t)getpid();
    head->zero_time_ns = facts->zero_time_ns;
    head->offset_ns = facts->offset_ns;
    head->node = facts->node;
    head->nodes = facts->nodes;
    head->level = facts->level;
    head->clock_kind = facts->clock_kind;
    head->ticks_per_second = facts->ticks_per_second;
    head->cap_bytes = facts->cap_bytes;
    atomic_signal_fence(memory_order_seq_cst); /* the magic last: what has it is whole */
    memcpy(head->magic, LIVE_MAGIC, sizeof head->magic);
}

static void live_let_go(struct live *live)
{
    uint64_t reserved = atomic_load_explicit(&live->reserved, memory_order_relaxed);
    for (uint64_t i = 0; i < reserved >> RESERVED_UNITS_BITS; i++) {
        const struct mapping *mapping = &live->mapping[i];
        if (mapping->at)
            munmap(mapping->at, mapping->bytes);
    }
    munmap(live->head, LIVE_HEAD_BYTES);
    held_close(&live->file);
}

void live_close(bool whole)
{
    pthread_mutex_lock(&log_lock); /* whoever adds an entry has done so */
    struct live *live = atomic_exchange_explicit(&now, NULL, memory_order_acq_rel);
    pthread_mutex_unlock(&log_lock);
    if (!live)
        return;
    if (whole)
        remove_file(&live->file, live->folder, live->name);
    live_let_go(live);
    free(live);
}

void live_after_fork(void)
{
    pthread_mutex_init(&log_lock, NULL);
    struct live *live = atomic_exchange_explicit(&now, NULL, memory_order_relaxed);
    if (!live)
        return;
    live_let_go(live); /* the child's mappings; the file and its lock stay the parent's */
    parents = live;
}

/* ---- segments ------------------------------------------------------------------------- */

/* The entry of the table, on a disk that has room for it; NULL if not. */
static struct live_segment *table_entry(struct live *live, uint32_t number)
{
    off_t offset = (off_t)LIVE_TABLE_OFFSET + (off_t)number * (off_t)sizeof(struct live_segment);
    if (!live_allocate(live, offset, sizeof(struct live_segment)))
        return NULL;
    return (struct live_segment *)(void *)((uint8_t *)live->head + offset);
}

static uint8_t *map_segment(struct live *live, uint32_t number, uint64_t offset, uint32_t bytes,
                            enum live_segment_kind kind)
{
    struct live_segment *entry = table_entry(live, number);
    if (!entry || !live_allocate(live, (off_t)offset, bytes))
        return NULL;
    void *segment = map(live, offset, bytes);
    if (!segment)
        return NULL;
    /* The kernel would fill all of it at the first touch, for a millisecond and more. */
    (void)madvise(segment, bytes, MADV_RANDOM);
    live->mapping[number].bytes = bytes;
    live->mapping[number].offset = offset;
    atomic_store_explicit(&live->mapping[number].at, segment, memory_order_release);
    entry->offset = offset;
    entry->bytes = bytes;
    __atomic_store_n(&entry->kind, (uint32_t)kind, __ATOMIC_RELEASE);
    return segment;
}

static uint8_t *take_segment(struct live *live, enum live_segment_kind kind, uint32_t bytes,
                             uint32_t *number_out)
{
    uint64_t before = atomic_load_explicit(&live->reserved, memory_order_relaxed), after;
    do {
        if (before >> RESERVED_UNITS_BITS == LIVE_SEGMENTS_MAX)
            return NULL;
        after = before + (UINT64_C(1) << RESERVED_UNITS_BITS) + bytes / LIVE_UNIT_BYTES;
    } while (!atomic_compare_exchange_weak_explicit(&live->reserved, &before, after,
                                                    memory_order_relaxed, memory_order_relaxed));
    uint64_t units = before & ((UINT64_C(1) << RESERVED_UNITS_BITS) - 1);
    *number_out = (uint32_t)(before >> RESERVED_UNITS_BITS);
    uint8_t *segment =
        map_segment(live, *number_out, LIVE_HEAD_BYTES + units * LIVE_UNIT_BYTES, bytes, kind);
    if (!segment) /* given back, unless somebody has the next one already */
        atomic_compare_exchange_strong_explicit(&live->reserved, &after, before,
                                                memory_order_relaxed, memory_order_relaxed);
    return segment;
}

uint8_t *live_segment(enum live_segment_kind kind, uint32_t bytes, uint64_t *offset_out)
{
    struct live *live = current();
    uint32_t number;
    uint8_t *segment = live ? take_segment(live, kind, bytes, &number) : NULL;
    if (segment && offset_out)
        *offset_out = live->mapping[number].offset;
    return segment;
}

/* Zeros are written over zeros: a file system makes larger pages for that than for a touch, at half
 * the price. Where it does not, or refuses, what touches them makes them. */
void live_fill(uint64_t offset, size_t bytes)
{
    static uint8_t zeros[4096];
    struct iovec part[32];
    struct live *live = current();
    struct size_signal signal;
    int host_cancel = cancel_hold();
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        part[i] = (struct iovec){zeros, sizeof zeros};
    size_signal_hold(&signal);
    while (live && live->in_pages && bytes > 0) {
        const size_t parts = bytes / sizeof zeros < 32 ? bytes / sizeof zeros : 32;
        const ssize_t done = pwritev(held_fd(&live->file), part, (int)parts, (off_t)offset);
        if (done < 0 && held_again(&live->file))
            continue;
        if (done <= 0)
            break;
        offset += (uint64_t)done;
        bytes -= (size_t)done;
    }
    size_signal_release(&signal);
    cancel_release(host_cancel);
}

void live_commit(uint64_t file_bytes, uint64_t ticket)
{
    struct live *live = current();
    if (!live)
        return;
    live->commit_index = 1 - live->commit_index;
    live->head->commit[live->commit_index] = (struct live_commit){file_bytes, ticket};
    __atomic_store_n(&live->head->commit_index, live->commit_index, __ATOMIC_RELEASE);
}

void live_set_ring(const struct live_ring_facts *facts)
{
    struct live *live = current();
    if (!live)
        return;
    live->head->ring = *facts;
    atomic_store_explicit(&live->part, facts->part, memory_order_relaxed);
}

uint32_t live_part(void)
{
    struct live *live = current();
    return live ? atomic_load_explicit(&live->part, memory_order_relaxed) : 0;
}

void live_sample(const struct rbwp_clock_sample *sample)
{
    struct live *live = current();
    if (!live)
        return;
    uint64_t number = live->samples++;
    uint32_t level = 0;
    while (level + 1 < LIVE_SAMPLE_LEVELS && number % LIVE_SAMPLE_STEP == 0) {
        number /= LIVE_SAMPLE_STEP;
        level++;
    }
    struct live_sample *places =
        (struct live_sample *)(void *)((uint8_t *)live->head + LIVE_SAMPLES_OFFSET);
    places[level * LIVE_SAMPLE_PLACES + number % LIVE_SAMPLE_PLACES] =
        (struct live_sample){*sample, live_sample_check(sample)};
}

/* ---- read by the process itself --------------------------------------------------------- */

static bool put_at(int fd, const uint8_t *from, size_t bytes, uint64_t offset)
{
    ssize_t done = 0;
    for (; bytes > 0 && (done = pwrite(fd, from, bytes, (off_t)offset)) > 0;
         offset += (size_t)done) {
        from += done;
        bytes -= (size_t)done;
    }
    return bytes == 0;
}

/* A log segment that is given back meanwhile does not count any more. */
static bool put_mapping(int fd, const struct mapping *mapping)
{
    const uint8_t *at = atomic_load_explicit(&mapping->at, memory_order_acquire);
    return !at || put_at(fd, at, mapping->bytes, mapping->offset) || !mapping->at;
}

static int copy_to_memory(const struct live *live)
{
    int fd = memfd_create("rbwp-copy", MFD_CLOEXEC);
    uint64_t count =
        atomic_load_explicit(&live->reserved, memory_order_relaxed) >> RESERVED_UNITS_BITS;
    bool good = fd >= 0 && put_at(fd, (const uint8_t *)live->head, LIVE_HEAD_BYTES, 0);
    for (uint64_t i = 0; i < count && good; i++)
        good = put_mapping(fd, &live->mapping[i]);
    if (good || fd < 0)
        return fd;
    close(fd);
    return -1;
}

int live_open_to_read(void)
{
    struct live *live = current();
    errno = ENOENT;
    int fd = live ? held_duplicate(&live->file) : -1;
    return fd < 0 && live ? copy_to_memory(live) : fd;
}

/* ---- counts ----------------------------------------------------------------------------- */

static void add_to_count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

void live_count_unwritten(uint64_t records)
{
    struct live *live = current();
    if (live)
        add_to_count(&live->head->counts.unwritten_records, records);
}

void live_count_lost(enum rbwp_loss_cause cause, uint64_t lost)
{
    struct live *live = current();
    if (live)
        add_to_count(&live->head->counts.lost[cause], lost);
}

void live_count_unprotected(bool handed_out)
{
    struct live *live = current();
    if (!live)
        return;
    struct live_counts *counts = &live->head->counts;
    uint64_t by = handed_out ? 1 : UINT64_MAX;
    uint64_t now_out = __atomic_add_fetch(&counts->unprotected_chunks, by, __ATOMIC_RELAXED);
    uint64_t most = __atomic_load_n(&counts->unprotected_chunks_most, __ATOMIC_RELAXED);
    while (handed_out && most < now_out &&
           !__atomic_compare_exchange_n(&counts->unprotected_chunks_most, &most, now_out, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ---- log -------------------------------------------------------------------------------- */

/* A segment, twice as large as the one before; on a disk that has little room, a small one. */
static bool begin_log_segment(struct live *live)
{
    int64_t now_ns = clock_now_ns(0);
    if (live->log_retry_ns && now_ns < live->log_retry_ns)
        return false;
    uint32_t number;
    uint8_t *fresh = take_segment(live, LIVE_LOG, live->next_log, &number);
    if (!fresh && live->next_log > LOG_BYTES_MIN) {
        live->next_log = LOG_BYTES_MIN;
        fresh = take_segment(live, LIVE_LOG, LOG_BYTES_MIN, &number);
    }
    live->log_retry_ns = fresh ? 0 : now_ns + LOG_RETRY_NS;
    if (!fresh)
        return false;
    live->log = fresh;
    live->log_size = live->next_log;
    live->log_bytes = 0;
    if (live->log_run.count < LOG_RUN_SEGMENTS)
        live->log_run.number[live->log_run.count++] = number;
    if (live->next_log < LIVE_SEGMENT_BYTES_MAX)
        live->next_log *= 2;
    return true;
}

/* Room for an entry of so many bytes, or NULL. Locked. */
static uint8_t *log_room(struct live *live, uint32_t bytes)
{
    bool fits = live->log && live->log_size - live->log_bytes >= bytes;
    while (live->next_log < bytes)
        live->next_log *= 2; /* the longest name fits into the second one */
    if (!fits && (!begin_log_segment(live) || live->log_size < bytes))
        return NULL;
    uint8_t *room = live->log + live->log_bytes;
    live->log_bytes += bytes;
    live->log_run.bytes += bytes;
    return room;
}

/* Locked. */
static void add_entry(enum live_entry_kind kind, const void *head, size_t head_bytes,
                      const char *name, size_t name_bytes)
{
    struct live *live = current();
    if (!live)
        return;
    size_t bytes = sizeof(struct live_entry) + head_bytes + name_bytes;
    uint8_t *room = log_room(live, (uint32_t)((bytes + 7) / 8 * 8));
    if (!room) {
        add_to_count(&live->head->counts.unlogged[kind], 1);
        live->log_refused++;
        return;
    }
    struct live_entry *entry = (struct live_entry *)(void *)room;
    entry->kind = kind;
    if (head_bytes)
        memcpy(room + sizeof *entry, head, head_bytes);
    if (name_bytes)
        memcpy(room + sizeof *entry + head_bytes, name, name_bytes);
    __atomic_store_n(&entry->bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
}

void live_log(enum live_entry_kind kind, const void *head, size_t head_bytes, const char *name,
              size_t name_bytes)
{
    if (!current())
        return;
    pthread_mutex_lock(&log_lock);
    add_entry(kind, head, head_bytes, name, name_bytes);
    pthread_mutex_unlock(&log_lock);
}

void live_try_log(enum live_entry_kind kind, const void *head, size_t head_bytes)
{
    if (!current() || pthread_mutex_trylock(&log_lock) != 0)
        return;
    add_entry(kind, head, head_bytes, NULL, 0);
    pthread_mutex_unlock(&log_lock);
}

/* ---- the log, written anew ------------------------------------------------------------------ */

void live_count_unlogged(enum live_entry_kind kind, uint64_t entries)
{
    struct live *live = current();
    if (live)
        add_to_count(&live->head->counts.unlogged[kind], entries);
}

/* Begins another log behind the one there is. Locked. */
static bool begin_run(struct live *live)
{
    if (live->log_run.bytes < live->log_due)
        return false;
    live->old_run = live->log_run;
    live->log_run = (struct log_run){
        .first = (uint32_t)(atomic_load_explicit(&live->reserved, memory_order_relaxed) >>
                            RESERVED_UNITS_BITS),
    };
    if (begin_log_segment(live))
        return true;
    live->log_run = live->old_run;
    live->log_due += live->log_due / 2;
    return false;
}

bool live_relog_is_due(void)
{
    if (!current())
        return false;
    pthread_mutex_lock(&log_lock);
    struct live *live = current();
    bool due = live && live->log_run.bytes >= live->log_due;
    pthread_mutex_unlock(&log_lock);
    return due;
}

void (*_Atomic live_relogs)(void);

void live_relog_if_due(void)
{
    void (*relog)(void) = atomic_load_explicit(&live_relogs, memory_order_relaxed);
    if (relog && live_relog_is_due())
        relog();
}

bool live_relog_begin(void)
{
    pthread_mutex_lock(&log_lock);
    struct live *live = current();
    bool begun = live && begin_run(live);
    if (begun) {
        live->relogging = true;
        live->refused_before = live->log_refused;
    }
    pthread_mutex_unlock(&log_lock);
    return begun;
}

/* The disk gets its room back; the segment's number and place are not used again. */
static void release_segment(struct live *live, uint32_t number)
{
    struct mapping *old = &live->mapping[number];
    munmap(atomic_exchange(&old->at, NULL), old->bytes);
    (void)fallocate(held_fd(&live->file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)old->offset, (off_t)old->bytes);
}

/* Locked. */
static void end_run(struct live *live)
{
    bool whole = live->log_refused == live->refused_before;
    live->relogging = false;
    live->log_due = LOG_DUE_TIMES * live->log_run.bytes;
    if (live->log_due < LOG_DUE_BYTES_MIN)
        live->log_due = LOG_DUE_BYTES_MIN;
    if (!whole) /* the old one counts as well; it stays for good */
        return;
    __atomic_store_n(&live->head->log_first, live->log_run.first, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < live->old_run.count; i++)
        release_segment(live, live->old_run.number[i]);
}

void live_relog_end(void)
{
    pthread_mutex_lock(&log_lock);
    struct live *live = current();
    if (live && live->relogging)
        end_run(live);
    pthread_mutex_unlock(&log_lock);
}
