/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool filter_options_refuse(struct option_error *error, const char *text)
{
    snprintf(error->text, sizeof error->text, "%s", text);
    return false;
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
    snprintf(error->text, sizeof error->text, "is in 1970: write +%.40s for a time since the start",
             text);
    return false;
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
