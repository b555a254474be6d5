/* SPDX-License-Identifier: Apache-2.0 */
/* In the order of ids, so that a buffer with thousands of them is no slower. */
#include "device_names.h"
#include "gpu_failure.h"
#include "grow.h"
#include "rbwp_rows.h"

#include <stdlib.h>
#include <string.h>

/* Where the id is, or would be. */
static uint32_t device_names_place_of(const struct device_names *names, int64_t id)
{
    uint32_t low = 0, high = names->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (names->names[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum rbwp_status device_names_set(struct device_names *names, int64_t id, uint64_t number)
{
    uint32_t at = device_names_place_of(names, id);
    if (at < names->count && names->names[at].id == id) {
        names->names[at].number = number;
        return RBWP_OK;
    }
    if (!grow_array32(&names->names, &names->room, names->count + 1, sizeof *names->names))
        return RBWP_E_MEMORY;
    memmove(names->names + at + 1, names->names + at, (names->count - at) * sizeof *names->names);
    names->names[at] = (struct device_name){id, number};
    names->count++;
    return RBWP_OK;
}

enum rbwp_status device_names_add(struct device_names *names, const struct rbwp_device_name *given,
                                  uint32_t count, struct rbwp_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number;
        enum rbwp_status status = RBWP_E_INVALID;
        if (given[i].name)
            status = rbwp_name_intern(given[i].name, strlen(given[i].name), &number);
        if (status == RBWP_OK)
            status = device_names_set(names, given[i].id, number);
        if (status != RBWP_OK)
            return gpu_failure(error, status, "the name of id %lld cannot be kept",
                               (long long)given[i].id);
    }
    return RBWP_OK;
}

uint64_t device_names_find(const struct device_names *names, int64_t id)
{
    uint32_t at = device_names_place_of(names, id);
    return at < names->count && names->names[at].id == id ? names->names[at].number : 0;
}

uint64_t device_names_number(struct device_names *names, int64_t id, const char *text)
{
    uint64_t number = device_names_find(names, id);
    if (number || rbwp_name_intern(text, strlen(text), &number) != RBWP_OK)
        return number;
    (void)!device_names_set(names, id, number); /* else it is asked for again */
    return number;
}

void device_names_free(struct device_names *names)
{
    free(names->names);
    *names = (struct device_names){0};
}
