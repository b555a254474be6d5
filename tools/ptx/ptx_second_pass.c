/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of a second run: what the launches of each map need, over all files of a folder. */
#include "grow.h"
#include "message.h"
#include "ptx_instrument.h"
#include "ptx_sanitize.h"
#include "ptx_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A map, and what its launches were like so far. */
struct needed {
    uint64_t hash;
    struct ptx_loc_map locs;
    struct ptx_sanitizer *sanitizer;
};

struct second_pass {
    struct ptx_sanitizing how;
    struct needed *maps;
    uint32_t count, room;
    bool failed; /* a message was given */
};

static bool ptx_second_pass_begin(struct needed *needed, const struct ptx_map *map,
                                  struct ptx_sanitizing how)
{
    *needed = (struct needed){.hash = map->hash};
    needed->sanitizer = ptx_sanitizer_new(how);
    return needed->sanitizer && ptx_map_locs(map, &needed->locs);
}

/* NULL with the message given. */
static struct needed *ptx_second_pass_find(struct second_pass *pass, const struct ptx_map *map)
{
    for (uint32_t i = pass->count; i-- > 0;)
        if (pass->maps[i].hash == map->hash)
            return &pass->maps[i];
    if (!grow_array32(&pass->maps, &pass->room, pass->count + 1, sizeof *pass->maps)) {
        message("out of memory");
        return NULL;
    }
    struct needed *needed = &pass->maps[pass->count++];
    return ptx_second_pass_begin(needed, map, pass->how) ? needed : NULL;
}

static bool ptx_second_pass_take_launch(void *context, const struct ptx_launch *launch,
                                        const struct ptx_map *map, const struct ptx_matrix *matrix)
{
    struct second_pass *pass = context;
    (void)launch;
    if (!matrix || matrix->rows == 0)
        return true;
    struct needed *needed = ptx_second_pass_find(pass, map);
    pass->failed = !needed || !ptx_sanitizer_add(needed->sanitizer, matrix);
    if (!pass->failed && matrix->dropped)
        ptx_sanitizer_keep_dead(needed->sanitizer);
    return !pass->failed;
}

static bool write_lists(const struct needed *needed, const char *to)
{
    struct ptx_active active = {{0}, {0}};
    char path[PATH_MAX];
    struct out out;
    int count = snprintf(path, sizeof path, "%s/%016" PRIx64 ".active.json", to, needed->hash);
    if (count < 0 || (size_t)count >= sizeof path) {
        message_plain("%s: this name is too long", to);
        return false;
    }
    bool good = ptx_sanitizer_lists(needed->sanitizer, &active, &needed->locs) &&
                out_open(&out, &(struct out_options){path, true}, (struct operands){0});
    if (good) {
        ptx_active_write(&out, &active);
        good = out_close(&out) == EXIT_GOOD;
    }
    ptx_active_free(&active);
    return good;
}

static bool write_all_lists(const struct second_pass *pass, const char *to)
{
    bool good = !pass->failed && ptx_make_folder(to);
    for (uint32_t i = 0; i < pass->count && good; i++)
        good = write_lists(&pass->maps[i], to);
    return good;
}

enum exit_code ptx_folder_active(const char *folder, const char *to, struct ptx_sanitizing how,
                                 uint32_t *count_out)
{
    struct second_pass pass = {.how = how};
    struct ptx_walk walk = {
        .path = folder, .context = &pass, .launch = ptx_second_pass_take_launch};
    bool good = ptx_walk_begin(&walk);
    *count_out = 0;
    if (good) {
        ptx_walk_launches(&walk);
        if (pass.count == 0 && !pass.failed)
            message_plain("%s: no launch with records is in it", folder);
        good = pass.count > 0 && write_all_lists(&pass, to);
        *count_out = good ? pass.count : 0;
    }
    for (uint32_t i = 0; i < pass.count; i++) {
        ptx_sanitizer_free(pass.maps[i].sanitizer);
        ptx_loc_map_free(&pass.maps[i].locs);
    }
    free(pass.maps);
    ptx_walk_end(&walk);
    return !good ? EXIT_BAD_DATA : walk.refused ? EXIT_PARTIAL : EXIT_GOOD;
}
