/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_facts.h"

#include <stdlib.h>

static int by_work(const void *a, const void *b)
{
    const struct gpu_fact *x = a, *y = b;
    if (x->proc_id != y->proc_id)
        return x->proc_id < y->proc_id ? -1 : 1;
    if (x->extra.start_ns != y->extra.start_ns)
        return x->extra.start_ns < y->extra.start_ns ? -1 : 1;
    return (x->extra.stop_ns > y->extra.stop_ns) - (x->extra.stop_ns < y->extra.stop_ns);
}

static bool add(struct gpu_facts *facts, const struct rbwp_block *block, uint64_t proc_id,
                uint32_t count)
{
    if (facts->room - facts->count < count) {
        const size_t room = 2 * facts->room + count;
        struct gpu_fact *more = realloc(facts->fact, room * sizeof *more);
        if (!more)
            return false;
        facts->fact = more;
        facts->room = room;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct gpu_fact *fact = &facts->fact[facts->count++];
        fact->proc_id = proc_id;
        rbwp_gpu_extra_get(block, i, &fact->extra);
    }
    return true;
}

bool gpu_facts_load(struct gpu_facts *facts, struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    *facts = (struct gpu_facts){0};
    if (!trailer || trailer->gpu_count == 0)
        return true;
    struct rbwp_block block;
    uint64_t proc_id;
    uint32_t count;
    bool good = true;
    while (good && rbwp_reader_next_block(input->reader, &block) == RBWP_OK)
        if (rbwp_gpu_extras(&block, &proc_id, &count))
            good = add(facts, &block, proc_id, count);
    good &= rbwp_reader_rewind(input->reader) == RBWP_OK;
    if (facts->count)
        qsort(facts->fact, facts->count, sizeof *facts->fact, by_work);
    return good;
}

void gpu_facts_free(struct gpu_facts *facts)
{
    free(facts->fact);
    *facts = (struct gpu_facts){0};
}

const struct rbwp_gpu_extra *gpu_facts_of(const struct gpu_facts *facts, uint64_t proc_id,
                                          int64_t start_ns, int64_t stop_ns)
{
    const struct gpu_fact wanted = {proc_id, {.start_ns = start_ns, .stop_ns = stop_ns}};
    const struct gpu_fact *found =
        facts->count ? bsearch(&wanted, facts->fact, facts->count, sizeof wanted, by_work) : NULL;
    return found ? &found->extra : NULL;
}
