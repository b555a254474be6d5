/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_file.h"
#include "grow.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE = 1, NAMES_MAX = 64 << 10 };

static bool told(struct kernel_file *file, enum rbwp_status status)
{
    if (status == RBWP_OK)
        return true;
    if (!file->failed)
        message("%s: cannot be written: %s", file->name,
                status == RBWP_E_IO ? strerror(errno) : rbwp_status_text(status));
    file->failed = true;
    return false;
}

bool kernel_file_begin(struct kernel_file *file, int fd, const char *name,
                       const struct rbwp_schema *schema)
{
    struct rbwp_schema own = *schema;
    *file = (struct kernel_file){
        .name = name, .fd = fd, .table = TABLE, .columns = schema->column_count, .next_row = 1};
    struct rbwp_sink sink = rbwp_sink_fd(&file->fd);
    own.table = TABLE;
    return told(file, rbwp_writer_new(&sink, 0, 0, false, &file->writer)) &&
           told(file, rbwp_writer_add_schema(file->writer, &own)) &&
           told(file, rbwp_row_encoder_new(&own, 0, true, &file->encoder));
}

/* The last one first: names repeat. */
uint64_t kernel_file_name(struct kernel_file *file, const char *name)
{
    for (uint32_t i = file->name_count; i-- > 0;)
        if (strcmp(file->names[i], name) == 0)
            return i + 1;
    char *copy = file->name_count < NAMES_MAX ? strdup(name) : NULL;
    if (!copy ||
        !grow_array32(&file->names, &file->name_room, file->name_count + 1, sizeof *file->names)) {
        free(copy);
        told(file, RBWP_E_MEMORY);
        return 0;
    }
    file->names[file->name_count++] = copy;
    return file->name_count;
}

/* Names stand before the rows that have them. */
static bool write_names(struct kernel_file *file)
{
    while (file->written_names < file->name_count) {
        const char *name = file->names[file->written_names];
        struct rbwp_text text = {name, (uint32_t)strlen(name)};
        if (!told(file, rbwp_writer_add_names(file->writer, file->written_names + 1, &text, 1)))
            return false;
        file->written_names++;
    }
    return true;
}

static bool seal(struct kernel_file *file)
{
    struct rbwp_sealed_block block;
    if (!write_names(file))
        return false;
    enum rbwp_status status = rbwp_row_encoder_seal(file->encoder, 0, file->next_row, &block);
    if (status == RBWP_END)
        return true;
    file->next_row += file->rows;
    file->rows = 0;
    return told(file, status) && told(file, rbwp_writer_add_block(file->writer, &block));
}

bool kernel_file_add(struct kernel_file *file, const uint64_t *cells)
{
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(file->encoder, 1, &room);
    if (!room.rows) {
        if (!seal(file))
            return false;
        rbwp_row_encoder_reserve(file->encoder, 1, &room);
    }
    for (uint32_t i = 0; i < file->columns; i++)
        room.cells[i][0] = cells[i];
    rbwp_row_encoder_commit(file->encoder, 1);
    file->rows++;
    return !file->failed;
}

bool kernel_file_end(struct kernel_file *file, uint64_t dropped)
{
    const struct rbwp_loss loss = {.cause = RBWP_LOSS_ROWS, .count = dropped};
    struct rbwp_trailer trailer = {.writer = "rbwp " RBWP_VERSION_STRING,
                                   .writer_bytes = sizeof "rbwp " RBWP_VERSION_STRING - 1,
                                   .losses = &loss,
                                   .loss_count = dropped > 0};
    bool good = !file->failed && seal(file) &&
                told(file, rbwp_writer_finish(file->writer, NULL, 0, NULL, 0, &trailer));
    rbwp_row_encoder_free(file->encoder);
    rbwp_writer_free(file->writer);
    for (uint32_t i = 0; i < file->name_count; i++)
        free(file->names[i]);
    free(file->names);
    return good;
}
