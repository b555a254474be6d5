/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of tools/export/chrome_args.c. */
#include "chrome_own.h"

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

static void take_model(struct chrome_own *own, struct trace_text text)
{
    char object[512];
    struct trace_detail *head = own->head;
    uint64_t value;
    snprintf(object, sizeof object, "%.*s", (int)text.bytes, text.text);
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

bool chrome_own_arg(void *context, uint32_t arg)
{
    static const char *const words[] = {"rbwp", "unfinished", "open", "slot", "item"};
    struct chrome_own *own = context;
    struct trace_text key = chrome_args_key(own->args, arg);
    size_t i = 0;
    while (i < sizeof words / sizeof words[0] &&
           (strlen(words[i]) != key.bytes || memcmp(words[i], key.text, key.bytes) != 0))
        i++;
    enum json_token token = own->args->list[arg].token;
    if (i == 0 && token == JSON_OBJECT)
        take_model(own, chrome_args_text(own->args, arg));
    else if ((i == 1 || i == 2) && token == JSON_WORD)
        own->span->flags |= i == 1 ? TRACE_UNFINISHED : TRACE_OPEN;
    else if ((i == 3 || i == 4) && token == JSON_NUMBER && arg < 3) /* ours come first */
        own->span->item = (uint32_t)chrome_args_u64(own->args, words[i]);
    else
        return false;
    return true;
}
