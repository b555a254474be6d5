/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_warpscope.h - rbwp_device.h's lanes by warpscope's names, for kernels in CUDA C++ and HIP:
 *
 *     ws::Profiler<ENABLED> p;
 *     p.init(prof, stride, group, num_groups, num_blocks, leader, max_records);
 *     { WS_REGION(p, MULTIPLY); ... }              p.start(MULTIPLY); ... p.end(MULTIPLY);
 *     p.instant(DONE);
 *     p.finalize();
 *
 * The host's side is rbwp.compat.warpscope in Python, or rbwp_lanes.h. Profiler<false> is no code.
 */
#ifndef RBWP_WARPSCOPE_H
#define RBWP_WARPSCOPE_H

#include "rbwp_device.h"

#ifdef __cplusplus

#define WS_REGION(p, event) RBWP_REGION(p, event)

namespace ws
{

template <bool Enabled = true> class Profiler : public rbwp::lanes<Enabled>
{
  public:
    RBWP_DEV_METHOD_ void start(unsigned event) { this->begin(event); }
};

} // namespace ws

#endif
#endif
