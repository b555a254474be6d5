/* SPDX-License-Identifier: Apache-2.0 */
/* The names are put into quotes once; a span is then numbers between constants. */
#include "warpscope_json.h"
#include "json_text.h"
#include "message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SPAN_BYTES_MAX = 256 };

static void separate(struct warpscope_json *json)
{
    out_text(json->out, json->any ? ",\n" : "\n");
    json->any = true;
}

/* The text in quotes is made where it would go, and taken from there. */
static const struct warpscope_name *name_of(struct warpscope_json *json, uint32_t event)
{
    struct warpscope_name *name = &json->names[event];
    char text[ID_NAME_BYTES];
    if (name->text)
        return name;
    const char *plain = id_names_get(json->events, "event", event, text);
    (void)out_room(json->out, 8 * ID_NAME_BYTES);
    size_t from = json->out->used;
    json_string(json->out, plain, strlen(plain));
    name->bytes = (uint32_t)(json->out->used - from);
    name->text = malloc(name->bytes);
    if (name->text)
        memcpy(name->text, json->out->buffer + from, name->bytes);
    json->out->used = from;
    if (!name->text && !json->failed) {
        message("out of memory; the rest is left out");
        json->failed = true;
    }
    return name->text ? name : NULL;
}

static char *put_us(char *at, uint64_t ns)
{
    at = put_u64(at, ns / 1000);
    *at++ = '.';
    *at++ = (char)('0' + ns % 1000 / 100);
    return put_2_digits(at, (uint32_t)(ns % 100));
}

static void put_span(struct warpscope_json *json, const struct rbwp_lane_span *span)
{
    const struct warpscope_name *name = name_of(json, span->event);
    bool instant = span->kind == RBWP_LANE_INSTANT;
    if (!name)
        return;
    char *at = out_room(json->out, SPAN_BYTES_MAX + name->bytes);
    at = json->any ? PUT(at, ",\n") : PUT(at, "\n");
    json->any = true;
    at =
        instant ? PUT(at, "{\"ph\":\"i\",\"s\":\"t\",\"pid\":") : PUT(at, "{\"ph\":\"X\",\"pid\":");
    at = put_u64(at, span->block);
    at = PUT(at, ",\"tid\":");
    at = put_u64(at, span->group);
    at = PUT(at, ",\"ts\":");
    at = put_us(at, (uint64_t)span->start_ns - (uint64_t)json->zero_ns);
    if (!instant) {
        at = PUT(at, ",\"dur\":");
        at = put_us(at, (uint64_t)span->stop_ns - (uint64_t)span->start_ns);
    }
    at = PUT(at, ",\"name\":");
    memcpy(at, name->text, name->bytes);
    at += name->bytes;
    if (span->kind == RBWP_LANE_UNENDED)
        at = PUT(at, ",\"args\":{\"unclosed\":true}");
    *at++ = '}';
    out_end(json->out, at);
}

bool warpscope_json_take(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct warpscope_json *json = context;
    for (size_t i = 0; i < count; i++)
        if (spans[i].kind != RBWP_LANE_STRAY_END)
            put_span(json, &spans[i]);
    return !json->failed && !out_failed(json->out);
}

static void put_name(struct warpscope_json *json, uint32_t block, const uint32_t *group)
{
    struct out *out = json->out;
    char text[ID_NAME_BYTES];
    separate(json);
    out_format(out, "{\"ph\":\"M\",\"pid\":%" PRIu32, block);
    if (!group) {
        out_format(out, ",\"name\":\"process_name\",\"args\":{\"name\":\"block %" PRIu32 "\"}}",
                   block);
        return;
    }
    const char *name = id_names_get(json->groups, "group", *group, text);
    out_format(out, ",\"tid\":%" PRIu32 ",\"name\":\"thread_name\",\"args\":{\"name\":", *group);
    json_string(out, name, strlen(name));
    out_text(out, "}}");
}

void warpscope_json_begin(struct warpscope_json *json, uint32_t blocks, uint32_t groups)
{
    out_text(json->out, "{\"traceEvents\":[");
    for (uint32_t block = 0; block < blocks && !out_failed(json->out); block++) {
        put_name(json, block, NULL);
        for (uint32_t group = 0; group < groups; group++)
            put_name(json, block, &group);
    }
}

void warpscope_json_end(struct warpscope_json *json)
{
    out_text(json->out, "\n],\"displayTimeUnit\":\"ns\"}\n");
    for (uint32_t i = 0; i < RBWP_LANES_EVENTS; i++)
        free(json->names[i].text);
}
