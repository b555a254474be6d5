/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_nvtx.c - the ranges that a program marks with NVTX become ours (rbwp_range.h).
 *
 * Domains have a stack each in every thread, ranges of ours have one. Where a domain's range ends
 * while one of another domain is inside it, it ends with that one. A name is DOMAIN:MESSAGE, of the
 * default domain the message alone; the range's id is its category.
 */
#include "inject_names.h"
#include "inject_session.h"
#include "nvtx_abi.h"
#include "rbwp_range.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

/* Names of NVTX: of ranges, in domains, registered once or given each time.
 *
 * PyTorch writes numbers into its names (", op_id = 17"), each of which would be another name; they
 * become the range's id and value. */

#define NVTX_TEXT_BYTES 4096

struct nvtx_domain;

struct nvtx_named {
    struct nvtx_named *next;           /* of those that are registered */
    uint64_t number;                   /* of the name; 0: there is no room for another one */
    uint64_t id, sequence;             /* that stood in it */
    bool has_id, has_sequence, window; /* window: it is the name of RBWP_INJECT_RANGE */
};

struct nvtx_domain {
    struct nvtx_domain *next;
    size_t bytes; /* with the terminator */
    char name[];
};

/* The program has handles of them, which it never gives back. */
static _Atomic(struct nvtx_named *) registered;
static _Atomic(struct nvtx_domain *) nvtx_text_domains;

/* Takes ", WORD = NUMBER" off the end of a text. */
static bool nvtx_text_take_number(char *text, const char *word, uint64_t *number_out)
{
    char *at = text + strlen(text), *digits, *end;
    while (at > text && isdigit((unsigned char)at[-1]))
        at--;
    digits = at;
    size_t bytes = strlen(word);
    if (!*digits || (size_t)(at - text) < bytes || memcmp(at - bytes, word, bytes) != 0)
        return false;
    *number_out = strtoull(digits, &end, 10);
    *(at - bytes) = '\0';
    return true;
}

/* domain: NULL for the default one. */
static struct nvtx_named nvtx_name(const struct nvtx_domain *domain, const char *text)
{
    struct nvtx_named named = {0};
    char shown[NVTX_TEXT_BYTES];
    const char *window = inject_window_range();
    snprintf(shown, sizeof shown, "%s%s%s", domain ? domain->name : "", domain ? ":" : "", text);
    named.has_id = nvtx_text_take_number(shown, ", op_id = ", &named.id);
    named.has_sequence = nvtx_text_take_number(shown, ", seq = ", &named.sequence);
    named.number = inject_name(shown);
    named.window = window && strcmp(window, shown) == 0;
    return named;
}

/* Stays as long as the process. NULL without memory: a name that says nothing. */
static struct nvtx_named *nvtx_register(const struct nvtx_domain *domain, const char *text)
{
    struct nvtx_named *named = malloc(sizeof *named);
    if (!named)
        return NULL;
    *named = nvtx_name(domain, text);
    named->next = atomic_load(&registered);
    while (!atomic_compare_exchange_weak(&registered, &named->next, named))
        ;
    return named;
}

static struct nvtx_domain *nvtx_domain_create(const char *name)
{
    size_t bytes = strlen(name) + 1;
    struct nvtx_domain *domain = malloc(sizeof *domain + bytes);
    if (!domain)
        return NULL;
    domain->bytes = bytes;
    memcpy(domain->name, name, bytes);
    domain->next = atomic_load(&nvtx_text_domains);
    while (!atomic_compare_exchange_weak(&nvtx_text_domains, &domain->next, domain))
        ;
    return domain;
}

/* The bytes of one character. */
static int nvtx_text_put(uint32_t letter, char to[4])
{
    if (letter < 0x80) {
        to[0] = (char)letter;
        return 1;
    }
    int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
    static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(first[more] | letter >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (letter >> (6 * (more - i)) & 0x3F));
    return more + 1;
}

/* As UTF-8, in room. */
static const char *nvtx_narrow(const wchar_t *wide, char room[NVTX_TEXT_BYTES])
{
    size_t used = 0;
    for (; *wide && used + 5 < NVTX_TEXT_BYTES; wide++) {
        uint32_t letter = (uint32_t)*wide;
        bool none = letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000);
        used += (size_t)nvtx_text_put(none ? 0xFFFD : letter, room + used);
    }
    room[used] = '\0';
    return room;
}

enum { LEVELS = 256 };
#define NOT_TRACKED (-2) /* what push and pop say then, as NVTX has it */

struct level {
    const struct nvtx_domain *domain;
    bool recorded, over, window;
};
struct levels {
    struct level level[LEVELS];
    int depth, beyond;
};
static _Atomic uint64_t window_range; /* a started range that keeps the window open; 0: none */

/* ---- what an event says --------------------------------------------------------------------- */

struct event {
    uint64_t name, id;
    struct rbwp_payload payload;
    bool window; /* its name is that of the window */
};

static struct rbwp_payload payload_of(const struct nvtx_attributes *from)
{
    switch (from->payload_type) {
    case NVTX_U64:
        return rbwp_payload_u64(from->payload.u64);
    case NVTX_I64:
        return rbwp_payload_i64(from->payload.i64);
    case NVTX_F64:
        return rbwp_payload_f64(from->payload.f64);
    case NVTX_U32:
        return rbwp_payload_u64(from->payload.u32);
    case NVTX_I32:
        return rbwp_payload_i64(from->payload.i32);
    case NVTX_F32:
        return rbwp_payload_f64((double)from->payload.f32);
    default:
        return (struct rbwp_payload){RBWP_PAYLOAD_NONE, 0};
    }
}

static void set_text(struct event *event, const struct nvtx_domain *domain, const char *text)
{
    struct nvtx_named named = nvtx_name(domain, text);
    event->name = named.number;
    event->window = named.window;
    if (named.has_id)
        event->id = named.id;
    if (named.has_sequence && event->payload.type == RBWP_PAYLOAD_NONE)
        event->payload = rbwp_payload_u64(named.sequence);
}

static struct event event_of(const struct nvtx_domain *domain, const struct nvtx_attributes *from)
{
    struct event event = {0};
    char narrow[NVTX_TEXT_BYTES];
    if (!from || from->bytes < sizeof *from)
        return event;
    event.id = from->category;
    event.payload = payload_of(from);
    if (from->message_type == NVTX_TEXT && from->message.text)
        set_text(&event, domain, from->message.text);
    else if (from->message_type == NVTX_WIDE && from->message.wide)
        set_text(&event, domain, nvtx_narrow(from->message.wide, narrow));
    else if (from->message_type == NVTX_REGISTERED && from->message.registered) {
        const struct nvtx_named *named = from->message.registered;
        event.name = named->number;
        event.window = named->window;
    }
    return event;
}

static struct event text_event(const char *text)
{
    struct event event = {0};
    if (text)
        set_text(&event, NULL, text);
    return event;
}

static struct event wide_event(const wchar_t *text)
{
    char narrow[NVTX_TEXT_BYTES];
    return text_event(text ? nvtx_narrow(text, narrow) : NULL);
}

/* Whether events are recorded now. */
static bool records(void)
{
    inject_session_begin(NULL);
    if (!inject_records())
        return false;
    (void)inject_thread();
    return true;
}

/* ---- ranges that nest ----------------------------------------------------------------------- */

static int count_levels(const struct levels *levels, const struct nvtx_domain *domain)
{
    int count = 0;
    for (int i = 0; i < levels->depth; i++)
        count += levels->level[i].domain == domain && !levels->level[i].over;
    return count;
}

static int nvtx_push(const struct nvtx_domain *domain, struct event event)
{
    struct levels *levels = inject_own_make(INJECT_OWN_LEVELS, sizeof *levels);
    if (!levels)
        return NOT_TRACKED;
    if (levels->depth == LEVELS) {
        levels->beyond++;
        return NOT_TRACKED;
    }
    int before = count_levels(levels, domain);
    struct level *level = &levels->level[levels->depth++];
    *level = (struct level){.domain = domain};
    inject_session_begin(NULL);
    if (event.window && atomic_load(&inject_state) == INJECT_CLOSED) {
        inject_window(true);
        level->window = true;
    }
    level->recorded = records();
    if (level->recorded)
        rbwp_range_push_with(event.name, event.id, event.payload);
    return before;
}

/* The innermost one, and those around it that ended before it did. */
static void pop_levels(struct levels *levels)
{
    do {
        struct level *level = &levels->level[--levels->depth];
        if (level->recorded)
            rbwp_range_pop();
        if (level->window)
            inject_window(false);
    } while (levels->depth && levels->level[levels->depth - 1].over);
}

static int nvtx_pop(const struct nvtx_domain *domain)
{
    struct levels *levels = inject_own[INJECT_OWN_LEVELS];
    int at = levels ? levels->depth - 1 : -1;
    if (levels && levels->beyond) {
        levels->beyond--;
        return NOT_TRACKED;
    }
    while (at >= 0 && (levels->level[at].domain != domain || levels->level[at].over))
        at--;
    if (at < 0) {
        if (records() && (!levels || !levels->depth))
            rbwp_range_pop(); /* counted as one that ends nothing */
        return NOT_TRACKED;
    }
    int level = count_levels(levels, domain) - 1;
    if (at == levels->depth - 1)
        pop_levels(levels);
    else
        levels->level[at].over = true;
    return level;
}

/* ---- ranges that any thread may end, and points in time ------------------------------------- */

static uint64_t nvtx_start(const struct nvtx_domain *domain, struct event event)
{
    (void)domain;
    inject_session_begin(NULL);
    bool opens = event.window && atomic_load(&inject_state) == INJECT_CLOSED;
    if (opens)
        inject_window(true);
    uint64_t range = records() ? rbwp_range_start_with(event.name, event.id, event.payload) : 0;
    inject_started(range);
    if (opens)
        atomic_store(&window_range, range);
    return range;
}

static void nvtx_end(uint64_t range)
{
    inject_started_ended(range);
    rbwp_range_stop(range);
    if (range && atomic_compare_exchange_strong(&window_range, &range, 0))
        inject_window(false);
}

static void nvtx_mark(const struct nvtx_domain *domain, struct event event)
{
    (void)domain;
    if (records())
        rbwp_range_mark(event.name, event.id, event.payload);
}

/* NVTX has each call with attributes, with a text, with a wide text, and with attributes in a
 * domain; what they return is what the call of ours does. */
#define FORMS(result, name, gives)                                                                 \
    static result name##_ex(const struct nvtx_attributes *from)                                    \
    {                                                                                              \
        gives nvtx_##name(NULL, event_of(NULL, from));                                             \
    }                                                                                              \
    static result name##_a(const char *text)                                                       \
    {                                                                                              \
        gives nvtx_##name(NULL, text_event(text));                                                 \
    }                                                                                              \
    static result name##_w(const wchar_t *text)                                                    \
    {                                                                                              \
        gives nvtx_##name(NULL, wide_event(text));                                                 \
    }                                                                                              \
    static result name##_in(const struct nvtx_domain *domain, const struct nvtx_attributes *from)  \
    {                                                                                              \
        gives nvtx_##name(domain, event_of(domain, from));                                         \
    }
FORMS(int, push, return )
FORMS(uint64_t, start, return )
FORMS(void, mark, )

static int pop_default(void)
{
    return nvtx_pop(NULL);
}
static void domain_end(const struct nvtx_domain *domain, uint64_t range)
{
    (void)domain;
    nvtx_end(range);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void name_thread_a(uint32_t thread, const char *name)
{
    if (name && thread == (uint32_t)syscall(SYS_gettid) && rbwp_self_.thread)
        (void)rbwp_thread_attach(name);
}
static void name_thread_w(uint32_t thread, const wchar_t *name)
{
    char narrow[NVTX_TEXT_BYTES];
    name_thread_a(thread, name ? nvtx_narrow(name, narrow) : NULL);
}
static void *register_w(const struct nvtx_domain *domain, const wchar_t *text)
{
    char narrow[NVTX_TEXT_BYTES];
    return nvtx_register(domain, text ? nvtx_narrow(text, narrow) : "");
}
static void *register_a(const struct nvtx_domain *domain, const char *text)
{
    return nvtx_register(domain, text ? text : "");
}
static void *create_a(const char *name)
{
    return nvtx_domain_create(name ? name : "");
}
static void *create_w(const wchar_t *name)
{
    char narrow[NVTX_TEXT_BYTES];
    return nvtx_domain_create(name ? nvtx_narrow(name, narrow) : "");
}
/* Ranges of it may be open: it stays. */
static void destroy(const struct nvtx_domain *domain)
{
    (void)domain;
}

/* ---- the tables ----------------------------------------------------------------------------- */

struct place {
    unsigned number;
    nvtx_function function;
};
#define PLACE(number, function)                                                                    \
    {                                                                                              \
        number, (nvtx_function)(function)                                                          \
    }
#define PLACES(number, name)                                                                       \
    PLACE(number##_EX, name##_ex), PLACE(number##_A, name##_a), PLACE(number##_W, name##_w)
static const struct place core[] = {
    PLACES(NVTX_MARK, mark),
    PLACES(NVTX_START, start),
    PLACE(NVTX_END, nvtx_end),
    PLACES(NVTX_PUSH, push),
    PLACE(NVTX_POP, pop_default),
    PLACE(NVTX_NAME_THREAD_A, name_thread_a),
    PLACE(NVTX_NAME_THREAD_W, name_thread_w),
};
static const struct place inject_nvtx_domains[] = {
    PLACE(NVTX_DOMAIN_MARK_EX, mark_in),       PLACE(NVTX_DOMAIN_START_EX, start_in),
    PLACE(NVTX_DOMAIN_END, domain_end),        PLACE(NVTX_DOMAIN_PUSH_EX, push_in),
    PLACE(NVTX_DOMAIN_POP, nvtx_pop),          PLACE(NVTX_DOMAIN_REGISTER_A, register_a),
    PLACE(NVTX_DOMAIN_REGISTER_W, register_w), PLACE(NVTX_DOMAIN_CREATE_A, create_a),
    PLACE(NVTX_DOMAIN_CREATE_W, create_w),     PLACE(NVTX_DOMAIN_DESTROY, destroy),
};

static bool nvtx_fill(const struct nvtx_callbacks *callbacks, int module,
                      const struct place *places, size_t count)
{
    nvtx_function **table = NULL;
    unsigned room = 0;
    if (!callbacks->functions(module, &table, &room) || !table)
        return false;
    for (size_t i = 0; i < count; i++)
        if (places[i].number < room && table[places[i].number])
            *table[places[i].number] = places[i].function;
    return true;
}

/* Each library of the program that has NVTX inside calls it once. 0: its calls do nothing then. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table *get_table);
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
    const struct nvtx_callbacks *callbacks = NULL;
    if (inject_wanted() & INJECT_RANGES && get_table)
        callbacks = get_table(NVTX_TABLE_CALLBACKS);
    if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->functions)
        return 0;
    return nvtx_fill(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]) &&
           nvtx_fill(callbacks, NVTX_MODULE_DOMAINS, inject_nvtx_domains,
                     sizeof inject_nvtx_domains / sizeof inject_nvtx_domains[0]);
}
