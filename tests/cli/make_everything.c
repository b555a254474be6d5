/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_everything FORMAT FILE: a trace that has everything the model knows, through one exporter.
 *
 * A thread with three calls, a GPU with a stream, a counter of integers and one of real numbers
 * below the GPU, arguments of every type, links of several kinds: of GPU work that begins before
 * its launch, at the same time, and after it, and between two threads, recorded after both.
 */
#include "export.h"
#include "formats.h"
#include "message.h"
#include "span_detail.h"
#include "trace_span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 INT64_C(1700000000000000000)

static const struct exporter *const known[] = {EXPORT_ELEMENTS};

struct model {
    struct trace *trace;
    struct trace_details details;
    struct detail_maker maker;
    uint32_t thread, other, gpu, stream, depth, load;
};

static uint32_t name(struct model *model, const char *text)
{
    return trace_add_name(model->trace, text, (uint32_t)strlen(text));
}

static struct trace_span span(struct model *model, uint32_t track, const char *text,
                              enum trace_category category, int64_t start, int64_t stop)
{
    return (struct trace_span){.start_ns = T0 + start,
                               .stop_ns = T0 + stop,
                               .id = trace_new_ids(model->trace, 1),
                               .track = track,
                               .name = name(model, text),
                               .item = category == TRACE_OTHER ? 0 : 3,
                               .category = (uint8_t)category};
}

static void add_detail(struct model *model, struct trace_span *made)
{
    bool failed = false;
    made->detail = span_details_add(&model->details, span_detail_finish(&model->maker), &failed);
    if (failed)
        abort();
}

static uint64_t bits(double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static void add_args(struct model *model)
{
    struct detail_maker *maker = &model->maker;
    span_detail_arg(maker, name(model, "bytes"), TRACE_ARG_U64, UINT64_MAX);
    span_detail_arg(maker, name(model, "delta"), TRACE_ARG_I64, (uint64_t)-5);
    span_detail_arg(maker, name(model, "ratio"), TRACE_ARG_F64, bits(0.1));
    span_detail_arg(maker, name(model, "whole"), TRACE_ARG_F64, bits(2));
    span_detail_arg(maker, name(model, "bad"), TRACE_ARG_F64, bits(__builtin_nan("")));
    span_detail_arg(maker, name(model, "last"), TRACE_ARG_BOOL, 1);
    span_detail_arg(maker, name(model, "due"), TRACE_ARG_TIME, (uint64_t)(T0 + 77));
    span_detail_arg(maker, name(model, "took"), TRACE_ARG_DURATION, 12);
    span_detail_arg(maker, name(model, "kernel"), TRACE_ARG_NAME, name(model, "saxpy"));
    span_detail_text(maker, name(model, "note"), TRACE_ARG_TEXT, trace_text("a\"b\xff"));
    span_detail_text(maker, name(model, "shape"), TRACE_ARG_JSON, trace_text("[1,{\"x\":2}]"));
}

static void add_tracks(struct model *model)
{
    uint32_t process = trace_add_process(
        model->trace,
        (struct trace_process){
            .node = 2, .os_id = 4242, .name = trace_text("node 2"), .host = trace_text("knot")});
    struct trace_track track = {.process = process,
                                .kind = TRACE_THREAD,
                                .id = 0xabc,
                                .os_id = 900,
                                .name = trace_text("worker")};
    model->thread = trace_add_track(model->trace, track);
    track.id = 0xdef;
    track.os_id = 901;
    track.name = trace_text("other");
    model->other = trace_add_track(model->trace, track);
    model->gpu =
        trace_add_track(model->trace, (struct trace_track){.process = process,
                                                           .kind = TRACE_GPU,
                                                           .id = UINT64_C(0x1d00020000000001),
                                                           .name = trace_text("GPU 2.1")});
    model->stream = trace_add_track_below(
        model->trace, model->gpu,
        (struct trace_track){
            .process = process, .kind = TRACE_STREAM, .id = 7, .name = trace_text("stream 7")});
    model->depth = trace_add_track(
        model->trace,
        (struct trace_track){
            .process = process, .kind = TRACE_COUNTER, .id = 1, .name = trace_text("queue depth")});
    model->load = trace_add_track_below(model->trace, model->gpu,
                                        (struct trace_track){.process = process,
                                                             .kind = TRACE_COUNTER,
                                                             .id = 2,
                                                             .name = trace_text("power"),
                                                             .unit = trace_text("W")});
}

static void add_thread(struct model *model, struct trace_span calls[3])
{
    calls[0] = span(model, model->thread, "launch", TRACE_CALL, 1000, 1100);
    calls[1] = span(model, model->thread, "cpu work", TRACE_OTHER, 1200, 1300);
    calls[2] = span(model, model->thread, "mark", TRACE_RANGE, 1250, 1250);
    calls[2].flags = TRACE_INSTANT;
    span_detail_start(&model->maker);
    model->maker.head.category = trace_add_label(model->trace, "cpu_op", 6);
    model->maker.head.correlation = 99;
    add_args(model);
    add_detail(model, &calls[1]);
    trace_add_spans(model->trace, calls, 3, &model->details);
    struct trace_span answer = span(model, model->other, "answer", TRACE_TASK, 1500, 1600);
    trace_add_spans(model->trace, &answer, 1, NULL);
    trace_add_link(model->trace,
                   (struct trace_link){.kind = TRACE_MESSAGE,
                                       .label = trace_add_label(model->trace, "ping", 4),
                                       .from_track = model->thread,
                                       .to_track = model->other,
                                       .from_ns = T0 + 1210,
                                       .to_ns = T0 + 1500,
                                       .from_span = calls[1].id,
                                       .to_span = answer.id});
}

/* Work that begins before its launch at 1050, with it, and after it; two of them have two arrows.
 */
static void add_gpu(struct model *model, uint64_t launch)
{
    static const int64_t places[][2] = {{1040, 1060}, {1061, 1070}, {1080, 1090}, {1095, 1095}};
    static const int64_t launches[] = {1050, 1061, 1050, 1050};
    struct trace_span work[4];
    span_details_clear(&model->details);
    for (int i = 0; i < 4; i++) {
        work[i] = span(model, model->stream, "saxpy", TRACE_GPU_WORK, places[i][0], places[i][1]);
        span_detail_start(&model->maker);
        struct trace_detail *head = &model->maker.head;
        head->flags = TRACE_HAS_LAUNCH | TRACE_HAS_BOUNDS | (i == 3 ? TRACE_INFERRED : 0);
        head->launch_ns = T0 + launches[i];
        head->launch_span = launch;
        head->launch_track = model->thread;
        head->thread_id = 0xabc;
        head->start_uncertain_ns = 3;
        head->stop_uncertain_ns = 4;
        head->certain_ns = 5;
        head->correlation = 100 + (uint64_t)i;
        add_detail(model, &work[i]);
        for (int kind = 0; kind <= (i == 2); kind++)
            trace_add_link(model->trace,
                           (struct trace_link){.kind = kind ? TRACE_DEPENDENCY : TRACE_LAUNCH,
                                               .from_track = model->thread,
                                               .to_track = model->stream,
                                               .from_ns = T0 + launches[i],
                                               .to_ns = work[i].start_ns,
                                               .from_span = launch,
                                               .to_span = work[i].id});
    }
    trace_add_spans(model->trace, work, 4, &model->details);
}

static void add_counters(struct model *model)
{
    struct trace_sample depth[3] = {{.time_ns = T0 + 1000, .whole = true},
                                    {.time_ns = T0 + 1100, .whole = true},
                                    {.time_ns = T0 + 1200, .whole = true}};
    depth[1].value.i64 = INT64_C(9007199254740993);
    depth[2].value.i64 = -4;
    struct trace_sample power[2] = {{.time_ns = T0 + 1010}, {.time_ns = T0 + 1020}};
    power[0].value.f64 = 70.5;
    power[1].value.f64 = 0.1;
    trace_add_samples(model->trace, model->depth, depth, 3);
    trace_add_samples(model->trace, model->load, power, 2);
}

static void add_all(struct trace *trace)
{
    struct model model = {.trace = trace};
    struct trace_span calls[3];
    trace_add_fact(trace, "origin_ns", "%lld", (long long)trace_origin_ns(trace));
    add_tracks(&model);
    add_thread(&model, calls);
    add_gpu(&model, calls[0].id);
    add_counters(&model);
    trace_add_loss(trace, (struct trace_loss){.track = model.thread,
                                              .cause = trace_text("a full buffer"),
                                              .count = 12,
                                              .first_ns = T0 + 1150,
                                              .last_ns = T0 + 1160});
    trace_finish(trace);
    span_detail_free(&model.maker);
    span_details_free(&model.details);
}

int main(int count, char **words)
{
    const struct exporter *exporter = NULL;
    for (size_t i = 0; count == 3 && i < sizeof known / sizeof known[0]; i++)
        exporter = strcmp(known[i]->name, words[1]) == 0 ? known[i] : exporter;
    if (!exporter) {
        message("make_everything FORMAT FILE");
        return EXIT_USAGE;
    }
    struct export_options asked = {.reading = {.output = {.path = words[2], .force = true}}};
    struct trace_pass pass = {.maker = &exporter->maker,
                              .options = &asked.reading,
                              .asked = &asked,
                              .nodes = 3,
                              .threads = job_threads_new(1)};
    if (!exporter->maker.own_output &&
        !out_open(&pass.out, &asked.reading.output, (struct operands){0}))
        return EXIT_BAD_DATA;
    if (!exporter->maker.begin(&pass))
        return EXIT_BAD_DATA;
    pass.trace = trace_new(&pass.sink, T0);
    add_all(pass.trace);
    enum exit_code code = exporter->maker.end(&pass);
    if (!exporter->maker.own_output)
        code = exit_worse(code, out_close(&pass.out));
    trace_free(pass.trace);
    job_threads_free(pass.threads);
    return (int)code;
}
