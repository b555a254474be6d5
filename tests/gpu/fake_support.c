/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_support.h"

#include "unit.h"

#include <string.h>

const char *fake_old_library, *fake_plain_library;

bool fake_main(int argc, char **argv)
{
    if (argc != 5)
        return false;
    while (strcmp(argv[1], rbwp_gpu_api_name(test_gpu.api)) != 0)
        test_gpu.api++;
    test_gpu.driver_library = test_gpu.compiler_library = argv[2];
    fake_old_library = argv[3];
    fake_plain_library = argv[4];
    return true;
}

int fake_setup(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

int code_of(enum rbwp_status status)
{
    bool opencl = test_gpu.api == RBWP_GPU_OPENCL;
    switch (status) {
    case RBWP_E_MEMORY:
        return opencl ? -6 : 2;
    case RBWP_E_STATE:
        return opencl ? -34 : 709;
    default:
        return opencl ? -9999 : 999 - 1;
    }
}

void launch(struct rbwp_gpu_stream *stream)
{
    fake_enqueue(gpu_stream_native(stream));
}

void bracket(struct rbwp_gpu_stream *stream, unsigned slot)
{
    struct rbwp_gpu_bracket b;
    rbwp_gpu_bracket_begin(&b, stream, slot);
    launch(stream);
    rbwp_gpu_bracket_end(&b);
}

struct rbwp_session *start_session(int level)
{
    struct rbwp_session_config config = test_config(level);
    assert_int_equal(rbwp_thread_attach("tester"), RBWP_OK);
    return start(&config);
}

struct works finish_session(struct rbwp_session *session, struct recorded *recorded_out)
{
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    *recorded_out = read_back(test_config(1).logfile);
    return read_works(test_config(1).logfile);
}

void hear(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct heard *heard = argument;
    heard->calls++;
    heard->outcome = outcome;
    heard->seen_ns = seen_ns;
}
