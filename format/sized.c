/* SPDX-License-Identifier: Apache-2.0 */
#include "sized.h"

#include "failure.h"

#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t count)
{
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    return count == 0;
}

enum rbwp_status sized_copy(void *own, size_t own_bytes, const void *given, size_t given_bytes,
                            const char *what, struct rbwp_error *error)
{
    size_t known = given_bytes < own_bytes ? given_bytes : own_bytes;
    if (!is_zero((const unsigned char *)given + known, given_bytes - known))
        return failure(error, RBWP_E_UNSUPPORTED, 0,
                       "struct %s has size %zu: it asks for what librbwp " RBWP_VERSION_STRING
                       " does not know; leave the new fields 0 or use a later library",
                       what, given_bytes);
    memset(own, 0, own_bytes);
    memcpy(own, given, known);
    return RBWP_OK;
}

enum rbwp_status sized_take(void *own, size_t own_bytes, const void *given, const char *what,
                            struct rbwp_error *error)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > SIZED_BYTES_MAX)
        return failure(error, RBWP_E_INVALID, 0, "struct %s has size %zu: set it to its sizeof",
                       what, size);
    return sized_copy(own, own_bytes, given, size, what, error);
}

void sized_give(void *given, size_t given_bytes, const void *own, size_t own_bytes)
{
    size_t known = given_bytes < own_bytes ? given_bytes : own_bytes;
    memcpy(given, own, known);
    memset((unsigned char *)given + known, 0, given_bytes - known);
}
