/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_found.h"
#include "message.h"
#include "name_pattern.h"
#include "quantity.h"

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
