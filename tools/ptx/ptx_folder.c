/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of a folder: rows as launches come. */
#include "ptx_folder.h"
#include "sorted.h"

#include "known_tables.h"
#include "grow.h"
#include "message.h"
#include "ptx_timing.h"
#include "read_clock.h"
#include "rows_file.h"
#include "trace_axis.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- ptx rows -------------------------------------------------------------------------------- */
/*
 * A launch as rows of gpu_activity and kernel_block (SPEC.md, section 9.3), and its GPU_WORK
 * record.
 *
 * Names of probes are numbered once a launch; what is said of lines is summed up as rows are made.
 */

/* Threads that launched, with what a file says of them. */
struct ptx_thread {
    uint64_t tid, records;
    uint32_t sequence;
    char name[64];
};

struct ptx_rows {
    struct rows_file file;
    struct rbwp_block_encoder *records;
    struct ptx_thread *threads;
    uint32_t thread_count, thread_room;
    uint64_t *devices; /* that have a row */
    uint32_t device_count, device_room;
    int64_t shift_ns; /* from CLOCK_MONOTONIC to the times of the file */
    uint64_t launches, pid;
    bool pids; /* of several processes */
    int64_t first_ns, last_ns;
    struct ptx_folder_summary *summary;
};

#define CUDA_PROCESSOR                                                                             \
    (UINT64_C(1) << 32) /* as librbwp numbers them: the device's ordinal below                     \
                         */
#define UNKNOWN UINT64_MAX
#define WARP 32

enum { ACTIVITY_COLUMNS = AT_gpu_activity_correlation + 1 };
static const struct rbwp_column device_columns[] = {
    RBWP_COLUMN(U64, ID, "processor", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, NONE, "multiprocessors", ""),
};
static const struct rbwp_schema schemas[] = {
    KNOWN_SCHEMA_FIRST(gpu_activity, 1, ACTIVITY_COLUMNS),
    KNOWN_SCHEMA(kernel_block),
    RBWP_SCHEMA("gpu_device", 1, device_columns),
};
enum { ACTIVITY, BLOCK, DEVICE };

/* ---- the file -------------------------------------------------------------------------- */

/* False with the message given; ptx_rows_end in any case. */
static bool ptx_rows_begin(struct ptx_rows *rows, int fd, const char *name,
                           struct ptx_folder_summary *summary)
{
    static const struct rbwp_schema *const list[] = {&schemas[0], &schemas[1], &schemas[2]};
    *rows = (struct ptx_rows){.summary = summary};
    if (rows_file_begin(&rows->file, fd, name, list, 3, true) &&
        rbwp_block_encoder_new(0, -1, &rows->records) == RBWP_OK)
        return true;
    if (!rows->file.failed)
        message("out of memory");
    return false;
}

static int64_t file_time(const struct ptx_rows *rows, int64_t host_ns)
{
    int64_t time_ns = trace_shifted(host_ns, rows->shift_ns);
    return time_ns < 0 ? 0 : time_ns > PTX_TIME_MAX ? PTX_TIME_MAX : time_ns;
}

static struct ptx_thread *ptx_folder_find_thread(struct ptx_rows *rows,
                                                 const struct ptx_launch *launch)
{
    for (uint32_t i = rows->thread_count; i-- > 0;)
        if (rows->threads[i].tid == launch->tid)
            return &rows->threads[i];
    if (!GROW_ZEROED(rows->threads, rows->thread_room, rows->thread_count + 1)) {
        message("out of memory");
        return NULL;
    }
    struct ptx_thread *thread = &rows->threads[rows->thread_count++];
    thread->tid = launch->tid;
    memcpy(thread->name, launch->thread, sizeof thread->name);
    return thread;
}

static bool add_device(struct ptx_rows *rows, const struct ptx_launch *launch)
{
    for (uint32_t i = 0; i < rows->device_count; i++)
        if (rows->devices[i] == launch->device)
            return true;
    if (!*launch->device_name)
        return true;
    if (!GROW_ARRAY(rows->devices, rows->device_room, rows->device_count + 1))
        return message_fail("out of memory");
    rows->devices[rows->device_count++] = launch->device;
    const uint64_t cells[] = {CUDA_PROCESSOR | launch->device,
                              rows_file_name(&rows->file, launch->device_name), launch->sms};
    return rows_file_add(&rows->file, DEVICE, cells);
}

static bool add_record(struct ptx_rows *rows, const struct ptx_launch *launch, int64_t start_ns,
                       int64_t stop_ns)
{
    struct rbwp_sealed_block block;
    struct ptx_thread *thread = ptx_folder_find_thread(rows, launch);
    const struct rbwp_record record = {.time_ns = file_time(rows, launch->done_ns),
                                       .kind = RBWP_GPU_WORK,
                                       .proc_id = CUDA_PROCESSOR | launch->device,
                                       .start_ns = start_ns,
                                       .stop_ns = stop_ns};
    if (!thread || rbwp_block_encoder_add(rows->records, &record) != RBWP_OK ||
        rbwp_block_encoder_seal(rows->records, thread->tid, thread->sequence++, &block) != RBWP_OK)
        return false;
    thread->records++;
    return rows_file_add_block(&rows->file, &block);
}

/* ---- names of probes --------------------------------------------------------------------- */

struct probe_names {
    uint64_t place, file, line;
    uint32_t hot; /* the line's, of told->lines */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "file.py:42", with the unit that a probe of mode mma is of; of lines of the PTX without .loc. */
static void place_text(const struct ptx_map *map, uint32_t id, char *text, size_t room)
{
    const struct ptx_map_probe *probe = ptx_map_find(map, id);
    const char *path = probe ? ptx_map_name(&map->files, probe->file) : "";
    int used;
    if (!probe)
        used = snprintf(text, room, "probe %" PRIu32, id);
    else if (probe->loc <= 0)
        used = snprintf(text, room, "ptx:%" PRIu32, probe->entry);
    else if (!*path)
        used = snprintf(text, room, "file %" PRIu32 ":%" PRId64, probe->file, probe->loc);
    else
        used = snprintf(text, room, "%.200s:%" PRId64, base_name(path), probe->loc);
    if (probe && *probe->unit && strcmp(probe->unit, "scalar") != 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, " %s", probe->unit);
}

/* The line of that name in that kernel, made if need be; NULL without memory. */
static struct ptx_hot_line *find_line(struct ptx_folder_summary *summary, uint64_t kernel,
                                      uint64_t place)
{
    for (uint32_t i = summary->line_count; i-- > 0;)
        if (summary->lines[i].kernel == kernel && summary->lines[i].place == place)
            return &summary->lines[i];
    if (!GROW_ARRAY(summary->lines, summary->line_room, summary->line_count + 1))
        return NULL;
    summary->lines[summary->line_count] = (struct ptx_hot_line){.kernel = kernel, .place = place};
    return &summary->lines[summary->line_count++];
}

static bool name_probe(struct ptx_rows *rows, const struct ptx_map *map, uint32_t id,
                       uint64_t kernel, struct probe_names *names)
{
    char text[256];
    const struct ptx_map_probe *probe = ptx_map_find(map, id);
    const char *path = probe ? ptx_map_name(&map->files, probe->file) : "";
    place_text(map, id, text, sizeof text);
    names->place = rows_file_name(&rows->file, text);
    names->file = *path ? rows_file_name(&rows->file, path) : 0;
    names->line = probe && probe->loc > 0 ? (uint64_t)probe->loc : 0;
    struct ptx_hot_line *line = find_line(rows->summary, kernel, names->place);
    if (!line)
        message("out of memory");
    else
        names->hot = (uint32_t)(line - rows->summary->lines);
    return line && !rows->file.failed;
}

/* ---- rows of a launch -------------------------------------------------------------------- */

struct filling {
    struct ptx_rows *rows;
    const struct ptx_launch *launch;
    const struct ptx_map *map;
    const struct ptx_matrix *matrix;
    struct ptx_timing timing;
    struct probe_names *names; /* by number, place 0: not yet */
    uint64_t kernel;
};

/* Block and thread of a lane that does not say them itself. */
static void place_lane(const struct filling *filling, uint32_t lane, uint64_t *block_out,
                       uint64_t *thread_out)
{
    const uint64_t *sizes = filling->launch->block;
    bool warps = filling->map->lane == PTX_LANE_WARP;
    uint64_t number = ptx_map_lane(filling->map, lane), width;
    *block_out = *thread_out = UNKNOWN;
    if (number == UNKNOWN || __builtin_mul_overflow(sizes[0] * sizes[1], sizes[2], &width))
        return;
    if (warps)
        width = (width - 1) / WARP + 1;
    *block_out = number / width;
    *thread_out = number % width * (warps ? WARP : 1);
}

static bool add_cell(struct filling *filling, const struct ptx_lane_timing *lane, uint64_t block,
                     uint64_t thread, const struct ptx_cell *cell, struct ptx_cell_place place)
{
    struct ptx_rows *rows = filling->rows;
    struct probe_names *names = &filling->names[cell->start_id];
    uint64_t cycles = (uint64_t)ptx_cell_cycles(cell), cost = filling->matrix->pair_cost;
    bool wide = filling->matrix->wide != NULL;
    if (!names->place && !name_probe(rows, filling->map, cell->start_id, filling->kernel, names))
        return false;
    cycles -= cost < cycles ? cost : cycles;
    const uint64_t cells[] = {
        (uint64_t)file_time(rows, ptx_timing_at(&filling->timing, lane, cell->start)),
        (uint64_t)file_time(rows, ptx_timing_at(&filling->timing, lane, cell->end)),
        CUDA_PROCESSOR | filling->launch->device,
        rows->launches,
        filling->kernel,
        names->place,
        names->file,
        names->line,
        cell->start_id,
        cell->end_id,
        block,
        thread,
        wide ? place.warp : UNKNOWN,
        wide ? place.sm : UNKNOWN,
        cycles,
        cost,
        filling->timing.bound_ns + lane->bound_ns,
    };
    struct ptx_hot_line *line = &rows->summary->lines[names->hot];
    line->count++;
    line->cycles += cycles;
    rows->summary->cycles += cycles;
    rows->summary->records++;
    return rows_file_add(&rows->file, BLOCK, cells);
}

static bool ptx_folder_add_lane(struct filling *filling, uint32_t lane)
{
    const struct ptx_matrix *matrix = filling->matrix;
    struct ptx_lane_timing timing;
    uint64_t block = UNKNOWN, thread = UNKNOWN;
    bool any = false, good = true;
    for (uint32_t row = 0; row < matrix->rows && good; row++) {
        const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
        struct ptx_cell_place place = {0};
        if (cell->start == 0 || ptx_cell_cycles(cell) < 0)
            continue;
        if (!any) {
            ptx_timing_lane(&filling->timing, lane, &timing);
            if (matrix->wide) {
                block = ptx_matrix_head(matrix, lane).block;
                thread = ptx_matrix_head(matrix, lane).thread;
            } else {
                place_lane(filling, lane, &block, &thread);
            }
        }
        any = true;
        if (matrix->wide)
            place = ptx_matrix_place(matrix, row, lane);
        good = add_cell(filling, &timing, block, thread, cell, place);
    }
    return good;
}

static bool add_blocks(struct filling *filling)
{
    const uint32_t most = UINT32_C(1) << PTX_WIDE_ID_BITS;
    uint32_t ids = filling->map->ids < most ? filling->map->ids : most;
    bool good = true;
    filling->names = calloc((size_t)ids + 1, sizeof *filling->names);
    if (!filling->names)
        return message_fail("out of memory");
    for (uint32_t lane = 0; lane < filling->matrix->lanes && good; lane++)
        good = ptx_folder_add_lane(filling, lane);
    free(filling->names);
    return good;
}

static bool add_activity(struct filling *filling)
{
    struct ptx_rows *rows = filling->rows;
    const struct ptx_launch *launch = filling->launch;
    const struct ptx_timing *timing = &filling->timing;
    int64_t start_ns = file_time(rows, ptx_timing_host(timing, timing->start_ns));
    int64_t stop_ns = file_time(rows, ptx_timing_host(timing, timing->stop_ns));
    int64_t begin_ns = file_time(rows, launch->launch_ns);
    const uint64_t cells[] = {
        (uint64_t)start_ns,
        (uint64_t)stop_ns,
        CUDA_PROCESSOR | launch->device,
        launch->stream,
        launch->tid,
        0,
        (uint64_t)begin_ns,
        launch->launched_ns ? (uint64_t)file_time(rows, launch->launched_ns) : 0,
        timing->bound_ns,
        timing->bound_ns,
        filling->kernel,
        rows->launches,
    };
    if (rows->launches == 1 || begin_ns < rows->first_ns)
        rows->first_ns = begin_ns;
    if (file_time(rows, launch->done_ns) > rows->last_ns)
        rows->last_ns = file_time(rows, launch->done_ns);
    return add_record(rows, launch, start_ns, stop_ns) &&
           rows_file_add(&rows->file, ACTIVITY, cells);
}

/* matrix and map: NULL for a launch whose buffer was refused. False: the file cannot be written. */
static bool ptx_rows_add(struct ptx_rows *rows, const struct ptx_launch *launch,
                         const struct ptx_map *map, const struct ptx_matrix *matrix)
{
    struct filling filling = {.rows = rows, .launch = launch, .map = map, .matrix = matrix};
    const char *kernel = *launch->kernel ? launch->kernel : map ? ptx_map_kernel(map) : "";
    rows->pids |= rows->launches && rows->pid != launch->pid;
    rows->pid = launch->pid;
    rows->launches++;
    filling.kernel = *kernel ? rows_file_name(&rows->file, kernel) : 0;
    ptx_timing_find(&filling.timing, launch, matrix);
    return add_device(rows, launch) && add_activity(&filling) && (!matrix || add_blocks(&filling));
}

/* ---- the end ----------------------------------------------------------------------------- */

static int more_cycles_first(const void *a, const void *b)
{
    const struct ptx_hot_line *x = a, *y = b;
    SORTED_BY(y, x, cycles);
    return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                : (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* Names stay when the file is gone. */
static bool keep_texts(struct ptx_rows *rows)
{
    struct ptx_folder_summary *summary = rows->summary;
    size_t bytes = 1, used = 1;
    for (uint32_t i = 0; i < rows->file.name_count; i++)
        bytes += strlen(rows->file.names[i]) + 1;
    summary->texts = calloc(bytes, 1);
    const char **texts = calloc((size_t)rows->file.name_count + 1, sizeof *texts);
    for (uint32_t i = 0; summary->texts && texts && i < rows->file.name_count; i++) {
        size_t count = strlen(rows->file.names[i]) + 1;
        memcpy(summary->texts + used, rows->file.names[i], count);
        texts[i + 1] = summary->texts + used;
        used += count;
    }
    for (uint32_t i = 0; summary->texts && texts && i < summary->line_count; i++) {
        struct ptx_hot_line *line = &summary->lines[i];
        line->kernel_name = line->kernel ? texts[line->kernel] : "";
        line->place_name = texts[line->place];
    }
    bool good = summary->texts && texts;
    free(texts);
    if (summary->line_count)
        qsort(summary->lines, summary->line_count, sizeof *summary->lines, more_cycles_first);
    return good;
}

static struct rbwp_thread_info *thread_infos(const struct ptx_rows *rows)
{
    struct rbwp_thread_info *infos = calloc((size_t)rows->thread_count + 1, sizeof *infos);
    for (uint32_t i = 0; infos && i < rows->thread_count; i++) {
        const struct ptx_thread *thread = &rows->threads[i];
        infos[i] = (struct rbwp_thread_info){.thread_id = thread->tid,
                                             .os_id = thread->tid,
                                             .attached_ns = rows->first_ns,
                                             .records = thread->records,
                                             .name = thread->name,
                                             .name_bytes = (uint16_t)strlen(thread->name)};
    }
    return infos;
}

static bool ptx_folder_finish(struct ptx_rows *rows, const struct ptx_process *process)
{
    const struct rbwp_loss loss = {.cause = RBWP_LOSS_ROWS, .count = rows->summary->dropped};
    const struct rbwp_clock_sample samples[] = {
        {0, rows->first_ns, rows->first_ns - rows->shift_ns, rows->first_ns},
        {1, rows->last_ns, rows->last_ns - rows->shift_ns, rows->last_ns}};
    const struct rbwp_process_info info = {.title = process->title,
                                           .title_bytes = (uint16_t)strlen(process->title)};
    struct rbwp_thread_info *infos = thread_infos(rows);
    if (!infos || !keep_texts(rows)) {
        free(infos);
        message("out of memory");
        rows->file.failed = true;
        return rows_file_end(&rows->file, NULL, (struct rbwp_trailer){0});
    }
    bool good =
        rows_file_end(&rows->file, "kernel launch",
                      (struct rbwp_trailer){.host = process->host,
                                            .host_bytes = (uint32_t)strlen(process->host),
                                            .command = process->command,
                                            .command_bytes = (uint32_t)strlen(process->command),
                                            .process_id = rows->pids ? 0 : rows->pid,
                                            .processes = &info,
                                            .process_count = process->title[0] != '\0',
                                            .level = 1,
                                            .start_ns = rows->first_ns,
                                            .stop_ns = rows->last_ns,
                                            .clock_kind = RBWP_CLOCK_MONOTONIC,
                                            .clock_hz = 1000000000,
                                            .threads = infos,
                                            .thread_count = rows->thread_count,
                                            .samples = samples,
                                            .sample_count = rows->last_ns > rows->first_ns ? 2 : 0,
                                            .losses = &loss,
                                            .loss_count = rows->summary->dropped > 0});
    free(infos);
    return good;
}

static bool ptx_rows_end(struct ptx_rows *rows, const struct ptx_process *process, bool good)
{
    rows->file.failed |= !good;
    good = ptx_folder_finish(rows, process) && good;
    rbwp_block_encoder_free(rows->records);
    free(rows->threads);
    free(rows->devices);
    return good;
}

/* ---- ptx folder ------------------------------------------------------------------------------ */

struct writing {
    struct ptx_rows rows;
    struct ptx_process process;
    bool good;
    struct ptx_folder_summary *summary;
};

static void see_process(void *context, const struct ptx_process *process)
{
    struct writing *writing = context;
    writing->process = *process;
    if (process->wall_ns)
        writing->rows.shift_ns = process->wall_ns - process->monotonic_ns;
}

static bool write_launch(void *context, const struct ptx_launch *launch, const struct ptx_map *map,
                         const struct ptx_matrix *matrix)
{
    struct writing *writing = context;
    writing->summary->launches++;
    writing->summary->refused += !matrix;
    if (matrix)
        writing->summary->dropped += matrix->dropped;
    writing->good = ptx_rows_add(&writing->rows, launch, map, matrix);
    return writing->good;
}

static void count_skipped(void *context, const struct ptx_launch *launch)
{
    struct writing *writing = context;
    uint64_t *skipped = &writing->summary->skipped;
    if (__builtin_add_overflow(*skipped, launch->count ? launch->count : 1, skipped))
        *skipped = UINT64_MAX;
}

static bool write_profile(struct ptx_walk *walk, int fd, const char *name,
                          struct ptx_folder_summary *summary)
{
    struct writing writing = {.summary = summary};
    walk->context = &writing;
    walk->launch = write_launch;
    walk->skipped = count_skipped;
    walk->process = see_process;
    writing.good = ptx_rows_begin(&writing.rows, fd, name, summary);
    /* The clocks of this machine, which is the same one where nothing else is said. */
    writing.rows.shift_ns = read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_MONOTONIC);
    if (writing.good)
        ptx_walk_launches(walk);
    writing.good = ptx_rows_end(&writing.rows, &writing.process, writing.good);
    if (writing.good && summary->launches == 0)
        message_plain("%s: no launch is in it", walk->path);
    return writing.good && summary->launches > 0;
}

static bool write_file(struct ptx_walk *walk, const struct out_options *output,
                       struct ptx_folder_summary *summary)
{
    int fd = open(output->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return message_fail("%s: cannot be created: %s", output->path, strerror(errno));
    bool good = write_profile(walk, fd, output->path, summary);
    if (close(fd) != 0) {
        message("%s: cannot be written: %s", output->path, strerror(errno));
        good = false;
    }
    if (!good)
        unlink(output->path);
    return good;
}

enum exit_code ptx_folder_write(const char *path, const struct out_options *output,
                                struct ptx_folder_summary *summary)
{
    struct ptx_walk walk = {.path = path};
    *summary = (struct ptx_folder_summary){0};
    if (out_is_standard(output))
        return message_usage("a profile cannot go to standard output: give it a name");
    bool good = out_may_create(output, (struct operands){0}) && ptx_walk_begin(&walk) &&
                write_file(&walk, output, summary);
    ptx_walk_end(&walk);
    return !good ? EXIT_BAD_DATA : walk.refused ? EXIT_PARTIAL : EXIT_GOOD;
}

void ptx_folder_summary_free(struct ptx_folder_summary *summary)
{
    free(summary->lines);
    free(summary->texts);
    *summary = (struct ptx_folder_summary){0};
}
