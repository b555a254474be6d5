/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_plan.h - where the probes of one kernel go, by mode. */
#ifndef PTX_PLAN_H
#define PTX_PLAN_H

#include "ptx_probe.h"

/* Adds those of the module's function kernel to probes, numbered from probes->ids on. */
bool ptx_plan(struct ptx_probes *probes, const struct ptx_module *module, uint32_t kernel,
              const struct ptx_options *options, struct ptx_error *error);

#endif /* PTX_PLAN_H */
