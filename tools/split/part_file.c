/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: descriptor, writer, and the trailer made from the original's. */
#include "part_file.h"
#include "message.h"
#include "thread_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool told(const struct part_file *part, enum rbwp_status status)
{
    if (status != RBWP_OK)
        message("%s: cannot be written: %s", part->path,
                status == RBWP_E_IO ? strerror(errno) : rbwp_status_text(status));
    return status == RBWP_OK;
}

/* -1 with the message given. */
static int create(const char *path, bool force, int original_fd)
{
    struct stat original, there;
    if (stat(path, &there) == 0 && fstat(original_fd, &original) == 0 &&
        original.st_dev == there.st_dev && original.st_ino == there.st_ino) {
        message("%s: is the input; write to another file", path);
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
        message("%s: exists; give -f to overwrite it", path);
    else if (fd < 0)
        message("%s: cannot be created: %s", path, strerror(errno));
    return fd;
}

bool part_file_begin(struct part_file *part, char *path, bool force, struct rbwp_reader *original,
                     int original_fd)
{
    const struct rbwp_file_header *header = rbwp_reader_header(original);
    int fd = create(path, force, original_fd);
    if (fd < 0) {
        free(path);
        return false;
    }
    *part = (struct part_file){.path = path, .fd = fd};
    struct rbwp_sink sink = rbwp_sink_fd(&part->fd);
    return told(part, rbwp_writer_new(&sink, header->node, header->zero_time_ns,
                                      header->flags & RBWP_FLAG_LEVEL2, &part->writer));
}

bool part_file_add(struct part_file *part, uint32_t thread, const struct rbwp_sealed_block *block)
{
    if (!thread_array_grow(&part->thread_records, &part->thread_room, thread + 1,
                           sizeof *part->thread_records)) {
        message("out of memory");
        return false;
    }
    if (part->records == 0)
        part->first_ns = block->first_ns, part->last_ns = block->last_ns;
    part->first_ns = block->first_ns < part->first_ns ? block->first_ns : part->first_ns;
    part->last_ns = block->last_ns > part->last_ns ? block->last_ns : part->last_ns;
    part->records += block->records;
    part->thread_records[thread] += block->records;
    return told(part, rbwp_writer_add_block(part->writer, block));
}

bool part_file_add_table(struct part_file *part, const struct rbwp_sealed_block *block)
{
    return told(part, rbwp_writer_add_block(part->writer, block));
}

bool part_file_add_opaque(struct part_file *part, const char tag[4], const void *data,
                          uint32_t bytes)
{
    return told(part, rbwp_writer_add_opaque(part->writer, tag, data, bytes));
}

/* ---- the trailer ----------------------------------------------------------------------- */

static bool has_part(const struct part_file_facts *facts, uint64_t thread_id)
{
    for (uint32_t i = 0; i < facts->thread_count; i++)
        if (facts->threads[i] == thread_id)
            return true;
    return false;
}

static bool belongs(const struct rbwp_loss *loss, const struct part_file_facts *facts)
{
    if (facts->by_thread) {
        if (loss->thread_id == 0)
            return facts->is_first;
        return loss->thread_id == facts->thread_id ||
               (facts->takes_rest && !has_part(facts, loss->thread_id));
    }
    if (loss->first_ns == 0 && loss->last_ns == 0)
        return facts->is_first;
    if (loss->first_ns >= facts->from_ns)
        return loss->first_ns < facts->to_ns;
    return facts->takes_rest || (facts->is_first && loss->last_ns >= facts->from_ns);
}

static uint64_t records_of(const struct part_file *part, const struct part_file_facts *facts,
                           uint64_t thread_id)
{
    for (uint32_t i = 0; i < facts->thread_count && i < part->thread_room; i++)
        if (facts->threads[i] == thread_id)
            return part->thread_records[i];
    return 0;
}

/* A thread that was attached twice has two entries: the first one gets its records. */
static bool is_repeated(const struct rbwp_trailer *trailer, uint32_t thread)
{
    for (uint32_t i = 0; i < thread; i++)
        if (trailer->threads[i].thread_id == trailer->threads[thread].thread_id)
            return true;
    return false;
}

/* What of the recording is in the part. What was not in the original either is counted on. */
static struct rbwp_kept kept_of(const struct rbwp_trailer *original,
                                const struct part_file_facts *facts)
{
    struct rbwp_kept kept = {0};
    if (original->kept_count)
        kept = *original->kept;
    kept.why = RBWP_KEPT_SPLIT;
    kept.part = facts->part;
    if (facts->complete_from_ns > kept.from_ns)
        kept.from_ns = facts->complete_from_ns;
    return kept;
}

static bool finish_with(struct part_file *part, const struct rbwp_tables *tables,
                        const struct rbwp_trailer *original, const struct part_file_facts *facts)
{
    struct rbwp_trailer trailer = *original;
    struct rbwp_kept kept = kept_of(original, facts);
    struct rbwp_thread_info *threads = calloc(original->thread_count + 1u, sizeof *threads);
    struct rbwp_loss *losses = calloc(original->loss_count + 1u, sizeof *losses);
    bool done = threads && losses;
    trailer.loss_count = 0;
    for (uint32_t i = 0; i < original->loss_count && done; i++)
        if (belongs(&original->losses[i], facts))
            losses[trailer.loss_count++] = original->losses[i];
    for (uint32_t i = 0; i < original->thread_count && done; i++) {
        threads[i] = original->threads[i];
        threads[i].records =
            is_repeated(original, i) ? 0 : records_of(part, facts, threads[i].thread_id);
    }
    trailer.kept = &kept;
    trailer.kept_count = 1;
    trailer.threads = threads;
    trailer.losses = losses;
    if (!facts->is_first)
        trailer.discarded = 0;
    if (done)
        done =
            told(part, rbwp_writer_finish(part->writer, tables->work_items, tables->work_item_count,
                                          tables->sub_items, tables->sub_item_count, &trailer));
    else
        message("out of memory");
    free(threads);
    free(losses);
    return done;
}

bool part_file_finish(struct part_file *part, const struct rbwp_reader *original,
                      const struct part_file_facts *facts)
{
    const struct rbwp_tables *tables = rbwp_reader_tables(original);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(original);
    if (trailer)
        return finish_with(part, tables, trailer, facts);
    return told(part, rbwp_writer_finish(part->writer, tables->work_items, tables->work_item_count,
                                         tables->sub_items, tables->sub_item_count, NULL));
}

void part_file_close(struct part_file *part, bool remove)
{
    if (part->path && part->fd >= 0)
        close(part->fd);
    if (part->path && remove)
        unlink(part->path);
    part->fd = -1;
    rbwp_writer_free(part->writer);
    free(part->thread_records);
    part_tables_free(&part->tables);
    part->writer = NULL;
    part->thread_records = NULL;
}
