/* SPDX-License-Identifier: Apache-2.0 */
#include "rows_file.h"
#include "grow.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64 << 10, NAMES_AT_ONCE = 64 };

static bool rows_file_check(struct rows_file *file, enum rbwp_status status)
{
    if (status == RBWP_OK)
        return true;
    return message_once(&file->failed, "%s: cannot be written: %s", file->name,
                        status == RBWP_E_IO ? strerror(errno) : rbwp_status_text(status));
}

static bool begin_table(struct rows_file *file, const struct rbwp_schema *schema, bool compress)
{
    struct rbwp_schema own = *schema;
    struct rows_table *table = &file->tables[file->table_count++];
    table->columns = schema->column_count;
    table->next_row = 1;
    own.table = file->table_count;
    return rows_file_check(file, rbwp_writer_add_schema(file->writer, &own)) &&
           rows_file_check(file, rbwp_row_encoder_new(&own, 0, compress, &table->encoder));
}

bool rows_file_begin(struct rows_file *file, int fd, const char *name,
                     const struct rbwp_schema *const *schemas, uint32_t count, bool compress)
{
    *file = (struct rows_file){.name = name, .fd = fd};
    struct rbwp_sink sink = rbwp_sink_fd(&file->fd);
    bool good = rows_file_check(file, rbwp_writer_new(&sink, 0, 0, false, &file->writer));
    for (uint32_t i = 0; i < count && good; i++)
        good = begin_table(file, schemas[i], compress);
    return good;
}

/* The last one first: names repeat. */
uint64_t rows_file_name(struct rows_file *file, const char *name)
{
    for (uint32_t i = file->name_count; i-- > 0;)
        if (strcmp(file->names[i], name) == 0)
            return i + 1;
    char *copy = file->name_count < NAMES_MAX ? strdup(name) : NULL;
    if (!copy || !GROW_ARRAY(file->names, file->name_room, file->name_count + 1)) {
        free(copy);
        rows_file_check(file, RBWP_E_MEMORY);
        return 0;
    }
    file->names[file->name_count++] = copy;
    return file->name_count;
}

/* Names stand before the rows that have them. */
static bool rows_file_write_names(struct rows_file *file)
{
    while (file->written_names < file->name_count) {
        struct rbwp_text texts[NAMES_AT_ONCE];
        uint32_t count = 0;
        for (; count < NAMES_AT_ONCE && file->written_names + count < file->name_count; count++) {
            const char *name = file->names[file->written_names + count];
            texts[count] = (struct rbwp_text){name, (uint32_t)strlen(name)};
        }
        if (!rows_file_check(
                file, rbwp_writer_add_names(file->writer, file->written_names + 1, texts, count)))
            return false;
        file->written_names += count;
    }
    return true;
}

bool rows_file_add_block(struct rows_file *file, const struct rbwp_sealed_block *block)
{
    return rows_file_check(file, rbwp_writer_add_block(file->writer, block));
}

static bool rows_file_seal(struct rows_file *file, struct rows_table *table)
{
    struct rbwp_sealed_block block;
    if (!rows_file_write_names(file))
        return false;
    enum rbwp_status status = rbwp_row_encoder_seal(table->encoder, 0, table->next_row, &block);
    if (status == RBWP_END)
        return true;
    table->next_row += table->rows;
    table->rows = 0;
    return rows_file_check(file, status) && rows_file_add_block(file, &block);
}

bool rows_file_add(struct rows_file *file, uint32_t number, const uint64_t *cells)
{
    struct rows_table *table = &file->tables[number];
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(table->encoder, 1, &room);
    if (!room.rows) {
        if (!rows_file_seal(file, table))
            return false;
        rbwp_row_encoder_reserve(table->encoder, 1, &room);
    }
    for (uint32_t i = 0; i < table->columns; i++)
        room.cells[i][0] = cells[i];
    rbwp_row_encoder_commit(table->encoder, 1);
    table->rows++;
    return !file->failed;
}

static bool rows_file_finish(struct rows_file *file, const char *item, struct rbwp_trailer *trailer)
{
    const struct rbwp_work_item_name name = {
        .slot = 0, .name = item, .name_bytes = (uint16_t)(item ? strlen(item) : 0)};
    trailer->writer = "rbwp " RBWP_VERSION_STRING;
    trailer->writer_bytes = sizeof "rbwp " RBWP_VERSION_STRING - 1;
    for (uint32_t i = 0; i < file->table_count; i++)
        if (file->failed || !rows_file_seal(file, &file->tables[i]))
            return false;
    return rows_file_check(file,
                           rbwp_writer_finish(file->writer, &name, item != NULL, NULL, 0, trailer));
}

bool rows_file_end(struct rows_file *file, const char *item, struct rbwp_trailer trailer)
{
    bool good = !file->failed && rows_file_finish(file, item, &trailer);
    for (uint32_t i = 0; i < file->table_count; i++)
        rbwp_row_encoder_free(file->tables[i].encoder);
    rbwp_writer_free(file->writer);
    for (uint32_t i = 0; i < file->name_count; i++)
        free(file->names[i]);
    free(file->names);
    return good;
}
