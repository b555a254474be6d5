/* SPDX-License-Identifier: Apache-2.0 */
#include "id_names.h"
#include "grow.h"
#include "message.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool id_names_add(struct id_names *names, int64_t id, const char *text, size_t bytes)
{
    if (names->count == ID_NAMES_MAX ||
        !grow_array32(&names->names, &names->room, names->count + 1, sizeof *names->names))
        return false;
    names->names[names->count++] = (struct id_name){id, text, (uint32_t)bytes};
    return true;
}

/* "7=store": the number and what is behind it. */
static bool take_id(const char **text, size_t *bytes, int64_t *id)
{
    char number[16];
    uint32_t value;
    struct option_error error;
    const char *equals = memchr(*text, '=', *bytes);
    size_t digits = equals ? (size_t)(equals - *text) : 0;
    if (!equals || digits >= sizeof number)
        return !equals;
    memcpy(number, *text, digits);
    number[digits] = '\0';
    if (!option_number(number, 0, INT32_MAX, &value, &error))
        return false;
    *id = value;
    *bytes -= digits + 1;
    *text = equals + 1;
    return true;
}

bool id_names_parse(struct id_names *names, const char *option, const char *text)
{
    int64_t id = 0;
    for (const char *at = text; at; id++) {
        const char *comma = strchr(at, ',');
        size_t bytes = comma ? (size_t)(comma - at) : strlen(at);
        if (!take_id(&at, &bytes, &id)) {
            message_usage("%s: '%.*s' is no NUMBER=NAME", option, (int)bytes, at);
            return false;
        }
        if (bytes && !id_names_add(names, id, at, bytes)) {
            message_usage("%s: more than %d names, or out of memory", option, ID_NAMES_MAX);
            return false;
        }
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

const char *id_names_get(const struct id_names *names, const char *what, int64_t id,
                         char text[ID_NAME_BYTES])
{
    for (uint32_t i = names->count; i-- > 0;) { /* the last one counts */
        const struct id_name *name = &names->names[i];
        if (name->id != id)
            continue;
        snprintf(text, ID_NAME_BYTES, "%.*s", (int)name->bytes, name->text);
        return text;
    }
    snprintf(text, ID_NAME_BYTES, "%s_%" PRId64, what, id);
    return text;
}

void id_names_free(struct id_names *names)
{
    free(names->names);
    *names = (struct id_names){0};
}
