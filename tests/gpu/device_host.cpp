// SPDX-License-Identifier: Apache-2.0
//
// device_host.cpp - the classes of rbwp_device.h on the host: the same records as the C functions',
// and none where the template's argument says off. Exit status 1, and a line, if not.
// (test_device.c has the rest.)
#include "rbwp_warpscope.h"

#include <cstdio>
#include <cstring>

static int failures;

static void check(bool good, const char *what)
{
    if (!good)
        std::printf("FAILED: %s\n", what), failures++;
}

template <class Lanes> static void trace(Lanes &p, void *buffer)
{
    p.init(buffer, 0, 0, 1, 1, true, 6);
    rbwp_dev_emulated.time = 5;
    p.begin(1);
    {
        RBWP_REGION(p, 2);
        rbwp_dev_emulated.time = 6;
    }
    p.instant(3);
    p.end(1);
    p.finalize();
}

/* As a kernel of warpscope's has it. */
template <bool ON> static void profile(rbwp_dev_u64 *prof)
{
    ws::Profiler<ON> p;
    p.init(prof, 1, /*group=*/0, 1, 1, /*leader=*/true, 6);
    rbwp_dev_emulated.time = 5;
    p.start(1);
    {
        WS_REGION(p, 2);
        rbwp_dev_emulated.time = 6;
    }
    p.instant(3);
    p.end(1);
    p.finalize();
}

int main()
{
    const rbwp_dev_u64 expected[] = {0x100000001, 0x500000004, 0x500000008, 0x600000009,
                                     0x60000000e, 0x600000005, 0x600000003};
    rbwp_dev_u64 buffer[7] = {}, none[7] = {};
    rbwp::lanes<> on;
    trace(on, buffer); // RBWP_REGION where the type depends on a template's parameter, as in
                       // kernels with a switch
    check(!std::memcmp(buffer, RBWP_DEVICE_ENABLED ? expected : none, sizeof buffer),
          "the records");
    std::memset(buffer, 0, sizeof buffer);
    on.init(buffer, 0, 0, 1, 1, true, 6);
    {
        RBWP_REGION(on, 2); // and where it does not
    }
    check((buffer[1] != 0) == RBWP_DEVICE_ENABLED, "a region outside of templates");
    std::memset(buffer, 0, sizeof buffer);
    rbwp::lanes<false> off;
    trace(off, buffer);
    check(!std::memcmp(buffer, none, sizeof buffer), "records of lanes that are off");
    profile<false>(buffer);
    check(!std::memcmp(buffer, none, sizeof buffer), "records of a Profiler that is off");
    profile<true>(buffer);
    check(!std::memcmp(buffer, RBWP_DEVICE_ENABLED ? expected : none, sizeof buffer),
          "the records of ws::Profiler");
    check(sizeof(rbwp::lanes<false>) == 1 && sizeof(rbwp::events<false>) == 1,
          "classes that are off have members");

    unsigned counters[2] = {};
    rbwp_dev_u64 column[RBWP_DEV_COLUMNS] = {}, context[20] = {0, 1, 0, 1, 1};
    context[5] = (rbwp_dev_pointer_bits)&counters[0];
    context[6] = (rbwp_dev_pointer_bits)&counters[1];
    for (unsigned i = 0; i < RBWP_DEV_COLUMNS; i++)
        context[7 + i] = (rbwp_dev_pointer_bits)&column[i];
    rbwp::events<false> no_events;
    no_events.init(context, true);
    no_events.end(no_events.start(RBWP_DEV_PUT, 1, nullptr, 2, 3));
    check(counters[0] == 0, "events that are off");
    rbwp::events<> events;
    events.init(context, true);
    events.end(events.start_masked(RBWP_DEV_PUT, 1, context, 2, 3, 15));
    check(counters[0] == RBWP_DEVICE_ENABLED, "the event");
    check(column[RBWP_DEV_COLUMN_PAYLOAD_BYTES] == 32 * RBWP_DEVICE_ENABLED, "its bytes");
    return failures != 0;
}
