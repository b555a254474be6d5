/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp info as text for people. Losses come right after the head, where
 * nobody can miss them. Names are made visible: a name from a file must not
 * move the cursor of a terminal.
 */
#include "info.h"
#include "quantity.h"
#include "recorded_command.h"
#include "result_print.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_SHOWN = 4, SECTIONS_SHOWN = 16 };

/* ---- pieces ------------------------------------------------------------- */

enum { DATE_BYTES = 48 }; /* of a date or time, with its terminator */

/* Texts for out_format; they live as long as the block that they are made in. */
#define RUN_TIME(info, ns) run_time((char[DATE_BYTES]){0}, info, ns)
#define DATE(ns) RUN_TIME(NULL, ns)

static void label(struct out *out, const char *name)
{
    out_format(out, "%-13s", name);
}

void info_show_name(struct out *out, const struct name *known)
{
    if (known && known->bytes)
        text_name(out, known->text, known->bytes);
    else
        out_text(out, known ? "(no name)" : "(name not known)");
}

/* A time of the run, as filters take it. Where no zero time is known, or without info, as a date:
 * "2026-11-20 20:45:55.123456789 UTC", or the bare number for years that the calendar lacks. */
static const char *run_time(char text[DATE_BYTES], const struct info *info, int64_t time_ns)
{
    const int64_t zero_ns = info ? rbwp_reader_header(info->input->reader)->zero_time_ns : 0;
    const int part = (int)(time_ns % 1000000000);
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    if (zero_ns)
        quantity_time(text, time_ns, zero_ns);
    else if (time_ns < 0 || !gmtime_r(&seconds, &utc))
        snprintf(text, DATE_BYTES, "%" PRId64, time_ns);
    else
        snprintf(text + strftime(text, DATE_BYTES, "%Y-%m-%d %H:%M:%S", &utc), 16, ".%09d UTC",
                 part);
    return text;
}

static void run_range(struct out *out, const struct info *info, int64_t first_ns, int64_t last_ns)
{
    out_format(out, "%s to %s (%s)", RUN_TIME(info, first_ns), RUN_TIME(info, last_ns),
               last_ns < first_ns ? "backwards" : DURATION((uint64_t)last_ns - (uint64_t)first_ns));
}

/* Of a list with many lines the first ones are shown, and the last one. */
static uint32_t next_shown(struct out *out, uint32_t i, uint32_t count)
{
    if (count <= SAMPLES_SHOWN || i != SAMPLES_SHOWN - 1)
        return i;
    out_text(out, "  ...\n");
    return count - 1;
}

/* True, with a line about them, where all others of a list are not shown. */
static bool is_cut(struct out *out, uint32_t i, uint32_t shown, uint32_t count, const char *what)
{
    if (i == shown)
        out_format(out, "  ... and %" PRIu32 " more%s (--json shows all)\n", count - i, what);
    return i == shown;
}

/* ---- sections ----------------------------------------------------------- */

static const char *state_of(const struct input *input)
{
    if (input->recovered)
        return "not finalised: shown with what its live file has";
    if (rbwp_reader_header(input->reader)->descriptor_offset)
        return rbwp_reader_trailer(input->reader) ? "finalised, with trailer" : "finalised";
    if (!input->live)
        return "NEVER FINALISED: the writer did not stop; no names";
    return rbwp_live_is_written(input->live)
               ? "being written: names from its live file"
               : "NEVER FINALISED: the writer did not stop; names from its live file";
}

static void info_text_head(struct out *out, const struct info *info)
{
    const struct rbwp_reader *reader = info->input->reader;
    const struct rbwp_file_header *header = rbwp_reader_header(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    const uint64_t archive_bytes = input_archive_bytes(info->input);
    label(out, "file");
    text_name(out, info->input->name, strlen(info->input->name));
    out_format(out, ", %s bytes", GROUPED(rbwp_reader_size(reader)));
    if (archive_bytes)
        out_format(out, ", in an archive of %s", GROUPED(archive_bytes));
    out_format(out, "\n%-13sRBWP %u, level %s, %s\n%-13s%" PRIu32, "format", header->version,
               header->flags & RBWP_FLAG_LEVEL2 ? "2" : "1", state_of(info->input), "node",
               header->node);
    if (trailer && trailer->nodes)
        out_format(out, " of %" PRIu32, trailer->nodes);
    out_format(out, "\n%-13s%s\n", "zero time", DATE(header->zero_time_ns));
}

/* As a shell would take it, roughly: arguments that are empty or have a blank in quotes. */
static void command_line(struct out *out, const struct rbwp_trailer *trailer)
{
    struct recorded_command arguments = recorded_command_of(trailer);
    const char *text, *separator = "";
    size_t bytes;
    while (recorded_command_next(&arguments, &text, &bytes)) {
        const char *quote = bytes == 0 || memchr(text, ' ', bytes) ? "'" : "";
        out_text(out, separator);
        out_text(out, quote);
        text_name(out, text, bytes);
        out_text(out, quote);
        separator = " ";
    }
    out_text(out, "\n");
}

/* Its title, and what distinguishes it from others of the same number. */
static void process(struct out *out, const struct rbwp_trailer *trailer)
{
    const struct rbwp_process_info *info = trailer->process_count ? trailer->processes : NULL;
    if (info && info->title_bytes) {
        out_text(out, " ");
        text_name(out, info->title, info->title_bytes);
    }
    out_text(out, "\n");
    if (!info)
        return;
    out_format(out, "%-13sboot id ", "machine");
    for (size_t i = 0; i < sizeof info->boot_id; i++)
        out_format(out, "%02x", info->boot_id[i]);
    if (info->start_ns > 0)
        out_format(out, ", up for %s when the process began", DURATION((uint64_t)info->start_ns));
    out_text(out, "\n");
}

static bool info_text_is_number(uint32_t what)
{
    return what == RBWP_JOB_RANK || what == RBWP_JOB_RANKS || what == RBWP_JOB_STARTED;
}

/* "job 4711, step 2, node name n17, rank 3 ..." */
static void job(struct out *out, const struct rbwp_trailer *trailer)
{
    const char *separator = "";
    label(out, "job");
    for (uint32_t i = 0; i < trailer->job_fact_count; i++) {
        const struct rbwp_job_fact *fact = &trailer->job_facts[i];
        out_format(out, "%s%s ", separator, rbwp_job_what_name(fact->what));
        if (fact->what == RBWP_JOB_STARTED)
            out_text(out, DATE(fact->number));
        else if (info_text_is_number(fact->what) || fact->text_bytes == 0)
            out_i64(out, fact->number);
        else
            text_name(out, fact->text, fact->text_bytes);
        separator = ", ";
    }
    out_text(out, trailer->job_fact_count ? "\n" : "not said\n");
}

static void node_clocks(struct out *out, const struct info *info,
                        const struct rbwp_trailer *trailer)
{
    const uint32_t count = trailer->node_clock_count;
    if (count)
        out_format(out, "%-13srank %" PRIu32 ", compared %" PRIu32 " times\n", "clock of",
                   trailer->node_clocks[0].reference, count);
    for (uint32_t i = 0; i < count; i++) {
        i = next_shown(out, i, count);
        const struct rbwp_node_clock *clock = &trailer->node_clocks[i];
        const bool behind = clock->offset_ns < 0;
        const uint64_t offset_ns = (uint64_t)clock->offset_ns;
        out_format(out, "  at %s it was %s %s, give or take %s\n", RUN_TIME(info, clock->time_ns),
                   DURATION(behind ? 0 - offset_ns : offset_ns), behind ? "behind" : "ahead",
                   DURATION(clock->bound_ns));
    }
}

static void keep_wish(struct out *out, const struct rbwp_kept *kept)
{
    if (kept->keep_bytes == 0 && kept->keep_ns == 0)
        return;
    out_text(out, "; to be kept were ");
    if (kept->keep_bytes)
        out_format(out, "%s bytes%s", GROUPED(kept->keep_bytes), kept->keep_ns ? ", " : "");
    if (kept->keep_ns)
        out_text(out, DURATION(kept->keep_ns));
}

/* Which part of a recording the file has, if not all of it. */
static void kept_part(struct out *out, const struct info *info, const struct rbwp_trailer *trailer)
{
    const struct rbwp_kept *kept = trailer->kept;
    if (trailer->kept_count == 0)
        return;
    label(out, "KEPT");
    if (kept->from_ns)
        out_format(out, "what was recorded from %s on", RUN_TIME(info, kept->from_ns));
    else
        out_text(out,
                 kept->why == RBWP_KEPT_SPLIT ? "from the beginning on" : "all that was recorded");
    if (kept->from_ns && (kept->why != RBWP_KEPT_SPLIT || kept->dropped_records))
        out_format(out, "; before it %s records and %s rows were not kept",
                   GROUPED(kept->dropped_records), GROUPED(kept->dropped_rows));
    keep_wish(out, kept);
    out_text(out, "\n");
    if (kept->part)
        out_format(out, "%-13s%" PRIu32 " of the files that the recording was cut into\n", "part",
                   kept->part);
    out_format(out, "%-13sbecause of: %s%s", "written", rbwp_kept_why_name(kept->why),
               kept->text_bytes ? ": " : "");
    text_name(out, kept->text, kept->text_bytes);
    out_text(out, "\n");
}

static void session(struct out *out, const struct rbwp_trailer *trailer)
{
    label(out, "session");
    run_range(out, NULL, trailer->start_ns, trailer->stop_ns);
    out_format(out, ", level %" PRIu32 "\n%-13s", trailer->level, "host");
    text_name(out, trailer->host, trailer->host_bytes);
    out_format(out, ", process %" PRIu64, trailer->process_id);
    process(out, trailer);
    label(out, "command");
    command_line(out, trailer);
    label(out, "writer");
    text_name(out, trailer->writer, trailer->writer_bytes);
    out_format(out, "\n%-13sat most %s bytes waited to be written; the cap was %s\n", "memory",
               GROUPED(trailer->peak_bytes),
               trailer->cap_bytes ? GROUPED(trailer->cap_bytes) : "unlimited");
    out_format(out, "%-13s%s empty calls left no trace\n", "discarded",
               GROUPED(trailer->discarded));
}

static void loss_line(struct out *out, const struct info *info, const struct rbwp_loss *loss)
{
    const bool at_most = losses_are_at_most(loss->cause);
    out_format(out, "  %s%s", at_most ? "up to " : "", GROUPED(loss->count));
    if (losses_are_known(loss->cause))
        out_format(out, " %s %s",
                   at_most || losses_are_records(loss->cause) ? "records:" : "calls:",
                   rbwp_loss_cause_name(loss->cause));
    else
        out_format(out, " of cause %" PRIu32 ", which this version does not know", loss->cause);
    if (loss->thread_id) {
        out_text(out, ", thread ");
        info_show_name(out, names_find(&info->names.threads, loss->thread_id, loss->first_ns));
        out_format(out, " (%" PRIu64 ")", loss->thread_id);
    }
    if (loss->first_ns || loss->last_ns) {
        out_text(out, ", ");
        run_range(out, info, loss->first_ns, loss->last_ns);
    }
    out_text(out, "\n");
}

static void losses(struct out *out, const struct info *info, const struct rbwp_trailer *trailer)
{
    const struct losses totals = info->losses;
    out_format(out, "%-13s%s records; ", totals.records || totals.records_most ? "LOST" : "lost",
               GROUPED(totals.records));
    if (totals.records_most)
        out_format(out, "up to %s more died with the program; ", GROUPED(totals.records_most));
    out_format(out, "%s calls refused", GROUPED(totals.refused_calls));
    if (totals.unknown)
        out_format(out, "; %s of unknown causes", GROUPED(totals.unknown));
    out_text(out, "\n");
    for (uint32_t i = 0; i < trailer->loss_count; i++)
        loss_line(out, info, &trailer->losses[i]);
}

/* What the tables lack, so that nobody takes them for all there was. */
static void dropped(struct out *out, const struct rbwp_trailer *trailer)
{
    for (uint32_t i = 0; i < trailer->left_count; i++) {
        const struct rbwp_left *left = &trailer->left[i];
        out_format(out, "%-13s%s %s", "left out", GROUPED(left->entries),
                   rbwp_left_kind_name(left->kind));
        if (left->records)
            out_format(out, ", with %s records,", GROUPED(left->records));
        out_text(out, " are not in the tables\n");
    }
}

static void problems(struct out *out, const struct rbwp_reader *reader)
{
    uint64_t skipped = 0, count = rbwp_reader_problem_count(reader);
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        skipped += problem->skipped_bytes;
    if (count)
        out_format(out, "%-13s%s problems, %s bytes could not be read\n", "DAMAGED", GROUPED(count),
                   GROUPED(skipped));
}

/* ---- what happened to the clocks ------------------------------------------------------------ */

#define MOVED_NS INT64_C(1000000) /* less than that may be how samples were taken */

/* By how much more than the monotonic clock the counter went on; 0 if its rate is not known. */
static int64_t counter_ahead_ns(const struct rbwp_trailer *trailer,
                                const struct rbwp_clock_sample *from)
{
    const struct rbwp_clock_sample *to = from + 1;
    if (trailer->clock_kind != RBWP_CLOCK_TSC || trailer->clock_hz == 0)
        return 0;
    double ns = (double)(to->ticks - from->ticks) * 1e9 / (double)trailer->clock_hz -
                (double)(to->monotonic_ns - from->monotonic_ns);
    return ns < -1e18  ? -INT64_C(1000000000000000000)
           : ns > 1e18 ? INT64_C(1000000000000000000)
                       : (int64_t)ns;
}

/* One is the other, as far as two samples can show. */
static bool info_text_same(int64_t a_ns, int64_t b_ns)
{
    const int64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
    return apart_ns < MOVED_NS + (a_ns > 0 ? a_ns / 50 : 0);
}

static void moved(struct out *out, const struct info *info, const struct rbwp_clock_sample *sample,
                  const char *what, int64_t by_ns)
{
    out_format(out, "%-13s%s: %s %s%s\n", "", RUN_TIME(info, sample->time_ns), what,
               by_ns < 0 ? "-" : "", DURATION(by_ns < 0 ? 0 - (uint64_t)by_ns : (uint64_t)by_ns));
}

/* Between a sample and the next one: the wall clock was set, or the machine slept. Record times go
 * on with the monotonic clock. */
static void clock_move(struct out *out, const struct info *info, const struct rbwp_trailer *trailer,
                       const struct rbwp_clock_sample *from)
{
    const struct rbwp_clock_sample *to = from + 1;
    const uint64_t set = (uint64_t)to->realtime_ns - (uint64_t)from->realtime_ns -
                         ((uint64_t)to->monotonic_ns - (uint64_t)from->monotonic_ns);
    const int64_t set_ns = (int64_t)set, ahead_ns = counter_ahead_ns(trailer, from);
    const bool back = to->ticks < from->ticks;
    if (set_ns > MOVED_NS && (back || info_text_same(set_ns, ahead_ns)))
        moved(out, info, to, "the machine had slept for", set_ns);
    else if (set_ns > MOVED_NS || set_ns < -MOVED_NS)
        moved(out, info, to, "the wall clock was set by", set_ns);
    if (back)
        out_format(out, "%-13s%s: the counter had been set back\n", "",
                   RUN_TIME(info, to->time_ns));
}

static void clock_facts(struct out *out, const struct info *info,
                        const struct rbwp_trailer *trailer)
{
    static const char *const names[] = {"unknown", "time-stamp counter", "monotonic", "user's"};
    uint32_t kind = trailer->clock_kind;
    out_format(out, "%-13s%s, %s Hz, error at most %s ns, %" PRIu32 " samples\n", "clock",
               kind < sizeof names / sizeof names[0] ? names[kind] : names[0],
               GROUPED(trailer->clock_hz), GROUPED(trailer->clock_error_ns), trailer->sample_count);
    for (uint32_t i = 0; i < trailer->sample_count; i++) {
        i = next_shown(out, i, trailer->sample_count);
        const struct rbwp_clock_sample *sample = &trailer->samples[i];
        out_format(out,
                   "  ticks %" PRIu64 " = %s, monotonic %" PRId64 " ns, realtime %" PRId64 " ns\n",
                   sample->ticks, RUN_TIME(info, sample->time_ns), sample->monotonic_ns,
                   sample->realtime_ns);
    }
    if (trailer->clock_flags & RBWP_CLOCK_DOUBTED)
        out_format(out,
                   "%-13sthe system found the counter unstable, and did not trust it at the end\n",
                   "");
    for (uint32_t i = 0; i + 1 < trailer->sample_count; i++)
        clock_move(out, info, trailer, &trailer->samples[i]);
}

static void bias(struct out *out, const char *of, uint32_t rounds, int64_t bias_ns,
                 int64_t spread_ns)
{
    out_format(out, ", bias of %s streams ", of);
    if (rounds == 0)
        out_text(out, "not measured");
    else
        out_format(out, "%" PRId64 " ns (spread %" PRId64 " ns, %" PRIu32 " rounds)", bias_ns,
                   spread_ns, rounds);
}

/* By how much GPU work is longer than it ran, as stored. */
static void gpus(struct out *out, const struct rbwp_gpu_info *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct rbwp_gpu_info *gpu = &list[i];
        label(out, "GPU");
        text_name(out, gpu->name, gpu->name_bytes);
        out_format(out, "%s(%" PRIu64 ")", gpu->name_bytes ? " " : "", gpu->proc_id);
        bias(out, "busy", gpu->rounds, gpu->bias_ns, gpu->spread_ns);
        bias(out, "idle", gpu->idle_rounds, gpu->idle_bias_ns, gpu->idle_spread_ns);
        out_text(out, "\n");
    }
}

static void block_facts(struct out *out, const struct info *info)
{
    out_format(out, "%-13s%s", "blocks", GROUPED(info->input->blocks));
    if (info->opaque_blocks)
        out_format(out, " (%" PRIu64 " opaque)", info->opaque_blocks);
    out_format(out, ", %s bytes of records stored as %s", GROUPED(info->data_bytes),
               GROUPED(info->file_bytes));
    if (info->file_bytes) {
        uint64_t percent = (uint64_t)((double)info->data_bytes * 100 / (double)info->file_bytes);
        out_format(out, " (ratio %" PRIu64 ".%02" PRIu64 ")", percent / 100, percent % 100);
    }
    out_text(out, "\n");
    for (unsigned i = 0; i < info->tag_count; i++) {
        out_text(out, "  opaque '");
        text_name(out, info->tags[i].tag, info->tags[i].bytes);
        out_format(out, "': %" PRIu64 " blocks, %s bytes\n", info->tags[i].blocks,
                   GROUPED(info->tags[i].data_bytes));
    }
    if (info->other_tag_blocks)
        out_format(out, "  opaque, other tags: %" PRIu64 " blocks\n", info->other_tag_blocks);
}

/* Sections that the format does not name. */
static void other_sections(struct out *out, const struct rbwp_trailer *trailer)
{
    const uint32_t count = trailer->section_count;
    for (uint32_t i = 0; i < count && !is_cut(out, i, SECTIONS_SHOWN, count, " sections"); i++) {
        out_text(out, "  section '");
        text_name(out, trailer->sections[i].tag, sizeof trailer->sections[i].tag);
        out_format(out, "': %s bytes\n", GROUPED(trailer->sections[i].bytes));
    }
}

static void info_text_index_ranges(struct out *out, const struct info *info,
                                   const struct rbwp_trailer *trailer)
{
    out_format(out, "index (%" PRIu32 "):\n", trailer->index_count);
    for (uint32_t i = 0; i < trailer->index_count; i++) {
        const struct rbwp_index_range *range = &trailer->index[i];
        out_format(out, "  at %" PRIu64 ": %" PRIu32 " blocks, %" PRIu64 " records", range->offset,
                   range->blocks, range->records);
        if (range->records) {
            out_text(out, ", ");
            run_range(out, info, range->first_ns, range->last_ns);
        }
        out_text(out, "\n");
    }
}

static void info_text_counts(struct out *out, const struct info *info)
{
    out_format(out, "%-13s%s", "records", GROUPED(info->input->records));
    const struct result_at at = {.row = info};
    for (const struct result_column *kind = info_kind_columns; kind->unit != RESULT_END; kind++)
        out_format(out, "%s%s %s", kind == info_kind_columns ? ": " : ", ", kind->key,
                   GROUPED(result_cell(kind, &at).u64));
    out_text(out, "\n");
    if (info->input->records) {
        label(out, "time range");
        run_range(out, info, info->first_ns, info->last_ns);
        out_text(out, "\n");
    }
    block_facts(out, info);
}

/* ---- tables ------------------------------------------------------------- */

static void info_text_list(struct out *out, const struct info *info, const char *title,
                           const struct result_table *table, const struct result_rows *rows)
{
    const struct result_view view = {.out = out};
    const struct result_layout layout = result_layout(&view, table, NULL, 0);
    struct result_rows shown = *rows;
    if (table->shown && table->shown < rows->count)
        shown.count = table->shown;
    out_format(out, "\n%s (%" PRIu32 "):\n", title, rows->count);
    result_text_rows(&view, &layout, &shown, info, &info->file, NULL);
    result_text_more(&view, rows->count, table->shown, "");
}

/* Tables as counted in the blocks. */
static void counted_tables(struct out *out, const struct info *info)
{
    const struct result_rows rows = file_table_rows(&info->file);
    if (rows.count || info->tables.broken)
        info_text_list(out, info, "tables", &file_counted_tables, &rows);
    if (info->tables.broken)
        out_format(out, "  %" PRIu64 " blocks of tables break a rule (rbwp check tells which)\n",
                   info->tables.broken);
}

/* Threads as the trailer lists them, for --quick. */
static void listed_threads(struct out *out, const struct info *info,
                           const struct rbwp_trailer *trailer)
{
    out_format(out, "\nthreads (%" PRIu32 "):\n", trailer->thread_count);
    for (uint32_t i = 0; i < trailer->thread_count; i++) {
        const struct rbwp_thread_info *thread = &trailer->threads[i];
        out_format(out, "  %20" PRIu64 " %12" PRIu64 " records  ", thread->thread_id,
                   thread->records);
        info_show_name(out,
                       names_find(&info->names.threads, thread->thread_id, thread->attached_ns));
        out_text(out, "\n");
    }
}

bool info_show_kind(struct out *out, const struct name *name)
{
    if (!name || !name->kind_bytes)
        return false;
    text_name(out, name->kind, name->kind_bytes);
    out_text(out, name->waits ? " (waits) " : " ");
    return true;
}

/* Where nothing ran, names are all there is. */
static void work_items(struct out *out, const struct info *info)
{
    const uint32_t known = info->known_slots.count, used = info->used_slots.count;
    struct result_view view = {.out = out};
    struct result_layout layout =
        result_layout(&view, &info_slots_table, info->counted ? NULL : "slot", 0);
    out_format(out, "\nwork items (%" PRIu32 "):\n", known);
    result_text_rows(&view, &layout, used ? &info->used_slots : &info->known_slots, info, NULL,
                     NULL);
    if (used && known > used)
        out_format(out, "  ... and %" PRIu32 " without calls (--json shows all)\n", known - used);
}

static void info_text_sub_items(struct out *out, const struct info *info)
{
    const struct rbwp_tables *tables = rbwp_reader_tables(info->input->reader);
    out_format(out, "\nsub-items (%" PRIu32 "):\n", tables->sub_item_count);
    for (uint32_t i = 0; i < tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &tables->sub_items[i];
        out_format(out, "  %5u ", item->id);
        if (info->counted)
            out_format(out, "%12" PRIu64 " begins  ", info->sub_items[item->id]);
        if (!info_show_kind(out, names_find(&info->names.sub_items, item->id, INT64_MIN)))
            out_format(out, "%-12s ", rbwp_sub_item_type_name(item->type));
        text_name(out, item->name, item->name_bytes);
        out_text(out, "\n");
    }
}

void info_text(struct out *out, const struct info *info)
{
    const struct rbwp_reader *reader = info->input->reader;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    info_text_head(out, info);
    problems(out, reader);
    if (trailer) {
        losses(out, info, trailer);
        dropped(out, trailer);
        session(out, trailer);
        job(out, trailer);
        clock_facts(out, info, trailer);
        node_clocks(out, info, trailer);
        kept_part(out, info, trailer);
        gpus(out, trailer->gpus, trailer->gpu_count);
    }
    gpus(out, info->tables.gpus.list, info->tables.gpus.count);
    if (trailer)
        other_sections(out, trailer);
    if (trailer && info->index)
        info_text_index_ranges(out, info, trailer);
    if (info->counted) {
        info_text_counts(out, info);
        counted_tables(out, info);
        const struct result_rows threads = info_thread_rows(info);
        info_text_list(out, info, "threads", &info_threads_table, &threads);
    } else if (trailer) {
        listed_threads(out, info, trailer);
    }
    work_items(out, info);
    info_text_sub_items(out, info);
}
