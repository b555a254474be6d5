/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of tools/export/chrome_args.c. */
#include "chrome_spans.h"
#include "kineto_words.h"
#include "own_keys.h"
#include "trace_span.h"

#include <stdio.h>
#include <stdlib.h>

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
