/* SPDX-License-Identifier: Apache-2.0 */
/* The public look into a live file (rbwp_recover.h). */
#include "live_view.h"

#include "reader_error.h"

#include <stdlib.h>
#include <unistd.h>

/* Of a file that was opened, or was not. */
static enum rbwp_status live_view_look(enum rbwp_status status, struct rbwp_live *live,
                                       struct rbwp_live **live_out, struct rbwp_error *error)
{
    if (status == RBWP_OK)
        status = live_facts_read(&live->file, &live->facts, error);
    if (status != RBWP_OK) {
        rbwp_live_close(live);
        return status;
    }
    *live_out = live;
    return RBWP_OK;
}

enum rbwp_status rbwp_live_open(const char *path, struct rbwp_live **live_out,
                                struct rbwp_error *error)
{
    *live_out = NULL;
    struct rbwp_live *live = calloc(1, sizeof *live);
    if (!live)
        return error_set_memory(error, "live file");
    return live_view_look(live_file_open(&live->file, path, error), live, live_out, error);
}

enum rbwp_status live_view_take(int fd, struct rbwp_live **live_out, struct rbwp_error *error)
{
    *live_out = NULL;
    struct rbwp_live *live = calloc(1, sizeof *live);
    if (!live && fd >= 0)
        close(fd);
    if (!live)
        return error_set_memory(error, "live file");
    enum rbwp_status status = live_file_take(&live->file, fd, error);
    live->file.is_own = true;
    return live_view_look(status, live, live_out, error);
}

void rbwp_live_close(struct rbwp_live *live)
{
    if (!live)
        return;
    live_facts_free(live->facts);
    live_file_close(&live->file);
    free(live);
}

const struct rbwp_tables *rbwp_live_tables(const struct rbwp_live *live)
{
    return live_facts_tables(live->facts);
}

const struct rbwp_trailer *rbwp_live_trailer(const struct rbwp_live *live)
{
    return live_facts_trailer(live->facts);
}

struct rbwp_live_missing rbwp_live_count_missing(const struct rbwp_live *live)
{
    return live_facts_missing(live->facts);
}

bool rbwp_live_belongs(const struct rbwp_live *live, const struct rbwp_file_header *header)
{
    return live_file_belongs(&live->file, header);
}

bool rbwp_live_is_written(const struct rbwp_live *live)
{
    return live_file_is_locked(&live->file);
}
