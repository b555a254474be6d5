/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_names.h - what events and groups are called, as numbers of the session's names.
 */
#ifndef DEVICE_NAMES_H
#define DEVICE_NAMES_H

#include "rbwp_device_buffers.h"

struct device_names {
    struct device_name {
        int64_t id;
        uint64_t number;
    } * names;
    uint32_t count, room;
};

/* Interns what the program calls them; several with one id: the last one counts. RBWP_E_INVALID,
 * RBWP_E_MEMORY, RBWP_E_LIMIT. */
enum rbwp_status device_names_add(struct device_names *names, const struct rbwp_device_name *given,
                                  uint32_t count, struct rbwp_error *error);
/* The number of an id's name, interned as text if the program gave none; 0 where that cannot be. */
uint64_t device_names_number(struct device_names *names, int64_t id, const char *text);
/* The number that is known, 0: none is. */
uint64_t device_names_find(const struct device_names *names, int64_t id);
void device_names_free(struct device_names *names);

#endif /* DEVICE_NAMES_H */
