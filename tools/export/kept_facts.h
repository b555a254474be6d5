/* SPDX-License-Identifier: Apache-2.0 */
/* kept_facts.h - facts about a trace are told in the midst of it and written behind it. */
#ifndef KEPT_FACTS_H
#define KEPT_FACTS_H

#include "trace.h"

struct kept_fact {
    struct kept_fact *next;
    struct trace_text key, value;
    char bytes[];
};

/* Zero is none. */
struct kept_facts {
    struct kept_fact *first, **last;
};

/* False without memory. */
bool kept_facts_add(struct kept_facts *facts, const char *key, struct trace_text value);
void kept_facts_free(struct kept_facts *facts);

#endif /* KEPT_FACTS_H */
