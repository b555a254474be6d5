/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_launches.h"
#include "message.h"
#include "ptx_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { U64, TIME, TEXT };

#define BAD_LINES_MAX 100 /* then the rest of the file is dropped */

/* A member and where it goes; room: of a text. */
struct member {
    const char *key;
    int type;
    size_t at, room;
};

/* An object of a line: a launch, or what it says of the process. */
struct line {
    bool is_clock;
    struct ptx_launch launch;
    struct ptx_process process;
};

#define NUMBER(type, part, key)                                                                    \
    {                                                                                              \
#key, type, offsetof(struct line, part.key), 0                                             \
    }
#define TEXTS(part, key)                                                                           \
    {                                                                                              \
#key, TEXT, offsetof(struct line, part.key), sizeof((struct line *)0)->part.key            \
    }

static const struct member members[] = {
    TEXTS(launch, raw),
    TEXTS(launch, map),
    TEXTS(launch, kernel),
    TEXTS(launch, skipped),
    TEXTS(launch, thread),
    TEXTS(launch, device_name),
    NUMBER(U64, launch, pid),
    NUMBER(U64, launch, tid),
    NUMBER(U64, launch, device),
    NUMBER(U64, launch, stream),
    NUMBER(U64, launch, sms),
    NUMBER(U64, launch, clock_hz),
    NUMBER(U64, launch, dropped),
    NUMBER(U64, launch, count),
    NUMBER(TIME, launch, launch_ns),
    NUMBER(TIME, launch, launched_ns),
    NUMBER(TIME, launch, done_ns),
    NUMBER(TIME, launch, start_ns),
    NUMBER(TIME, launch, stop_ns),
    NUMBER(TIME, process, monotonic_ns),
    NUMBER(TIME, process, wall_ns),
    TEXTS(process, command),
    TEXTS(process, host),
    TEXTS(process, title),
};
static const struct member anchor_members[] = {
    {"device_ns", TIME, offsetof(struct ptx_anchor, device_ns), 0},
    {"host_ns", TIME, offsetof(struct ptx_anchor, host_ns), 0},
    {"bound_ns", TIME, offsetof(struct ptx_anchor, bound_ns), 0},
};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

bool ptx_plain_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

/* Longer ones are cut; what no member takes is passed over. */
static void ptx_launches_take_text(const struct json_scan *scan, char *to, size_t room)
{
    size_t count = scan->text_bytes < room ? scan->text_bytes : room - 1;
    memcpy(to, scan->text, count);
    to[count] = '\0';
}

static bool ptx_launches_take_u64(struct json_scan *scan, uint64_t *number_out)
{
    char text[32], *end;
    if (json_scan_next(scan) != JSON_NUMBER || scan->text_bytes >= sizeof text)
        return ptx_json_wrong(scan, "a number is missing");
    ptx_launches_take_text(scan, text, sizeof text);
    errno = 0;
    *number_out = strtoull(text, &end, 10);
    return (errno == 0 && *end == '\0' && *text != '-') ||
           ptx_json_wrong(scan, "a number is out of range");
}

/* The member of that name, if it is one of them. False: the line is wrong. */
static bool take_member(struct json_scan *scan, const struct member *table, size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &table[i];
        if (!json_scan_is(scan, member->key))
            continue;
        if (member->type == TEXT) {
            if (json_scan_next(scan) != JSON_TEXT)
                return ptx_json_wrong(scan, "a text is missing");
            ptx_launches_take_text(scan, (char *)to + member->at, member->room);
            return true;
        }
        uint64_t number = 0;
        int64_t time_ns = 0;
        if (member->type == U64 ? !ptx_launches_take_u64(scan, &number)
                                : !ptx_json_take_number(scan, 0, PTX_TIME_MAX, &time_ns))
            return false;
        if (member->type == TIME)
            number = (uint64_t)time_ns;
        memcpy((char *)to + member->at, &number, sizeof number);
        return true;
    }
    enum json_token token = json_scan_next(scan);
    if (token == JSON_END)
        return ptx_json_wrong(scan, "it ends too early");
    json_scan_skip(scan, token);
    return true;
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
            if (!take_member(scan, anchor_members, COUNT(anchor_members), &anchor))
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
    return take_member(scan, members, COUNT(members), line);
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
