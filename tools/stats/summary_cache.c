/* SPDX-License-Identifier: Apache-2.0 */
#include "summary_cache.h"
#include "bytes.h"
#include "crc32c.h"
#include "message.h"
#include "rbwp_format.h"
#include "stats_summary.h"
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

/* Its last byte counts up when stats_summary.c, or what it carries, changes. */
static const char magic[8] = "RBWPSUM\3";
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
