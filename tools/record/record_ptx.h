/* SPDX-License-Identifier: Apache-2.0 */
/* record_ptx.h - kernels with probes: rbwp-ptxas puts them in, librbwp-inject.so collects. */
#ifndef RECORD_PTX_H
#define RECORD_PTX_H

#include "record.h"
#include "record_child.h"

/* The options as words for rbwp-ptxas. False with the usage told. */
bool record_ptx_options(const struct record_options *options, char *words, size_t room);

/* Of a run that leaves its launches in folder. active: NULL, or a folder with lists of probes.
 * False with the message given: nothing would be recorded. */
bool record_ptx_set_up(const struct record_options *options, const char *folder, const char *active,
                       struct record_environment *environment);

/* Whether a run left any launch; false with the message that says which part of the chain did
 * nothing. */
bool record_ptx_left(const char *folder);

/* Makes the profile and says what is in it. False with the message given. */
bool record_ptx_finish(const struct record_options *options, const char *folder);

#endif /* RECORD_PTX_H */
