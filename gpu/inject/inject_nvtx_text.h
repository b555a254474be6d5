/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_nvtx_text.h - names of NVTX: of ranges, in domains, registered once or told each time.
 *
 * PyTorch writes numbers into its names (", op_id = 17"), each of which would be another name; they
 * become the range's id and value.
 */
#ifndef INJECT_NVTX_TEXT_H
#define INJECT_NVTX_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_TEXT_BYTES 4096

struct nvtx_domain;

struct nvtx_named {
    struct nvtx_named *next;           /* of those that are registered */
    uint64_t number;                   /* of the name; 0: there is no room for another one */
    uint64_t id, sequence;             /* that stood in it */
    bool has_id, has_sequence, window; /* window: it is the name of RBWP_INJECT_RANGE */
};
/* domain: NULL for the default one. */
struct nvtx_named nvtx_name(const struct nvtx_domain *domain, const char *text);
/* Stays as long as the process. NULL without memory: a name that says nothing. */
struct nvtx_named *nvtx_register(const struct nvtx_domain *domain, const char *text);
struct nvtx_domain *nvtx_domain_create(const char *name);

/* As UTF-8, in room. */
const char *nvtx_narrow(const wchar_t *wide, char room[NVTX_TEXT_BYTES]);

#endif /* INJECT_NVTX_TEXT_H */
