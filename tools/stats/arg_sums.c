/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number counts in the row of its power of two, and in one of its own as long as these are few;
 * at the end one or the other goes. Rows are found by what they stand for.
 */
#include "arg_sums.h"

#include "grow.h"
#include "hash.h"
#include "span_sums.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (!name || !grow_array32(&sums->list, &sums->room, sums->count + 1, sizeof *sums->list) ||
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
