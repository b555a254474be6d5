/* SPDX-License-Identifier: Apache-2.0 */
/* What there is no memory for is not found: the list guards against mistakes alone. */
#include "made_of.h"
#include "grow.h"
#include "trace_source.h"

#include <inttypes.h>
#include <stdio.h>

enum { MADE_OF_MAX = 1 << 16 };

void made_of_add(struct made_of *made, struct recording_id id)
{
    if (id.began_ns && made->count < MADE_OF_MAX &&
        grow_array32(&made->list, &made->room, made->count + 1, sizeof *made->list))
        made->list[made->count++] = id;
}

void made_of_note(struct made_of *made, struct trace_text key)
{
    char copy[80];
    struct recording_id id;
    snprintf(copy, sizeof copy, "%.*s", (int)key.bytes, key.text);
    if (sscanf(copy, "recording.%" SCNu64 ".%" SCNd64 ".%" SCNu32, &id.os_id, &id.began_ns,
               &id.part) == 3)
        made_of_add(made, id);
}

void made_of_add_facts(struct trace *trace, const struct made_of *made, const char *file)
{
    char key[80];
    for (uint32_t i = 0; i < made->count; i++) {
        const struct recording_id *id = &made->list[i];
        snprintf(key, sizeof key, "recording.%" PRIu64 ".%" PRId64 ".%" PRIu32, id->os_id,
                 id->began_ns, id->part);
        trace_add_fact(trace, key, "%s", file);
    }
}

struct recording_id recording_id_of(const struct trace_facts *facts)
{
    const struct trace_identity *identity = &facts->identity;
    if (identity->os_id && identity->session_ns)
        return (struct recording_id){identity->os_id, identity->session_ns, identity->part};
    return (struct recording_id){0, facts->run_zero_ns, facts->node};
}

static bool has(const struct made_of *made, struct recording_id id)
{
    for (uint32_t i = 0; i < made->count; i++) {
        const struct recording_id *one = &made->list[i];
        if (one->os_id == id.os_id && one->began_ns == id.began_ns && one->part == id.part)
            return true;
    }
    return false;
}

static bool is_in(const struct trace_facts *facts, const struct made_of *made)
{
    return has(made, recording_id_of(facts)) ||
           (facts->run_zero_ns &&
            has(made, (struct recording_id){0, facts->run_zero_ns, facts->node}));
}

bool made_of_same(const struct trace_facts *a, const struct trace_facts *b)
{
    const struct made_of *made = &a->made_of, *other = &b->made_of;
    bool same = (made->count && !other->count && is_in(b, made)) ||
                (other->count && !made->count && is_in(a, other));
    for (uint32_t i = 0; i < made->count && other->count && !same; i++)
        same = has(other, made->list[i]);
    return same;
}
