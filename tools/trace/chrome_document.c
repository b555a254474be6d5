/* SPDX-License-Identifier: Apache-2.0 */
/* Members are told by name; what none of them is, is skipped. */
#include "chrome_document.h"
#include "message.h"

#include <stdio.h>

/* An object with members, or an array of objects. */
bool chrome_document_recognises(const uint8_t *head, size_t bytes)
{
    size_t at = 0;
    if (bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    uint8_t first = 0;
    for (; at < bytes; at++) {
        if (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t')
            continue;
        if (first)
            return head[at] == (first == '{' ? '"' : '{') || (first == '[' && head[at] == ']') ||
                   (first == '{' && head[at] == '}');
        first = head[at];
        if (first != '{' && first != '[')
            return false;
    }
    return first != 0;
}

void chrome_document_free(struct chrome_document *document)
{
    chrome_args_free(&document->args);
}

/* ---- reading --------------------------------------------------------------------- */

static void read_events(struct chrome_document *document, struct json_scan *scan)
{
    struct chrome_event event = {.args = &document->args};
    document->has_events = true;
    while (!document->enough) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_END || token == JSON_ARRAY_END)
            return;
        if (token != JSON_OBJECT) {
            document->others++;
            json_scan_skip(scan, token);
        } else if (chrome_event_read(scan, document->clock->unit, &event)) {
            document->events++;
            document->phases += event.phase != '\0';
            document->enough = !document->take(document->context, &event);
        }
    }
}

/* Members of JSON that is no trace of this kind. What is told first is the surer sign. */
static const struct {
    const char *member, *what;
} signs[] = {
    {"timeDeltas", "a CPU profile of V8 (.cpuprofile)"},
    {"snapshot", "a heap snapshot of V8"},
    {"libs", "a profile of the Firefox Profiler"}, /* before what it shares with the next */
    {"shared", "a speedscope file"},
    {"resourceSpans", "spans of OpenTelemetry"},
    {"blocks", "what rbwp dump writes; give the RBWP file itself"},
    {"thread_id", "what rbwp dump writes; give the RBWP file itself"},
    {"duration_ns", "what rbwp export --to=ndjson writes; give the file that it was made of"},
};
enum { SIGNS = sizeof signs / sizeof signs[0] };

static void take_member(struct chrome_document *document, struct json_scan *scan)
{
    bool events = json_scan_is(scan, "traceEvents");
    for (int i = 0; i < SIGNS; i++)
        if (json_scan_is(scan, signs[i].member))
            document->signs |= 1u << i;
    if (document->facts && chrome_clock_member(document->clock, scan, document->facts))
        return;
    if (document->gpus && json_scan_is(scan, "deviceProperties")) {
        chrome_gpus_read(document->gpus, scan);
        return;
    }
    enum json_token token = json_scan_next(scan);
    if (events && token == JSON_ARRAY)
        read_events(document, scan);
    else
        json_scan_skip(scan, token);
}

void chrome_document_read(struct chrome_document *document, struct json_scan *scan)
{
    if (unpack_peek(&scan->bytes) == 0xef)
        (void)unpack_skip(&scan->bytes, 3); /* a byte order mark */
    enum json_token token = json_scan_next(scan);
    if (token == JSON_ARRAY)
        read_events(document, scan);
    while (token == JSON_OBJECT && !document->enough) {
        enum json_token member = json_scan_next(scan);
        if (member == JSON_END || member == JSON_OBJECT_END)
            break;
        if (member == JSON_KEY)
            take_member(document, scan);
    }
    if (scan->depth == 0)
        (void)json_scan_next(scan); /* there should be nothing, which it tells */
}

/* ---- what it is ------------------------------------------------------------------ */

bool chrome_document_is_trace(const struct chrome_document *document, const struct json_scan *scan,
                              const char *name)
{
    const char *looks = NULL;
    if (document->phases > 0 ||
        (document->has_events && document->events + document->others == 0 && !*scan->problem))
        return true;
    for (int i = SIGNS; i-- > 0;)
        if (document->signs >> i & 1)
            looks = signs[i].what;
    if (looks)
        message("%s: no Chrome JSON: it looks like %s", name, looks);
    else if (*scan->problem)
        message("%s: no Chrome JSON: %s", name, scan->problem);
    else
        message("%s: no Chrome JSON: %s", name,
                document->has_events ? "no element of its array is an event with a phase (\"ph\")"
                                     : "it has no array of traceEvents");
    message_plain("%s", trace_formats_read);
    return false;
}
