/* SPDX-License-Identifier: Apache-2.0 */
/* Files of launches are read in order of their names, each line as it comes; a map is read again
 * when another one is named. */
#include "ptx_walk.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lines of launches-PID.ndjson ------------------------------------------------------------ */
/*
 * Launches-PID.ndjson: an object a line, as the collector writes them.
 *
 * A process killed while it wrote leaves a last line that is cut: what comes before it counts.
 * Numbers are in range after reading: times at most PTX_TIME_MAX, the rest as said below.
 */

#define BAD_LINES_MAX 100 /* then the rest of the file is dropped */

/* An object of a line: a launch, or what it says of the process. */
struct line {
    bool is_clock;
    struct ptx_launch launch;
    struct ptx_process process;
};

#define TEXTS(part, key) PTX_MEMBER(PTX_TEXT, #key, struct line, part.key, 0, 0)
#define NUMBER(part, key) PTX_MEMBER(PTX_U64, #key, struct line, part.key, 0, 0)
#define TIMES(part, key) PTX_MEMBER(PTX_NUMBER, #key, struct line, part.key, 0, PTX_TIME_MAX)
#define ANCHOR(key) PTX_MEMBER(PTX_NUMBER, #key, struct ptx_anchor, key, 0, PTX_TIME_MAX)

static const struct ptx_member members[] = {
    TEXTS(launch, raw),         TEXTS(launch, map),           TEXTS(launch, kernel),
    TEXTS(launch, skipped),     TEXTS(launch, thread),        TEXTS(launch, device_name),
    NUMBER(launch, pid),        NUMBER(launch, tid),          NUMBER(launch, device),
    NUMBER(launch, stream),     NUMBER(launch, sms),          NUMBER(launch, clock_hz),
    NUMBER(launch, dropped),    NUMBER(launch, count),        TIMES(launch, launch_ns),
    TIMES(launch, launched_ns), TIMES(launch, done_ns),       TIMES(launch, start_ns),
    TIMES(launch, stop_ns),     TIMES(process, monotonic_ns), TIMES(process, wall_ns),
    TEXTS(process, command),    TEXTS(process, host),         TEXTS(process, title),
};
static const struct ptx_member anchor_members[] = {
    ANCHOR(device_ns),
    ANCHOR(host_ns),
    ANCHOR(bound_ns),
};

/* Whether name can be a file of the folder: no path, not hidden. */
static bool ptx_plain_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static bool take_sizes(struct json_scan *scan, uint64_t sizes[3])
{
    enum json_token token = json_scan_next(scan);
    for (int i = 0; token == JSON_ARRAY && i < 3; i++) {
        int64_t number;
        if (!ptx_json_take_number(scan, 1, INT32_MAX, &number))
            return false;
        sizes[i] = (uint64_t)number;
    }
    return (token == JSON_ARRAY && json_scan_next(scan) == JSON_ARRAY_END) ||
           ptx_json_wrong(scan, "a block has three sizes");
}

static bool take_anchors(struct json_scan *scan, struct ptx_launch *launch)
{
    if (json_scan_next(scan) != JSON_ARRAY)
        return ptx_json_wrong(scan, "anchors are no list");
    for (;;) {
        struct ptx_anchor anchor = {0};
        enum json_token token = json_scan_next(scan);
        if (token == JSON_ARRAY_END)
            return true;
        if (token != JSON_OBJECT)
            return ptx_json_wrong(scan, "an anchor is no object");
        while ((token = json_scan_next(scan)) == JSON_KEY)
            if (!PTX_TAKE_MEMBER(scan, anchor_members, &anchor))
                return false;
        if (token != JSON_OBJECT_END)
            return ptx_json_wrong(scan, "an anchor is cut");
        if (anchor.device_ns && launch->anchor_count < PTX_ANCHORS_MAX)
            launch->anchors[launch->anchor_count++] = anchor;
    }
}

static bool line_member(struct json_scan *scan, struct line *line)
{
    if (json_scan_is(scan, "block"))
        return take_sizes(scan, line->launch.block);
    if (json_scan_is(scan, "anchors"))
        return take_anchors(scan, &line->launch);
    line->is_clock |= json_scan_is(scan, "clock");
    return PTX_TAKE_MEMBER(scan, members, line);
}

/* Behind the brace of a line's object. */
static bool ptx_launches_take_line(struct json_scan *scan, struct line *line)
{
    enum json_token token;
    *line = (struct line){.launch.block = {1, 1, 1}};
    while ((token = json_scan_next(scan)) == JSON_KEY)
        if (!line_member(scan, line))
            return false;
    line->process.pid = line->launch.pid;
    return token == JSON_OBJECT_END || ptx_json_wrong(scan, "it is cut");
}

struct reading {
    const char *path;
    const struct ptx_launches *to;
    uint32_t bad; /* lines, with a message each */
};

/* Goes on behind a line that is wrong. False at the end, or where nothing seems to be right. */
static bool pass_line(struct json_scan *scan, struct reading *reading, uint64_t number)
{
    int byte;
    message_plain("%s: line %" PRIu64 ": %.100s", reading->path, number,
                  *scan->problem ? scan->problem : "no launch");
    do
        byte = unpack_byte(&scan->bytes);
    while (byte >= 0 && byte != '\n');
    scan->depth = 0;
    scan->value_ended = scan->key_ended = false;
    *scan->problem = '\0';
    return ++reading->bad < BAD_LINES_MAX && byte >= 0;
}

/* A line that is cut ends with the file. */
static bool read_lines(struct json_scan *scan, void *context)
{
    struct reading *reading = context;
    const struct ptx_launches *to = reading->to;
    struct line line;
    for (uint64_t number = 1;; number++) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END && !*scan->problem)
            return true;
        if (token != JSON_OBJECT || !ptx_launches_take_line(scan, &line)) {
            if (!pass_line(scan, reading, number))
                return true;
            continue;
        }
        if (line.is_clock)
            to->process(to->context, &line.process);
        else if (!to->launch(to->context, &line.launch))
            return true;
        scan->value_ended = false; /* the next line's */
    }
}

/* False with the message given: the file cannot be read, or not to its end. */
static bool ptx_launches_read(const char *path, const struct ptx_launches *to)
{
    struct reading reading = {.path = path, .to = to};
    return ptx_json_read(path, read_lines, &reading) && reading.bad == 0;
}

/* ---- what is in it ----------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_launches(const char *name)
{
    static const char begin[] = "launches-", end[] = ".ndjson";
    size_t count = strlen(name);
    return count > sizeof begin + sizeof end - 2 && strncmp(name, begin, sizeof begin - 1) == 0 &&
           strcmp(name + count - (sizeof end - 1), end) == 0;
}

static bool ptx_walk_join(char path[PATH_MAX], const char *folder, const char *name)
{
    int count = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return count >= 0 && count < PATH_MAX;
}

bool ptx_walk_begin(struct ptx_walk *walk)
{
    DIR *directory = opendir(walk->path);
    if (!directory) {
        message_plain("%s: %s", walk->path, strerror(errno));
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        if (!is_launches(entry->d_name))
            continue;
        char *copy = strdup(entry->d_name);
        good = copy && ptx_items_grow(&walk->files, walk->count, &walk->room, sizeof *walk->files);
        if (good)
            walk->files[walk->count++] = copy;
        else
            free(copy);
    }
    closedir(directory);
    if (!good)
        message("out of memory");
    else if (walk->count == 0)
        message_plain("%s: no launches-*.ndjson is in it: nothing was recorded", walk->path);
    if (walk->count > 1)
        qsort(walk->files, walk->count, sizeof *walk->files, by_name);
    return good && walk->count > 0;
}

void ptx_walk_end(struct ptx_walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++)
        free(walk->files[i]);
    free(walk->files);
    ptx_map_free(&walk->map);
}

/* The path of a plain file of the folder. False with the message given. */
static bool find_file(const struct ptx_walk *walk, const char *name, char path[PATH_MAX])
{
    struct stat status;
    if (!ptx_plain_name(name) || !ptx_walk_join(path, walk->path, name)) {
        message_plain("%s: a launch names '%s', which is no file of this folder", walk->path, name);
        return false;
    }
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return true;
    message_plain("%s: %s", path, access(path, F_OK) == 0 ? "no plain file" : strerror(errno));
    return false;
}

/* ---- launches ---------------------------------------------------------------------------- */

static bool find_map(struct ptx_walk *walk, const char *name)
{
    char path[PATH_MAX];
    if (*walk->map_name && strcmp(walk->map_name, name) == 0)
        return true;
    ptx_map_free(&walk->map);
    *walk->map_name = '\0';
    if (!find_file(walk, name, path) || !ptx_map_read(&walk->map, path))
        return false;
    snprintf(walk->map_name, sizeof walk->map_name, "%s", name);
    return true;
}

static bool find_matrix(struct ptx_walk *walk, const struct ptx_launch *launch,
                        struct ptx_matrix *matrix)
{
    char path[PATH_MAX];
    *matrix = (struct ptx_matrix){0};
    if (!find_map(walk, launch->map) || !find_file(walk, launch->raw, path))
        return false;
    if (walk->map.mode != PTX_MODE_CONFIG)
        return ptx_matrix_read_raw(matrix, &walk->map, path);
    message_plain("%s: mode config records nothing, its buffer is seven numbers", path);
    return false;
}

static bool ptx_walk_take_launch(void *context, const struct ptx_launch *launch)
{
    struct ptx_walk *walk = context;
    struct ptx_matrix matrix;
    if (*launch->skipped) {
        if (walk->skipped)
            walk->skipped(walk->context, launch);
        return true;
    }
    if (launch->launch_ns == 0 || launch->done_ns < launch->launch_ns) {
        message_plain("%s: %s: a launch that ended before it began, or without times", walk->path,
                      *launch->raw ? launch->raw : launch->kernel);
        walk->refused = true;
        return true;
    }
    bool read = find_matrix(walk, launch, &matrix);
    walk->refused |= !read;
    bool good =
        walk->launch(walk->context, launch, read ? &walk->map : NULL, read ? &matrix : NULL);
    ptx_matrix_free(&matrix);
    return good;
}

static void ptx_walk_on_process(void *context, const struct ptx_process *process)
{
    struct ptx_walk *walk = context;
    if (walk->process)
        walk->process(walk->context, process);
}

void ptx_walk_launches(struct ptx_walk *walk)
{
    const struct ptx_launches to = {walk, ptx_walk_on_process, ptx_walk_take_launch};
    char path[PATH_MAX];
    for (uint32_t i = 0; i < walk->count; i++)
        if (!find_file(walk, walk->files[i], path) || !ptx_launches_read(path, &to))
            walk->refused = true;
}
