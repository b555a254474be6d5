/* SPDX-License-Identifier: Apache-2.0 */
/* One reader of an object's members, told by a table what they mean. */
#include "chrome_clock.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>

/* Times above are microseconds since 1970, from 2001 on. */
#define SINCE_1970_NS (INT64_C(1000000000) * 1000000000)

const char *const chrome_dialect_name[] = {"Chrome", "PyTorch", "iris",
                                           "clang",  "Node",    "RBWP's Chrome"};

static const struct chrome_unit nanoseconds = {1, 1}, microseconds = {1000, 1};

void chrome_clock_start(struct chrome_clock *clock)
{
    *clock =
        (struct chrome_clock){.unit = microseconds, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
}

/* ---- what members say ------------------------------------------------------------ */

/* "raw cycles (s_memrealtime @ 100MHz)": a unit of 10 ns. Others must say what they are. */
static void take_unit(struct chrome_clock *clock, const struct json_scan *scan)
{
    char text[128];
    unsigned long mhz;
    snprintf(text, sizeof text, "%.*s", (int)scan->text_bytes, scan->text);
    const char *at = strchr(text, '@');
    if (at && strstr(text, "cycles") && (mhz = strtoul(at + 1, NULL, 10)) > 0 && mhz <= 100000 &&
        strstr(at, "MHz"))
        clock->unit = (struct chrome_unit){1000, (uint32_t)mhz};
    else if (strcmp(text, "ns") == 0)
        clock->unit = nanoseconds;
    else if (strcmp(text, "us") != 0 && strncmp(text, "microsec", 8) != 0)
        clock->odd_unit = true;
    if (strstr(text, "memrealtime"))
        clock->dialect = CHROME_IRIS;
}

static uint32_t take_u32(const struct json_scan *scan)
{
    int64_t value;
    return chrome_time(scan->text, scan->text_bytes, nanoseconds, &value) && value >= 0 &&
                   value < UINT32_MAX
               ? (uint32_t)value
               : 0;
}

/* "metadata" and "distributedInfo": the rank, the number of ranks, the unit or name of the clock.
 */
static void take_about(struct chrome_clock *clock, struct json_scan *scan,
                       struct trace_facts *facts)
{
    uint32_t depth = scan->depth - 1;
    while (scan->depth > depth) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return;
        if (token != JSON_KEY)
            continue;
        bool rank = json_scan_is(scan, "rank"), unit = json_scan_is(scan, "time_unit");
        bool size = json_scan_is(scan, "world_size"), domain = json_scan_is(scan, "clock-domain");
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (token == JSON_NUMBER && rank) {
            facts->has_node = true;
            facts->node = take_u32(scan);
        } else if (token == JSON_NUMBER && size) {
            facts->nodes = take_u32(scan);
        } else if (token == JSON_TEXT && unit) {
            take_unit(clock, scan);
        } else if (token == JSON_TEXT && domain) {
            clock->monotonic = json_scan_is(scan, "LINUX_CLOCK_MONOTONIC");
        }
    }
}

/* "otherData" of our own exports: what their times count from, and the zero time of their run. */
static void take_origin(struct chrome_clock *clock, struct json_scan *scan,
                        struct trace_facts *facts)
{
    static const char *const keys[] = {"origin_ns", "process.0.zero_time_ns", "process.0.shift_ns"};
    int64_t values[3] = {0};
    bool ours = false, found[3] = {false};
    for (uint32_t depth = scan->depth - 1; scan->depth > depth;) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return;
        if (token != JSON_KEY)
            continue;
        int key = 0;
        while (key < 3 && !json_scan_is(scan, keys[key]))
            key++;
        ours |= json_scan_is(scan, "rbwp.version");
        made_of_note(&facts->made_of, (struct trace_text){scan->text, (uint32_t)scan->text_bytes});
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if (key < 3 && token == JSON_TEXT)
            found[key] = chrome_time(scan->text, scan->text_bytes, nanoseconds, &values[key]);
    }
    if (!ours)
        facts->made_of.count = 0;
    if (!ours || !found[0])
        return;
    clock->has_base = true;
    clock->dialect = CHROME_OURS;
    clock->origin_ns = values[0];
    if (!clock->from_base)
        facts->zero_ns = values[0];
    facts->has_node = false; /* its processes tell their nodes */
    facts->nodes = 0;
    if (found[1] && found[2] && values[1] &&
        __builtin_add_overflow(values[1], values[2], &facts->run_zero_ns))
        facts->run_zero_ns = 0;
}

bool chrome_clock_member(struct chrome_clock *clock, struct json_scan *scan,
                         struct trace_facts *facts)
{
    bool base = json_scan_is(scan, "baseTimeNanoseconds");
    bool beginning = json_scan_is(scan, "beginningOfTime");
    bool origin = json_scan_is(scan, "otherData");
    bool devices = json_scan_is(scan, "deviceProperties");
    bool about = json_scan_is(scan, "metadata") || json_scan_is(scan, "distributedInfo");
    if ((base || devices) && clock->dialect != CHROME_OURS)
        clock->dialect = CHROME_PYTORCH;
    clock->from_base |= base;
    if (beginning)
        clock->dialect = CHROME_CLANG;
    if (!base && !beginning && !origin && !about)
        return false;
    enum json_token token = json_scan_next(scan);
    if ((base || beginning) && token == JSON_NUMBER)
        clock->has_base = chrome_time(scan->text, scan->text_bytes,
                                      base ? nanoseconds : microseconds, &facts->zero_ns);
    else if (about && token == JSON_OBJECT)
        take_about(clock, scan, facts);
    else if (origin && token == JSON_OBJECT)
        take_origin(clock, scan, facts);
    else
        json_scan_skip(scan, token);
    return true;
}

/* Node's tracing tells what it is in an event named "node"; its times are of uv_hrtime. */
void chrome_clock_metadata(struct chrome_clock *clock, const struct chrome_event *event)
{
    if (!chrome_event_is(event, "node") || !chrome_event_has_category(event, "__metadata"))
        return;
    clock->dialect = CHROME_NODE;
    clock->monotonic = true;
}

/* ---- events ---------------------------------------------------------------------- */

void chrome_clock_note(struct chrome_clock *clock, const struct chrome_event *event)
{
    clock->noted_unit = clock->unit;
    int64_t last_ns = event->time_ns + (event->has_duration ? event->duration_ns : 0);
    clock->first_ns = event->time_ns < clock->first_ns ? event->time_ns : clock->first_ns;
    clock->last_ns = last_ns > clock->last_ns ? last_ns : clock->last_ns;
}

/* The unit may have stood behind the events: their times were taken for microseconds then. */
static void correct_unit(struct chrome_clock *clock)
{
    struct chrome_unit before = clock->noted_unit, now = clock->unit;
    if (before.denominator == 0 ||
        (before.numerator == now.numerator && before.denominator == now.denominator))
        return;
    long double factor = (long double)now.numerator / now.denominator /
                         ((long double)before.numerator / before.denominator);
    clock->first_ns = (int64_t)((long double)clock->first_ns * factor);
    clock->last_ns = (int64_t)((long double)clock->last_ns * factor);
}

void chrome_clock_finish(struct chrome_clock *clock, struct trace_facts *facts, const char *name)
{
    correct_unit(clock);
    bool timed = clock->first_ns <= clock->last_ns;
    bool in_us = clock->unit.numerator == 1000 && clock->unit.denominator == 1;
    int64_t first_ns;
    if (!clock->has_base || facts->zero_ns < 0 ||
        __builtin_add_overflow(facts->zero_ns, timed ? clock->first_ns : 0, &first_ns) ||
        first_ns > INT64_MAX / 2) {
        facts->zero_ns = 0;
        clock->has_base = false;
    }
    facts->wall_clock = clock->has_base || (timed && in_us && clock->first_ns >= SINCE_1970_NS);
    facts->has_zero = facts->wall_clock;
    facts->has_monotonic = clock->monotonic && !facts->wall_clock && timed;
    bool ours = clock->dialect == CHROME_OURS; /* they begin at their origin, whatever is in them */
    facts->first_ns = facts->zero_ns + (timed && !ours ? clock->first_ns : 0);
    if (ours && clock->from_base && clock->has_base)
        facts->first_ns = clock->origin_ns;
    facts->last_ns = timed ? facts->zero_ns + clock->last_ns : 0;
    if (clock->odd_unit)
        message("%s: its unit of time is not known; it is taken for microseconds", name);
}
