/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"
#include "sorted.h"
#include "span_sums.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages between processes -------------------------------------------------------------- */

static bool message_time_add(struct message_time *time, uint64_t ns)
{
    time->total_ns = stats_sum(time->total_ns, ns);
    time->max_ns = ns > time->max_ns ? ns : time->max_ns;
    return histogram_add(&time->times, ns);
}

/* NULL without memory. */
static struct message_sum *sum_of(struct message_sums *sums, uint32_t name)
{
    if (!GROW_ZEROED(sums->of_name, sums->name_room, name + 1))
        return NULL;
    uint32_t *place = &sums->of_name[name];
    if (*place)
        return &sums->list[*place - 1];
    if (!GROW_ZEROED(sums->list, sums->room, sums->count + 1))
        return NULL;
    sums->list[sums->count].name = name;
    *place = ++sums->count;
    return &sums->list[*place - 1];
}

bool message_sums_add(struct message_sums *sums, const struct trace_message *message)
{
    const struct trace_message_end *sent = &message->sent, *handled = &message->handled;
    struct message_sum *sum = sum_of(sums, handled->name);
    if (!sum)
        return false;
    sum->count++;
    sum->bytes += handled->bytes;
    sum->early += handled->arrived_ns < sent->start_ns;
    return message_time_add(&sum->network, stats_between_ns(sent->start_ns, handled->arrived_ns)) &&
           message_time_add(&sum->queue,
                            stats_between_ns(handled->arrived_ns, handled->start_ns)) &&
           message_time_add(&sum->handling, stats_between_ns(handled->start_ns, handled->stop_ns));
}

static int message_sums_compare(const void *left, const void *right)
{
    const struct message_sum *a = left, *b = right;
    SORTED_BY(b, a, count);
    return trace_text_compare(a->handler, b->handler);
}

bool message_sums_finish(struct message_sums *sums, const struct trace_text *names,
                         uint32_t name_count)
{
    for (uint32_t i = 0; i < sums->count; i++) {
        struct message_sum *sum = &sums->list[i];
        struct trace_text name =
            sum->name < name_count ? names[sum->name] : (struct trace_text){"", 0};
        char *copy = strndup(name.bytes ? name.text : "", name.bytes);
        if (!copy) {
            sums->count = i;
            return false;
        }
        sum->handler = (struct trace_text){copy, (uint32_t)strlen(copy)};
    }
    if (sums->count)
        qsort(sums->list, sums->count, sizeof *sums->list, message_sums_compare);
    return true;
}

void message_sums_free(struct message_sums *sums)
{
    for (uint32_t i = 0; i < sums->room; i++) {
        struct message_sum *sum = &sums->list[i];
        free((char *)(uintptr_t)sum->handler.text);
        histogram_free(&sum->network.times);
        histogram_free(&sum->queue.times);
        histogram_free(&sum->handling.times);
    }
    free(sums->list);
    free(sums->of_name);
    *sums = (struct message_sums){0};
}

uint64_t message_time_quantile_ns(const struct message_time *time, unsigned permille)
{
    uint64_t ns = histogram_quantile(&time->times, permille);
    return ns < time->max_ns ? ns : time->max_ns;
}

/* ---- sums of tracks -------------------------------------------------------------------------- */
bool slot_turns_add(struct slot_turns *turns, uint32_t number, const struct trace_span *span)
{
    if (!GROW_ZEROED(turns->rows, turns->row_room, number + 1))
        return false;
    struct slot_turns_row *row = &turns->rows[number];
    if (row->count == 0 && turns->used == SLOT_TURNS_ROWS)
        return true;
    if (!GROW_ZEROED(row->of_track, row->track_room, span->track + 1) ||
        !GROW_ARRAY(row->calls, row->room, row->count + 1))
        return false;
    if (row->count == SLOT_TURNS_CALLS || row->of_track[span->track] == SLOT_TURNS_OF_TRACK) {
        /* Once a call is not kept, those that begin later say nothing: others of their time are
         * missing. */
        row->until_ns =
            !row->cut || span->start_ns < row->until_ns ? span->start_ns : row->until_ns;
        row->cut = true;
        return true;
    }
    turns->used += row->count == 0;
    row->of_track[span->track]++;
    row->calls[row->count++] = (struct slot_turn){span->start_ns, span->stop_ns, span->track};
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct slot_turn *left = a, *right = b;
    SORTED_BY(left, right, start_ns);
    return left->track < right->track ? -1 : left->track > right->track;
}

static uint32_t workers_of(const struct slot_turns_row *row)
{
    uint32_t workers = 0;
    for (uint32_t i = 0; i < row->track_room; i++)
        workers += row->of_track[i] > 0;
    return workers;
}

struct slot_turns_result slot_turns_of(const struct slot_turns *turns, uint32_t number)
{
    struct slot_turns_result result = {0};
    if (number >= turns->row_room || turns->rows[number].count == 0)
        return result;
    struct slot_turns_row *row = &turns->rows[number];
    qsort(row->calls, row->count, sizeof *row->calls, by_start);
    struct slot_turn last = row->calls[0]; /* the one that ends last so far */
    result.workers = workers_of(row);
    for (uint32_t i = 0; i < row->count; i++) {
        const struct slot_turn *call = &row->calls[i];
        if (row->cut && call->start_ns >= row->until_ns)
            break;
        result.calls++;
        result.handovers += i > 0 && call->track != call[-1].track;
        result.overlaps |= call->track != last.track && call->start_ns < last.stop_ns;
        if (call->stop_ns >= last.stop_ns)
            last = *call;
    }
    return result;
}

void slot_turns_free(struct slot_turns *turns)
{
    for (uint32_t i = 0; i < turns->row_room; i++) {
        free(turns->rows[i].calls);
        free(turns->rows[i].of_track);
    }
    free(turns->rows);
    *turns = (struct slot_turns){0};
}

/* Starts may be early by their bound: busy_add takes intervals that ascend by little less. */
static void add_certain(struct launch_sums *sums, const struct trace_span *span,
                        const struct trace_detail *detail)
{
    int64_t from_ns, until_ns;
    uint64_t tail_ns = detail->stop_uncertain_ns, duration_ns = trace_duration_ns(span);
    sums->bounded++;
    if (detail->certain_ns == 0 || detail->certain_ns > duration_ns ||
        tail_ns > duration_ns - detail->certain_ns)
        return;
    int64_t stop_ns = span->stop_ns - (int64_t)tail_ns;
    (void)busy_add(&sums->certain, stop_ns - (int64_t)detail->certain_ns, stop_ns, &from_ns,
                   &until_ns);
}

bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    if (detail->flags & TRACE_HAS_BOUNDS)
        add_certain(sums, span, detail);
    if (!(detail->flags & TRACE_HAS_LAUNCH) || detail->flags & TRACE_INFERRED ||
        span->flags & TRACE_CUT)
        return true;
    if (span->start_ns < detail->launch_ns) {
        sums->early++;
        return true;
    }
    uint64_t latency_ns = (uint64_t)span->start_ns - (uint64_t)detail->launch_ns;
    sums->min_ns = sums->count++ && sums->min_ns < latency_ns ? sums->min_ns : latency_ns;
    sums->max_ns = latency_ns > sums->max_ns ? latency_ns : sums->max_ns;
    sums->total_ns = stats_sum(sums->total_ns, latency_ns);
    return histogram_add(&sums->latencies, latency_ns);
}

uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille)
{
    uint64_t value = histogram_quantile(&sums->latencies, permille);
    value = value < sums->min_ns ? sums->min_ns : value;
    return value > sums->max_ns ? sums->max_ns : value;
}

void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct trace_sample *sample = &samples[i];
        double value = trace_sample_value(sample);
        if (sums->count == 0) {
            sums->min = sums->max = value;
            sums->first_ns = sums->last_ns = sample->time_ns;
        }
        sums->area += sums->last * (double)((uint64_t)sample->time_ns - (uint64_t)sums->last_ns);
        sums->min = value < sums->min ? value : sums->min;
        sums->max = value > sums->max ? value : sums->max;
        sums->last = value;
        sums->last_ns = sample->time_ns;
        sums->count++;
    }
}

double counter_sums_mean(const struct counter_sums *sums)
{
    uint64_t length_ns = (uint64_t)sums->last_ns - (uint64_t)sums->first_ns;
    return length_ns ? sums->area / (double)length_ns : sums->last;
}

/* ---- spans by a value ------------------------------------------------------------------------ */
/*
 * A number counts in the row of its power of two, and in one of its own as long as these are few;
 * at the end one or the other goes. Rows are found by what they stand for.
 */

enum { EXACT, RANGE, REAL_RANGE, TEXT, OTHERS };
enum { ARG_SUMS_NAME_BYTES = 80 };

/* What a row stands for. */
struct value {
    uint8_t class;
    bool quoted;
    uint64_t bits; /* of a number: its own, or its range; of ranges below 0 with NEGATIVE */
    double least;
    struct trace_text text;
};
#define NEGATIVE (UINT64_C(1) << 32)

void arg_sums_name(struct arg_sums *sums, uint32_t number, struct trace_text name)
{
    if (trace_text_is(name, sums->key))
        sums->key_name = number + 1;
}

/* ---- rows ------------------------------------------------------------------------------- */

static uint64_t arg_sums_hash_of(const struct value *value)
{
    uint64_t hash = hash_pair(value->bits, value->class);
    return value->class == TEXT ? text_hash(hash, value->text.text, value->text.bytes) : hash;
}

static struct arg_sum *arg_sums_find(const struct arg_sums *sums, const struct value *value)
{
    uint64_t hash = arg_sums_hash_of(value);
    for (uint32_t step = 0, i; (i = index_map_next(&sums->places, hash, &step)) != INDEX_NONE;) {
        struct arg_sum *sum = &sums->list[i];
        if (sum->class == value->class && sum->bits == value->bits &&
            (value->class != TEXT || trace_text_same(sum->row.name, value->text)))
            return sum;
    }
    return NULL;
}

static struct arg_sum *arg_sums_add(struct arg_sums *sums, const struct value *value)
{
    char *name = malloc(value->text.bytes + (size_t)1);
    if (!name || !GROW_ARRAY(sums->list, sums->room, sums->count + 1) ||
        !index_map_add(&sums->places, arg_sums_hash_of(value), sums->count)) {
        free(name);
        return NULL;
    }
    memcpy(name, value->text.text, value->text.bytes);
    name[value->text.bytes] = '\0';
    struct arg_sum *sum = &sums->list[sums->count++];
    *sum = (struct arg_sum){
        .row = {.category = TRACE_CALL, .name = {name, value->text.bytes}, .min_ns = UINT64_MAX},
        .class = value->class,
        .quoted = value->quoted,
        .least = value->least,
        .bits = value->bits};
    sums->exact += value->class == EXACT;
    sums->texts += value->class == TEXT;
    return sum;
}

/* A call, whose value is counted. */
struct arg_call {
    const struct trace_span *span;
    struct trace_cpu cpu;
};

static void count_value(struct arg_sums *sums, const struct value *value,
                        const struct arg_call *call)
{
    if (sums->failed)
        return;
    struct arg_sum *sum = arg_sums_find(sums, value);
    if (!sum)
        sum = arg_sums_add(sums, value);
    sums->failed = !sum || !stats_row_count(&sum->row, call->span, &call->cpu);
}

/* ---- values -------------------------------------------------------------------------------- */

/* From one power of two to below the next. */
static void name_range(struct value *value, bool negative, uint64_t magnitude, char *name)
{
    unsigned power = magnitude ? 63u - (unsigned)__builtin_clzll(magnitude) : 0;
    uint64_t low = magnitude ? UINT64_C(1) << power : 0, high = magnitude ? low + (low - 1) : 0;
    const char *sign = negative ? "-" : "";
    value->class = RANGE;
    value->bits = (magnitude ? power + 1 : 0) | (negative ? NEGATIVE : 0);
    value->least = negative ? -(double)low : (double)low;
    if (low == high)
        snprintf(name, ARG_SUMS_NAME_BYTES, "%s%" PRIu64, sign, low);
    else
        snprintf(name, ARG_SUMS_NAME_BYTES, "%s%" PRIu64 " to %s%" PRIu64, sign, low, sign, high);
}

static void name_real_range(struct value *value, double number, char *name)
{
    int power;
    (void)frexp(number, &power); /* of the power of two above it */
    double low = number == 0 ? 0 : ldexp(copysign(1, number), power - 1);
    value->class = REAL_RANGE;
    memcpy(&value->bits, &low, sizeof low);
    value->least = low;
    if (number == 0)
        snprintf(name, ARG_SUMS_NAME_BYTES, "0");
    else
        snprintf(name, ARG_SUMS_NAME_BYTES, "%g to below %g", low, 2 * low);
}

static void count_number(struct arg_sums *sums, const struct trace_arg *arg,
                         const struct arg_text *made, const struct arg_call *call)
{
    char name[ARG_SUMS_NAME_BYTES];
    struct value value = {.class = EXACT, .bits = arg->value.u64, .text = made->text};
    bool real = arg->type == TRACE_ARG_F64, is_signed = arg->type == TRACE_ARG_I64;
    bool negative = is_signed && arg->value.i64 < 0;
    uint64_t magnitude = negative ? 0 - arg->value.u64 : arg->value.u64;
    value.least = real ? arg->value.f64 : negative ? -(double)magnitude : (double)magnitude;
    if (real || negative) /* other numbers have their bits, too */
        value.bits = text_hash(TEXT_HASH_FIRST + (real ? 1u : 2u), &value.bits, sizeof value.bits);
    if (!sums->ranges && sums->exact <= ARG_SUMS_EXACT)
        count_value(sums, &value, call);
    sums->ranges |= sums->exact > ARG_SUMS_EXACT;
    if (real)
        name_real_range(&value, arg->value.f64, name);
    else
        name_range(&value, negative, magnitude, name);
    value.text = trace_text(name);
    value.quoted = true;
    count_value(sums, &value, call);
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Behind the literal that begins there; the same place: none does. A quote that nothing closes, as
 * in a text that was cut, reaches to the end; two of them in one stand for themselves. */
static const char *behind_literal(const char *at, const char *end, bool in_word)
{
    if (*at == '\'' || *at == '"') {
        const char quote = *at++;
        for (; at < end; at++) {
            if (*at == '\\' && at + 1 < end)
                at++;
            else if (*at == quote && at + 1 < end && at[1] == quote)
                at++;
            else if (*at == quote)
                return at + 1;
        }
        return end;
    }
    if (in_word || *at < '0' || *at > '9')
        return at;
    while (at < end && (is_word(*at) || *at == '.'))
        at++;
    return at;
}

/* In place: what is made is never longer. */
static uint32_t fold_literals(char *text, uint32_t bytes)
{
    char *to = text;
    const char *end = text + bytes;
    for (const char *at = text; at < end;) {
        const char *behind = behind_literal(at, end, at > text && is_word(at[-1]));
        *to++ = behind > at ? '?' : *at;
        at = behind > at ? behind : at + 1;
    }
    return (uint32_t)(to - text);
}

static void count_text(struct arg_sums *sums, const struct arg_text *made,
                       const struct arg_call *call)
{
    struct value value = {.class = TEXT, .quoted = made->quoted, .text = made->text};
    char *folded = sums->fold_literals && value.text.bytes ? malloc(value.text.bytes) : NULL;
    sums->failed |= sums->fold_literals && value.text.bytes && !folded;
    if (folded) {
        memcpy(folded, value.text.text, value.text.bytes);
        value.text = (struct trace_text){folded, fold_literals(folded, value.text.bytes)};
    }
    if (sums->texts >= ARG_SUMS_TEXTS && !arg_sums_find(sums, &value))
        value = (struct value){.class = OTHERS, .quoted = true, .text = trace_text("(others)")};
    count_value(sums, &value, call);
    free(folded);
}

void arg_sums_span(struct arg_sums *sums, const struct trace_span *span,
                   const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count)
{
    const struct arg_call call = {span, trace_cpu_of(span, detail)};
    bool any = false;
    for (uint32_t i = 0; detail && sums->key_name && i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        struct arg_text made;
        if (arg->key != sums->key_name - 1 || !arg_text_make(&made, detail, arg, names, name_count))
            continue;
        any = true;
        if (made.quoted || arg->type == TRACE_ARG_BOOL)
            count_text(sums, &made, &call);
        else
            count_number(sums, arg, &made, &call);
    }
    sums->without += !any && span->category == TRACE_CALL;
}

/* ---- at the end ------------------------------------------------------------------------------ */

static void free_sum(struct arg_sum *sum)
{
    free((char *)(uintptr_t)sum->row.name.text);
    histogram_free(&sum->row.durations);
}

static bool arg_sums_is_number(const struct arg_sum *sum)
{
    return sum->class <= REAL_RANGE;
}

static int in_order(const void *left, const void *right)
{
    const struct arg_sum *a = left, *b = right;
    if (arg_sums_is_number(a) != arg_sums_is_number(b))
        return arg_sums_is_number(a) ? -1 : 1;
    if (arg_sums_is_number(a) && a->least != b->least)
        return a->least < b->least ? -1 : 1;
    if (!arg_sums_is_number(a) && a->row.total_ns != b->row.total_ns)
        return a->row.total_ns > b->row.total_ns ? -1 : 1;
    int order = strcmp(a->row.name.text, b->row.name.text);
    return order ? order : (a->bits > b->bits) - (a->bits < b->bits);
}

void arg_sums_finish(struct arg_sums *sums)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < sums->count; i++) {
        struct arg_sum *sum = &sums->list[i];
        bool goes =
            sums->ranges ? sum->class == EXACT : sum->class == RANGE || sum->class == REAL_RANGE;
        if (goes)
            free_sum(sum);
        else
            sums->list[left++] = *sum;
    }
    sums->count = left;
    if (left)
        qsort(sums->list, left, sizeof *sums->list, in_order);
    index_map_free(&sums->places);
}

void arg_sums_free(struct arg_sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++)
        free_sum(&sums->list[i]);
    free(sums->list);
    index_map_free(&sums->places);
    *sums = (struct arg_sums){0};
}
