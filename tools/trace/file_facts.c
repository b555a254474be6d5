/* SPDX-License-Identifier: Apache-2.0 */
#include "file_facts.h"
#include "losses.h"
#include "span_detail.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a process's life ------------------------------------------------------------------------ */

static const char *const name_of[] = {"begins", "ends", "died", "runs still"};

static uint32_t life_marks_number_of(struct trace *trace, const char *text)
{
    return trace_add_name(trace, text, (uint32_t)strlen(text));
}

static void life_marks_report(struct trace *trace, struct detail_maker *maker, const char *key,
                              uint64_t os_id)
{
    if (os_id)
        span_detail_arg(maker, life_marks_number_of(trace, key), TRACE_ARG_U64, os_id);
}

bool life_marks_add(struct trace *trace, const struct life *life)
{
    struct trace_span marks[2];
    struct trace_details details = {0};
    struct detail_maker maker = {0};
    bool failed = false;
    size_t count = 0;
    if (!life->has_start && !life->has_last)
        return true;
    const struct trace_track track = {
        .process = life->process, .kind = TRACE_LIFE, .name = trace_text("process")};
    struct trace_span mark = {
        .track = trace_add_track(trace, track), .category = TRACE_RANGE, .flags = TRACE_INSTANT};
    span_detail_start(&maker);
    life_marks_report(trace, &maker, "process", life->os_id);
    life_marks_report(trace, &maker, "parent", life->parent);
    mark.detail = span_details_add(&details, span_detail_finish(&maker), &failed);
    mark.id = trace_new_ids(trace, 2);
    if (life->has_start) {
        mark.start_ns = mark.stop_ns = life->start_ns;
        mark.name = life_marks_number_of(trace, name_of[TRACE_LIFE_BEGINS]);
        marks[count++] = mark;
    }
    if (life->has_last) {
        mark.id++;
        mark.item = life->end;
        mark.start_ns = mark.stop_ns =
            life->last_ns < life->start_ns ? life->start_ns : life->last_ns;
        mark.name = life_marks_number_of(trace, name_of[life->end]);
        marks[count++] = mark;
    }
    trace_add_spans(trace, marks, count, &details);
    failed |= maker.failed;
    span_details_free(&details);
    span_detail_free(&maker);
    return !failed;
}

/* ---- facts of a file ------------------------------------------------------------------------- */

struct target {
    struct trace *trace;
    uint32_t process;
};

/* group: "job"; words may have blanks, keys have none. */
static void add_text(const struct target *target, const char *group, const char *word,
                     struct trace_text value)
{
    char key[96];
    int used = snprintf(key, sizeof key, "process.%" PRIu32 ".%s.%s", target->process, group, word);
    for (int i = 0; i < used && i < (int)sizeof key; i++)
        key[i] = key[i] == ' ' ? '_' : key[i];
    trace_add_own_fact(target->trace, key, value);
}

static void file_facts_add_number(const struct target *target, const char *group, const char *word,
                                  int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    add_text(target, group, word, trace_text(text));
}

static void add_kept(const struct target *target, const struct rbwp_kept *kept)
{
    const struct {
        const char *word;
        uint64_t value;
    } numbers[] = {{"from_ns", (uint64_t)kept->from_ns},
                   {"dropped_records", kept->dropped_records},
                   {"dropped_rows", kept->dropped_rows},
                   {"part", kept->part}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value)
            file_facts_add_number(target, "kept", numbers[i].word, (int64_t)numbers[i].value);
    add_text(target, "kept", "why", trace_text(rbwp_kept_why_name(kept->why)));
    if (kept->text_bytes)
        add_text(target, "kept", "text", (struct trace_text){kept->text, kept->text_bytes});
}

void file_facts_add(struct trace *trace, uint32_t process, const struct rbwp_trailer *trailer)
{
    const struct target target = {trace, process};
    char cause[32];
    if (trailer->kept_count)
        add_kept(&target, trailer->kept);
    for (uint32_t i = 0; i < trailer->left_count; i++)
        file_facts_add_number(&target, "left_out", rbwp_left_kind_name(trailer->left[i].kind),
                              (int64_t)trailer->left[i].entries);
    for (uint32_t i = 0; i < trailer->job_fact_count; i++) {
        const struct rbwp_job_fact *fact = &trailer->job_facts[i];
        const char *word = rbwp_job_what_name(fact->what);
        if (fact->text_bytes)
            add_text(&target, "job", word, (struct trace_text){fact->text, fact->text_bytes});
        else
            file_facts_add_number(&target, "job", word, fact->number);
    }
    for (uint32_t i = 0; i < trailer->loss_count; i++) {
        if (losses_are_known(trailer->losses[i].cause))
            continue;
        snprintf(cause, sizeof cause, "cause_%" PRIu32, trailer->losses[i].cause);
        file_facts_add_number(&target, "lost", cause, (int64_t)trailer->losses[i].count);
    }
}
