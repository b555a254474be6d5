/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the GPU side on a device that really executes: PoCL where there is no GPU. Kernels run
 * and are recorded once each, copies of all shapes arrive, what does not compile says why.
 *
 *     test_gpu_device API [DRIVER_LIBRARY [COMPILER_LIBRARY]]
 *
 * Without a driver, or one without devices, it is skipped (77) - but for OpenCL only if no driver
 * is installed at all: one that is there and does not work is a failure.
 */
#include "gpu_support.h"
#include "record_support.h"
#include "unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP 77
#define BRACKETS 200u
#define NUMBERS 4096u

static const char opencl_source[] =
    "__kernel void add(__global uint *to, uint what, uint rounds) {\n"
    "    uint i = get_global_id(0);\n"
    "    for (uint r = 0; r < rounds; r++) to[i] += what;\n"
    "}\n";
static const char cuda_source[] =
    "extern \"C\" __global__ void add(unsigned *to, unsigned what, unsigned rounds) {\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (unsigned r = 0; r < rounds; r++) to[i] += what;\n"
    "}\n";

/* An item that launches a bracketed kernel each time it runs. */
struct item {
    struct rbwp_gpu_stream *stream;
    struct gpu_kernel *kernel;
    struct gpu_memory numbers;
    struct rbwp_work_handle handle;
    unsigned left;
};

static struct gpu_code_text code_text(const char *cuda, const char *opencl)
{
    return (struct gpu_code_text){.name = "test",
                                  .source = test_gpu.api == RBWP_GPU_OPENCL ? opencl : cuda};
}

static struct gpu_module *load(struct gpu_context *context, const char *cuda, const char *opencl)
{
    struct gpu_code_text text = code_text(cuda, opencl);
    struct gpu_module *module;
    struct rbwp_error error = {.text = ""};
    if (context->backend->module_load(context, &text, &module, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return module;
}

static void launch_add(struct item *item)
{
    const uint32_t what = 3, rounds = 2;
    const struct gpu_arg args[] = {
        {&item->numbers.native, sizeof(void *)}, {&what, sizeof what}, {&rounds, sizeof rounds}};
    const struct gpu_launch launch = {
        .grid = {NUMBERS / 64, 1, 1}, .block = {64, 1, 1}, .arg_count = 3, .args = args};
    struct gpu_context *context = gpu_stream_context(item->stream);
    struct gpu_attached saved;
    assert_int_equal(context->backend->attach(context, &saved), GPU_OK);
    assert_int_equal(
        context->backend->launch(item->kernel, &launch, gpu_stream_native(item->stream)), GPU_OK);
    context->backend->detach(context, &saved);
}

static bool do_work(void *argument, struct rbwp_deadline deadline)
{
    struct item *item = argument;
    struct rbwp_gpu_bracket bracket;
    (void)deadline;
    rbwp_gpu_bracket_begin(&bracket, item->stream, item->handle.slot);
    launch_add(item);
    rbwp_gpu_bracket_end(&bracket);
    return --item->left > 0;
}

static void copy_numbers(struct item *item, uint32_t *host, bool to_device)
{
    struct gpu_context *context = gpu_stream_context(item->stream);
    struct gpu_copy copy = {.width_bytes = item->numbers.bytes, .height = 1, .depth = 1};
    (to_device ? &copy.dst : &copy.src)->device = &item->numbers;
    (to_device ? &copy.src : &copy.dst)->host = host;
    void *stream = gpu_stream_native(item->stream);
    assert_int_equal(gpu_copy(context, &copy, stream), GPU_OK);
    assert_int_equal(context->backend->stream_wait(context, stream), GPU_OK);
}

/* Work items launch kernels: each launch has one record, in its item's slot, in the session's time;
 * and the kernels have really run. */
static void test_kernels_are_recorded(void **state)
{
    (void)state;
    struct rbwp_work_config work = {.size = sizeof work, .workers = 2};
    struct rbwp_work_manager *manager;
    assert_int_equal(rbwp_work_start(&work, &manager, NULL), RBWP_OK);
    struct rbwp_gpu_device *device = open_device(manager);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_attached saved;
    assert_int_equal(context->backend->attach(context, &saved), GPU_OK);
    struct gpu_module *module = load(context, cuda_source, opencl_source);
    uint32_t *host = calloc(NUMBERS, sizeof *host);
    struct item item[2];
    for (unsigned i = 0; i < 2; i++) {
        item[i] =
            (struct item){.stream = open_stream(device, RBWP_GPU_USE_STREAM), .left = BRACKETS};
        assert_int_equal(context->backend->kernel_get(module, "add", &item[i].kernel), GPU_OK);
        assert_int_equal(
            context->backend->memory_alloc(context, NUMBERS * sizeof *host, &item[i].numbers),
            GPU_OK);
        copy_numbers(&item[i], host, true);
        assert_int_equal(rbwp_work_add(manager, "launches", do_work, &item[i], -1, &item[i].handle),
                         RBWP_OK);
    }
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    int64_t before = rbwp_now_ns();
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rbwp_work_make_active(manager, item[i].handle), RBWP_OK);
    rbwp_work_drain(manager);
    stop(session);
    int64_t after = rbwp_now_ns();
    struct recorded recorded = read_back(config.logfile);
    struct works works = read_works(config.logfile);
    assert_int_equal(all_losses(&recorded), 0);
    assert_int_equal(works.works, 2 * BRACKETS);
    assert_works_whole(&works);
    unsigned of_slot[256] = {0};
    for (size_t i = 0; i < works.works; i++) {
        of_slot[works.work[i].slot]++;
        assert_in_range(works.work[i].start_ns, before, after);
        assert_in_range(works.work[i].stop_ns, before, after);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(of_slot[item[i].handle.slot], BRACKETS);
        copy_numbers(&item[i], host, false);
        for (unsigned n = 0; n < NUMBERS; n++)
            assert_int_equal(host[n], BRACKETS * 2 * 3);
        memset(host, 0, NUMBERS * sizeof *host);
        context->backend->memory_free(context, &item[i].numbers);
    }
    context->backend->module_unload(module);
    for (unsigned i = 0; i < 2; i++)
        close_stream(item[i].stream);
    context->backend->detach(context, &saved);
    works_free(&works);
    recorded_free(&recorded);
    free(host);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

static void test_copies(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    check_copies(device, stream);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

static void test_code_that_does_not_compile(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    char log[4096];
    struct gpu_code_text text = code_text("this is no code\n", "this is no code\n");
    text.log = log;
    text.log_bytes = sizeof log;
    struct gpu_attached saved;
    struct gpu_module *module;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(context->backend->attach(context, &saved), GPU_OK);
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_INVALID);
    assert_null(module);
    assert_non_null(strstr(error.text, "does not compile"));
    assert_true(log[0] != 0);
    context->backend->detach(context, &saved);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* The device names itself and its bias is known. */
static void test_facts(void **state)
{
    (void)state;
    test_gpu.no_bias = false;
    struct rbwp_gpu_device *device = open_device(NULL);
    test_gpu.no_bias = true;
    struct rbwp_gpu_facts facts;
    rbwp_gpu_device_facts(device, &facts);
    assert_true(facts.name[0] != 0 && facts.multiprocessors > 0 && facts.memory_bytes > 0);
    /* A device that shares the processors with the reaper may never be seen between two events. */
    assert_true(facts.bias_rounds > 0 || facts.on_cpu);
    assert_int_equal(facts.bias_rounds > 0, facts.bias_ns > 0);
    print_message("%s: bias %lld ns, spread %lld ns, %u rounds\n", facts.name,
                  (long long)facts.bias_ns, (long long)facts.bias_spread_ns, facts.bias_rounds);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

static bool opencl_is_installed(void)
{
    glob_t found;
    bool any = glob("/etc/OpenCL/vendors/*.icd", 0, NULL, &found) == 0;
    if (any)
        globfree(&found);
    return any || getenv("OCL_ICD_VENDORS");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    while (strcmp(argv[1], rbwp_gpu_api_name(test_gpu.api)) != 0)
        if (++test_gpu.api >= GPU_APIS)
            return 2;
    test_gpu.driver_library = argc > 2 ? argv[2] : NULL;
    test_gpu.compiler_library = argc > 3 ? argv[3] : NULL;
    unsigned count;
    struct rbwp_error error = {.text = ""};
    enum rbwp_status status = rbwp_gpu_count(test_gpu.api, test_gpu.driver_library, &count, &error);
    if (status != RBWP_OK) {
        bool skip = test_gpu.api != RBWP_GPU_OPENCL || !opencl_is_installed();
        fprintf(stderr, "%s: %s\n", skip ? "skipped" : "failed", error.text);
        return skip ? SKIP : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_kernels_are_recorded),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_code_that_does_not_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
