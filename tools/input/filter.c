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

/* ---- telling --------------------------------------------------------------------------- */

/* Lines told. numbers: those that do not fit are not there. */
static unsigned tell_patterns(const struct filter_patterns *patterns, uint64_t fit, bool numbers,
                              const char *what, const char *place)
{
    unsigned told = 0;
    for (unsigned i = 0; i < patterns->count; i++) {
        const struct filter_pattern *pattern = &patterns->list[i];
        if (fit >> i & 1 || (pattern->is_number && !numbers))
            continue;
        message("%s: no %s %s '%s'; 'rbwp stats FILE' lists them", place, what,
                pattern->is_number ? "has the number" : "is called", pattern->text);
        told++;
    }
    return told;
}

/* True when no file has anything in the window; then that was told. */
static bool tell_window(const struct filter_options *options, const char *place)
{
    const struct filter_found *found = options->found;
    char first[QUANTITY_BYTES], last[QUANTITY_BYTES];
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
            quantity_time(first, found->first_ns, found->zero_ns),
            quantity_time(last, found->last_ns, found->zero_ns));
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
    /* A slot without a name shows in calls alone: not in those of threads that were left out. */
    if (tell_patterns(&options->threads, found->threads, true, "thread", place) +
        tell_patterns(&options->slots, found->slots, !options->threads.count, "work item", place))
        return;
    if (!tell_window(options, place))
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

bool filter_takes_span(struct filter *filter, const struct filter_span *span)
{
    const struct filter_options *options = filter->options;
    if (!filter_is_set(options))
        return true;
    if (options->slots.count &&
        (span->slot < 0 || !takes_slot(filter, (unsigned)span->slot, span->first_ns)))
        return false;
    if (options->kinds && !(options->kinds & span->kinds))
        return false;
    if (options->duration.set && span->has_duration &&
        span->duration_ns < (uint64_t)options->duration.ns)
        return false;
    bool taken = takes_time(filter, span->first_ns, span->last_ns) &&
                 filter_takes_thread(filter, span->thread_id, span->first_ns);
    filter->found->taken += taken;
    return taken;
}

struct filter_span filter_span_of(const struct span *span)
{
    static const unsigned kinds[] = {[SPAN_COARSE] = FILTER_COARSE_BEGIN | FILTER_COARSE_END,
                                     [SPAN_FINE] = FILTER_FINE_BEGIN | FILTER_FINE_END,
                                     [SPAN_GPU] = FILTER_GPU_WORK};
    int64_t first_ns = span->has_begin ? span->begin_ns : span->end_ns;
    int64_t last_ns = span->has_end ? span->end_ns : INT64_MAX;
    return (struct filter_span){.thread_id = span->thread_id,
                                .slot = span->slot,
                                .kinds = kinds[span->kind],
                                .first_ns = first_ns < last_ns ? first_ns : last_ns,
                                .last_ns = first_ns < last_ns ? last_ns : first_ns,
                                .has_duration = span->has_begin && span->has_end,
                                .duration_ns = span_duration_ns(span)};
}
