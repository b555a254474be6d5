/* SPDX-License-Identifier: Apache-2.0 */
/* Names are copied into blocks that never move. */
#include "live_records.h"

#include "node_clocks.h"
#include "reader_error.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BLOCK_BYTES (128u << 10) /* more than the longest name */

struct name_block {
    struct name_block *next;
    size_t used;
    char bytes[NAME_BLOCK_BYTES];
};

struct name {
    const char *bytes;
    uint16_t count;
};

struct slot_kind {
    struct name name;
    uint16_t flags;
    bool known;
};

struct sub_item {
    struct name name, kind;
    uint16_t kind_flags;
    uint8_t type;
    bool known, has_kind;
};

struct facts {
    struct live_facts said;
    int64_t offset_ns;
    struct name_block *names; /* the one being filled is the first */
    size_t name_bytes;
    bool memory_failed;
    uint32_t part; /* of the recording; losses of earlier ones are in other files */

    uint32_t open_use[RBWP_SLOTS_MAX]; /* 1 + its place in uses, 0 none */
    uint32_t use_count[RBWP_SLOTS_MAX];
    int64_t last_begin_ns[RBWP_SLOTS_MAX];
    struct name slot_name[RBWP_SLOTS_MAX];
    struct slot_kind slot_kind[RBWP_SLOTS_MAX];
    struct sub_item *sub_items; /* RBWP_SUB_ITEMS_MAX of them */
    struct thread_table threads;
    struct rbwp_slot_use *uses; /* all of them until the end, then those of slots used twice */
    uint32_t uses_count;
    struct rbwp_loss *losses; /* times in ticks until the end */
    uint32_t losses_count;
    bool losses_full; /* with different ones */
    struct rbwp_process_info process;
    bool has_process;
    struct name host, command;
    struct rbwp_job_fact job_facts[FACTS_JOB_MAX];
    uint32_t job_fact_count;
    struct node_clocks node_clocks;

    struct rbwp_work_item_name *work_item_table;
    struct rbwp_sub_item_name *sub_item_table;
    struct rbwp_sub_item_kind *kind_table;
    uint32_t kind_count;
    struct rbwp_thread_info *thread_table;
    struct rbwp_left unlogged;
};

/* ---- pieces -------------------------------------------------------------------------- */

/* A copy of the name; an empty one where there is no room. */
static struct name keep_name(struct facts *facts, const uint8_t *bytes, size_t count)
{
    struct name_block *block = facts->names;
    if (count == 0)
        return (struct name){"", 0};
    if (facts->name_bytes + count > FACTS_NAME_BYTES_MAX) {
        facts->said.dropped++;
        return (struct name){"", 0};
    }
    if (!block || NAME_BLOCK_BYTES - block->used < count) {
        block = malloc(sizeof *block);
        if (!block) {
            facts->memory_failed = true;
            return (struct name){"", 0};
        }
        block->next = facts->names;
        block->used = 0;
        facts->names = block;
    }
    char *copy = block->bytes + block->used;
    memcpy(copy, bytes, count);
    block->used += count;
    facts->name_bytes += count;
    return (struct name){copy, (uint16_t)count};
}

static int64_t load_i64(const uint8_t *from)
{
    int64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t load_u64(const uint8_t *from)
{
    return (uint64_t)load_i64(from);
}

static uint16_t load_u16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* From CLOCK_MONOTONIC to the time line. */
static int64_t absolute(const struct facts *facts, int64_t monotonic_ns)
{
    return (int64_t)((uint64_t)monotonic_ns + (uint64_t)facts->offset_ns);
}

/* ---- entries: false if the entry cannot be --------------------------------------------- */

static bool slot_begin(struct facts *facts, const uint8_t *payload, size_t count)
{
    if (load_u16(payload + 8) >= RBWP_SLOTS_MAX)
        return false;
    unsigned slot = load_u16(payload + 8);
    int64_t from_ns = absolute(facts, load_i64(payload));
    if (facts->use_count[slot] && from_ns <= facts->last_begin_ns[slot])
        return true; /* said twice */
    facts->last_begin_ns[slot] = from_ns;
    facts->slot_name[slot] = keep_name(facts, payload + 10, count - 10);
    facts->use_count[slot]++;
    if (facts->open_use[slot])
        facts->uses[facts->open_use[slot] - 1].to_ns = from_ns;
    facts->open_use[slot] = 0;
    if (facts->uses_count == FACTS_SLOT_USES_MAX) {
        facts->said.dropped++;
        return true;
    }
    facts->uses[facts->uses_count++] =
        (struct rbwp_slot_use){.slot = (uint16_t)slot,
                               .from_ns = from_ns,
                               .name = facts->slot_name[slot].bytes,
                               .name_bytes = facts->slot_name[slot].count};
    facts->open_use[slot] = facts->uses_count;
    return true;
}

static bool slot_end(struct facts *facts, const uint8_t *payload, size_t count)
{
    (void)count;
    if (load_u16(payload + 8) >= RBWP_SLOTS_MAX)
        return false;
    uint32_t *open_use = &facts->open_use[load_u16(payload + 8)];
    int64_t to_ns = absolute(facts, load_i64(payload));
    if (!*open_use || to_ns < facts->uses[*open_use - 1].from_ns)
        return true; /* said twice */
    facts->uses[*open_use - 1].to_ns = to_ns;
    *open_use = 0;
    return true;
}

static bool sub_item(struct facts *facts, const uint8_t *payload, size_t count)
{
    if (load_u16(payload + 2) > UINT8_MAX)
        return false;
    facts->sub_items[load_u16(payload)] =
        (struct sub_item){.name = keep_name(facts, payload + 4, count - 4),
                          .type = (uint8_t)load_u16(payload + 2),
                          .known = true};
    return true;
}

static bool slot_kind(struct facts *facts, const uint8_t *payload, size_t count)
{
    if (load_u16(payload) >= RBWP_SLOTS_MAX)
        return false;
    facts->slot_kind[load_u16(payload)] = (struct slot_kind){
        .name = keep_name(facts, payload + 4, count - 4),
        .flags = load_u16(payload + 2),
        .known = true,
    };
    return true;
}

static bool sub_item_kind(struct facts *facts, const uint8_t *payload, size_t count)
{
    if (load_u16(payload + 2) & RBWP_KIND_OF_SLOT)
        return slot_kind(facts, payload, count);
    struct sub_item *item = &facts->sub_items[load_u16(payload)];
    item->kind = keep_name(facts, payload + 4, count - 4);
    item->kind_flags = load_u16(payload + 2);
    item->has_kind = true;
    return true;
}

/* False if the entry cannot be. */
static bool note_outcome(struct facts *facts, enum rbwp_status status)
{
    facts->memory_failed |= status == RBWP_E_MEMORY;
    facts->said.dropped += status == RBWP_E_LIMIT;
    return status != RBWP_E_CORRUPT;
}

static bool thread_begin(struct facts *facts, const uint8_t *payload, size_t count)
{
    struct thread_entry *entry = thread_table_add(&facts->threads, load_u64(payload));
    if (!entry) {
        bool full = facts->threads.map.count == THREAD_TABLE_MAX;
        return note_outcome(facts, full ? RBWP_E_LIMIT : RBWP_E_MEMORY);
    }
    struct name name = keep_name(facts, payload + 24, count - 24);
    entry->info.os_id = load_u64(payload + 8);
    entry->info.attached_ns = absolute(facts, load_i64(payload + 16));
    entry->info.name = name.bytes;
    entry->info.name_bytes = name.count;
    return true;
}

static bool thread_end(struct facts *facts, const uint8_t *payload, size_t count)
{
    (void)count;
    struct thread_entry *entry = thread_table_find(&facts->threads, load_u64(payload));
    if (entry)
        entry->info.detached_ns = absolute(facts, load_i64(payload + 8));
    return entry;
}

static bool clock_sample(struct facts *facts, const uint8_t *payload, size_t count)
{
    (void)count;
    struct rbwp_clock_sample sample;
    memcpy(&sample, payload, sizeof sample);
    live_clock_add(&facts->said.clock, &sample);
    return true;
}

static int by_thread_and_cause(const void *left, const void *right)
{
    const struct rbwp_loss *a = left, *b = right;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count; /* counts go up */
}

/* Keeps the last word about each thread and cause. */
static void settle_losses(struct facts *facts)
{
    uint32_t kept = 0;
    if (facts->losses_count == 0)
        return;
    qsort(facts->losses, facts->losses_count, sizeof *facts->losses, by_thread_and_cause);
    for (uint32_t i = 1; i < facts->losses_count; i++) {
        const struct rbwp_loss *last = &facts->losses[kept], *next = &facts->losses[i];
        kept += last->thread_id != next->thread_id || last->cause != next->cause;
        facts->losses[kept] = *next;
    }
    facts->losses_count = kept + 1;
}

static bool loss(struct facts *facts, const uint8_t *payload, size_t count)
{
    uint32_t cause, part = 0;
    memcpy(&cause, payload + 32, sizeof cause);
    if (count >= 40)
        memcpy(&part, payload + 36, sizeof part);
    if (part != facts->part)
        return true;
    if (facts->losses_count == FACTS_LOSSES_MAX && !facts->losses_full) {
        settle_losses(facts);
        facts->losses_full = facts->losses_count > FACTS_LOSSES_MAX / 2; /* sorting must pay */
    }
    if (facts->losses_count == FACTS_LOSSES_MAX) {
        facts->said.dropped++;
        return true;
    }
    facts->losses[facts->losses_count++] = (struct rbwp_loss){.thread_id = load_u64(payload),
                                                              .count = load_u64(payload + 8),
                                                              .first_ns = load_i64(payload + 16),
                                                              .last_ns = load_i64(payload + 24),
                                                              .cause = cause};
    return true;
}

static bool process(struct facts *facts, const uint8_t *payload, size_t count)
{
    struct name title = keep_name(facts, payload + 24, count - 24);
    facts->process = (struct rbwp_process_info){
        .start_ns = load_i64(payload + 16), .title_bytes = title.count, .title = title.bytes};
    memcpy(facts->process.boot_id, payload, sizeof facts->process.boot_id);
    facts->has_process = true;
    return true;
}

static bool host(struct facts *facts, const uint8_t *payload, size_t count)
{
    facts->host = keep_name(facts, payload, count);
    return true;
}

static bool command(struct facts *facts, const uint8_t *payload, size_t count)
{
    facts->command = keep_name(facts, payload, count);
    return true;
}

/* The log may say a fact twice. */
static bool job_fact(struct facts *facts, const uint8_t *payload, size_t count)
{
    uint32_t what;
    memcpy(&what, payload, sizeof what);
    for (uint32_t i = 0; i < facts->job_fact_count; i++)
        if (facts->job_facts[i].what == what)
            return true;
    if (facts->job_fact_count == FACTS_JOB_MAX) {
        facts->said.dropped++;
        return true;
    }
    struct name text = keep_name(facts, payload + 12, count - 12);
    facts->job_facts[facts->job_fact_count++] =
        (struct rbwp_job_fact){what, load_i64(payload + 4), text.count, text.bytes};
    return true;
}

/* One that is not behind the last was said before. */
static bool node_clock(struct facts *facts, const uint8_t *payload, size_t count)
{
    (void)count;
    struct rbwp_node_clock clock;
    memcpy(&clock, payload, sizeof clock);
    (void)node_clocks_add(&facts->node_clocks, clock);
    return true;
}

static bool row_schema(struct facts *facts, const uint8_t *payload, size_t count)
{
    return note_outcome(facts, live_tables_schema(&facts->said.row_tables, payload, count));
}

static bool row_name(struct facts *facts, const uint8_t *payload, size_t count)
{
    return note_outcome(facts, live_tables_name(&facts->said.row_tables, payload, count));
}

/* By kind: who takes it, and how long its payload is. An entry of a later version may be longer. */
static const struct taker {
    bool (*take)(struct facts *facts, const uint8_t *payload, size_t count);
    size_t least;
    size_t text_most; /* of what stands behind that; 0: any */
} takers[] = {
    [LIVE_SLOT_BEGIN] = {slot_begin, 10, RBWP_NAME_BYTES_MAX},
    [LIVE_SLOT_END] = {slot_end, 10, 0},
    [LIVE_SUB_ITEM] = {sub_item, 4, RBWP_NAME_BYTES_MAX},
    [LIVE_THREAD] = {thread_begin, 24, RBWP_NAME_BYTES_MAX},
    [LIVE_THREAD_END] = {thread_end, 16, 0},
    [LIVE_SAMPLE] = {clock_sample, sizeof(struct rbwp_clock_sample), 0},
    [LIVE_LOSS] = {loss, 36, 0},
    [LIVE_PROCESS] = {process, 24, RBWP_NAME_BYTES_MAX},
    [LIVE_HOST] = {host, 0, RBWP_NAME_BYTES_MAX},
    [LIVE_SCHEMA] = {row_schema, 0, 0},
    [LIVE_NAME] = {row_name, 0, 0},
    [LIVE_JOB] = {job_fact, 12, RBWP_NAME_BYTES_MAX},
    [LIVE_NODE_CLOCK] = {node_clock, sizeof(struct rbwp_node_clock), 0},
    [LIVE_KIND] = {sub_item_kind, 4, RBWP_NAME_BYTES_MAX},
    [LIVE_COMMAND] = {command, 0, LIVE_COMMAND_BYTES_MAX},
};

static bool live_facts_take_entry(void *context, uint32_t kind, const uint8_t *payload,
                                  size_t count)
{
    struct facts *facts = context;
    const struct taker *taker =
        kind < sizeof takers / sizeof takers[0] ? &takers[kind] : &takers[0];
    const bool fits = taker->take && count >= taker->least &&
                      (!taker->text_most || count - taker->least <= taker->text_most);
    if (!fits || !taker->take(facts, payload, count))
        facts->said.damaged++;
    return !facts->memory_failed;
}

/* ---- the result -------------------------------------------------------------------------- */

static bool live_facts_make_tables(struct facts *facts)
{
    uint32_t sub_items = 0;
    for (unsigned id = 0; id < RBWP_SUB_ITEMS_MAX; id++)
        sub_items += facts->sub_items[id].known;
    facts->work_item_table = calloc(RBWP_SLOTS_MAX, sizeof *facts->work_item_table);
    facts->sub_item_table = calloc(sub_items + 1, sizeof *facts->sub_item_table);
    if (!facts->work_item_table || !facts->sub_item_table)
        return false;
    struct rbwp_tables *tables = &facts->said.tables;
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        if (facts->use_count[slot])
            facts->work_item_table[tables->work_item_count++] = (struct rbwp_work_item_name){
                (uint16_t)slot, facts->slot_name[slot].count, facts->slot_name[slot].bytes};
    for (unsigned id = 0; id < RBWP_SUB_ITEMS_MAX; id++)
        if (facts->sub_items[id].known)
            facts->sub_item_table[tables->sub_item_count++] = (struct rbwp_sub_item_name){
                (uint16_t)id, facts->sub_items[id].type, facts->sub_items[id].name.count,
                facts->sub_items[id].name.bytes};
    tables->work_items = facts->work_item_table;
    tables->sub_items = facts->sub_item_table;
    return true;
}

static bool make_kinds(struct facts *facts)
{
    uint32_t kinds = 0;
    for (unsigned id = 0; id < RBWP_SUB_ITEMS_MAX; id++)
        kinds += facts->sub_items[id].known && facts->sub_items[id].has_kind;
    facts->kind_table = calloc(kinds + RBWP_SLOTS_MAX, sizeof *facts->kind_table);
    if (!facts->kind_table)
        return false;
    for (unsigned id = 0; id < RBWP_SUB_ITEMS_MAX; id++) {
        const struct sub_item *item = &facts->sub_items[id];
        if (item->known && item->has_kind)
            facts->kind_table[facts->kind_count++] = (struct rbwp_sub_item_kind){
                (uint16_t)id, item->kind.count, item->kind_flags, item->kind.bytes};
    }
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        const struct slot_kind *kind = &facts->slot_kind[slot];
        if (kind->known)
            facts->kind_table[facts->kind_count++] = (struct rbwp_sub_item_kind){
                (uint16_t)slot, kind->name.count, kind->flags, kind->name.bytes};
    }
    return true;
}

static bool live_facts_make_threads(struct facts *facts)
{
    facts->thread_table = calloc(facts->threads.map.count + 1, sizeof *facts->thread_table);
    for (uint32_t i = 0; facts->thread_table && i < facts->threads.map.count; i++)
        facts->thread_table[i] = facts->threads.entries[i].info;
    return facts->thread_table;
}

/* A slot that had one name all the time needs no entry: the work-item table has it. */
static void drop_single_uses(struct facts *facts)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < facts->uses_count; i++)
        if (facts->use_count[facts->uses[i].slot] > 1)
            facts->uses[kept++] = facts->uses[i];
    facts->uses_count = kept;
}

static void date_losses(struct facts *facts)
{
    settle_losses(facts);
    for (uint32_t i = 0; i < facts->losses_count; i++) {
        struct rbwp_loss *entry = &facts->losses[i];
        uint64_t first = (uint64_t)entry->first_ns, last = (uint64_t)entry->last_ns;
        bool known = (first || last) && facts->said.clock.count;
        entry->first_ns = known ? live_clock_ns(&facts->said.clock, first) : 0;
        entry->last_ns = known ? live_clock_ns(&facts->said.clock, last) : 0;
    }
}

/* ---- what is missing ----------------------------------------------------------------------- */

static bool is_record(unsigned cause)
{
    return cause == RBWP_LOSS_DROPPED || cause == RBWP_LOSS_STALLED || cause == RBWP_LOSS_IO ||
           cause == RBWP_LOSS_MEMORY || cause == RBWP_LOSS_GPU_PENDING ||
           cause == RBWP_LOSS_GPU_FAILED || cause == RBWP_LOSS_ROWS || cause == RBWP_LOSS_ROWS_IO;
}

static void count_missing(struct facts *facts, const struct live_file *live,
                          const struct live_counts *counts)
{
    struct rbwp_live_missing *missing = &facts->said.missing;
    uint64_t chunks = counts->unprotected_chunks;
    chunks = chunks < LIVE_CHUNKS_MAX ? chunks : LIVE_CHUNKS_MAX;
    for (unsigned cause = 0; cause < LIVE_CAUSES; cause++)
        missing->lost_records += is_record(cause) ? counts->lost[cause] : 0;
    missing->unwritten_records = counts->unwritten_records;
    missing->unwritten_blocks = counts->unwritten_blocks;
    missing->unprotected_bytes = chunks * live->head.chunk_bytes;
    missing->unprotected_records_most = chunks * live_chunk_words(live);
    missing->unlogged_names = counts->unlogged[LIVE_SLOT_BEGIN] + counts->unlogged[LIVE_SLOT_END] +
                              counts->unlogged[LIVE_SUB_ITEM] + counts->unlogged[LIVE_KIND] +
                              counts->unlogged[LIVE_SCHEMA] + counts->unlogged[LIVE_NAME];
    missing->unlogged_threads = counts->unlogged[LIVE_THREAD] + counts->unlogged[LIVE_THREAD_END];
    facts->unlogged = (struct rbwp_left){
        .kind = RBWP_LEFT_LIVE_LOG, .entries = missing->unlogged_names + missing->unlogged_threads};
}

/* Losses that no entry of the log has; whose they were is not known. Of a part, the log may have
 * more: what was counted before the part's end, and noted in the next one. */
static void live_facts_add_loss(struct facts *facts, uint32_t cause, uint64_t count)
{
    for (uint32_t i = 0; i < facts->losses_count; i++) {
        struct rbwp_loss *known = &facts->losses[i];
        if (known->cause != cause)
            continue;
        if (facts->part && known->count > count)
            known->count = count;
        count -= known->count < count ? known->count : count;
    }
    if (count)
        facts->losses[facts->losses_count++] = (struct rbwp_loss){.cause = cause, .count = count};
}

/* The log has losses now and then, the counts have all. */
static void add_losses(struct facts *facts, const struct live_file *live,
                       const struct live_counts *counts)
{
    for (uint32_t cause = 1; cause < LIVE_CAUSES; cause++)
        live_facts_add_loss(facts, cause,
                            counts->lost[cause] +
                                (cause == RBWP_LOSS_IO ? counts->unwritten_records : 0));
    if (!live_file_is_locked(live)) /* it died */
        live_facts_add_loss(facts, RBWP_LOSS_UNPROTECTED,
                            facts->said.missing.unprotected_records_most);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < facts->losses_count; i++)
        if (facts->losses[i].count)
            facts->losses[kept++] = facts->losses[i];
    facts->losses_count = kept;
}

static void make_trailer(struct facts *facts, const struct live_head *head)
{
    const struct live_clock *clock = &facts->said.clock;
    facts->said.trailer = (struct rbwp_trailer){
        .process_id = head->process_id,
        .nodes = head->nodes,
        .level = head->level,
        .start_ns = clock->count ? clock->samples[0].time_ns : 0,
        .stop_ns = clock->count ? clock->samples[clock->count - 1].time_ns : 0,
        .clock_kind = head->clock_kind,
        .clock_hz = head->ticks_per_second,
        .cap_bytes = head->cap_bytes,
        .threads = facts->thread_table,
        .losses = facts->losses,
        .samples = clock->samples,
        .slot_uses = facts->uses,
        .thread_count = facts->threads.map.count,
        .loss_count = facts->losses_count,
        .sample_count = clock->count,
        .slot_use_count = facts->uses_count,
        .left = &facts->unlogged,
        .left_count = facts->unlogged.entries != 0,
        .command = facts->command.bytes,
        .command_bytes = facts->command.count,
        .host = facts->host.bytes,
        .host_bytes = facts->host.count,
        .processes = &facts->process,
        .process_count = facts->has_process,
        .job_facts = facts->job_facts,
        .job_fact_count = facts->job_fact_count,
        .node_clocks = facts->node_clocks.kept,
        .node_clock_count = facts->node_clocks.count,
        .sub_item_kinds = facts->kind_table,
        .sub_item_kind_count = facts->kind_count,
    };
}

static void subtract(uint64_t *count, uint64_t told)
{
    *count -= *count < told ? *count : told;
}

/* What is left is this part's. */
static void leave_out_told(struct facts *facts, struct live_counts *counts,
                           const struct live_told *told)
{
    facts->said.told.unwritten_records = counts->unwritten_records;
    memcpy(facts->said.told.lost, counts->lost, sizeof facts->said.told.lost);
    subtract(&counts->unwritten_records, told->unwritten_records);
    for (unsigned cause = 0; cause < LIVE_CAUSES; cause++)
        subtract(&counts->lost[cause], told->lost[cause]);
}

/* When the log has been read: what it said, and what stands beside it. */
static void live_facts_settle(struct facts *facts, const struct live_file *live)
{
    struct rbwp_clock_sample samples[LIVE_FILE_SAMPLES_MAX];
    uint32_t count = live_file_samples(live, samples);
    struct live_counts counts = live_file_counts(live);
    leave_out_told(facts, &counts, &live->head.ring.told);
    for (uint32_t i = 0; i < count; i++)
        live_clock_add(&facts->said.clock, &samples[i]);
    drop_single_uses(facts);
    date_losses(facts);
    count_missing(facts, live, &counts);
    add_losses(facts, live, &counts);
}

enum rbwp_status live_facts_read(const struct live_file *live, struct live_facts **facts_out,
                                 struct rbwp_error *error)
{
    *facts_out = NULL;
    struct facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return error_set_memory(error, "live file");
    facts->offset_ns = live->head.offset_ns;
    facts->part = live->head.ring.part;
    facts->sub_items = calloc(RBWP_SUB_ITEMS_MAX, sizeof *facts->sub_items);
    facts->uses = malloc(FACTS_SLOT_USES_MAX * sizeof *facts->uses);
    facts->losses = malloc((FACTS_LOSSES_MAX + LIVE_CAUSES + 2) * sizeof *facts->losses);
    uint64_t torn = 0;
    enum rbwp_status status = live_clock_init(&facts->said.clock, live->head.ticks_per_second);
    if (!facts->sub_items || !facts->uses || !facts->losses)
        status = RBWP_E_MEMORY;
    if (status == RBWP_OK)
        status = live_file_log(live, live_facts_take_entry, facts, &torn, error);
    facts->said.damaged += torn;
    if (status == RBWP_OK)
        live_facts_settle(facts, live);
    if (status == RBWP_OK && (facts->memory_failed || !live_facts_make_tables(facts) ||
                              !make_kinds(facts) || !live_facts_make_threads(facts)))
        status = RBWP_E_MEMORY;
    if (status == RBWP_E_MEMORY)
        error_set_memory(error, "live file");
    if (status != RBWP_OK) {
        live_facts_free(&facts->said);
        return status;
    }
    make_trailer(facts, &live->head);
    *facts_out = &facts->said;
    return RBWP_OK;
}

void live_facts_free(struct live_facts *said)
{
    struct facts *facts = (struct facts *)said; /* its first member */
    if (!facts)
        return;
    while (facts->names) {
        struct name_block *block = facts->names;
        facts->names = block->next;
        free(block);
    }
    thread_table_free(&facts->threads);
    live_tables_free(&facts->said.row_tables);
    live_clock_free(&facts->said.clock);
    free(facts->sub_items);
    free(facts->uses);
    free(facts->losses);
    free(facts->work_item_table);
    free(facts->sub_item_table);
    free(facts->kind_table);
    free(facts->thread_table);
    free(facts);
}

bool live_facts_counts(const struct live_facts *facts, uint32_t cause)
{
    return cause < LIVE_CAUSES &&
           (facts->told.lost[cause] || (cause == RBWP_LOSS_IO && facts->told.unwritten_records));
}
