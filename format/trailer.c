/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trailer.c - see trailer.h.
 *
 * Each section has one row in a table: its tag, its least length or entry
 * size, and the functions that put and take one entry. So the walk over
 * sections, the growth rules and the names are written once.
 */
#include "crc32c.h"
#include "trailer.h"

#include "bytes.h"
#include "reader_error.h"
#include "rbwp_writer.h"

#include <inttypes.h>
#include <stdlib.h>

#define END_MAGIC "RBWP.END"
#define SECTION_HEADER_BYTES 16
#define TABLE_HEADER_BYTES 8
#define FLAG_MUST_UNDERSTAND 1u
#define FLAGS_REFUSED 0xffff0000u
#define ENTRY_BYTES_LARGEST 80

/* ---- entries: the fixed part of sections and tables ------------------------ */

static void put_info(const void *from, uint8_t *to)
{
    const struct rbwp_trailer *values = from;
    store_le64(to, values->process_id);
    store_le32(to + 8, values->nodes);
    store_le32(to + 12, values->level);
    store_le_i64(to + 16, values->start_ns);
    store_le_i64(to + 24, values->stop_ns);
    store_le64(to + 32, values->cap_bytes);
    store_le64(to + 40, values->peak_bytes);
    store_le64(to + 48, values->discarded);
}

static void take_info(const uint8_t *from, struct trailer *trailer)
{
    struct rbwp_trailer *values = &trailer->values;
    values->process_id = load_le64(from);
    values->nodes = load_le32(from + 8);
    values->level = load_le32(from + 12);
    values->start_ns = load_le_i64(from + 16);
    values->stop_ns = load_le_i64(from + 24);
    values->cap_bytes = load_le64(from + 32);
    values->peak_bytes = load_le64(from + 40);
    values->discarded = load_le64(from + 48);
}

static void put_clock(const void *from, uint8_t *to)
{
    const struct rbwp_trailer *values = from;
    store_le32(to, values->clock_kind);
    store_le32(to + 4, values->clock_flags);
    store_le64(to + 8, values->clock_hz);
    store_le64(to + 16, values->clock_error_ns);
}

static void take_clock(const uint8_t *from, struct trailer *trailer)
{
    trailer->values.clock_kind = load_le32(from);
    trailer->values.clock_flags = load_le32(from + 4);
    trailer->values.clock_hz = load_le64(from + 8);
    trailer->values.clock_error_ns = load_le64(from + 16);
}

static void put_tables(const void *from, uint8_t *to)
{
    const struct trailer_tables *tables = from;
    store_le64(to, tables->offset);
    store_le64(to + 8, tables->bytes);
    store_le32(to + 16, tables->work_items);
    store_le32(to + 20, tables->sub_items);
    store_le32(to + 24, tables->crc32c);
}

static void take_tables(const uint8_t *from, struct trailer *trailer)
{
    trailer->tables = (struct trailer_tables){
        .offset = load_le64(from),
        .bytes = load_le64(from + 8),
        .work_items = load_le32(from + 16),
        .sub_items = load_le32(from + 20),
        .crc32c = load_le32(from + 24),
        .present = true,
    };
}

static void put_thread(const void *from, uint8_t *to)
{
    const struct rbwp_thread_info *thread = from;
    store_le64(to, thread->thread_id);
    store_le64(to + 8, thread->os_id);
    store_le_i64(to + 16, thread->attached_ns);
    store_le_i64(to + 24, thread->detached_ns);
    store_le64(to + 32, thread->records);
    store_le16(to + 40, thread->name_bytes);
}

static void take_thread(const uint8_t *from, void *to)
{
    struct rbwp_thread_info *thread = to;
    thread->thread_id = load_le64(from);
    thread->os_id = load_le64(from + 8);
    thread->attached_ns = load_le_i64(from + 16);
    thread->detached_ns = load_le_i64(from + 24);
    thread->records = load_le64(from + 32);
    thread->name_bytes = load_le16(from + 40);
}

static void put_loss(const void *from, uint8_t *to)
{
    const struct rbwp_loss *loss = from;
    store_le64(to, loss->thread_id);
    store_le64(to + 8, loss->count);
    store_le_i64(to + 16, loss->first_ns);
    store_le_i64(to + 24, loss->last_ns);
    store_le32(to + 32, loss->cause);
}

static void take_loss(const uint8_t *from, void *to)
{
    struct rbwp_loss *loss = to;
    loss->thread_id = load_le64(from);
    loss->count = load_le64(from + 8);
    loss->first_ns = load_le_i64(from + 16);
    loss->last_ns = load_le_i64(from + 24);
    loss->cause = load_le32(from + 32);
}

static void put_sample(const void *from, uint8_t *to)
{
    const struct rbwp_clock_sample *sample = from;
    store_le64(to, sample->ticks);
    store_le_i64(to + 8, sample->time_ns);
    store_le_i64(to + 16, sample->monotonic_ns);
    store_le_i64(to + 24, sample->realtime_ns);
}

static void take_sample(const uint8_t *from, void *to)
{
    struct rbwp_clock_sample *sample = to;
    sample->ticks = load_le64(from);
    sample->time_ns = load_le_i64(from + 8);
    sample->monotonic_ns = load_le_i64(from + 16);
    sample->realtime_ns = load_le_i64(from + 24);
}

static void put_slot_use(const void *from, uint8_t *to)
{
    const struct rbwp_slot_use *use = from;
    store_le_i64(to, use->from_ns);
    store_le_i64(to + 8, use->to_ns);
    store_le16(to + 16, use->slot);
    store_le16(to + 18, use->name_bytes);
}

static void take_slot_use(const uint8_t *from, void *to)
{
    struct rbwp_slot_use *use = to;
    use->from_ns = load_le_i64(from);
    use->to_ns = load_le_i64(from + 8);
    use->slot = load_le16(from + 16);
    use->name_bytes = load_le16(from + 18);
}

static void put_gpu(const void *from, uint8_t *to)
{
    const struct rbwp_gpu_info *gpu = from;
    store_le64(to, gpu->proc_id);
    store_le32(to + 8, gpu->api);
    store_le32(to + 12, gpu->rounds);
    store_le_i64(to + 16, gpu->bias_ns);
    store_le_i64(to + 24, gpu->spread_ns);
    store_le16(to + 32, gpu->name_bytes);
    store_le32(to + 40, gpu->idle_rounds);
    store_le_i64(to + 48, gpu->idle_bias_ns);
    store_le_i64(to + 56, gpu->idle_spread_ns);
}

static void take_gpu(const uint8_t *from, void *to)
{
    struct rbwp_gpu_info *gpu = to;
    gpu->proc_id = load_le64(from);
    gpu->api = load_le32(from + 8);
    gpu->rounds = load_le32(from + 12);
    gpu->bias_ns = load_le_i64(from + 16);
    gpu->spread_ns = load_le_i64(from + 24);
    gpu->name_bytes = load_le16(from + 32);
    gpu->idle_rounds = load_le32(from + 40);
    gpu->idle_bias_ns = load_le_i64(from + 48);
    gpu->idle_spread_ns = load_le_i64(from + 56);
}

static void put_left(const void *from, uint8_t *to)
{
    const struct rbwp_left *left = from;
    store_le32(to, left->kind);
    store_le64(to + 8, left->entries);
    store_le64(to + 16, left->records);
}

static void take_left(const uint8_t *from, void *to)
{
    struct rbwp_left *left = to;
    left->kind = load_le32(from);
    left->entries = load_le64(from + 8);
    left->records = load_le64(from + 16);
}

static void put_process(const void *from, uint8_t *to)
{
    const struct rbwp_process_info *process = from;
    memcpy(to, process->boot_id, sizeof process->boot_id);
    store_le_i64(to + 16, process->start_ns);
    store_le16(to + 24, process->title_bytes);
}

static void take_process(const uint8_t *from, void *to)
{
    struct rbwp_process_info *process = to;
    memcpy(process->boot_id, from, sizeof process->boot_id);
    process->start_ns = load_le_i64(from + 16);
    process->title_bytes = load_le16(from + 24);
}

static void put_job_fact(const void *from, uint8_t *to)
{
    const struct rbwp_job_fact *fact = from;
    store_le32(to, fact->what);
    store_le16(to + 4, fact->text_bytes);
    store_le_i64(to + 8, fact->number);
}

static void take_job_fact(const uint8_t *from, void *to)
{
    struct rbwp_job_fact *fact = to;
    fact->what = load_le32(from);
    fact->text_bytes = load_le16(from + 4);
    fact->number = load_le_i64(from + 8);
}

static void put_node_clock(const void *from, uint8_t *to)
{
    const struct rbwp_node_clock *clock = from;
    store_le_i64(to, clock->time_ns);
    store_le_i64(to + 8, clock->offset_ns);
    store_le64(to + 16, clock->bound_ns);
    store_le32(to + 24, clock->reference);
}

static void take_node_clock(const uint8_t *from, void *to)
{
    struct rbwp_node_clock *clock = to;
    clock->time_ns = load_le_i64(from);
    clock->offset_ns = load_le_i64(from + 8);
    clock->bound_ns = load_le64(from + 16);
    clock->reference = load_le32(from + 24);
}

static void put_kept(const void *from, uint8_t *to)
{
    const struct rbwp_kept *kept = from;
    store_le_i64(to, kept->from_ns);
    store_le64(to + 8, kept->dropped_records);
    store_le64(to + 16, kept->dropped_rows);
    store_le64(to + 24, kept->dropped_bytes);
    store_le64(to + 32, kept->keep_bytes);
    store_le64(to + 40, kept->keep_ns);
    store_le32(to + 48, kept->why);
    store_le32(to + 52, kept->part);
    store_le16(to + 56, kept->text_bytes);
}

static void take_kept(const uint8_t *from, void *to)
{
    struct rbwp_kept *kept = to;
    kept->from_ns = load_le_i64(from);
    kept->dropped_records = load_le64(from + 8);
    kept->dropped_rows = load_le64(from + 16);
    kept->dropped_bytes = load_le64(from + 24);
    kept->keep_bytes = load_le64(from + 32);
    kept->keep_ns = load_le64(from + 40);
    kept->why = load_le32(from + 48);
    kept->part = load_le32(from + 52);
    kept->text_bytes = load_le16(from + 56);
}

static void put_kind(const void *from, uint8_t *to)
{
    const struct rbwp_sub_item_kind *kind = from;
    store_le16(to, kind->id);
    store_le16(to + 2, kind->name_bytes);
    store_le32(to + 4, kind->flags);
}

static void take_kind(const uint8_t *from, void *to)
{
    struct rbwp_sub_item_kind *kind = to;
    kind->id = load_le16(from);
    kind->name_bytes = load_le16(from + 2);
    kind->flags = load_le32(from + 4);
}

static void put_range(const void *from, uint8_t *to)
{
    const struct rbwp_index_range *range = from;
    store_le64(to, range->offset);
    store_le64(to + 8, range->bytes);
    store_le64(to + 16, range->records);
    store_le_i64(to + 24, range->first_ns);
    store_le_i64(to + 32, range->last_ns);
    store_le64(to + 40, range->thread_id);
    store_le32(to + 48, range->blocks);
    store_le32(to + 52, range->crc32c);
}

static void take_range(const uint8_t *from, void *to)
{
    struct rbwp_index_range *range = to;
    range->offset = load_le64(from);
    range->bytes = load_le64(from + 8);
    range->records = load_le64(from + 16);
    range->first_ns = load_le_i64(from + 24);
    range->last_ns = load_le_i64(from + 32);
    range->thread_id = load_le64(from + 40);
    range->blocks = load_le32(from + 48);
    range->crc32c = load_le32(from + 52);
}

static void put_table_range(const void *from, uint8_t *to)
{
    const struct rbwp_table_range *range = from;
    store_le64(to, range->offset);
    store_le64(to + 8, range->bytes);
    store_le64(to + 16, range->block_bytes);
    store_le32(to + 24, range->table);
    store_le32(to + 28, range->blocks);
    store_le64(to + 32, range->rows);
    store_le64(to + 40, range->first_row);
    store_le64(to + 48, range->last_row);
    store_le_i64(to + 56, range->first_ns);
    store_le_i64(to + 64, range->last_ns);
    store_le64(to + 72, range->thread_id);
}

static void take_table_range(const uint8_t *from, void *to)
{
    *(struct rbwp_table_range *)to = (struct rbwp_table_range){
        .offset = load_le64(from),
        .bytes = load_le64(from + 8),
        .block_bytes = load_le64(from + 16),
        .table = load_le32(from + 24),
        .blocks = load_le32(from + 28),
        .rows = load_le64(from + 32),
        .first_row = load_le64(from + 40),
        .last_row = load_le64(from + 48),
        .first_ns = load_le_i64(from + 56),
        .last_ns = load_le_i64(from + 64),
        .thread_id = load_le64(from + 72),
    };
}

static void put_mark(const void *from, uint8_t *to)
{
    const struct rbwp_mark *mark = from;
    store_le64(to, mark->offset);
    store_le32(to + 8, mark->crc32c);
    store_le32(to + 12, mark->open_count);
    store_le64(to + 16, mark->gpu_works);
    store_le_i64(to + 24, mark->gpu_first_ns);
    store_le_i64(to + 32, mark->gpu_last_ns);
}

static void take_mark(const uint8_t *from, void *to)
{
    struct rbwp_mark *mark = to;
    mark->offset = load_le64(from);
    mark->crc32c = load_le32(from + 8);
    mark->open_count = load_le32(from + 12);
    mark->gpu_works = load_le64(from + 16);
    mark->gpu_first_ns = load_le_i64(from + 24);
    mark->gpu_last_ns = load_le_i64(from + 32);
}

static void put_open_item(const void *from, uint8_t *to)
{
    const struct rbwp_open_item *item = from;
    store_le64(to, item->thread_id);
    store_le_i64(to + 8, item->begin_ns);
    store_le16(to + 16, item->id);
    to[18] = item->kind;
}

static void take_open_item(const uint8_t *from, void *to)
{
    struct rbwp_open_item *item = to;
    item->thread_id = load_le64(from);
    item->begin_ns = load_le_i64(from + 8);
    item->id = load_le16(from + 16);
    item->kind = from[18];
}

static void put_first_block(const void *from, uint8_t *to)
{
    const struct rbwp_first_block *block = from;
    store_le64(to, block->thread_id);
    store_le64(to + 8, block->offset);
    store_le_i64(to + 16, block->first_ns);
    store_le_i64(to + 24, block->last_ns);
}

static void take_first_block(const uint8_t *from, void *to)
{
    struct rbwp_first_block *block = to;
    block->thread_id = load_le64(from);
    block->offset = load_le64(from + 8);
    block->first_ns = load_le_i64(from + 16);
    block->last_ns = load_le_i64(from + 24);
}

/* ---- the sections ------------------------------------------------------------ */

/* Sections of fixed fields. */
static const struct fixed_section {
    char tag[5];
    uint32_t bytes;
    void (*put)(const void *from, uint8_t *to);
    void (*take)(const uint8_t *from, struct trailer *trailer);
} fixed_sections[] = {
    {"INFO", 56, put_info, take_info},
    {"CLCK", 24, put_clock, take_clock},
    {"TABL", 32, put_tables, take_tables},
};

/* Sections that are one string; where pointer and length are in struct rbwp_trailer. */
static const struct text_section {
    char tag[5];
    size_t text, bytes;
} text_sections[] = {
    {"HOST", offsetof(struct rbwp_trailer, host), offsetof(struct rbwp_trailer, host_bytes)},
    {"CMDL", offsetof(struct rbwp_trailer, command), offsetof(struct rbwp_trailer, command_bytes)},
    {"WRIT", offsetof(struct rbwp_trailer, writer), offsetof(struct rbwp_trailer, writer_bytes)},
};

/* Table sections; where array and count are in struct rbwp_trailer, name and length in an element.
 */
#define NO_NAME SIZE_MAX
static const struct table_section {
    char tag[5];
    uint32_t entry_bytes; /* as written */
    uint32_t least_bytes; /* as read; of one shorter than is written now, no more is looked at */
    size_t array, count, element_size, name, name_bytes;
    void (*put)(const void *from, uint8_t *to);
    void (*take)(const uint8_t *from, void *to);
} table_sections[] = {
    {"THRD", 48, 48, offsetof(struct rbwp_trailer, threads),
     offsetof(struct rbwp_trailer, thread_count), sizeof(struct rbwp_thread_info),
     offsetof(struct rbwp_thread_info, name), offsetof(struct rbwp_thread_info, name_bytes),
     put_thread, take_thread},
    {"LOSS", 40, 40, offsetof(struct rbwp_trailer, losses),
     offsetof(struct rbwp_trailer, loss_count), sizeof(struct rbwp_loss), NO_NAME, NO_NAME,
     put_loss, take_loss},
    {"SAMP", 32, 32, offsetof(struct rbwp_trailer, samples),
     offsetof(struct rbwp_trailer, sample_count), sizeof(struct rbwp_clock_sample), NO_NAME,
     NO_NAME, put_sample, take_sample},
    {"SLOT", 24, 24, offsetof(struct rbwp_trailer, slot_uses),
     offsetof(struct rbwp_trailer, slot_use_count), sizeof(struct rbwp_slot_use),
     offsetof(struct rbwp_slot_use, name), offsetof(struct rbwp_slot_use, name_bytes), put_slot_use,
     take_slot_use},
    {"GPUD", 64, 40, offsetof(struct rbwp_trailer, gpus), offsetof(struct rbwp_trailer, gpu_count),
     sizeof(struct rbwp_gpu_info), offsetof(struct rbwp_gpu_info, name),
     offsetof(struct rbwp_gpu_info, name_bytes), put_gpu, take_gpu},
    {"LEFT", 24, 24, offsetof(struct rbwp_trailer, left), offsetof(struct rbwp_trailer, left_count),
     sizeof(struct rbwp_left), NO_NAME, NO_NAME, put_left, take_left},
    {"PROC", 32, 32, offsetof(struct rbwp_trailer, processes),
     offsetof(struct rbwp_trailer, process_count), sizeof(struct rbwp_process_info),
     offsetof(struct rbwp_process_info, title), offsetof(struct rbwp_process_info, title_bytes),
     put_process, take_process},
    {"JOBM", 16, 16, offsetof(struct rbwp_trailer, job_facts),
     offsetof(struct rbwp_trailer, job_fact_count), sizeof(struct rbwp_job_fact),
     offsetof(struct rbwp_job_fact, text), offsetof(struct rbwp_job_fact, text_bytes), put_job_fact,
     take_job_fact},
    {"NCLK", 32, 32, offsetof(struct rbwp_trailer, node_clocks),
     offsetof(struct rbwp_trailer, node_clock_count), sizeof(struct rbwp_node_clock), NO_NAME,
     NO_NAME, put_node_clock, take_node_clock},
    {"KEPT", 64, 64, offsetof(struct rbwp_trailer, kept), offsetof(struct rbwp_trailer, kept_count),
     sizeof(struct rbwp_kept), offsetof(struct rbwp_kept, text),
     offsetof(struct rbwp_kept, text_bytes), put_kept, take_kept},
    {"KIND", 16, 16, offsetof(struct rbwp_trailer, sub_item_kinds),
     offsetof(struct rbwp_trailer, sub_item_kind_count), sizeof(struct rbwp_sub_item_kind),
     offsetof(struct rbwp_sub_item_kind, name), offsetof(struct rbwp_sub_item_kind, name_bytes),
     put_kind, take_kind},
    {"INDX", 56, 56, offsetof(struct rbwp_trailer, index),
     offsetof(struct rbwp_trailer, index_count), sizeof(struct rbwp_index_range), NO_NAME, NO_NAME,
     put_range, take_range},
    {"TIDX", 80, 80, offsetof(struct rbwp_trailer, table_ranges),
     offsetof(struct rbwp_trailer, table_range_count), sizeof(struct rbwp_table_range), NO_NAME,
     NO_NAME, put_table_range, take_table_range},
    {"MARK", 40, 40, offsetof(struct rbwp_trailer, marks),
     offsetof(struct rbwp_trailer, mark_count), sizeof(struct rbwp_mark), NO_NAME, NO_NAME,
     put_mark, take_mark},
    {"OPEN", 24, 24, offsetof(struct rbwp_trailer, open_items),
     offsetof(struct rbwp_trailer, open_item_count), sizeof(struct rbwp_open_item), NO_NAME,
     NO_NAME, put_open_item, take_open_item},
    {"FRST", 32, 32, offsetof(struct rbwp_trailer, first_blocks),
     offsetof(struct rbwp_trailer, first_block_count), sizeof(struct rbwp_first_block), NO_NAME,
     NO_NAME, put_first_block, take_first_block},
};

_Static_assert(sizeof table_sections / sizeof table_sections[0] == TRAILER_TABLES, "an array each");

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define FIXED COUNT_OF(fixed_sections)
#define TEXTS COUNT_OF(text_sections)
#define TABLES COUNT_OF(table_sections)
#define ROWS (FIXED + TEXTS + TABLES) /* sections that are known */

/* A member of a struct by its offset. memcpy, since the types differ. */
static void set_pointer(void *object, size_t member, const void *value)
{
    memcpy((char *)object + member, &value, sizeof(value));
}

static const void *get_pointer(const void *object, size_t member)
{
    const void *value;
    memcpy(&value, (const char *)object + member, sizeof(value));
    return value;
}

static void set_u32(void *object, size_t member, uint32_t value)
{
    memcpy((char *)object + member, &value, sizeof(value));
}

static uint32_t get_u32(const void *object, size_t member)
{
    uint32_t value;
    memcpy(&value, (const char *)object + member, sizeof(value));
    return value;
}

static uint16_t get_u16(const void *object, size_t member)
{
    uint16_t value;
    memcpy(&value, (const char *)object + member, sizeof(value));
    return value;
}

/* ---- decoding ------------------------------------------------------------------ */

/* A section found in the file. */
struct section {
    const uint8_t *tag;
    uint32_t flags;
    uint64_t offset; /* in the file */
    struct cursor payload;
};

static enum rbwp_status section_broken(const struct section *section, enum rule rule,
                                       const char *what, struct rbwp_error *error)
{
    return error_set(error, RBWP_E_CORRUPT, (struct place){"trailer", section->offset, rule},
                     "section \"%.4s\": %s", (const char *)section->tag, what);
}

/* The names behind the entries, in their order (R59). */
static enum rbwp_status take_names(const struct table_section *row, struct section *section,
                                   char *elements, uint32_t count, struct rbwp_error *error)
{
    for (uint32_t i = 0; i < count && row->name != NO_NAME; i++) {
        char *element = elements + i * row->element_size;
        const uint8_t *name = cursor_take(&section->payload, get_u16(element, row->name_bytes));
        if (!name)
            return section_broken(section, RULE_SECTION_NAMES, "a name runs over its end", error);
        set_pointer(element, row->name, name);
    }
    if (section->payload.left)
        return section_broken(section, RULE_SECTION_NAMES, "bytes are left behind the last entry",
                              error);
    return RBWP_OK;
}

static enum rbwp_status take_table(const struct table_section *row, struct section *section,
                                   struct trailer *trailer, struct rbwp_error *error)
{
    const uint8_t *head = cursor_take(&section->payload, TABLE_HEADER_BYTES);
    if (!head)
        return section_broken(section, RULE_SECTION_TABLE, "too short for a table", error);
    uint32_t entry_bytes = load_le32(head), count = load_le32(head + 4);
    const uint8_t *entry = cursor_take(&section->payload, (uint64_t)entry_bytes * count);
    if (!entry || entry_bytes < row->least_bytes)
        return section_broken(section, RULE_SECTION_TABLE,
                              entry ? "its entries are too short" : "its entries run over its end",
                              error);
    /* count entries of at least row->least_bytes are there, so this is not much more than the file.
     */
    char *elements = calloc((size_t)count + 1, row->element_size);
    if (!elements)
        return error_set_memory(error, "trailer");
    trailer->arrays[row - table_sections] = elements;
    for (uint32_t i = 0; i < count; i++, entry += entry_bytes) {
        uint8_t widened[ENTRY_BYTES_LARGEST] = {0};
        memcpy(widened, entry,
               entry_bytes < row->entry_bytes ? row->least_bytes : row->entry_bytes);
        row->take(widened, elements + i * row->element_size);
    }
    set_pointer(&trailer->values, row->array, elements);
    set_u32(&trailer->values, row->count, count);
    return take_names(row, section, elements, count, error);
}

/* R54. An unknown tag may be any bytes, and a message is one line of text. */
static enum rbwp_status section_refused(const struct section *section, struct rbwp_error *error)
{
    char tag[5] = "";
    for (unsigned i = 0; i < 4; i++)
        tag[i] = section->tag[i] > ' ' && section->tag[i] < 0x7f ? (char)section->tag[i] : '?';
    return error_set(
        error, RBWP_E_VERSION, (struct place){"trailer", section->offset, RULE_SECTION_REFUSE},
        "section \"%s\" must be understood and is not; a later version of this program "
        "may read the file",
        tag);
}

/* The row of a tag: of the fixed sections, then of the texts, then of the tables; ROWS: none. */
static unsigned row_of(const void *tag)
{
    unsigned row = 0;
    while (row < FIXED && memcmp(tag, fixed_sections[row].tag, 4))
        row++;
    while (row >= FIXED && row < FIXED + TEXTS && memcmp(tag, text_sections[row - FIXED].tag, 4))
        row++;
    while (row >= FIXED + TEXTS && row < ROWS &&
           memcmp(tag, table_sections[row - FIXED - TEXTS].tag, 4))
        row++;
    return row;
}

/* A section of another tag is handed out as it is. Each has a head in the file, so their number is
 * bounded as the file is. */
static enum rbwp_status keep_section(const struct section *section, struct trailer *trailer,
                                     struct rbwp_error *error)
{
    uint32_t count = trailer->values.section_count;
    if ((count & (count - 1)) == 0) { /* full: it doubles */
        struct rbwp_section *more =
            realloc(trailer->sections, (count ? 2 * (size_t)count : 1) * sizeof *more);
        if (!more)
            return error_set_memory(error, "trailer");
        trailer->values.sections = trailer->sections = more;
    }
    struct rbwp_section *kept = &trailer->sections[count];
    *kept = (struct rbwp_section){.bytes = (uint32_t)section->payload.left,
                                  .data = section->payload.next};
    memcpy(kept->tag, section->tag, sizeof kept->tag);
    trailer->values.section_count++;
    return RBWP_OK;
}

/* Takes one section; seen has a bit for each known one met. */
static enum rbwp_status take_section(struct section *section, struct trailer *trailer,
                                     unsigned *seen, struct rbwp_error *error)
{
    unsigned row = row_of(section->tag);
    if (section->flags & FLAGS_REFUSED || (row == ROWS && section->flags & FLAG_MUST_UNDERSTAND))
        return section_refused(section, error);
    if (row == ROWS)
        return keep_section(section, trailer, error);
    if (*seen >> row & 1)
        return section_broken(section, RULE_SECTION_ONCE, "is there twice", error);
    *seen |= 1u << row;
    if (row >= FIXED + TEXTS)
        return take_table(&table_sections[row - FIXED - TEXTS], section, trailer, error);
    if (row >= FIXED) {
        const struct text_section *text = &text_sections[row - FIXED];
        set_pointer(&trailer->values, text->text, section->payload.next);
        set_u32(&trailer->values, text->bytes, (uint32_t)section->payload.left);
        return RBWP_OK;
    }
    if (section->payload.left < fixed_sections[row].bytes)
        return section_broken(section, RULE_SECTION_LENGTH, "too short", error);
    fixed_sections[row].take(section->payload.next, trailer);
    return RBWP_OK;
}

enum rbwp_status footer_decode(const uint8_t bytes[FOOTER_BYTES], struct footer *footer_out)
{
    if (memcmp(bytes + 24, END_MAGIC, 8))
        return RBWP_END;
    *footer_out = (struct footer){
        .offset = load_le64(bytes),
        .bytes = load_le64(bytes + 8),
        .crc32c = load_le32(bytes + 16),
        .flags = load_le32(bytes + 20),
    };
    return RBWP_OK;
}

enum rbwp_status footer_check(const struct footer *footer, uint64_t footer_offset,
                              struct rbwp_error *error)
{
    struct place place = {"trailer", footer_offset, RULE_TRAILER_BYTES};
    if (footer->bytes > TRAILER_BYTES_MAX)
        return error_set(error, RBWP_E_LIMIT, place,
                         "a trailer of %" PRIu64 " bytes; the limit is 64 MiB", footer->bytes);
    place.rule = RULE_TRAILER_PLACE;
    if (footer->offset > footer_offset || footer_offset - footer->offset != footer->bytes)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "the footer says %" PRIu64 " bytes at %" PRIu64
                         ", which does not end where the footer begins",
                         footer->bytes, footer->offset);
    place.rule = RULE_FOOTER_FLAGS;
    if (footer->flags & FLAGS_REFUSED)
        return error_set(error, RBWP_E_VERSION, place,
                         "footer flags 0x%08" PRIx32 " ask for something this library does not "
                         "know",
                         footer->flags);
    return RBWP_OK;
}

enum rbwp_status trailer_decode(const uint8_t *bytes, const struct footer *footer,
                                struct trailer *trailer_out, struct rbwp_error *error)
{
    *trailer_out = (struct trailer){0};
    if (crc32c(0, bytes, (size_t)footer->bytes) != footer->crc32c)
        return error_set(error, RBWP_E_CORRUPT,
                         (struct place){"trailer", footer->offset, RULE_TRAILER_SUM},
                         "the trailer's sum is wrong");
    struct cursor cursor = {bytes, (size_t)footer->bytes};
    unsigned seen = 0;
    enum rbwp_status status = RBWP_OK;
    while (status == RBWP_OK && cursor.left) {
        uint64_t offset = footer->offset + (uint64_t)(cursor.next - bytes);
        const uint8_t *head = cursor_take(&cursor, SECTION_HEADER_BYTES);
        uint64_t length = head ? load_le64(head + 8) : 0;
        const uint8_t *payload = head ? cursor_take(&cursor, length) : NULL;
        if (!payload) {
            status = error_set(error, RBWP_E_CORRUPT,
                               (struct place){"trailer", offset, RULE_SECTIONS_FILL},
                               "a section runs over the end of the trailer");
            break;
        }
        struct section section = {.tag = head,
                                  .flags = load_le32(head + 4),
                                  .offset = offset,
                                  .payload = {payload, (size_t)length}};
        status = take_section(&section, trailer_out, &seen, error);
    }
    if (status != RBWP_OK)
        trailer_free(trailer_out);
    return status;
}

void trailer_free(struct trailer *trailer)
{
    for (unsigned i = 0; i < TABLES; i++)
        free(trailer->arrays[i]);
    free(trailer->sections);
    *trailer = (struct trailer){0};
}

/* ---- encoding ------------------------------------------------------------------ */

static void put_section_header(const char *tag, uint64_t length, struct buffer *buffer)
{
    uint8_t head[SECTION_HEADER_BYTES] = {0};
    memcpy(head, tag, 4);
    store_le64(head + 8, length);
    buffer_append(buffer, head, sizeof(head));
}

static void put_table(const struct table_section *row, const struct rbwp_trailer *values,
                      struct buffer *buffer)
{
    uint32_t count = get_u32(values, row->count);
    const char *elements = get_pointer(values, row->array);
    uint64_t length = TABLE_HEADER_BYTES + (uint64_t)count * row->entry_bytes;
    for (uint32_t i = 0; i < count && row->name != NO_NAME; i++)
        length += get_u16(elements + i * row->element_size, row->name_bytes);
    if (count == 0)
        return;
    put_section_header(row->tag, length, buffer);
    uint8_t head[TABLE_HEADER_BYTES];
    store_le32(head, row->entry_bytes);
    store_le32(head + 4, count);
    buffer_append(buffer, head, sizeof(head));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t entry[ENTRY_BYTES_LARGEST] = {0};
        row->put(elements + i * row->element_size, entry);
        buffer_append(buffer, entry, row->entry_bytes);
    }
    for (uint32_t i = 0; i < count && row->name != NO_NAME; i++) {
        const char *element = elements + i * row->element_size;
        buffer_append(buffer, get_pointer(element, row->name), get_u16(element, row->name_bytes));
    }
}

/* False: one has a tag that the trailer has fields for. */
static bool put_sections(const struct rbwp_trailer *values, struct buffer *buffer)
{
    for (uint32_t i = 0; i < values->section_count; i++) {
        const struct rbwp_section *section = &values->sections[i];
        if (row_of(section->tag) != ROWS)
            return false;
        put_section_header(section->tag, section->bytes, buffer);
        buffer_append(buffer, section->data, section->bytes);
    }
    return true;
}

static void put_footer(const struct footer *footer, struct buffer *buffer)
{
    uint8_t bytes[FOOTER_BYTES];
    store_le64(bytes, footer->offset);
    store_le64(bytes + 8, footer->bytes);
    store_le32(bytes + 16, footer->crc32c);
    store_le32(bytes + 20, footer->flags);
    memcpy(bytes + 24, END_MAGIC, 8);
    buffer_append(buffer, bytes, sizeof(bytes));
}

enum rbwp_status trailer_encode(const struct rbwp_trailer *values,
                                const struct trailer_tables *tables, uint64_t offset,
                                struct buffer *buffer)
{
    size_t begin = buffer->count;
    for (unsigned i = 0; i < FIXED; i++) {
        uint8_t fixed[ENTRY_BYTES_LARGEST] = {0};
        bool is_tables = fixed_sections[i].put == put_tables;
        fixed_sections[i].put(is_tables ? (const void *)tables : values, fixed);
        put_section_header(fixed_sections[i].tag, fixed_sections[i].bytes, buffer);
        buffer_append(buffer, fixed, fixed_sections[i].bytes);
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        uint32_t bytes = get_u32(values, text_sections[i].bytes);
        if (bytes == 0)
            continue;
        put_section_header(text_sections[i].tag, bytes, buffer);
        buffer_append(buffer, get_pointer(values, text_sections[i].text), bytes);
    }
    for (unsigned i = 0; i < TABLES; i++)
        put_table(&table_sections[i], values, buffer);
    if (!put_sections(values, buffer))
        return RBWP_E_INVALID;
    if (buffer->failed)
        return RBWP_E_MEMORY;
    size_t bytes = buffer->count - begin;
    if (bytes > TRAILER_BYTES_MAX)
        return RBWP_E_LIMIT;
    struct footer footer = {
        .offset = offset,
        .bytes = bytes,
        .crc32c = crc32c(0, buffer->bytes + begin, bytes),
    };
    put_footer(&footer, buffer);
    return buffer->failed ? RBWP_E_MEMORY : RBWP_OK;
}
