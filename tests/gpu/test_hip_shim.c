/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hip_shim.c - test_hip_shim SHIM FAKE: the shim's calls reach the CUDA driver with what they
 * were given. Guards: devices, memory, pitched copies in all directions, streams, events, code.
 */
#include "gpu_backend.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const char *shim_path, *fake_path;

struct state {
    const struct gpu_backend *hip;
    struct gpu_driver *driver;
    struct gpu_context *context;
    struct gpu_attached saved;
    void *stream;
};

static int set_up(void **state)
{
    static struct state s;
    struct rbwp_error error;
    const struct gpu_libraries libraries = {shim_path, shim_path};
    setenv("RBWP_HIP_SHIM_CUDA", fake_path, 1);
    setenv("RBWP_HIP_SHIM_NVRTC", fake_path, 1);
    s.hip = &gpu_hip_backend;
    if (s.hip->open(&libraries, &s.driver, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(s.hip->context_open(s.driver, 0, NULL, &s.context), GPU_OK);
    assert_int_equal(s.hip->attach(s.context, &s.saved), GPU_OK);
    assert_int_equal(s.hip->stream_create(s.context, &s.stream), GPU_OK);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct state *s = *state;
    assert_int_equal(s->hip->stream_destroy(s->context, s->stream), GPU_OK);
    s->hip->detach(s->context, &s->saved);
    s->hip->context_close(s->context);
    s->hip->close(s->driver);
    return 0;
}

static void devices(void **state)
{
    struct state *s = *state;
    struct gpu_device_info info;
    assert_int_equal(s->driver->devices, 1);
    assert_int_equal(s->hip->device_info(s->driver, 0, &info), GPU_OK);
    assert_non_null(strstr(info.name, "fake"));
    assert_int_not_equal(info.multiprocessors, 0);
    assert_int_equal(s->hip->device_info(s->driver, 1, &info) == GPU_OK, false);
    struct gpu_context *context = NULL;
    assert_int_equal(s->hip->context_open(s->driver, 0, s->stream, &context), GPU_OK);
    s->hip->context_close(context);
}

/* A block of 3 planes of 4 rows of 5 bytes goes to the device, across it, and back. */
static void pitched_copies(void **state)
{
    struct state *s = *state;
    enum { W = 5, H = 4, D = 3, ROW = 8, SLICE = 40, BYTES = SLICE * D };
    char *from = NULL, *back = NULL;
    struct gpu_memory here, there;
    assert_int_equal(s->hip->host_alloc(s->context, BYTES, (void **)&from), GPU_OK);
    assert_int_equal(s->hip->host_alloc(s->context, BYTES, (void **)&back), GPU_OK);
    assert_int_equal(s->hip->memory_alloc(s->context, BYTES, &here), GPU_OK);
    assert_int_equal(s->hip->memory_alloc(s->context, BYTES + 7, &there), GPU_OK);
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(i + 1);
    memset(back, 0, BYTES);
    struct gpu_copy copy = {{.device = &here, .row_bytes = ROW, .slice_bytes = SLICE},
                            {.host = from, .row_bytes = ROW, .slice_bytes = SLICE},
                            W,
                            H,
                            D};
    assert_int_equal(gpu_copy(s->context, &copy, s->stream), GPU_OK);
    copy.src = copy.dst;
    copy.dst = (struct gpu_copy_side){
        .device = &there, .offset_bytes = 7, .row_bytes = W, .slice_bytes = W * H};
    assert_int_equal(gpu_copy(s->context, &copy, s->stream), GPU_OK);
    copy.src = copy.dst;
    copy.dst = (struct gpu_copy_side){.host = back, .row_bytes = ROW, .slice_bytes = SLICE};
    assert_int_equal(gpu_copy(s->context, &copy, s->stream), GPU_OK);
    assert_int_equal(s->hip->stream_wait(s->context, s->stream), GPU_OK);
    for (int i = 0; i < BYTES; i++) {
        const bool copied = i % ROW < W && i % SLICE / ROW < H;
        assert_int_equal(back[i], copied ? from[i] : 0);
    }
    s->hip->memory_free(s->context, &here);
    s->hip->memory_free(s->context, &there);
    s->hip->host_free(s->context, from);
    s->hip->host_free(s->context, back);
}

static void events_and_code(void **state)
{
    struct state *s = *state;
    struct gpu_event event;
    struct gpu_module *module = NULL;
    struct gpu_kernel *kernel = NULL;
    struct rbwp_error error;
    const struct gpu_code_text good = {.name = "good", .source = "kernel"};
    const struct gpu_code_text bad = {.name = "bad", .source = "#error"};
    assert_int_equal(s->hip->module_load(s->context, &bad, &module, &error), RBWP_E_INVALID);
    assert_int_equal(s->hip->module_load(s->context, &good, &module, &error), RBWP_OK);
    assert_int_equal(s->hip->kernel_get(module, "kernel", &kernel), GPU_OK);
    const struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    assert_int_equal(s->hip->launch(kernel, &launch, s->stream), GPU_OK);
    assert_int_equal(s->hip->event_create(s->context, &event), GPU_OK);
    assert_int_equal(s->hip->event_record(s->context, &event, s->stream), GPU_OK);
    assert_int_equal(s->hip->stream_wait(s->context, s->stream), GPU_OK);
    assert_int_equal(s->hip->event_query(s->context, &event), GPU_OK);
    s->hip->event_destroy(s->context, &event);
    s->hip->module_unload(module);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    shim_path = argv[1];
    fake_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pitched_copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_and_code, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
