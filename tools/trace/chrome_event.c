/* SPDX-License-Identifier: Apache-2.0 */
/* Members of an event by name; those that are not listed are skipped. */
#include "chrome_event.h"
#include "wide.h"

#include <stddef.h>
#include <stdlib.h>

/* 73 years: a base, a time, a duration and a shift of it fit into 64 bits together. */
#define TIME_MAX ((INT64_C(1) << 61) - 1)

/* ---- times ----------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What is not plain digits: an exponent, or more of them than 64 bits hold. */
static bool inexact_time(const char *text, uint32_t bytes, struct chrome_unit unit, int64_t *ns_out)
{
    char copy[64], *end;
    if (bytes == 0 || bytes >= sizeof copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    long double value = strtold(copy, &end) * unit.numerator / unit.denominator;
    if (*end || !(value <= (long double)TIME_MAX && value >= -(long double)TIME_MAX))
        return false;
    *ns_out = (int64_t)(value < 0 ? value - 0.5L : value + 0.5L);
    return true;
}

bool chrome_time(const char *text, uint32_t bytes, struct chrome_unit unit, int64_t *ns_out)
{
    bool negative = bytes > 0 && text[0] == '-', point = false;
    uint64_t digits = 0, scale = 1;
    uint32_t i = negative;
    for (; i < bytes && (is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        if (point && scale >= 1000000000)
            continue; /* far below a nanosecond */
        if (digits > UINT64_MAX / 10 - 1)
            break;
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        scale *= point ? 10 : 1;
    }
    if (i < bytes || bytes == (uint32_t)negative + point)
        return inexact_time(text, bytes, unit, ns_out);
    const struct wide divisor = wide_product(scale, unit.denominator);
    if (divisor.high)
        return inexact_time(text, bytes, unit, ns_out);
    const struct wide product = wide_plus(wide_product(digits, unit.numerator), divisor.low / 2);
    const uint64_t ns = wide_quotient(product, divisor.low);
    if (ns > (uint64_t)TIME_MAX)
        return false;
    *ns_out = negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

/* ---- members --------------------------------------------------------------------- */

static uint32_t keep(const struct json_scan *scan, char *to, size_t room)
{
    uint32_t bytes = scan->text_bytes < room ? scan->text_bytes : (uint32_t)room;
    memcpy(to, scan->text, bytes);
    return bytes;
}

static void keep_id(const struct json_scan *scan, enum json_token token, struct chrome_id *id)
{
    id->given = true;
    id->is_number = token == JSON_NUMBER;
    id->bytes = keep(scan, id->text, sizeof id->text);
}

/* A time may be a string, too: some write it so to keep its digits. */
static void keep_time(const struct json_scan *scan, struct chrome_unit unit,
                      struct chrome_event *event, bool duration)
{
    int64_t *ns = duration ? &event->duration_ns : &event->time_ns;
    if (!chrome_time(scan->text, scan->text_bytes, unit, ns))
        event->bad_time = true;
    else if (duration)
        event->has_duration = true;
    else
        event->has_time = true;
}

enum member { TS, DUR, PH, PID, TID, NAME, CAT, ID, BP, ARGS, ID2, MEMBERS };

static enum member member_of(const struct json_scan *scan)
{
    static const char *const names[] = {"ts",  "dur", "ph", "pid",  "tid", "name",
                                        "cat", "id",  "bp", "args", "id2"};
    int i = 0;
    while (i < MEMBERS && !json_scan_is(scan, names[i]))
        i++;
    return (enum member)i;
}

static void take_plain(const struct json_scan *scan, enum member member, enum json_token token,
                       struct chrome_unit unit, struct chrome_event *event)
{
    char first = scan->text_bytes ? scan->text[0] : '\0';
    switch (member) {
    case TS:
    case DUR:
        keep_time(scan, unit, event, member == DUR);
        break;
    case PH:
        event->phase = scan->text_bytes == 1 ? first : '\0';
        break;
    case PID:
        keep_id(scan, token, &event->process);
        break;
    case TID:
        keep_id(scan, token, &event->thread);
        break;
    case NAME:
        event->name_bytes = keep(scan, event->name, sizeof event->name);
        break;
    case CAT:
        event->category_bytes = keep(scan, event->category, sizeof event->category);
        break;
    case ID:
        keep_id(scan, token, &event->id);
        break;
    case BP:
        event->binding = first;
        break;
    default:
        break;
    }
}

/* Of id2 the id. */
static void take_id2(struct json_scan *scan, struct chrome_event *event)
{
    uint32_t depth = scan->depth - 1;
    while (scan->depth > depth) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return;
        if (token != JSON_KEY)
            continue;
        bool local = json_scan_is(scan, "local"), global = json_scan_is(scan, "global");
        token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if ((local || global) && (token == JSON_TEXT || token == JSON_NUMBER)) {
            keep_id(scan, token, &event->id);
            event->id_is_local = local;
        }
    }
}

bool chrome_event_read(struct json_scan *scan, struct chrome_unit unit, struct chrome_event *event)
{
    uint32_t depth = scan->depth - 1;
    memset(event, 0, offsetof(struct chrome_event, name));
    chrome_args_clear(event->args);
    while (scan->depth > depth) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END)
            return false;
        if (token != JSON_KEY)
            continue;
        enum member member = member_of(scan);
        token = json_scan_next(scan);
        if (token == JSON_END)
            return false;
        if (token == JSON_OBJECT && member == ARGS)
            chrome_args_read(event->args, scan);
        else if (token == JSON_OBJECT && member == ID2)
            take_id2(scan, event);
        else if (token == JSON_TEXT || token == JSON_NUMBER)
            take_plain(scan, member, token, unit, event);
        else
            json_scan_skip(scan, token);
    }
    return true;
}

static bool is_text(const char *bytes, uint32_t count, const char *text)
{
    return strlen(text) == count && memcmp(bytes, text, count) == 0;
}

bool chrome_event_is(const struct chrome_event *event, const char *name)
{
    return is_text(event->name, event->name_bytes, name);
}

bool chrome_event_has_category(const struct chrome_event *event, const char *category)
{
    return is_text(event->category, event->category_bytes, category);
}
