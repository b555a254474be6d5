/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: descriptor, writer, and the trailer made from the original's. */
#include "split.h"

#include "message.h"
#include "sorted.h"
#include "table_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the tables of a file in its parts ------------------------------------------------------- */
/*
 * Each part has all schemas and names, and of the rows those that belong to it,
 * in their order, numbered anew from 1. A cell that names a row (type 7) has the new number
 * of that row, or 0 where the part does not have it.
 *
 * The encoder of one table serves all parts: a block of the original gives at least one block in
 * each part that it has rows for.
 */

struct kept_block {
    char tag[4];
    uint32_t bytes;
    uint8_t *data;
};

/* Rows from `from` on are rows from `to` on in the part, up to the next run's. */
struct row_run {
    uint64_t from, to;
};

struct row_to {
    uint32_t part, row;
};

bool table_parts_start(struct table_parts *parts, struct input *input, table_place_fn *place,
                       table_part_fn *part, void *context)
{
    *parts = (struct table_parts){.input = input,
                                  .catalog = rbwp_catalog_new(),
                                  .numbers = calloc(RBWP_TABLES_MAX + 1u, sizeof *parts->numbers),
                                  .place = place,
                                  .part = part,
                                  .context = context};
    return parts->catalog && parts->numbers;
}

void table_parts_stop(struct table_parts *parts)
{
    for (uint32_t i = 0; i < parts->kept_count; i++)
        free(parts->kept[i].data);
    free(parts->kept);
    free(parts->rows);
    free(parts->numbers);
    rbwp_row_encoder_free(parts->encoder);
    rbwp_catalog_free(parts->catalog);
    *parts = (struct table_parts){0};
}

/* ---- schemas and names ------------------------------------------------------------------- */

static bool part_file_keep(struct table_parts *parts, const struct rbwp_block *block)
{
    if (!GROW_ZEROED(parts->kept, parts->kept_room, parts->kept_count + 1))
        return message_fail("out of memory");
    struct kept_block *kept = &parts->kept[parts->kept_count];
    *kept = (struct kept_block){.bytes = block->header.data_bytes - 4};
    memcpy(kept->tag, block->data, sizeof kept->tag);
    kept->data = malloc(kept->bytes + 1u);
    if (!kept->data)
        return message_fail("out of memory");
    memcpy(kept->data, block->data + 4, kept->bytes);
    parts->kept_count++;
    return true;
}

static bool part_file_check(const struct part_file *part, enum rbwp_status status)
{
    if (status != RBWP_OK)
        message("%s: cannot be written: %s", part->path,
                status == RBWP_E_IO ? strerror(errno) : rbwp_status_text(status));
    return status == RBWP_OK;
}

bool table_parts_end(struct table_parts *parts, struct part_file *part)
{
    for (; part->tables.blocks_written < parts->kept_count; part->tables.blocks_written++) {
        const struct kept_block *kept = &parts->kept[part->tables.blocks_written];
        if (!part_file_check(
                part, rbwp_writer_add_opaque(part->writer, kept->tag, kept->data, kept->bytes)))
            return false;
    }
    return true;
}

/* ---- numbers of rows ----------------------------------------------------------------------- */

static struct part_table *table_of(struct table_parts *parts, struct part_file *part,
                                   uint32_t table)
{
    struct part_tables *tables = &part->tables;
    if (parts->numbers[table] == 0)
        parts->numbers[table] = ++parts->number_count;
    uint32_t number = parts->numbers[table];
    if (!GROW_ZEROED(tables->tables, tables->table_room, number + 1))
        return NULL;
    return &tables->tables[number];
}

/* The next row of the part is this one of the original. */
static bool note_row(struct part_table *table, uint64_t from)
{
    uint64_t to = ++table->rows;
    const struct row_run *last = table->run_count ? &table->runs[table->run_count - 1] : NULL;
    if (last && from - last->from == to - last->to)
        return true;
    if (!GROW_ZEROED(table->runs, table->run_room, table->run_count + 1))
        return false;
    table->runs[table->run_count++] = (struct row_run){from, to};
    return true;
}

/* What has become of a row of the original, 0 if the part does not have it. */
static uint64_t new_number(const struct table_parts *parts, const struct part_file *part,
                           uint32_t table, uint64_t from)
{
    uint32_t number = parts->numbers[table];
    const struct part_table *rows =
        number < part->tables.table_room ? &part->tables.tables[number] : NULL;
    uint32_t behind;
    SORTED_FIND(behind, rows ? rows->run_count : 0, rows->runs[behind].from <= from);
    if (behind == 0)
        return 0;
    const struct row_run *run = &rows->runs[behind - 1];
    uint64_t end = behind < rows->run_count ? run[1].to : rows->rows + 1;
    uint64_t to = run->to + (from - run->from);
    return from - run->from < end - run->to ? to : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool begin_encoder(struct table_parts *parts, const struct rbwp_schema *schema)
{
    if (parts->encoded == schema)
        return true;
    rbwp_row_encoder_free(parts->encoder);
    parts->encoded = NULL;
    if (rbwp_row_encoder_new(schema, 0, true, &parts->encoder) != RBWP_OK)
        return message_fail("out of memory");
    parts->encoded = schema;
    return true;
}

/* Hands what was encoded to the part: the last rows of the table in it. */
static bool part_file_seal(struct table_parts *parts, struct part_file *part,
                           struct part_table *table, uint64_t thread_id, uint64_t *sealed)
{
    struct rbwp_sealed_block block;
    if (rbwp_row_encoder_seal(parts->encoder, thread_id, *sealed + 1, &block) != RBWP_OK)
        return true;
    *sealed = table->rows;
    return part_file_check(part, rbwp_writer_add_block(part->writer, &block));
}

/* One row into the encoder. False: there was no room. */
static bool part_file_put_row(struct table_parts *parts, const struct part_file *part,
                              const struct rbwp_rows *rows, uint32_t row)
{
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(parts->encoder, 1, &room);
    if (room.rows == 0)
        return false;
    for (uint32_t c = 0; c < rows->schema->column_count; c++) {
        const struct rbwp_column *column = &rows->schema->columns[c];
        uint64_t cell = rows->cells[c][row];
        if (column->type == RBWP_COLUMN_ROW)
            cell = new_number(parts, part, column->table, cell);
        if (column->type == RBWP_COLUMN_BYTES) {
            struct rbwp_text text = rbwp_rows_bytes(rows, cell);
            if (rbwp_row_encoder_bytes(parts->encoder, text.text, text.bytes, &cell) != RBWP_OK)
                return false;
        }
        room.cells[c][0] = cell;
    }
    rbwp_row_encoder_commit(parts->encoder, 1);
    return true;
}

/* Rows of a block that go to one part. */
static bool part_file_put_rows(struct table_parts *parts, const struct rbwp_rows *rows,
                               const struct row_to *to, uint32_t count)
{
    struct part_file *part = parts->part(parts->context, to->part);
    struct part_table *table = part ? table_of(parts, part, rows->schema->table) : NULL;
    if (!part || !table_parts_end(parts, part))
        return false;
    if (!table)
        return message_fail("out of memory");
    uint64_t sealed = table->rows;
    for (uint32_t i = 0; i < count; i++) {
        if (!part_file_put_row(parts, part, rows, to[i].row)) {
            if (!part_file_seal(parts, part, table, rows->thread_id, &sealed))
                return false;
            if (!part_file_put_row(parts, part, rows, to[i].row))
                return message_fail("%s: a row of a table is too long to be written again",
                                    parts->input->name);
        }
        if (!note_row(table, rows->first_row + to[i].row))
            return message_fail("out of memory");
    }
    part->rows += count;
    return part_file_seal(parts, part, table, rows->thread_id, &sealed);
}

static int by_part(const void *left, const void *right)
{
    const struct row_to *a = left, *b = right;
    SORTED_BY(a, b, part);
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool part_file_on_rows(struct table_parts *parts, const struct rbwp_rows *rows)
{
    struct row_place place = row_place_of(rows->schema);
    uint32_t count = 0;
    bool sorted = true;
    if (!GROW_ZEROED(parts->rows, parts->row_room, rows->rows))
        return message_fail("out of memory");
    for (uint32_t i = 0; i < rows->rows; i++) {
        int64_t time_ns;
        struct row_to to = {.row = i};
        bool timed = row_time(&place, rows, i, &time_ns);
        if (!parts->place(parts->context, row_thread(&place, rows, i), timed ? &time_ns : NULL,
                          &to.part))
            continue;
        sorted = sorted && (count == 0 || parts->rows[count - 1].part <= to.part);
        parts->rows[count++] = to;
    }
    if (!sorted)
        qsort(parts->rows, count, sizeof *parts->rows, by_part);
    if (count && !begin_encoder(parts, rows->schema))
        return false;
    for (uint32_t from = 0, next; from < count; from = next) {
        for (next = from; next < count && parts->rows[next].part == parts->rows[from].part;)
            next++;
        if (!part_file_put_rows(parts, rows, parts->rows + from, next - from))
            return false;
    }
    return true;
}

static bool is_of_tables(const struct rbwp_block *block)
{
    static const char tags[][5] = {RBWP_SCHEMA_TAG, RBWP_NAMES_TAG, RBWP_ROWS_TAG};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (memcmp(block->data, tags[i], 4) == 0)
            return true;
    return false;
}

bool table_parts_take(struct table_parts *parts, const struct rbwp_block *block, bool *taken_out)
{
    struct rbwp_rows rows;
    struct rbwp_error error;
    *taken_out = is_of_tables(block);
    if (!*taken_out)
        return true;
    enum rbwp_status status = rbwp_catalog_take(parts->catalog, block, &rows, &error);
    if (status == RBWP_OK)
        return part_file_on_rows(parts, &rows);
    if (status == RBWP_END)
        return part_file_keep(parts, block);
    if (parts->broken++ < INPUT_PROBLEM_LINES)
        message("%s: %s", parts->input->name, error.text);
    return true;
}

/* ---- part file ------------------------------------------------------------------------------- */

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
    return part_file_check(part, rbwp_writer_new(&sink, header->node, header->zero_time_ns,
                                                 header->flags & RBWP_FLAG_LEVEL2, &part->writer));
}

bool part_file_add(struct part_file *part, uint32_t thread, const struct rbwp_sealed_block *block)
{
    if (!GROW_ZEROED(part->thread_records, part->thread_room, thread + 1))
        return message_fail("out of memory");
    if (part->records == 0)
        part->first_ns = block->first_ns, part->last_ns = block->last_ns;
    part->first_ns = block->first_ns < part->first_ns ? block->first_ns : part->first_ns;
    part->last_ns = block->last_ns > part->last_ns ? block->last_ns : part->last_ns;
    part->records += block->records;
    part->thread_records[thread] += block->records;
    return part_file_check(part, rbwp_writer_add_block(part->writer, block));
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
        done = part_file_check(part, rbwp_writer_finish(part->writer, tables->work_items,
                                                        tables->work_item_count, tables->sub_items,
                                                        tables->sub_item_count, &trailer));
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
    return part_file_check(part, rbwp_writer_finish(part->writer, tables->work_items,
                                                    tables->work_item_count, tables->sub_items,
                                                    tables->sub_item_count, NULL));
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
    for (uint32_t i = 0; i < part->tables.table_room; i++)
        free(part->tables.tables[i].runs);
    free(part->tables.tables);
    part->tables = (struct part_tables){0};
    part->writer = NULL;
    part->thread_records = NULL;
}
