/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What events of Chrome JSON say comes into the trace as they say it: categories, typed arguments
 * (also those of the end), correlation numbers, counters in the order of time, flows with their
 * names and steps; a PyTorch kernel without a flow is linked by correlation, and a user's range on
 * a GPU is no work.
 */
#include "trace_seen.h"

#include <sys/mman.h>
#include <unistd.h>

static void check(const char *events, const char *expected)
{
    static struct seen seen;
    int fd = memfd_create("input", 0);
    assert_int_equal(write(fd, events, strlen(events)), (ssize_t)strlen(events));
    assert_int_equal(see_file(&seen, fd, false, &(struct trace_read_options){0}), EXIT_GOOD);
    close(fd);
    assert_string_equal(seen.text, expected);
}

#define AT(ts) "\"pid\":1,\"tid\":2,\"ts\":" ts

static void arguments_keep_their_types(void **state)
{
    (void)state;
    check("[{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"cpu_op\",\"dur\":1," AT(
              "1") ",\"args\":{"
                   "\"u\":18446744073709551615,\"i\":-7,\"f\":2.5,\"e\":1e3,\"t\":true,\"n\":null,"
                   "\"s\":\"x\\\"y\",\"dims\":[[2,3],[]],\"o\":{\"k\":\"v\\n\xff\",\"m\":{}},"
                   "\"odd\":[NaN,01,-2.5e+3,-]}},"
                   "{\"ph\":\"i\",\"name\":\"mark\"," AT(
                       "2") ",\"args\":{\"s\":\"\"}},"
                            "{\"ph\":\"X\",\"name\":\"plain\",\"dur\":1," AT("3") ",\"args\":{}}]",
          "a other/cpu_op u:u64=-1 i:i64=-7 f:f64=2.5 e:f64=1000 t:bool=1 s:text=x\"y "
          "dims:json=[[2,3],[]] o:json={\"k\":\"v\\u000a\\ufffd\",\"m\":{}} "
          "odd:json=[\"NaN\",\"01\",-2.5e+3,\"-\"]\n"
          "mark other s:text=\n"
          "plain other\n");
}

static void ends_have_arguments(void **state)
{
    (void)state;
    check(
        "[{\"ph\":\"B\",\"name\":\"a\",\"cat\":\"c\"," AT(
            "1") ",\"args\":{\"x\":1}},"
                 "{\"ph\":\"E\"," AT(
                     "2") ",\"args\":{\"y\":\"2\"}},"
                          "{\"ph\":\"b\",\"name\":\"b\",\"cat\":\"c\",\"id\":1," AT(
                              "3") "},"
                                   "{\"ph\":\"e\",\"name\":\"b\",\"cat\":\"c\",\"id\":1," AT(
                                       "4") ",\"args\":{\"z\":3}},"
                                            "{\"ph\":\"B\",\"name\":\"open\"," AT(
                                                "5") ",\"args\":{\"w\":4}},"
                                                     "{\"ph\":\"X\",\"name\":\"in\",\"dur\":1," AT(
                                                         "6") "}]",
        "a other/c x:u64=1 y:text=2\n"
        "open other w:u64=4\n"
        "in other\n"
        "b other/c z:u64=3\n");
}

static void counters_are_series(void **state)
{
    (void)state;
    check(
        "[{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":3,\"args\":{\"used\":5,\"free\":2.5}},"
        "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":1,\"args\":{\"used\":-9223372036854775808,"
        "\"free\":1}},"
        "{\"ph\":\"C\",\"name\":\"depth\",\"pid\":1,\"ts\":2,\"args\":{\"value\":7}}]",
        "mem used 1000:-9223372036854775808 3000:5\n"
        "mem free 1000:1 3000:2.50\n"
        "depth 2000:7\n");
}

#define SPAN(name, ts) "{\"ph\":\"X\",\"name\":\"" name "\",\"dur\":9," AT(ts) "},"
#define FLOW(ph, name, ts)                                                                         \
    "{\"ph\":\"" ph ",\"id\":1,\"name\":\"" name "\",\"cat\":\"" name "\"," AT(ts) "}"

static void flows_keep_their_names(void **state)
{
    (void)state;
    check("[" SPAN("a", "1") SPAN("b", "20") SPAN("c", "40")
              FLOW("f\",\"bp\":\"e\"", "rpc", "41") //
          "," FLOW("s\"", "rpc", "2") "," FLOW("t\"", "rpc", "20") "]",
          "a other\nb other\nc other\n"
          "flow 2000-20000 rpc\n"
          "flow 20000-40000 rpc\n");
    check("[" SPAN("a", "1") SPAN("c", "40") FLOW("s\"", "ac2g", "3") "," //
          FLOW("f\",\"bp\":\"e\"", "ac2g", "40") "]",
          "a other\nc other\n"
          "launch 3000-40000 ac2g\n");
}

static void kernels_are_linked_by_correlation(void **state)
{
    (void)state;
    check("{\"deviceProperties\":[],\"traceEvents\":["
          "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"dur\":1," AT(
              "1") ",\"args\":{\"correlation\":5}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"dur\":1,\"pid\":0,\"tid\":7,"
                   "\"ts\":4,"
                   "\"args\":{\"correlation\":5,\"stream\":7}},"
                   "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"step\",\"dur\":3,"
                   "\"pid\":0,"
                   "\"tid\":7,\"ts\":3}]}",
          "cudaLaunchKernel call/cuda_runtime #5 correlation:u64=5\n"
          "step annotation/gpu_user_annotation\n"
          "k gpu/kernel #5 correlation:u64=5 stream:u64=7\n"
          "launch 1000-4000 \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_keep_their_types),
        cmocka_unit_test(ends_have_arguments),
        cmocka_unit_test(counters_are_series),
        cmocka_unit_test(flows_keep_their_names),
        cmocka_unit_test(kernels_are_linked_by_correlation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
