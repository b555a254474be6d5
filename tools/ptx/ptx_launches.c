/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_launches.h"
#include "message.h"
#include "ptx_lists.h"

#include <inttypes.h>
#include <string.h>

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

bool ptx_plain_name(const char *name)
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

bool ptx_launches_read(const char *path, const struct ptx_launches *to)
{
    struct reading reading = {.path = path, .to = to};
    return ptx_json_read(path, read_lines, &reading) && reading.bad == 0;
}
