/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_bias.h"

#include "launch_calls.h"
#include "message.h"
#include "reorder.h"

#include <stdlib.h>

/* ---- all that a file says of its GPU work beside the records, found by the record ------------ */
/*
 * It may stand anywhere in the file, so the file is read once before.
 *
 * What is broken in the blocks is reported by whoever reads the file for its own sake.
 */

static int by_work(const void *a, const void *b)
{
    const struct gpu_fact *x = a, *y = b;
    if (x->proc_id != y->proc_id)
        return x->proc_id < y->proc_id ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->stop_ns > y->stop_ns) - (x->stop_ns < y->stop_ns);
}

struct loading {
    struct gpu_facts *facts;
    struct launch_calls *calls; /* NULL: not wanted */
    struct pair_builder builder;
    struct reorder reorder;
    bool failed;
};

static void gpu_bias_keep(void *context, const struct gpu_fact *fact)
{
    struct loading *loading = context;
    struct gpu_facts *facts = loading->facts;
    if (grow_zeroed32(&facts->list, &facts->room, facts->count + 1, sizeof *facts->list))
        facts->list[facts->count++] = *fact;
    else
        loading->failed = true;
}

static void gpu_bias_on_fact(void *context, const struct gpu_fact *fact)
{
    struct loading *loading = context;
    if (loading->calls)
        launch_calls_fact(loading->calls, fact);
    else
        gpu_bias_keep(loading, fact);
}

static void gpu_bias_on_rows(struct loading *loading, const struct rbwp_block *block)
{
    struct gpu_facts *facts = loading->facts;
    struct rbwp_rows rows;
    struct rbwp_error error;
    if (!facts->catalog && !(facts->catalog = rbwp_catalog_new())) {
        loading->failed = true;
        return;
    }
    enum rbwp_status status = rbwp_catalog_take(facts->catalog, block, &rows, &error);
    loading->failed |= status == RBWP_E_MEMORY;
    if (status != RBWP_OK || gpu_facts_of_rows(&rows, gpu_bias_on_fact, loading))
        return;
    loading->failed |= !gpu_devices_take(&facts->devices, &rows, facts->catalog);
}

static void gpu_bias_on_pair(void *context, const struct record_pair *pair)
{
    struct loading *loading = context;
    launch_calls_add(loading->calls, pair);
}

static void gpu_bias_pair(void *context, const struct rbwp_block *block, bool late)
{
    struct loading *loading = context;
    (void)late;
    pair_builder_block(&loading->builder, block);
}

static void read_blocks(struct loading *loading, struct rbwp_reader *reader)
{
    struct rbwp_block block;
    while (!loading->failed && rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records == 0) {
            if (!gpu_facts_of_block(&block, gpu_bias_on_fact, loading))
                gpu_bias_on_rows(loading, &block);
        } else if (loading->calls) {
            loading->failed |= !reorder_push(&loading->reorder, &block);
        }
    }
}

static void read_calls(struct loading *loading, struct rbwp_reader *reader)
{
    loading->calls = launch_calls_new(gpu_bias_keep, loading);
    if (!loading->calls) {
        loading->failed = true;
        return;
    }
    pair_builder_start(&loading->builder, gpu_bias_on_pair, loading);
    reorder_start(&loading->reorder, gpu_bias_pair, loading);
    read_blocks(loading, reader);
    reorder_flush(&loading->reorder);
    launch_calls_finish(loading->calls);
    loading->failed |= launch_calls_failed(loading->calls) || loading->builder.failed;
    reorder_stop(&loading->reorder);
    pair_builder_stop(&loading->builder);
    launch_calls_free(loading->calls);
}

bool gpu_facts_load(struct gpu_facts *facts, struct input *input, bool calls)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct loading loading = {.facts = facts};
    *facts = (struct gpu_facts){0};
    if (trailer && trailer->gpu_count == 0 && trailer->table_range_count == 0)
        return true;
    loading.failed =
        trailer && !gpu_devices_add(&facts->devices, trailer->gpus, trailer->gpu_count);
    if (calls)
        read_calls(&loading, input->reader);
    else
        read_blocks(&loading, input->reader);
    loading.failed |= rbwp_reader_rewind(input->reader) != RBWP_OK;
    if (facts->count)
        qsort(facts->list, facts->count, sizeof *facts->list, by_work);
    return !loading.failed;
}

void gpu_facts_free(struct gpu_facts *facts)
{
    free(facts->list);
    gpu_devices_free(&facts->devices);
    rbwp_catalog_free(facts->catalog);
    *facts = (struct gpu_facts){0};
}

const struct gpu_fact *gpu_facts_of(const struct gpu_facts *facts, uint64_t proc_id, int slot,
                                    int64_t start_ns, int64_t stop_ns)
{
    const struct gpu_fact wanted = {.proc_id = proc_id, .start_ns = start_ns, .stop_ns = stop_ns};
    uint32_t low = 0, end = facts->count;
    while (low < end) {
        uint32_t middle = low + (end - low) / 2;
        if (by_work(&facts->list[middle], &wanted) < 0)
            low = middle + 1;
        else
            end = middle;
    }
    for (; low < facts->count && by_work(&facts->list[low], &wanted) == 0; low++)
        if (facts->list[low].slot == GPU_ANY_SLOT || facts->list[low].slot == slot)
            return &facts->list[low];
    return NULL;
}

/* ---- gpu bias -------------------------------------------------------------------------------- */

void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts)
{
    *bias = (struct gpu_bias){facts};
    if (!gpu_devices_know_bias(&facts->devices))
        message_plain("%s: the file knows no bias of a GPU; times are as stored", input->name);
}

int64_t gpu_bias_stop(const struct gpu_bias *bias, uint64_t proc_id, int slot, int64_t start_ns,
                      int64_t stop_ns)
{
    if (!bias->facts)
        return stop_ns;
    const struct gpu_fact *fact = gpu_facts_of(bias->facts, proc_id, slot, start_ns, stop_ns);
    return gpu_devices_stop(&bias->facts->devices, proc_id, start_ns, stop_ns, fact && fact->idle);
}
