/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_param.h - which parameter has the buffer's address. */
#ifndef PTX_PARAM_H
#define PTX_PARAM_H

#include "ptx_probe.h"

#define PTX_PARAM_NAME_BYTES 256

struct ptx_param_choice {
    const struct ptx_module *module;
    const struct ptx_function *function;
    const struct ptx_options *options;
    char
        *param; /* PTX_PARAM_NAME_BYTES: the choice, as it was before where there is none to make */
    struct ptx_error *error;
};

/* False with the error filled: there is none of that name or index, it is too narrow, or there is
 * no room for one more. */
bool ptx_choose_param(const struct ptx_param_choice *choice);

#endif /* PTX_PARAM_H */
