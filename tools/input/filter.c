/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters. Whatever can be decided once per file (slots by name) or per block
 * (thread, time range) is; a record then costs a few compares.
 */
#include "filter.h"

#include "message.h"
#include "name_pattern.h"
#include "quantity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool filter_options_refuse(struct option_error *error, const char *text)
{
    return option_wrong(error, "%s", text);
}

/* Nanoseconds of a unit, 0 if there is no such unit. */
static uint64_t unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool filter_parse_duration(const char *text, int64_t *ns_out, struct option_error *error)
{
    static const char wrong[] = "is not a time such as 1500, 20us or 1.5ms";
    static const char no_unit[] = "lacks a unit: s, ms, us or ns";
    uint64_t value = 0, divisor = 1;
    bool point = false, any = false;
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return filter_options_refuse(error, "is too large");
        divisor *= point ? 10 : 1;
        any = true;
        if (divisor > 1000000000)
            return filter_options_refuse(error, "has digits below a nanosecond");
    }
    uint64_t unit = unit_ns(text);
    if (!any || !unit)
        return filter_options_refuse(error, wrong);
    if (unit % divisor != 0)
        return filter_options_refuse(error, *text ? "has digits below a nanosecond" : no_unit);
    if (__builtin_mul_overflow(value, unit / divisor, &value) || value > INT64_MAX)
        return filter_options_refuse(error, "is too large");
    *ns_out = (int64_t)value;
    return true;
}

#define YEAR_1980_NS (INT64_C(315532800) * 1000000000)

static bool store_time(void *value, const char *text, struct option_error *error)
{
    struct filter_time *time = value;
    time->set = true;
    bool before = text[0] == '-';
    time->relative = text[0] == '+' || before;
    if (!filter_parse_duration(text + time->relative, &time->ns, error))
        return false;
    time->ns = before ? -time->ns : time->ns;
    /* Whoever writes a unit counts from the start; nobody's trace is of the seventies. */
    if (time->relative || is_digit(text[strlen(text) - 1]) || time->ns >= YEAR_1980_NS)
        return true;
    return option_wrong(error, "is in 1970: write +%.40s for a time since the start", text);
}

static bool store_duration(void *value, const char *text, struct option_error *error)
{
    struct filter_time *time = value;
    time->set = true;
    return filter_parse_duration(text, &time->ns, error);
}

/* Decimal or 0x hexadecimal, nothing else around it. */
static bool parse_number(const char *text, uint64_t *number_out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    size_t count = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (count == 0 || digits[count] != '\0' || count > 20)
        return false;
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        char c = digits[i];
        uint64_t digit = (uint64_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        if (__builtin_mul_overflow(number, hex ? 16u : 10u, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *number_out = number;
    return true;
}

static bool store_pattern(void *value, const char *text, struct option_error *error)
{
    struct filter_patterns *patterns = value;
    if (text[0] == '\0')
        return filter_options_refuse(error, "is empty");
    if (patterns->count == FILTER_PATTERNS_MAX)
        return filter_options_refuse(error, "is one pattern too many");
    struct filter_pattern *pattern = &patterns->list[patterns->count++];
    pattern->text = text;
    pattern->is_number = parse_number(text, &pattern->number);
    return true;
}

static bool store_slot(void *value, const char *text, struct option_error *error)
{
    struct filter_patterns *patterns = value;
    if (!store_pattern(value, text, error))
        return false;
    const struct filter_pattern *pattern = &patterns->list[patterns->count - 1];
    if (pattern->is_number && pattern->number >= RBWP_SLOTS_MAX)
        return filter_options_refuse(error, "is no slot: they are 0 to 255");
    return true;
}

static bool store_kinds(void *value, const char *text, struct option_error *error)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } words[] = {{"coarse", FILTER_COARSE_BEGIN | FILTER_COARSE_END},
                 {"fine", FILTER_FINE_BEGIN | FILTER_FINE_END},
                 {"gpu", FILTER_GPU_WORK},
                 {"COARSE_BEGIN", FILTER_COARSE_BEGIN},
                 {"COARSE_END", FILTER_COARSE_END},
                 {"FINE_BEGIN", FILTER_FINE_BEGIN},
                 {"FINE_END", FILTER_FINE_END},
                 {"GPU_WORK", FILTER_GPU_WORK}};
    unsigned *kinds = value;
    while (*text) {
        size_t count = strcspn(text, ","), i = 0, known = sizeof words / sizeof words[0];
        while (i < known &&
               (strlen(words[i].name) != count || strncasecmp(words[i].name, text, count) != 0))
            i++;
        if (i == known)
            break;
        *kinds |= words[i].kinds;
        text += count + (text[count] == ',');
    }
    if (*text || !*kinds)
        return filter_options_refuse(error,
                                     "is no kind: coarse, fine, gpu, COARSE_BEGIN, COARSE_END, "
                                     "FINE_BEGIN, FINE_END, GPU_WORK");
    return true;
}

#define KIND_CHOICES "coarse fine gpu COARSE_BEGIN COARSE_END FINE_BEGIN FINE_END GPU_WORK"

const struct option filter_option_table[] = {
    {"to", 0, "TIME", NULL, "the same as --until", offsetof(struct filter_options, to), store_time},
    /* From here on FILTER_OPTIONS_UNTIL. */
    {"from", 0, "TIME", NULL, "at or after TIME: +1.5s since the zero time, or ns since 1970",
     offsetof(struct filter_options, from), store_time},
    {"until", 0, "TIME", NULL, "before TIME; units ns (default), us, ms, s: +1.5ms",
     offsetof(struct filter_options, to), store_time},
    {"thread", 0, "ID|NAME", NULL, "of this thread; NAME may hold * and ?; may be repeated",
     offsetof(struct filter_options, threads), store_pattern},
    {"slot", 0, "N|NAME", NULL, "of calls of this work item; may be repeated",
     offsetof(struct filter_options, slots), store_slot},
    {"kind", 0, "KIND,...", KIND_CHOICES, "coarse, fine, gpu, or a record type as printed",
     offsetof(struct filter_options, kinds), store_kinds},
    {"min-duration", 0, "TIME", NULL, "spans at least so long, or of unknown length",
     offsetof(struct filter_options, duration), store_duration},
    {0},
};

const struct option filter_row_option_table[] = {
    {"from", 0, "TIME", NULL, "rows at or after TIME: +1.5s since the zero time, or ns since 1970",
     offsetof(struct filter_options, from), store_time},
    {"to", 0, "TIME", NULL, "rows before TIME; units ns (default), us, ms, s: +1.5ms",
     offsetof(struct filter_options, to), store_time},
    {"thread", 0, "ID|NAME", NULL, "rows of this thread; NAME may hold * and ?; may be repeated",
     offsetof(struct filter_options, threads), store_pattern},
    {"name", 0, "NAME", NULL, "rows with this name; it may hold * and ?; may be repeated",
     offsetof(struct filter_options, labels), store_pattern},
    {0},
};

static bool has_glob(const struct filter_patterns *patterns)
{
    for (unsigned i = 0; i < patterns->count; i++)
        if (!patterns->list[i].is_number)
            return true;
    return false;
}

bool filter_needs_names(const struct filter_options *options)
{
    return has_glob(&options->threads) || has_glob(&options->slots);
}

bool filter_is_set(const struct filter_options *options)
{
    return options->from.set || options->to.set || filter_is_choice(options);
}

bool filter_is_choice(const struct filter_options *options)
{
    return options->threads.count || options->slots.count || options->kinds ||
           options->duration.set;
}

int64_t filter_time_ns(const struct filter_time *time, int64_t zero_ns, int64_t otherwise_ns)
{
    int64_t sum;
    if (!time->set)
        return otherwise_ns;
    if (!time->relative)
        return time->ns;
    if (__builtin_add_overflow(zero_ns, time->ns, &sum))
        return time->ns < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

void filter_count_from(struct filter_options *options, int64_t zero_ns)
{
    options->from.ns = filter_time_ns(&options->from, zero_ns, 0);
    options->to.ns = filter_time_ns(&options->to, zero_ns, 0);
    options->from.relative = options->to.relative = false;
}

/* ---- what filters met, and why they left nothing --------------------------------------------- */

uint64_t filter_patterns_fit(const struct filter_patterns *patterns, uint64_t number,
                             const char *name, size_t name_bytes)
{
    uint64_t fit = 0;
    for (unsigned i = 0; i < patterns->count; i++) {
        const struct filter_pattern *pattern = &patterns->list[i];
        if (pattern->is_number ? pattern->number == number
                               : name && name_matches(pattern->text, name, name_bytes))
            fit |= UINT64_C(1) << i;
    }
    return fit;
}

void filter_found_time(struct filter_found *found, int64_t first_ns, int64_t last_ns,
                       int64_t zero_ns)
{
    if (!found->any)
        *found = (struct filter_found){.threads = found->threads,
                                       .slots = found->slots,
                                       .any = true,
                                       .first_ns = first_ns,
                                       .last_ns = last_ns,
                                       .zero_ns = zero_ns,
                                       .taken = found->taken};
    found->first_ns = first_ns < found->first_ns ? first_ns : found->first_ns;
    found->last_ns = last_ns > found->last_ns ? last_ns : found->last_ns;
    found->zero_ns = zero_ns < found->zero_ns ? zero_ns : found->zero_ns;
}

/* ---- reporting ------------------------------------------------------------------------- */

/* Lines of the report. numbers: those that do not fit are not there. */
static unsigned report_patterns(const struct filter_patterns *patterns, uint64_t fit, bool numbers,
                                const char *what, const char *place)
{
    unsigned reported = 0;
    for (unsigned i = 0; i < patterns->count; i++) {
        const struct filter_pattern *pattern = &patterns->list[i];
        if (fit >> i & 1 || (pattern->is_number && !numbers))
            continue;
        message("%s: no %s %s '%s'; 'rbwp stats FILE' lists them", place, what,
                pattern->is_number ? "has the number" : "is called", pattern->text);
        reported++;
    }
    return reported;
}

/* True, with the message given, when no file has anything in the window. */
static bool report_window(const struct filter_options *options, const char *place)
{
    const struct filter_found *found = options->found;
    int64_t from_ns = filter_time_ns(&options->from, found->zero_ns, INT64_MIN);
    int64_t to_ns = filter_time_ns(&options->to, found->zero_ns, INT64_MAX);
    if (options->from.set && options->to.set && from_ns >= to_ns) {
        message("%s: nothing lies between --from and its end, which is not after it", place);
        return true;
    }
    if (found->last_ns >= from_ns && found->first_ns < to_ns)
        return false;
    message("%s: nothing was recorded %s: records are from %s to %s", place,
            found->last_ns < from_ns ? "at --from or later" : "before the end that was given",
            SINCE_ZERO(found->first_ns, found->zero_ns),
            SINCE_ZERO(found->last_ns, found->zero_ns));
    return true;
}

void filter_tell_nothing(const struct filter_options *options, const char *place)
{
    const struct filter_found *found = options->found;
    place = place ? place : "in all files";
    if (!found->any) {
        message("%s: there is nothing to be filtered", place);
        return;
    }
    /* A slot without a name shows in calls alone: not in those of threads that were filtered out.
     */
    if (report_patterns(&options->threads, found->threads, true, "thread", place) +
        report_patterns(&options->slots, found->slots, !options->threads.count, "work item", place))
        return;
    if (!report_window(options, place))
        message("%s: nothing fits the filters", place);
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* Of the patterns that fit, *found gets the bits. */
static bool pattern_takes(const struct filter_patterns *patterns, uint64_t number,
                          const struct name *name, uint64_t *found)
{
    uint64_t fit =
        filter_patterns_fit(patterns, number, name ? name->text : NULL, name ? name->bytes : 0);
    *found |= fit;
    return fit != 0;
}

void filter_start(struct filter *filter, const struct filter_options *options,
                  const struct rbwp_reader *reader, struct names *names)
{
    *filter = (struct filter){.options = options};
    filter->found = options->found ? options->found : &filter->own_found;
    int64_t zero_ns = rbwp_reader_header(reader)->zero_time_ns;
    filter->from_ns = zero_ns; /* until resolved: what relative times add to */
    if (names)
        filter_use_names(filter, names);
}

void filter_use_names(struct filter *filter, struct names *names)
{
    filter->names = names;
    for (size_t i = 0; i < names->slots.count; i++) {
        struct name *name = &names->slots.names[i];
        name->selected =
            pattern_takes(&filter->options->slots, name->id, name, &filter->found->slots);
    }
}

void filter_stop(struct filter *filter)
{
    thread_map_free(&filter->threads);
    free(filter->open_calls);
}

void filter_resolve(struct filter *filter, int64_t first_ns)
{
    if (filter->resolved)
        return;
    int64_t zero_ns = filter->from_ns ? filter->from_ns : first_ns;
    filter->zero_ns = zero_ns;
    filter->from_ns = filter_time_ns(&filter->options->from, zero_ns, INT64_MIN);
    filter->to_ns = filter_time_ns(&filter->options->to, zero_ns, INT64_MAX);
    filter->resolved = true;
}

static bool takes_time(const struct filter *filter, int64_t first_ns, int64_t last_ns)
{
    bool ends = filter->options->to.set; /* and then nothing lies in a window that ends too early */
    return last_ns >= filter->from_ns &&
           (!ends || (first_ns < filter->to_ns && filter->from_ns < filter->to_ns));
}

bool filter_takes_thread(struct filter *filter, uint64_t thread_id, int64_t time_ns)
{
    const struct filter_patterns *threads = &filter->options->threads;
    if (threads->count == 0)
        return true;
    const struct name *name =
        filter->names ? names_find(&filter->names->threads, thread_id, time_ns) : NULL;
    return pattern_takes(threads, thread_id, name, &filter->found->threads);
}

static bool takes_slot(struct filter *filter, unsigned slot, int64_t time_ns)
{
    const struct name *name =
        filter->names ? names_find(&filter->names->slots, slot, time_ns) : NULL;
    return name ? name->selected
                : pattern_takes(&filter->options->slots, slot, NULL, &filter->found->slots);
}

enum open_call { CALL_NONE, CALL_OTHER, CALL_WANTED };

static uint8_t *find_open_call(struct filter *filter, uint64_t thread_id)
{
    uint32_t number = thread_map_place(&filter->threads, thread_id, &filter->open_calls,
                                       &filter->open_capacity, 1);
    if (number != THREAD_NONE)
        return &filter->open_calls[number];
    filter->spare_call = CALL_NONE;
    return &filter->spare_call;
}

static int64_t shifted(const struct filter *filter, int64_t time_ns)
{
    return (int64_t)((uint64_t)time_ns + (uint64_t)filter->shift_ns);
}

void filter_see_times(struct filter *filter, int64_t first_ns, int64_t last_ns)
{
    filter_found_time(filter->found, shifted(filter, first_ns), shifted(filter, last_ns),
                      shifted(filter, filter->zero_ns));
}

void filter_see_block(struct filter *filter, const struct rbwp_block *block)
{
    filter_see_times(filter, block->first_ns, block->last_ns);
    (void)filter_takes_thread(filter, block->header.thread_id, block->first_ns);
}

bool filter_block(struct filter *filter, const struct rbwp_block *block)
{
    if (!filter_is_set(filter->options))
        return true;
    if (block->header.records == 0)
        return false;
    filter_resolve(filter, block->first_ns);
    filter_see_block(filter, block);
    if (!filter_takes_thread(filter, block->header.thread_id, block->first_ns))
        return false;
    if (filter->options->slots.count == 0)
        return takes_time(filter, block->first_ns, block->last_ns);
    filter->open_call = find_open_call(filter, block->header.thread_id);
    return true;
}

/* Whether the record belongs to a wanted call; keeps track of the open one. */
static bool record_slot(struct filter *filter, const struct rbwp_record *record)
{
    if (record->kind == RBWP_GPU_WORK)
        return takes_slot(filter, record->slot, record->time_ns);
    if (record->kind == RBWP_COARSE_BEGIN)
        *filter->open_call =
            takes_slot(filter, record->slot, record->time_ns) ? CALL_WANTED : CALL_OTHER;
    bool wanted = *filter->open_call == CALL_WANTED;
    if (record->kind == RBWP_COARSE_END)
        *filter->open_call = CALL_NONE;
    return wanted;
}

static unsigned kind_bit(unsigned kind)
{
    switch (kind) {
    case RBWP_COARSE_BEGIN:
        return FILTER_COARSE_BEGIN;
    case RBWP_COARSE_END:
        return FILTER_COARSE_END;
    case RBWP_FINE_BEGIN:
        return FILTER_FINE_BEGIN;
    case RBWP_FINE_END:
        return FILTER_FINE_END;
    default:
        return FILTER_GPU_WORK;
    }
}

bool filter_record(struct filter *filter, const struct rbwp_record *record)
{
    const struct filter_options *options = filter->options;
    if (options->slots.count && !record_slot(filter, record))
        return false;
    if (options->kinds && !(options->kinds & kind_bit(record->kind)))
        return false;
    if ((options->from.set || options->to.set) &&
        !takes_time(filter, record->time_ns, record->time_ns))
        return false;
    filter->found->taken++;
    return true;
}

/* first_ns to last_ns: INT64_MAX without an end. */
static bool takes_interval(struct filter *filter, uint64_t thread_id, int64_t first_ns,
                           int64_t last_ns)
{
    bool taken =
        takes_time(filter, first_ns, last_ns) && filter_takes_thread(filter, thread_id, first_ns);
    filter->found->taken += taken;
    return taken;
}

static bool is_too_short(const struct filter_options *options, uint64_t duration_ns)
{
    return options->duration.set && duration_ns < (uint64_t)options->duration.ns;
}

bool filter_takes_pair(struct filter *filter, const struct record_pair *pair)
{
    static const unsigned kinds[] = {[PAIR_COARSE] = FILTER_COARSE_BEGIN | FILTER_COARSE_END,
                                     [PAIR_FINE] = FILTER_FINE_BEGIN | FILTER_FINE_END,
                                     [PAIR_GPU] = FILTER_GPU_WORK};
    const struct filter_options *options = filter->options;
    const int64_t begin_ns = pair->has_begin ? pair->begin_ns : pair->end_ns;
    const int64_t end_ns = pair->has_end ? pair->end_ns : INT64_MAX;
    const int64_t first_ns = begin_ns < end_ns ? begin_ns : end_ns;
    if (!filter_is_set(options))
        return true;
    if (options->slots.count &&
        (pair->slot < 0 || !takes_slot(filter, (unsigned)pair->slot, first_ns)))
        return false;
    if (options->kinds && !(options->kinds & kinds[pair->kind]))
        return false;
    if (pair->has_begin && pair->has_end && is_too_short(options, pair_duration_ns(pair)))
        return false;
    return takes_interval(filter, pair->thread_id, first_ns, begin_ns < end_ns ? end_ns : begin_ns);
}

bool filter_takes_row(struct filter *filter, uint64_t thread_id, int64_t start_ns, int64_t stop_ns)
{
    const struct filter_options *options = filter->options;
    return !filter_is_set(options) ||
           (!options->slots.count && !options->kinds &&
            !is_too_short(options, (uint64_t)stop_ns - (uint64_t)start_ns) &&
            takes_interval(filter, thread_id, start_ns, stop_ns));
}
