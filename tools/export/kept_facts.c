/* SPDX-License-Identifier: Apache-2.0 */
/* A list in the order of telling. */
#include "kept_facts.h"

#include <stdlib.h>
#include <string.h>

bool kept_facts_add(struct kept_facts *facts, const char *key, struct trace_text value)
{
    size_t key_bytes = strlen(key);
    struct kept_fact *fact = malloc(sizeof *fact + key_bytes + value.bytes);
    if (!fact)
        return false;
    memcpy(fact->bytes, key, key_bytes);
    memcpy(fact->bytes + key_bytes, value.text, value.bytes);
    fact->next = NULL;
    fact->key = (struct trace_text){fact->bytes, (uint32_t)key_bytes};
    fact->value = (struct trace_text){fact->bytes + key_bytes, value.bytes};
    *(facts->last ? facts->last : &facts->first) = fact;
    facts->last = &fact->next;
    return true;
}

void kept_facts_free(struct kept_facts *facts)
{
    for (struct kept_fact *fact = facts->first, *next; fact; fact = next) {
        next = fact->next;
        free(fact);
    }
}
