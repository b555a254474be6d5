/* SPDX-License-Identifier: Apache-2.0 */
/* File parts as JSON. None of this is in a hurry. */
#include "recorded_command.h"
#include "json_file.h"
#include "json_text.h"

#include <stdio.h>
#include <string.h>

static void comma(struct out *out)
{
    out_bytes(out, ",", 1);
}

/* Separator before element i of an array written one element a line. */
static void element(struct out *out, uint64_t i)
{
    out_text(out, i ? ",\n  " : "\n  ");
}

static void plain_member(struct out *out, const char *key, uint64_t value)
{
    comma(out);
    json_u64(out, key, value);
}

static void time_member(struct out *out, const char *key, int64_t value)
{
    comma(out);
    json_i64(out, key, value);
}

void json_head(struct out *out, const struct input *input)
{
    const struct rbwp_file_header *header = rbwp_reader_header(input->reader);
    json_name(out, "file", input->path, strlen(input->path));
    out_text(out, ",\n\"header\":{");
    json_plain(out, "magic", RBWP_MAGIC);
    plain_member(out, "version", header->version);
    plain_member(out, "flags", header->flags);
    plain_member(out, "node_id", header->node);
    time_member(out, "zero_time", header->zero_time_ns);
    plain_member(out, "work_item_count", header->work_items);
    plain_member(out, "sub_item_count", header->sub_items);
    plain_member(out, "descriptor_offset", header->descriptor_offset);
    out_text(out, "}");
}

void json_block_header(struct out *out, const struct rbwp_block_header *header)
{
    json_u64(out, "thread_id", header->thread_id);
    plain_member(out, "sequence", header->sequence);
    plain_member(out, "record_count", header->records);
    time_member(out, "base_timestamp", header->base_time_ns);
    plain_member(out, "data_size", header->data_bytes);
    plain_member(out, "compressed_size", header->stored_bytes);
}

/* ---- damage ------------------------------------------------------------- */

static void incomplete_tail(struct out *out, const struct rbwp_reader *reader)
{
    const struct rbwp_problem *problem = NULL, *cut = NULL;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        if (problem->cut_tail)
            cut = problem;
    json_key(out, "incomplete_tail");
    if (!cut) {
        out_text(out, "null");
        return;
    }
    out_text(out, "{");
    json_u64(out, "offset", cut->error.offset);
    plain_member(out, "bytes", cut->skipped_bytes);
    comma(out);
    json_plain(out, "reason", cut->has_block ? "block data cut" : "block header cut");
    if (cut->has_block) {
        comma(out);
        json_block_header(out, &cut->block);
    }
    out_text(out, "}");
}

static void problem_members(struct out *out, const struct rbwp_problem *problem)
{
    const struct rbwp_error *error = &problem->error;
    json_key(out, "offset");
    if (error->offset == UINT64_MAX)
        out_text(out, "null");
    else
        out_u64(out, error->offset);
    comma(out);
    json_plain(out, "section", error->section);
    plain_member(out, "rule", error->rule);
    comma(out);
    json_plain(out, "status", rbwp_status_text(error->status));
    comma(out);
    json_name(out, "message", error->text, strlen(error->text));
    plain_member(out, "skipped_bytes", problem->skipped_bytes);
    comma(out);
    json_bool(out, "cut_tail", problem->cut_tail);
}

static void one_problem(struct out *out, uint64_t i, const struct rbwp_problem *problem)
{
    element(out, i);
    out_text(out, "{");
    problem_members(out, problem);
    out_text(out, "}");
}

static void problems(struct out *out, const struct rbwp_reader *reader,
                     const struct file_tables *tables)
{
    json_u64(out, "problem_count", rbwp_reader_problem_count(reader) + tables->broken);
    out_text(out, ",\n\"problems\":[");
    const struct rbwp_problem *problem;
    uint64_t shown = 0;
    while ((problem = rbwp_reader_problem(reader, shown)))
        one_problem(out, shown++, problem);
    for (uint32_t i = 0; i < tables->problem_count; i++)
        one_problem(out, shown++, &(struct rbwp_problem){.error = tables->problems[i]});
    out_text(out, "]");
}

/* True when no rule is broken; a file that just stops is incomplete, not invalid. */
static bool is_valid(const struct rbwp_reader *reader)
{
    const struct rbwp_problem *problem;
    uint64_t cuts = 0;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        cuts += problem->cut_tail;
    return rbwp_reader_problem_count(reader) == cuts;
}

/* ---- descriptors -------------------------------------------------------- */

static void tables(struct out *out, const struct rbwp_tables *tables)
{
    out_text(out, "\"work_items\":[");
    for (uint32_t i = 0; i < tables->work_item_count; i++) {
        const struct rbwp_work_item_name *item = &tables->work_items[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "slot", item->slot);
        comma(out);
        json_name(out, "name", item->name, item->name_bytes);
        out_text(out, "}");
    }
    out_text(out, "],\n\"sub_items\":[");
    for (uint32_t i = 0; i < tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &tables->sub_items[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "id", item->id);
        plain_member(out, "type", item->type);
        comma(out);
        json_plain(out, "type_name", rbwp_sub_item_type_name(item->type));
        comma(out);
        json_name(out, "name", item->name, item->name_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

/* ---- trailer ------------------------------------------------------------ */

static void command_line(struct out *out, const struct rbwp_trailer *trailer)
{
    struct recorded_command arguments = recorded_command_of(trailer);
    const char *text, *separator = "";
    size_t bytes;
    json_key(out, "command");
    out_text(out, "[");
    while (recorded_command_next(&arguments, &text, &bytes)) {
        out_text(out, separator);
        json_string(out, text, bytes);
        separator = ",";
    }
    out_text(out, "]");
}

static void session(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"session\":{");
    json_name(out, "host", trailer->host, trailer->host_bytes);
    comma(out);
    command_line(out, trailer);
    comma(out);
    json_name(out, "writer", trailer->writer, trailer->writer_bytes);
    plain_member(out, "process_id", trailer->process_id);
    plain_member(out, "nodes", trailer->nodes);
    plain_member(out, "level", trailer->level);
    time_member(out, "start", trailer->start_ns);
    time_member(out, "stop", trailer->stop_ns);
    plain_member(out, "cap_bytes", trailer->cap_bytes);
    plain_member(out, "peak_bytes", trailer->peak_bytes);
    plain_member(out, "discarded", trailer->discarded);
    out_text(out, "}");
}

static const char *clock_name(uint32_t kind)
{
    static const char *const names[] = {"unknown", "tsc", "monotonic", "user"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

static void clock_facts(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"clock\":{");
    json_u64(out, "kind", trailer->clock_kind);
    comma(out);
    json_plain(out, "kind_name", clock_name(trailer->clock_kind));
    plain_member(out, "flags", trailer->clock_flags);
    plain_member(out, "hz", trailer->clock_hz);
    plain_member(out, "error_ns", trailer->clock_error_ns);
    out_text(out, ",\"samples\":[");
    for (uint32_t i = 0; i < trailer->sample_count; i++) {
        const struct rbwp_clock_sample *sample = &trailer->samples[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "ticks", sample->ticks);
        time_member(out, "ts", sample->time_ns);
        time_member(out, "monotonic", sample->monotonic_ns);
        time_member(out, "realtime", sample->realtime_ns);
        out_text(out, "}");
    }
    out_text(out, "]}");
}

static void threads(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"threads\":[");
    for (uint32_t i = 0; i < trailer->thread_count; i++) {
        const struct rbwp_thread_info *thread = &trailer->threads[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "thread_id", thread->thread_id);
        comma(out);
        json_name(out, "name", thread->name, thread->name_bytes);
        plain_member(out, "os_id", thread->os_id);
        time_member(out, "attached", thread->attached_ns);
        time_member(out, "detached", thread->detached_ns);
        plain_member(out, "record_count", thread->records);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void losses(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"losses\":[");
    for (uint32_t i = 0; i < trailer->loss_count; i++) {
        const struct rbwp_loss *loss = &trailer->losses[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "thread_id", loss->thread_id);
        plain_member(out, "cause", loss->cause);
        comma(out);
        json_plain(out, "cause_name", rbwp_loss_cause_name(loss->cause));
        plain_member(out, "count", loss->count);
        time_member(out, "first", loss->first_ns);
        time_member(out, "last", loss->last_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void slot_uses(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"slot_uses\":[");
    for (uint32_t i = 0; i < trailer->slot_use_count; i++) {
        const struct rbwp_slot_use *use = &trailer->slot_uses[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "slot", use->slot);
        comma(out);
        json_name(out, "name", use->name, use->name_bytes);
        time_member(out, "from", use->from_ns);
        time_member(out, "to", use->to_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void one_gpu(struct out *out, uint64_t i, const struct rbwp_gpu_info *gpu)
{
    element(out, i);
    out_text(out, "{");
    json_u64(out, "proc_id", gpu->proc_id);
    comma(out);
    json_name(out, "name", gpu->name, gpu->name_bytes);
    plain_member(out, "api", gpu->api);
    plain_member(out, "bias_rounds", gpu->rounds);
    time_member(out, "bias", gpu->bias_ns);
    time_member(out, "bias_spread", gpu->spread_ns);
    plain_member(out, "idle_rounds", gpu->idle_rounds);
    time_member(out, "idle_bias", gpu->idle_bias_ns);
    time_member(out, "idle_spread", gpu->idle_spread_ns);
    out_text(out, "}");
}

/* Of the trailer and of the table gpu_device: a file tells of a GPU in one of them. */
static void gpus(struct out *out, const struct rbwp_trailer *trailer,
                 const struct gpu_devices *devices)
{
    uint64_t shown = 0;
    out_text(out, "\"gpus\":[");
    for (uint32_t i = 0; trailer && i < trailer->gpu_count; i++)
        one_gpu(out, shown++, &trailer->gpus[i]);
    for (uint32_t i = 0; i < devices->count; i++)
        one_gpu(out, shown++, &devices->list[i]);
    out_text(out, "]");
}

static void left_out(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"left_out\":[");
    for (uint32_t i = 0; i < trailer->left_count; i++) {
        const struct rbwp_left *left = &trailer->left[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "kind", left->kind);
        comma(out);
        json_plain(out, "kind_name", rbwp_left_kind_name(left->kind));
        plain_member(out, "entries", left->entries);
        plain_member(out, "records", left->records);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void process(struct out *out, const struct rbwp_trailer *trailer)
{
    char boot_id[2 * sizeof trailer->processes->boot_id + 1];
    out_text(out, "\"processes\":[");
    for (uint32_t i = 0; i < trailer->process_count; i++) {
        const struct rbwp_process_info *info = &trailer->processes[i];
        for (size_t byte = 0; byte < sizeof info->boot_id; byte++)
            snprintf(boot_id + 2 * byte, 3, "%02x", info->boot_id[byte]);
        element(out, i);
        out_text(out, "{");
        json_plain(out, "boot_id", boot_id);
        time_member(out, "start_since_boot", info->start_ns);
        comma(out);
        json_name(out, "name", info->title, info->title_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void job(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"job\":[");
    for (uint32_t i = 0; i < trailer->job_fact_count; i++) {
        const struct rbwp_job_fact *fact = &trailer->job_facts[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "what", fact->what);
        comma(out);
        json_plain(out, "what_name", rbwp_job_what_name(fact->what));
        time_member(out, "number", fact->number);
        comma(out);
        json_name(out, "name", fact->text, fact->text_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void node_clocks(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"node_clocks\":[");
    for (uint32_t i = 0; i < trailer->node_clock_count; i++) {
        const struct rbwp_node_clock *clock = &trailer->node_clocks[i];
        element(out, i);
        out_text(out, "{");
        json_i64(out, "time", clock->time_ns);
        time_member(out, "offset", clock->offset_ns);
        plain_member(out, "bound", clock->bound_ns);
        plain_member(out, "reference", clock->reference);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void kept(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"kept\":[");
    for (uint32_t i = 0; i < trailer->kept_count; i++) {
        const struct rbwp_kept *entry = &trailer->kept[i];
        element(out, i);
        out_text(out, "{");
        json_i64(out, "from", entry->from_ns);
        plain_member(out, "dropped_records", entry->dropped_records);
        plain_member(out, "dropped_rows", entry->dropped_rows);
        plain_member(out, "dropped_bytes", entry->dropped_bytes);
        plain_member(out, "keep_bytes", entry->keep_bytes);
        plain_member(out, "keep_ns", entry->keep_ns);
        plain_member(out, "why", entry->why);
        comma(out);
        json_plain(out, "why_name", rbwp_kept_why_name(entry->why));
        plain_member(out, "part", entry->part);
        comma(out);
        json_name(out, "name", entry->text, entry->text_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void sub_item_kinds(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"sub_item_kinds\":[");
    for (uint32_t i = 0; i < trailer->sub_item_kind_count; i++) {
        const struct rbwp_sub_item_kind *kind = &trailer->sub_item_kinds[i];
        element(out, i);
        out_text(out, "{");
        json_u64(out, "id", kind->id);
        plain_member(out, "flags", kind->flags);
        comma(out);
        json_name(out, "name", kind->name, kind->name_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

/* Sections that the format does not name; what is in them only their program knows. */
static void unknown_sections(struct out *out, const struct rbwp_trailer *trailer)
{
    out_text(out, "\"unknown_sections\":[");
    for (uint32_t i = 0; i < trailer->section_count; i++) {
        const struct rbwp_section *section = &trailer->sections[i];
        element(out, i);
        out_text(out, "{");
        json_name(out, "tag", section->tag, sizeof section->tag);
        plain_member(out, "length", section->bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void trailer_members(struct out *out, const struct rbwp_trailer *trailer)
{
    static void (*const parts[])(struct out *, const struct rbwp_trailer *) = {
        session, clock_facts, threads,     losses, slot_uses,      left_out,
        process, job,         node_clocks, kept,   sub_item_kinds, unknown_sections};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        out_text(out, ",\n");
        parts[i](out, trailer);
    }
}

void json_tail(struct out *out, const struct input *input, const struct file_tables *tables_seen)
{
    const struct rbwp_reader *reader = input->reader;
    json_u64(out, "file_size", rbwp_reader_size(reader));
    comma(out);
    json_bool(out, "finalized", rbwp_reader_header(reader)->descriptor_offset != 0);
    comma(out);
    json_bool(out, "valid", is_valid(reader) && tables_seen->broken == 0);
    out_text(out, ",\n");
    incomplete_tail(out, reader);
    out_text(out, ",\n");
    tables(out, rbwp_reader_tables(reader));
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    if (trailer)
        trailer_members(out, trailer);
    if (trailer || tables_seen->gpus.count) {
        out_text(out, ",\n");
        gpus(out, trailer, &tables_seen->gpus);
    }
    out_text(out, ",\n");
    problems(out, reader, tables_seen);
}

void json_table_counts(struct out *out, const struct file_tables *tables_seen)
{
    const struct rbwp_catalog *catalog = tables_seen->catalog;
    out_text(out, "\"table_counts\":[");
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(catalog); i++) {
        const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, i);
        out_text(out, i ? "," : "");
        out_text(out, "{");
        json_u64(out, "table", schema->table);
        comma(out);
        json_name(out, "name", schema->name, schema->name_bytes);
        plain_member(out, "row_count", rbwp_catalog_row_count(catalog, i));
        out_text(out, "}");
    }
    out_text(out, "]");
}
