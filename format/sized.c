/* SPDX-License-Identifier: Apache-2.0 */
#include "sized.h"

#include <stdio.h>
#include <string.h>

static enum rbwp_status sized_refuse(struct rbwp_error *error, enum rbwp_status status,
                                     const char *what, size_t size, const char *reason)
{
    if (!error)
        return status;
    *error = (struct rbwp_error){.status = status, .offset = UINT64_MAX, .section = ""};
    snprintf(error->text, sizeof error->text, "struct %s has size %zu: %s", what, size, reason);
    return status;
}

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
        return sized_refuse(error, RBWP_E_UNSUPPORTED, what, given_bytes,
                            "it asks for what librbwp " RBWP_VERSION_STRING
                            " does not know; leave the "
                            "new fields 0 or use a later library");
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
        return sized_refuse(error, RBWP_E_INVALID, what, size, "set it to its sizeof");
    return sized_copy(own, own_bytes, given, size, what, error);
}

void sized_give(void *given, size_t given_bytes, const void *own, size_t own_bytes)
{
    size_t known = given_bytes < own_bytes ? given_bytes : own_bytes;
    memcpy(given, own, known);
    memset((unsigned char *)given + known, 0, given_bytes - known);
}
