/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp info as text for people. Losses come right after the head, where
 * nobody can miss them. Names are made visible: a name from a file must not
 * move the cursor of a terminal.
 */
#include "recorded_command.h"
#include "info.h"
#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_SHOWN = 4, THREADS_SHOWN = 64, SECTIONS_SHOWN = 16 };

/* ---- pieces ------------------------------------------------------------- */

static void label(struct out *out, const char *name)
{
    out_format(out, "%-13s", name);
}

static void grouped(struct out *out, uint64_t value)
{
    char text[QUANTITY_BYTES];
    out_text(out, quantity_grouped(text, value));
}

static void name(struct out *out, const struct name *known)
{
    if (known && known->bytes)
        text_name(out, known->text, known->bytes);
    else
        out_text(out, known ? "(no name)" : "(name not known)");
}

/* "2026-11-20 20:45:55.123456789 UTC", or the bare number for years that the calendar lacks. */
static void date(struct out *out, int64_t time_ns)
{
    int64_t part = time_ns % 1000000000;
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    if (time_ns < 0 || !gmtime_r(&seconds, &utc))
        out_i64(out, time_ns);
    else
        out_format(out, "%04d-%02d-%02d %02d:%02d:%02d.%09d UTC", utc.tm_year + 1900,
                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)part);
}

static void duration(struct out *out, int64_t first_ns, int64_t last_ns)
{
    char text[QUANTITY_BYTES];
    bool backwards = last_ns < first_ns;
    out_text(out, backwards ? "backwards"
                            : quantity_duration(text, (uint64_t)last_ns - (uint64_t)first_ns));
}

static void range(struct out *out, int64_t first_ns, int64_t last_ns)
{
    date(out, first_ns);
    out_text(out, " to ");
    date(out, last_ns);
    out_text(out, " (");
    duration(out, first_ns, last_ns);
    out_text(out, ")");
}

/* A time of the run, as filters take it; where no zero time is known, as a date. */
static void run_time(struct out *out, const struct info *info, int64_t time_ns)
{
    char text[QUANTITY_BYTES];
    int64_t zero_ns = rbwp_reader_header(info->input->reader)->zero_time_ns;
    if (zero_ns)
        out_text(out, quantity_time(text, time_ns, zero_ns));
    else
        date(out, time_ns);
}

static void run_range(struct out *out, const struct info *info, int64_t first_ns, int64_t last_ns)
{
    run_time(out, info, first_ns);
    out_text(out, " to ");
    run_time(out, info, last_ns);
    out_text(out, " (");
    duration(out, first_ns, last_ns);
    out_text(out, ")");
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

static void archive_size(struct out *out, const struct input *input)
{
    uint64_t bytes = input_archive_bytes(input);
    if (!bytes)
        return;
    out_text(out, ", in an archive of ");
    grouped(out, bytes);
}

static void head(struct out *out, const struct info *info)
{
    const struct rbwp_reader *reader = info->input->reader;
    const struct rbwp_file_header *header = rbwp_reader_header(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    label(out, "file");
    text_name(out, info->input->name, strlen(info->input->name));
    out_text(out, ", ");
    grouped(out, rbwp_reader_size(reader));
    out_text(out, " bytes");
    archive_size(out, info->input);
    out_text(out, "\n");
    label(out, "format");
    out_format(out, "RBWP %u, level %s, %s\n", header->version,
               header->flags & RBWP_FLAG_LEVEL2 ? "2" : "1", state_of(info->input));
    label(out, "node");
    out_format(out, "%" PRIu32, header->node);
    if (trailer && trailer->nodes)
        out_format(out, " of %" PRIu32, trailer->nodes);
    out_text(out, "\n");
    label(out, "zero time");
    date(out, header->zero_time_ns);
    out_text(out, "\n");
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

/* Its title, and what tells it from others of the same number. */
static void process(struct out *out, const struct rbwp_trailer *trailer)
{
    char text[QUANTITY_BYTES];
    const struct rbwp_process_info *info = trailer->process_count ? trailer->processes : NULL;
    if (info && info->title_bytes) {
        out_text(out, " ");
        text_name(out, info->title, info->title_bytes);
    }
    out_text(out, "\n");
    if (!info)
        return;
    label(out, "machine");
    out_text(out, "boot id ");
    for (size_t i = 0; i < sizeof info->boot_id; i++)
        out_format(out, "%02x", info->boot_id[i]);
    if (info->start_ns > 0)
        out_format(out, ", up for %s when the process began",
                   quantity_duration(text, (uint64_t)info->start_ns));
    out_text(out, "\n");
}

static bool is_number(uint32_t what)
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
            date(out, fact->number);
        else if (is_number(fact->what) || fact->text_bytes == 0)
            out_i64(out, fact->number);
        else
            text_name(out, fact->text, fact->text_bytes);
        separator = ", ";
    }
    out_text(out, trailer->job_fact_count ? "\n" : "not told\n");
}

static void node_clocks(struct out *out, const struct info *info,
                        const struct rbwp_trailer *trailer)
{
    char offset[QUANTITY_BYTES], bound[QUANTITY_BYTES];
    if (trailer->node_clock_count == 0)
        return;
    label(out, "clock of");
    out_format(out, "rank %" PRIu32 ", compared %" PRIu32 " times\n",
               trailer->node_clocks[0].reference, trailer->node_clock_count);
    for (uint32_t i = 0; i < trailer->node_clock_count; i++) {
        if (trailer->node_clock_count > SAMPLES_SHOWN && i == SAMPLES_SHOWN - 1) {
            out_text(out, "  ...\n");
            i = trailer->node_clock_count - 1;
        }
        const struct rbwp_node_clock *clock = &trailer->node_clocks[i];
        bool behind = clock->offset_ns < 0;
        uint64_t apart_ns = behind ? 0 - (uint64_t)clock->offset_ns : (uint64_t)clock->offset_ns;
        out_text(out, "  at ");
        run_time(out, info, clock->time_ns);
        out_format(out, " it was %s %s, give or take %s\n", quantity_duration(offset, apart_ns),
                   behind ? "behind" : "ahead", quantity_duration(bound, clock->bound_ns));
    }
}

static void keep_wish(struct out *out, const struct rbwp_kept *kept)
{
    char text[QUANTITY_BYTES];
    if (kept->keep_bytes == 0 && kept->keep_ns == 0)
        return;
    out_text(out, "; to be kept were ");
    if (kept->keep_bytes) {
        grouped(out, kept->keep_bytes);
        out_text(out, kept->keep_ns ? " bytes, " : " bytes");
    }
    if (kept->keep_ns)
        out_text(out, quantity_duration(text, kept->keep_ns));
}

/* Which part of a recording the file has, if not all of it. */
static void kept_part(struct out *out, const struct info *info, const struct rbwp_trailer *trailer)
{
    const struct rbwp_kept *kept = trailer->kept;
    if (trailer->kept_count == 0)
        return;
    label(out, "KEPT");
    if (kept->from_ns) {
        out_text(out, "what was recorded from ");
        run_time(out, info, kept->from_ns);
        out_text(out, " on");
        if (kept->why != RBWP_KEPT_SPLIT || kept->dropped_records) {
            out_text(out, "; before it ");
            grouped(out, kept->dropped_records);
            out_text(out, " records and ");
            grouped(out, kept->dropped_rows);
            out_text(out, " rows were not kept");
        }
    } else {
        out_text(out,
                 kept->why == RBWP_KEPT_SPLIT ? "from the beginning on" : "all that was recorded");
    }
    keep_wish(out, kept);
    out_text(out, "\n");
    if (kept->part) {
        label(out, "part");
        out_format(out, "%" PRIu32 " of the files that the recording was cut into\n", kept->part);
    }
    label(out, "written");
    out_format(out, "because of: %s", rbwp_kept_why_name(kept->why));
    if (kept->text_bytes) {
        out_text(out, ": ");
        text_name(out, kept->text, kept->text_bytes);
    }
    out_text(out, "\n");
}

static void session(struct out *out, const struct rbwp_trailer *trailer)
{
    label(out, "session");
    range(out, trailer->start_ns, trailer->stop_ns);
    out_format(out, ", level %" PRIu32 "\n", trailer->level);
    label(out, "host");
    text_name(out, trailer->host, trailer->host_bytes);
    out_format(out, ", process %" PRIu64, trailer->process_id);
    process(out, trailer);
    label(out, "command");
    command_line(out, trailer);
    label(out, "writer");
    text_name(out, trailer->writer, trailer->writer_bytes);
    out_text(out, "\n");
    label(out, "memory");
    out_text(out, "at most ");
    grouped(out, trailer->peak_bytes);
    out_text(out, " bytes waited to be written; the cap was ");
    if (trailer->cap_bytes)
        grouped(out, trailer->cap_bytes);
    else
        out_text(out, "unlimited");
    out_text(out, "\n");
    label(out, "discarded");
    grouped(out, trailer->discarded);
    out_text(out, " empty calls left no trace\n");
}

static void loss_line(struct out *out, const struct info *info, const struct rbwp_loss *loss)
{
    out_text(out, "  ");
    bool at_most = losses_are_at_most(loss->cause);
    out_text(out, at_most ? "up to " : "");
    grouped(out, loss->count);
    if (losses_are_known(loss->cause))
        out_format(out, " %s %s",
                   at_most || losses_are_records(loss->cause) ? "records:" : "calls:",
                   rbwp_loss_cause_name(loss->cause));
    else
        out_format(out, " of cause %" PRIu32 ", which this version does not know", loss->cause);
    if (loss->thread_id) {
        out_text(out, ", thread ");
        name(out, names_find(&info->names.threads, loss->thread_id, loss->first_ns));
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
    struct losses totals = losses_total(trailer);
    label(out, totals.records || totals.records_most ? "LOST" : "lost");
    grouped(out, totals.records);
    out_text(out, " records; ");
    if (totals.records_most) {
        out_text(out, "up to ");
        grouped(out, totals.records_most);
        out_text(out, " more died with the program; ");
    }
    grouped(out, totals.refused_calls);
    out_text(out, " calls refused");
    if (totals.unknown) {
        out_text(out, "; ");
        grouped(out, totals.unknown);
        out_text(out, " of unknown causes");
    }
    out_text(out, "\n");
    for (uint32_t i = 0; i < trailer->loss_count; i++)
        loss_line(out, info, &trailer->losses[i]);
}

/* What the tables leave out, so that nobody takes them for all there was. */
static void left_out(struct out *out, const struct rbwp_trailer *trailer)
{
    for (uint32_t i = 0; i < trailer->left_count; i++) {
        const struct rbwp_left *left = &trailer->left[i];
        label(out, "left out");
        grouped(out, left->entries);
        out_format(out, " %s", rbwp_left_kind_name(left->kind));
        if (left->records) {
            out_text(out, ", with ");
            grouped(out, left->records);
            out_text(out, " records,");
        }
        out_text(out, " are not in the tables\n");
    }
}

static void problems(struct out *out, const struct rbwp_reader *reader)
{
    uint64_t skipped = 0, count = rbwp_reader_problem_count(reader);
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        skipped += problem->skipped_bytes;
    if (count == 0)
        return;
    label(out, "DAMAGED");
    grouped(out, count);
    out_text(out, " problems, ");
    grouped(out, skipped);
    out_text(out, " bytes could not be read\n");
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

/* One is the other, as far as two samples can tell. */
static bool same(int64_t a_ns, int64_t b_ns)
{
    const int64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
    return apart_ns < MOVED_NS + (a_ns > 0 ? a_ns / 50 : 0);
}

static void moved(struct out *out, const struct info *info, const struct rbwp_clock_sample *sample,
                  const char *what, int64_t by_ns)
{
    char text[QUANTITY_BYTES];
    label(out, "");
    run_time(out, info, sample->time_ns);
    out_format(out, ": %s %s%s\n", what, by_ns < 0 ? "-" : "",
               quantity_duration(text, by_ns < 0 ? 0 - (uint64_t)by_ns : (uint64_t)by_ns));
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
    if (set_ns > MOVED_NS && (back || same(set_ns, ahead_ns)))
        moved(out, info, to, "the machine had slept for", set_ns);
    else if (set_ns > MOVED_NS || set_ns < -MOVED_NS)
        moved(out, info, to, "the wall clock was set by", set_ns);
    if (back) {
        label(out, "");
        run_time(out, info, to->time_ns);
        out_text(out, ": the counter had been set back\n");
    }
}

static void clock_moves(struct out *out, const struct info *info,
                        const struct rbwp_trailer *trailer)
{
    if (trailer->clock_flags & RBWP_CLOCK_DOUBTED)
        out_format(out,
                   "%-13sthe system found the counter unstable, and did not trust it at the end\n",
                   "");
    for (uint32_t i = 0; i + 1 < trailer->sample_count; i++)
        clock_move(out, info, trailer, &trailer->samples[i]);
}

static void clock_facts(struct out *out, const struct info *info,
                        const struct rbwp_trailer *trailer)
{
    static const char *const names[] = {"unknown", "time-stamp counter", "monotonic", "user's"};
    uint32_t kind = trailer->clock_kind;
    label(out, "clock");
    out_text(out, kind < sizeof names / sizeof names[0] ? names[kind] : names[0]);
    out_text(out, ", ");
    grouped(out, trailer->clock_hz);
    out_text(out, " Hz, error at most ");
    grouped(out, trailer->clock_error_ns);
    out_format(out, " ns, %" PRIu32 " samples\n", trailer->sample_count);
    for (uint32_t i = 0; i < trailer->sample_count; i++) {
        if (trailer->sample_count > SAMPLES_SHOWN && i == SAMPLES_SHOWN - 1) {
            out_text(out, "  ...\n");
            i = trailer->sample_count - 1;
        }
        const struct rbwp_clock_sample *sample = &trailer->samples[i];
        out_format(out, "  ticks %" PRIu64 " = ", sample->ticks);
        run_time(out, info, sample->time_ns);
        out_format(out, ", monotonic %" PRId64 " ns, realtime %" PRId64 " ns\n",
                   sample->monotonic_ns, sample->realtime_ns);
    }
    clock_moves(out, info, trailer);
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
    label(out, "blocks");
    grouped(out, info->input->blocks);
    if (info->opaque_blocks)
        out_format(out, " (%" PRIu64 " opaque)", info->opaque_blocks);
    out_text(out, ", ");
    grouped(out, info->data_bytes);
    out_text(out, " bytes of records stored as ");
    grouped(out, info->file_bytes);
    if (info->file_bytes) {
        uint64_t percent = (uint64_t)((double)info->data_bytes * 100 / (double)info->file_bytes);
        out_format(out, " (ratio %" PRIu64 ".%02" PRIu64 ")", percent / 100, percent % 100);
    }
    out_text(out, "\n");
    for (unsigned i = 0; i < info->tag_count; i++) {
        out_text(out, "  opaque '");
        text_name(out, info->tags[i].tag, info->tags[i].bytes);
        out_format(out, "': %" PRIu64 " blocks, ", info->tags[i].blocks);
        grouped(out, info->tags[i].data_bytes);
        out_text(out, " bytes\n");
    }
    if (info->other_tag_blocks)
        out_format(out, "  opaque, other tags: %" PRIu64 " blocks\n", info->other_tag_blocks);
}

/* Sections that the format does not name. */
static void other_sections(struct out *out, const struct rbwp_trailer *trailer)
{
    for (uint32_t i = 0; i < trailer->section_count; i++) {
        const struct rbwp_section *section = &trailer->sections[i];
        if (i == SECTIONS_SHOWN) {
            out_format(out, "  ... and %" PRIu32 " more sections (--json shows all)\n",
                       trailer->section_count - i);
            break;
        }
        out_text(out, "  section '");
        text_name(out, section->tag, sizeof section->tag);
        out_text(out, "': ");
        grouped(out, section->bytes);
        out_text(out, " bytes\n");
    }
}

static void index_ranges(struct out *out, const struct info *info,
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

static void counts(struct out *out, const struct info *info)
{
    label(out, "records");
    grouped(out, info->input->records);
    for (int i = 0; i < INFO_KINDS; i++) {
        out_format(out, "%s%s ", i ? ", " : ": ", rbwp_kind_name(info_kind[i]));
        grouped(out, info->kinds[i]);
    }
    out_text(out, "\n");
    if (info->input->records) {
        label(out, "time range");
        run_range(out, info, info->first_ns, info->last_ns);
        out_text(out, "\n");
    }
    block_facts(out, info);
}

/* ---- tables ------------------------------------------------------------- */

/* Tables as counted in the blocks. */
static void counted_tables(struct out *out, const struct info *info)
{
    uint32_t count = rbwp_catalog_schema_count(info->tables.catalog);
    if (count == 0 && info->tables.broken == 0)
        return;
    out_format(out, "\ntables (%" PRIu32 "):\n", count);
    for (uint32_t i = 0; i < count; i++) {
        if (i == THREADS_SHOWN) {
            out_format(out, "  ... and %" PRIu32 " more (--json shows all)\n", count - i);
            break;
        }
        const struct rbwp_schema *schema = rbwp_catalog_schema(info->tables.catalog, i);
        out_format(out, "  %5" PRIu32 " %12" PRIu64 " rows of %u columns  ", schema->table,
                   rbwp_catalog_row_count(info->tables.catalog, i), schema->column_count);
        text_name(out, schema->name, schema->name_bytes);
        out_text(out, "\n");
    }
    if (info->tables.broken)
        out_format(out, "  %" PRIu64 " blocks of tables break a rule (rbwp check tells which)\n",
                   info->tables.broken);
}

/* Threads as counted in the blocks. */
static void counted_threads(struct out *out, const struct info *info)
{
    uint32_t count =
        info->map.count < info->thread_capacity ? info->map.count : info->thread_capacity;
    out_format(out, "\nthreads (%" PRIu32 "):\n", count);
    for (uint32_t i = 0; i < count; i++) {
        if (i == THREADS_SHOWN) {
            out_format(out, "  ... and %" PRIu32 " more (--json shows all)\n", count - i);
            break;
        }
        const struct info_thread *thread = &info->threads[i];
        out_format(out, "  %20" PRIu64 " %12" PRIu64 " records %6" PRIu64 " blocks  ",
                   thread->thread_id, thread->records, thread->blocks);
        name(out, names_find(&info->names.threads, thread->thread_id, thread->first_ns));
        out_text(out, "\n");
    }
}

/* Threads as the trailer lists them, for --quick. */
static void listed_threads(struct out *out, const struct rbwp_trailer *trailer)
{
    out_format(out, "\nthreads (%" PRIu32 "):\n", trailer->thread_count);
    for (uint32_t i = 0; i < trailer->thread_count; i++) {
        const struct rbwp_thread_info *thread = &trailer->threads[i];
        out_format(out, "  %20" PRIu64 " %12" PRIu64 " records  ", thread->thread_id,
                   thread->records);
        text_name(out, thread->name, thread->name_bytes);
        out_text(out, "\n");
    }
}

static void work_items(struct out *out, const struct info *info)
{
    uint32_t named = 0, used = 0;
    for (uint32_t i = 0; i < info->slots.count; i++) {
        const struct slot_row *row = &info->slots.rows[i];
        bool is_used = row->calls || row->gpu;
        used += is_used;
        named += is_used || row->name;
    }
    const bool only_used = info->counted && used; /* where nothing ran, names are all there is */
    out_format(out, "\nwork items (%" PRIu32 "):\n", named);
    for (uint32_t i = 0; i < info->slots.count; i++) {
        const struct slot_row *row = &info->slots.rows[i];
        if (!(row->calls || row->gpu) && (only_used || !row->name))
            continue;
        out_format(out, "  %5u ", row->slot);
        if (info->counted)
            out_format(out, "%12" PRIu64 " calls %9" PRIu64 " GPU  ", row->calls, row->gpu);
        if (row->name && row->name->kind_bytes) {
            text_name(out, row->name->kind, row->name->kind_bytes);
            out_text(out, row->name->waits ? " (waits) " : " ");
        }
        name(out, row->name);
        out_text(out, "\n");
    }
    if (only_used && named > used)
        out_format(out, "  ... and %" PRIu32 " without calls (--json shows all)\n", named - used);
}

static void sub_items(struct out *out, const struct info *info)
{
    const struct rbwp_tables *tables = rbwp_reader_tables(info->input->reader);
    out_format(out, "\nsub-items (%" PRIu32 "):\n", tables->sub_item_count);
    for (uint32_t i = 0; i < tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &tables->sub_items[i];
        out_format(out, "  %5u ", item->id);
        if (info->counted)
            out_format(out, "%12" PRIu64 " begins  ", info->sub_items[item->id]);
        const struct name *name = names_find(&info->names.sub_items, item->id, INT64_MIN);
        if (name && name->kind_bytes) {
            text_name(out, name->kind, name->kind_bytes);
            out_text(out, name->waits ? " (waits) " : " ");
        } else {
            out_format(out, "%-12s ", rbwp_sub_item_type_name(item->type));
        }
        text_name(out, item->name, item->name_bytes);
        out_text(out, "\n");
    }
}

void info_text(struct out *out, const struct info *info)
{
    const struct rbwp_reader *reader = info->input->reader;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    head(out, info);
    problems(out, reader);
    if (trailer) {
        losses(out, info, trailer);
        left_out(out, trailer);
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
        index_ranges(out, info, trailer);
    if (info->counted) {
        counts(out, info);
        counted_tables(out, info);
        counted_threads(out, info);
    } else if (trailer) {
        listed_threads(out, trailer);
    }
    work_items(out, info);
    sub_items(out, info);
}
