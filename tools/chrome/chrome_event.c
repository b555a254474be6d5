/* SPDX-License-Identifier: Apache-2.0 */
#include "chrome_spans.h"
#include "kineto_words.h"
#include "own_keys.h"
#include "trace_span.h"
#include "wide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what our own exports say ---------------------------------------------------------------- */
/* The other side of tools/export/chrome_args.c. */

uint8_t chrome_own_category(const struct chrome_event *event, struct trace_text *rest_out)
{
    for (uint8_t i = 0; i < TRACE_CATEGORIES; i++) {
        uint32_t bytes = (uint32_t)strlen(trace_category_name[i]);
        bool begins = bytes <= event->category_bytes &&
                      memcmp(trace_category_name[i], event->category, bytes) == 0;
        bool more = begins && event->category_bytes > bytes;
        if (!begins || (more && event->category[bytes] != ','))
            continue;
        uint32_t skip = bytes + more;
        if (rest_out)
            *rest_out = (struct trace_text){event->category + skip, event->category_bytes - skip};
        return i;
    }
    return TRACE_OTHER;
}

/* A member of the object, which is written without blanks: a number, or one in quotes. */
static bool find_member(const char *object, const char *key, uint64_t *value_out)
{
    char sought[40];
    snprintf(sought, sizeof sought, "\"%s\":", key);
    const char *at = strstr(object, sought);
    if (!at)
        return false;
    at += strlen(sought);
    at += *at == '"';
    *value_out = *at == '-' ? (uint64_t)strtoll(at, NULL, 10) : strtoull(at, NULL, 0);
    return true;
}

enum { MODEL_BYTES_MAX = 1024 };
#define START_MAX_NS (INT64_C(1) << 61) /* as of times: a duration and a shift fit behind it */

static void take_model(struct chrome_own *own, struct trace_text text)
{
    char object[MODEL_BYTES_MAX];
    struct trace_detail *head = own->head;
    uint64_t value;
    snprintf(object, sizeof object, "%.*s", (int)text.bytes, text.text);
    if (find_member(object, "item", &value))
        own->span->item = (uint32_t)value;
    if (find_member(object, "open", &value))
        own->span->flags |= TRACE_OPEN;
    (void)find_member(object, "correlation", &head->correlation);
    (void)find_member(object, "launch_thread", &head->thread_id);
    if (find_member(object, "launch_ns", &value)) {
        head->flags |= TRACE_HAS_LAUNCH;
        head->launch_ns = (int64_t)value;
    }
    if (find_member(object, "launch_track", &value))
        own->launch_track = (uint32_t)value;
    if (strstr(object, "\"inferred\":true"))
        head->flags |= TRACE_INFERRED;
    if (find_member(object, "start_uncertain_ns", &head->start_uncertain_ns) &&
        find_member(object, "stop_uncertain_ns", &head->stop_uncertain_ns) &&
        find_member(object, "certain_ns", &head->certain_ns))
        head->flags |= TRACE_HAS_BOUNDS;
}

/* ---- Kineto's form --------------------------------------------------------------- */

/* "as":"WORD" says which category of ours it is, where Kineto's word for it does not. */
static uint8_t chrome_own_category_of(const char *object, struct trace_text word)
{
    const char *as = strstr(object, "\"as\":\"");
    for (uint8_t i = 0; as && i < TRACE_CATEGORIES; i++) {
        size_t bytes = strlen(trace_category_name[i]);
        if (strncmp(as + 6, trace_category_name[i], bytes) == 0 && as[6 + bytes] == '"')
            return i;
    }
    return kineto_category(word);
}

static struct trace_text before_comma(const struct chrome_event *event)
{
    const char *comma = memchr(event->category, ',', event->category_bytes);
    uint32_t bytes = comma ? (uint32_t)(comma - event->category) : event->category_bytes;
    return (struct trace_text){event->category, bytes};
}

void chrome_own_kineto(const struct chrome_event *event, struct chrome_kineto *kineto_out)
{
    char object[MODEL_BYTES_MAX] = "";
    uint32_t arg = chrome_args_find(event->args, "rbwp");
    uint64_t value;
    if (arg < CHROME_ARGS_MAX && event->args->list[arg].token == JSON_OBJECT) {
        struct trace_text text = chrome_args_text(event->args, arg);
        snprintf(object, sizeof object, "%.*s", (int)text.bytes, text.text);
    }
    *kineto_out = (struct chrome_kineto){.track = TRACE_NONE};
    kineto_out->shadow = find_member(object, "shadow", &value);
    kineto_out->own = find_member(object, "own", &value);
    kineto_out->category = chrome_own_category_of(object, before_comma(event));
    if (find_member(object, "made", &value))
        kineto_out->made = (uint32_t)value;
    if (find_member(object, "track", &value))
        kineto_out->track = (uint32_t)value;
    if (find_member(object, "start_ns", &value) && (int64_t)value < START_MAX_NS &&
        (int64_t)value > -START_MAX_NS) {
        kineto_out->clamped = true;
        kineto_out->start_ns = (int64_t)value;
    }
}

struct trace_text chrome_own_label(const struct chrome_event *event,
                                   const struct chrome_kineto *kineto)
{
    uint32_t skip = kineto->own ? 0 : before_comma(event).bytes;
    skip += !kineto->own && skip < event->category_bytes;
    return (struct trace_text){event->category + skip, event->category_bytes - skip};
}

/* ---- arguments ------------------------------------------------------------------- */

static bool is_made(struct chrome_own *own, struct trace_text key)
{
    for (unsigned i = 0; i < KINETO_MADE_KEYS; i++) {
        if (!(own->made >> i & 1) || !trace_text_is(key, kineto_made_key[i]))
            continue;
        own->span->flags |= i == KINETO_FINISHED ? TRACE_UNFINISHED : 0;
        return true;
    }
    return false;
}

bool chrome_own_arg(void *context, uint32_t arg)
{
    struct chrome_own *own = context;
    const struct trace_text key = chrome_args_key(own->args, arg);
    const enum own_key number = own_key_number(key);
    const enum json_token token = own->args->list[arg].token;
    const bool state = number == OWN_UNFINISHED || number == OWN_OPEN;
    const bool item = number == OWN_SLOT || number == OWN_ITEM;
    if (is_made(own, key))
        return true;
    if (number == OWN_RBWP && token == JSON_OBJECT)
        take_model(own, chrome_args_text(own->args, arg));
    else if (state && token == JSON_WORD)
        own->span->flags |= number == OWN_OPEN ? TRACE_OPEN : TRACE_UNFINISHED;
    else if (item && token == JSON_NUMBER && arg < 3) /* ours come first */
        own->span->item =
            (uint32_t)chrome_args_u64(own->args, number == OWN_SLOT ? "slot" : "item");
    else
        return false;
    return true;
}

/* ---- one event ------------------------------------------------------------------------------- */
/* Members of an event by name; those that are not listed are skipped. */

/* ---- the args of one event of Chrome JSON, typed --------------------------------------------- */
/*
 * Members in the order of the text; objects and arrays are kept as JSON. What
 * is too much for an event is dropped and counted.
 *
 * Keys and values lie behind each other in one buffer; an event begins it anew.
 */

static void chrome_args_clear(struct chrome_args *args)
{
    args->count = args->text.used = 0;
    args->text.most = CHROME_ARGS_BYTES_MAX;
}

void chrome_args_free(struct chrome_args *args)
{
    free(args->list);
    text_buffer_free(&args->text);
}

/* ---- reading --------------------------------------------------------------------- */

static uint32_t digits_end(const char *text, uint32_t bytes, uint32_t at)
{
    while (at < bytes && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* As JSON has them; writers of traces have others, too. */
static bool chrome_event_is_number(const char *text, uint32_t bytes)
{
    uint32_t first = bytes > 0 && text[0] == '-', at = digits_end(text, bytes, first), from;
    bool good = at > first && (at == first + 1 || text[first] != '0');
    if (good && at < bytes && text[at] == '.') {
        from = at + 1;
        at = digits_end(text, bytes, from);
        good = at > from;
    }
    if (good && at < bytes && (text[at] | 0x20) == 'e') {
        from = at + 1 + (at + 1 < bytes && (text[at + 1] == '-' || text[at + 1] == '+'));
        at = digits_end(text, bytes, from);
        good = at > from;
    }
    return good && at == bytes;
}

static bool put_token(struct chrome_args *args, const struct json_scan *scan, enum json_token token)
{
    switch (token) {
    case JSON_KEY:
        return text_buffer_quote(&args->text, scan->text, scan->text_bytes) &&
               text_buffer_put(&args->text, ":", 1);
    case JSON_TEXT:
        return text_buffer_quote(&args->text, scan->text, scan->text_bytes);
    case JSON_OBJECT:
    case JSON_OBJECT_END:
        return text_buffer_put(&args->text, token == JSON_OBJECT ? "{" : "}", 1);
    case JSON_ARRAY:
    case JSON_ARRAY_END:
        return text_buffer_put(&args->text, token == JSON_ARRAY ? "[" : "]", 1);
    case JSON_NUMBER:
        if (!chrome_event_is_number(scan->text, scan->text_bytes))
            return text_buffer_quote(&args->text, scan->text, scan->text_bytes);
        return text_buffer_put(&args->text, scan->text, scan->text_bytes);
    default:
        if (!json_scan_is(scan, "true") && !json_scan_is(scan, "false") &&
            !json_scan_is(scan, "null"))
            return text_buffer_quote(&args->text, scan->text, scan->text_bytes);
        return text_buffer_put(&args->text, scan->text, scan->text_bytes);
    }
}

/* Of the object or array that token opened. False when it does not fit. */
static bool put_nested(struct chrome_args *args, struct json_scan *scan, enum json_token token)
{
    uint32_t depth = scan->depth - 1;
    bool good = put_token(args, scan, token), first = true;
    while (scan->depth > depth) {
        token = json_scan_next(scan);
        if (token == JSON_END)
            return false;
        bool ends = token == JSON_OBJECT_END || token == JSON_ARRAY_END;
        if (good && !first && !ends)
            good = text_buffer_put(&args->text, ",", 1);
        good = good && put_token(args, scan, token);
        first = token == JSON_OBJECT || token == JSON_ARRAY || token == JSON_KEY;
    }
    return good;
}

/* Null says nothing. */
static void read_arg(struct chrome_args *args, struct json_scan *scan)
{
    struct chrome_arg arg = {.key_at = args->text.used, .key_bytes = scan->text_bytes};
    bool good =
        args->count < CHROME_ARGS_MAX && text_buffer_put(&args->text, scan->text, scan->text_bytes);
    args->cut += scan->text_cut;
    arg.at = args->text.used;
    arg.token = json_scan_next(scan);
    if (arg.token == JSON_OBJECT || arg.token == JSON_ARRAY)
        good = put_nested(args, scan, arg.token) && good;
    else if (arg.token == JSON_END || (arg.token == JSON_WORD && json_scan_is(scan, "null")))
        return;
    else
        good = good && text_buffer_put(&args->text, scan->text, scan->text_bytes);
    arg.bytes = args->text.used - arg.at;
    args->cut += scan->text_cut && arg.token == JSON_TEXT;
    bool room = good && GROW_ZEROED(args->list, args->room, args->count + 1);
    args->failed |= args->text.failed || (good && !room);
    if (room) {
        args->list[args->count++] = arg;
        return;
    }
    args->text.used = arg.key_at;
    args->cut += !args->failed;
}

/* Behind the opening brace. */
static void chrome_args_read(struct chrome_args *args, struct json_scan *scan)
{
    while (json_scan_next(scan) == JSON_KEY)
        read_arg(args, scan);
}

/* ---- values ---------------------------------------------------------------------- */

uint32_t chrome_args_find(const struct chrome_args *args, const char *key)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (trace_text_is(chrome_args_key(args, i), key))
            return i;
    return CHROME_ARGS_MAX;
}

struct trace_text chrome_args_word(const struct chrome_args *args, const char *key)
{
    uint32_t i = chrome_args_find(args, key);
    bool word = i < CHROME_ARGS_MAX &&
                (args->list[i].token == JSON_TEXT || args->list[i].token == JSON_NUMBER);
    return word ? chrome_args_text(args, i) : (struct trace_text){"", 0};
}

uint64_t chrome_args_u64(const struct chrome_args *args, const char *key)
{
    char copy[32], *end;
    struct trace_text text = chrome_args_word(args, key);
    if (text.bytes == 0 || text.bytes >= sizeof copy || *text.text == '-')
        return 0;
    memcpy(copy, text.text, text.bytes);
    copy[text.bytes] = '\0';
    uint64_t value = strtoull(copy, &end, 0);
    return *end ? 0 : value;
}

bool chrome_args_number(const struct chrome_args *args, uint32_t i, struct trace_sample *value_out)
{
    char copy[64], *end;
    struct trace_text text = chrome_args_text(args, i);
    if (args->list[i].token != JSON_NUMBER || text.bytes >= sizeof copy)
        return false;
    memcpy(copy, text.text, text.bytes);
    copy[text.bytes] = '\0';
    errno = 0;
    value_out->whole = !strpbrk(copy, ".eE");
    if (value_out->whole) {
        value_out->value.i64 = strtoll(copy, &end, 10);
        if (errno == 0 && !*end)
            return true;
    }
    value_out->whole = false;
    value_out->value.f64 = strtod(copy, &end);
    return !*end;
}

/* ---- arguments of a span ---------------------------------------------------------- */

static void chrome_event_add_number(const struct chrome_args *args, uint32_t i,
                                    struct detail_maker *maker, uint32_t key)
{
    struct trace_sample value;
    struct trace_text text = chrome_args_text(args, i);
    uint64_t u64 = 0;
    bool digits = text.bytes <= 20;
    for (uint32_t at = 0; at < text.bytes && digits; at++)
        digits = text.text[at] >= '0' && text.text[at] <= '9' &&
                 !__builtin_mul_overflow(u64, 10u, &u64) &&
                 !__builtin_add_overflow(u64, (unsigned)(text.text[at] - '0'), &u64);
    if (digits)
        span_detail_arg(maker, key, TRACE_ARG_U64, u64);
    else if (!chrome_args_number(args, i, &value))
        span_detail_text(maker, key, TRACE_ARG_TEXT, text);
    else
        span_detail_arg(maker, key, value.whole ? TRACE_ARG_I64 : TRACE_ARG_F64,
                        (uint64_t)value.value.i64); /* the bits of either */
}

static void add_word(const struct chrome_args *args, uint32_t i, struct detail_maker *maker,
                     uint32_t key)
{
    struct trace_text text = chrome_args_text(args, i);
    bool yes = trace_text_is(text, "true");
    bool no = trace_text_is(text, "false");
    if (yes || no)
        span_detail_arg(maker, key, TRACE_ARG_BOOL, yes);
    else
        span_detail_text(maker, key, TRACE_ARG_TEXT, text); /* NaN and the like */
}

void chrome_args_add(const struct chrome_args *args, struct detail_maker *maker,
                     struct trace *trace, bool (*special)(void *context, uint32_t arg),
                     void *context)
{
    for (uint32_t i = 0; i < args->count; i++) {
        struct trace_text name = chrome_args_key(args, i), text = chrome_args_text(args, i);
        enum json_token token = args->list[i].token;
        if (special && special(context, i))
            continue;
        name = special ? own_key_given(name) : name;
        uint32_t key = trace_add_name(trace, name.text, name.bytes);
        if (token == JSON_NUMBER)
            chrome_event_add_number(args, i, maker, key);
        else if (token == JSON_WORD)
            add_word(args, i, maker, key);
        else
            span_detail_text(maker, key, token == JSON_TEXT ? TRACE_ARG_TEXT : TRACE_ARG_JSON,
                             text);
    }
}

/* ---- chrome event ---------------------------------------------------------------------------- */

/* 73 years: a base, a time, a duration and a shift of it fit into 64 bits together. */
#define TIME_MAX ((INT64_C(1) << 61) - 1)

/* ---- times ----------------------------------------------------------------------- */

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
    for (; i < bytes && (trace_is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
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

static uint32_t chrome_event_keep(const struct json_scan *scan, char *to, size_t room)
{
    uint32_t bytes = scan->text_bytes < room ? scan->text_bytes : (uint32_t)room;
    memcpy(to, scan->text, bytes);
    return bytes;
}

static void keep_id(const struct json_scan *scan, enum json_token token, struct chrome_id *id)
{
    id->given = true;
    id->is_number = token == JSON_NUMBER;
    id->bytes = chrome_event_keep(scan, id->text, sizeof id->text);
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
        event->name_bytes = chrome_event_keep(scan, event->name, sizeof event->name);
        break;
    case CAT:
        event->category_bytes = chrome_event_keep(scan, event->category, sizeof event->category);
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
    while (json_scan_next(scan) == JSON_KEY) {
        bool local = json_scan_is(scan, "local"), global = json_scan_is(scan, "global");
        enum json_token token = json_scan_next(scan);
        json_scan_skip(scan, token);
        if ((local || global) && (token == JSON_TEXT || token == JSON_NUMBER)) {
            keep_id(scan, token, &event->id);
            event->id_is_local = local;
        }
    }
}

bool chrome_event_read(struct json_scan *scan, struct chrome_unit unit, struct chrome_event *event)
{
    enum json_token token;
    memset(event, 0, offsetof(struct chrome_event, name));
    chrome_args_clear(event->args);
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        enum member member = member_of(scan);
        token = json_scan_next(scan);
        if (token == JSON_OBJECT && member == ARGS)
            chrome_args_read(event->args, scan);
        else if (token == JSON_OBJECT && member == ID2)
            take_id2(scan, event);
        else if (token == JSON_TEXT || token == JSON_NUMBER)
            take_plain(scan, member, token, unit, event);
        else
            json_scan_skip(scan, token);
    }
    return token != JSON_END;
}

bool chrome_event_is(const struct chrome_event *event, const char *name)
{
    return trace_text_is((struct trace_text){event->name, event->name_bytes}, name);
}

bool chrome_event_has_category(const struct chrome_event *event, const char *category)
{
    return trace_text_is((struct trace_text){event->category, event->category_bytes}, category);
}
