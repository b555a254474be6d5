/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow events of Chrome JSON become links from the span around the one end to the span around, or
 * next to, the other, wherever in the text they stand; ends that lead nowhere make none. A GPU
 * task of a Legion Prof log links its two halves; alignment is stored as facts.
 */
#include "align.h"
#include "importers.h"
#include "trace_span.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_MAX = 32 };

struct kept {
    struct trace *trace;
    struct trace_span spans[KEPT_MAX];
    struct trace_link links[KEPT_MAX];
    size_t span_count, link_count;
    char facts[2048];
};

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct kept *kept = context;
    (void)details;
    for (size_t i = 0; i < count; i++) {
        assert_true(kept->span_count < KEPT_MAX);
        kept->spans[kept->span_count++] = spans[i];
    }
}

static void take_link(void *context, const struct trace_link *link)
{
    struct kept *kept = context;
    assert_true(kept->link_count < KEPT_MAX);
    kept->links[kept->link_count++] = *link;
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct kept *kept = context;
    size_t used = strlen(kept->facts);
    snprintf(kept->facts + used, sizeof kept->facts - used, "%s=%.*s\n", key, (int)value.bytes,
             value.text);
}

static void open_text(struct trace_source *source, const char *text, size_t bytes, int *fd_out)
{
    static char path[32]; /* the source keeps it as its name */
    *fd_out = memfd_create("input", 0);
    assert_true(*fd_out >= 0);
    assert_int_equal(write(*fd_out, text, bytes), (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd_out);
#define ADD(name) trace_formats_add(&trace_format_##name);
    IMPORTERS(ADD)
    assert_true(trace_source_open(source, path, false));
}

static void read_text(struct kept *kept, const char *text)
{
    int fd;
    struct trace_source source;
    struct trace_read_options options = {0};
    struct trace_sink sink = {
        .context = kept, .spans = take_spans, .link = take_link, .fact = take_fact};
    *kept = (struct kept){0};
    open_text(&source, text, strlen(text), &fd);
    kept->trace = trace_new(&sink, 0);
    assert_int_equal(trace_source_read(&source, kept->trace, &options), EXIT_GOOD);
    assert_int_equal(trace_source_close(&source), EXIT_GOOD);
    trace_finish(kept->trace);
    close(fd);
}

static const struct trace_span *span_named(const struct kept *kept, const char *name)
{
    for (size_t i = 0; i < kept->span_count; i++) {
        struct trace_text text = trace_name_of(kept->trace, kept->spans[i].name);
        if (text.bytes == strlen(name) && memcmp(text.text, name, text.bytes) == 0)
            return &kept->spans[i];
    }
    fail_msg("no span %s", name);
    return NULL;
}

static void expect_link(const struct kept *kept, const char *from, int64_t from_ns, const char *to)
{
    const struct trace_span *start = span_named(kept, from), *end = span_named(kept, to);
    for (size_t i = 0; i < kept->link_count; i++) {
        const struct trace_link *link = &kept->links[i];
        if (link->from_ns != from_ns || link->to_span != end->id)
            continue;
        assert_int_equal(link->from_track, start->track);
        assert_int_equal(link->to_track, end->track);
        assert_int_equal(link->to_ns, end->start_ns);
        return;
    }
    fail_msg("no link from %s to %s", from, to);
}

#define X(name, ts, dur, tid)                                                                      \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"ts\":" ts ",\"dur\":" dur ",\"pid\":1,\"tid\":" tid "}"
#define FLOW(ph, id, ts, tid)                                                                      \
    "{\"ph\":\"" ph ",\"cat\":\"c\",\"name\":\"n\",\"id\":" id ",\"ts\":" ts                       \
    ",\"pid\":1,\"tid\":" tid "}"

static void flows_that_lead_somewhere(void **state)
{
    (void)state;
    struct kept kept;
    read_text(&kept, "[" FLOW("f\",\"bp\":\"e\"", "1", "12", "2") ","        //
              FLOW("s\"", "1", "2", "1") ","                                 //
              X("outer", "0", "10", "1") "," X("launch", "1", "3", "1") ","  //
              X("kernel", "11", "5", "2") "," X("later", "30", "5", "2") "," //
              FLOW("s\"", "2", "6", "1") "," FLOW("f\"", "2", "20", "2") "]");
    assert_int_equal(kept.span_count, 4);
    assert_int_equal(kept.link_count, 2);
    expect_link(&kept, "launch", 2000, "kernel"); /* the innermost one around 2 is launch */
    expect_link(&kept, "outer", 6000, "later");   /* without bp it binds to the next one */
    trace_free(kept.trace);
}

static void steps_link_in_a_row(void **state)
{
    (void)state;
    struct kept kept;
    read_text(&kept,
              "[" X("a", "0", "4", "1") "," X("b", "10", "4", "2") "," X("c", "20", "4", "3") //
              "," FLOW("s\"", "\"x\"", "1", "1") "," FLOW("t\"", "\"x\"", "11", "2") ","      //
              FLOW("f\",\"bp\":\"e\"", "\"x\"", "21", "3") "]");
    assert_int_equal(kept.link_count, 2);
    expect_link(&kept, "a", 1000, "b");
    expect_link(&kept, "b", 11000, "c");
    trace_free(kept.trace);
}

/* The same number as a string is another id; a name or category makes another flow; an end outside
 * of all spans, and one of two ends, lead nowhere. */
static void ends_that_lead_nowhere(void **state)
{
    (void)state;
    struct kept kept;
    read_text(&kept, "[" X("a", "0", "4", "1") "," X("b", "10", "4", "2") ","                 //
              FLOW("s\"", "1", "1", "1") "," FLOW("f\",\"bp\":\"e\"", "\"1\"", "11", "2") "," //
              FLOW("s\"", "2", "5", "1") "," FLOW("f\",\"bp\":\"e\"", "2", "11", "2") ","     //
              FLOW("f\"", "3", "15", "2") "]");
    assert_int_equal(kept.span_count, 2);
    assert_int_equal(kept.link_count, 0);
    trace_free(kept.trace);
}

static void alignment_is_stored(void **state)
{
    (void)state;
    struct kept kept = {0};
    bool usage;
    struct trace_sink sink = {.context = &kept, .fact = take_fact};
    struct trace_source sources[2] = {
        {.name = "a", .format = &trace_format_chrome, .facts = {.has_zero = true, .first_ns = 5}},
        {.name = "b", .format = &trace_format_chrome}};
    struct align_options options = {.shifts = {"b=-7us"}, .shift_count = 1};
    struct alignment alignments[2];
    assert_true(align_sources(sources, 2, &options, alignments, &usage));
    kept.trace = trace_new(&sink, 0);
    align_add_facts(kept.trace, sources, 2, alignments);
    trace_free(kept.trace);
    assert_string_equal(kept.facts, "alignment.0.file=a\nalignment.0.method=being the reference\n"
                                    "alignment.0.shift_ns=0\nalignment.0.error_ns=0\n"
                                    "alignment.1.file=b\nalignment.1.method=--shift\n"
                                    "alignment.1.shift_ns=-6995\nalignment.1.error_ns=not known\n");
}

static void gpu_task_links_its_halves(void **state)
{
    (void)state;
    static const char log[] =
        "FileType: BinaryLegionProf v: 1.0\n"
        "GPUTaskInfo {id:9, op_id:x:1, task_id:x:1, variant_id:x:1, proc_id:x:1, start:x:1, "
        "stop:x:1, gpu_start:x:1, gpu_stop:x:1}\n\n"
        "\x09\0\0\0\x01\x02\x03\x04\x0a\x14\x1e\x28";
    int fd;
    struct kept kept = {0};
    struct trace_source source;
    struct trace_read_options options = {.axis = {.shift_ns = 100}};
    struct trace_sink sink = {.context = &kept, .spans = take_spans, .link = take_link};
    open_text(&source, log, sizeof log - 1, &fd);
    kept.trace = trace_new(&sink, 0);
    assert_int_equal(trace_source_read(&source, kept.trace, &options), EXIT_GOOD);
    assert_int_equal(kept.span_count, 2);
    assert_int_equal(kept.link_count, 1);
    assert_int_equal(kept.links[0].from_ns, 110);
    assert_int_equal(kept.links[0].to_ns, 130);
    const struct trace_span *device = &kept.spans[1];
    assert_int_equal(device->category, TRACE_GPU_WORK);
    assert_int_equal(kept.links[0].to_span, device->id);
    assert_int_equal(kept.links[0].to_track, device->track);
    assert_int_equal(kept.links[0].from_track, kept.spans[0].track);
    assert_int_equal(device->stop_ns, 140);
    trace_source_close(&source);
    trace_free(kept.trace);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_that_lead_somewhere), cmocka_unit_test(steps_link_in_a_row),
        cmocka_unit_test(ends_that_lead_nowhere),    cmocka_unit_test(alignment_is_stored),
        cmocka_unit_test(gpu_task_links_its_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
