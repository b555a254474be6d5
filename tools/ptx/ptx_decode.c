/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp ptx decode and sanitize.
 *
 * decode has its probes from a map, or, for buffers of compatible tools, the shape from config.ini
 * and lines from its loc_map.json. Files go into one folder (--dir) or where the configuration
 * says; the summary goes to the output.
 */
#include "message.h"
#include "ptx_instrument.h"
#include "ptx_pairs.h"
#include "ptx_sanitize.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- records in the forms of compatible tools, byte for byte --------------------------------- */

/* ---- numbers --------------------------------------------------------------------------- */

static void cell_numbers(const struct ptx_cell *cell, int64_t numbers[4])
{
    numbers[0] = cell->start_id;
    numbers[1] = cell->end_id;
    numbers[2] = (int64_t)cell->start;
    numbers[3] = (int64_t)cell->end;
}

/* NumPy's format 1.0: int64, rows of four numbers a lane. */
static void ptx_write_npy(struct out *out, const struct ptx_matrix *matrix)
{
    char header[256];
    int64_t numbers[4];
    const int before = 10; /* magic, version, length */
    int count =
        snprintf(header, sizeof header,
                 "{'descr': '<i8', 'fortran_order': False, 'shape': (%" PRIu32 ", %" PRIu64 "), }",
                 matrix->rows, (uint64_t)matrix->lanes * 4);
    int padded = (before + count + 1 + 63) / 64 * 64 - before;
    out_bytes(out, "\x93NUMPY\x01\x00", 8);
    out_bytes(out, (char[]){(char)(padded & 0xff), (char)(padded >> 8)}, 2);
    out_bytes(out, header, (size_t)count);
    for (; count < padded - 1; count++)
        out_text(out, " ");
    out_text(out, "\n");
    for (size_t i = 0; i < (size_t)matrix->rows * matrix->lanes; i++) {
        cell_numbers(&matrix->cells[i], numbers);
        for (int n = 0; n < 4; n++) {
            char bytes[8];
            for (int byte = 0; byte < 8; byte++)
                bytes[byte] = (char)((uint64_t)numbers[n] >> (8 * byte));
            out_bytes(out, bytes, sizeof bytes);
        }
    }
}

/* The same as text; with header a first line of names. */
static void ptx_write_csv(struct out *out, const struct ptx_matrix *matrix, bool header)
{
    int64_t numbers[4];
    for (uint32_t lane = 0; header && lane < matrix->lanes; lane++)
        out_format(out,
                   "%st%" PRIu32 "_start_idx,t%" PRIu32 "_end_idx,t%" PRIu32 "_start_time,t%" PRIu32
                   "_end_time%s",
                   lane ? "," : "", lane, lane, lane, lane, lane + 1 == matrix->lanes ? "\n" : "");
    for (uint32_t row = 0; row < matrix->rows; row++) {
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            cell_numbers(ptx_matrix_at(matrix, row, lane), numbers);
            for (int n = 0; n < 4; n++) {
                out_text(out, lane || n ? "," : "");
                out_i64(out, numbers[n]);
            }
        }
        out_text(out, "\n");
    }
}

/* ---- trace.json ------------------------------------------------------------------------ */

static void write_event(struct out *out, const struct ptx_cell *cell, uint32_t lane,
                        const struct ptx_loc_map *locs)
{
    char name[48];
    bool known;
    int64_t loc = ptx_loc_map_find(locs, cell->start_id, &known);
    if (known)
        snprintf(name, sizeof name, "Line %" PRId64, loc);
    else
        snprintf(name, sizeof name, "Probe %" PRIu32, cell->start_id);
    out_format(out, "{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %" PRIu64, name,
               name, cell->start);
    out_format(out, ", \"dur\": %" PRId64 ", \"pid\": 0, \"tid\": %" PRIu32, ptx_cell_cycles(cell),
               lane);
    out_format(out, ", \"args\": {\"start_index\": %" PRIu32 ", \"end_index\": %" PRIu32 "}}",
               cell->start_id, cell->end_id);
}

/* Events of Chrome's format, row by row; cells without a start are dropped. */
static void ptx_write_trace(struct out *out, const struct ptx_matrix *matrix,
                            const struct ptx_loc_map *locs)
{
    bool first = true;
    out_text(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
    for (uint32_t row = 0; row < matrix->rows; row++)
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
            if (cell->start == 0)
                continue;
            out_text(out, first ? "" : ",\n");
            first = false;
            write_event(out, cell, lane, locs);
        }
    out_text(out, "\n]}");
}

/* ---- the summary ----------------------------------------------------------------------- */

static void rule(struct out *out, const char *with)
{
    for (int i = 0; i < 70; i++)
        out_text(out, with);
    out_text(out, "\n");
}

/* Of the durations above 0. */
static void write_slot(struct out *out, const struct ptx_matrix *matrix, uint32_t row,
                       const struct ptx_loc_map *locs)
{
    int64_t low = 0, high = 0;
    double sum = 0;
    uint32_t count = 0, site = ptx_matrix_at(matrix, row, 0)->start_id;
    bool known;
    for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
        int64_t cycles = ptx_cell_cycles(ptx_matrix_at(matrix, row, lane));
        if (cycles <= 0)
            continue;
        low = count == 0 || cycles < low ? cycles : low;
        high = cycles > high ? cycles : high;
        sum += (double)cycles;
        count++;
    }
    out_format(out, "%6" PRIu32 " %6" PRIu32 " %6" PRId64 " %14.1f %12" PRId64 " %12" PRId64 "\n",
               row, site, ptx_loc_map_find(locs, site, &known), count ? sum / count : 0.0, low,
               high);
}

/* A line for each row, named by its first lane. */
static void ptx_write_summary(struct out *out, const struct ptx_matrix *matrix,
                              const struct ptx_loc_map *locs)
{
    out_text(out, "Probe summary\n");
    rule(out, "=");
    out_format(out, "%6s %6s %6s %14s %12s %12s\n", "Slot", "Site", "Loc", "Mean Cycles", "Min",
               "Max");
    rule(out, "-");
    for (uint32_t row = 0; row < matrix->rows; row++)
        write_slot(out, matrix, row, locs);
    rule(out, "=");
}

/* ---- ptx decode ------------------------------------------------------------------------------ */

#define PATH_BYTES (2 * PTX_CONFIG_TEXT)

struct decoding {
    const struct ptx_tool_options *tool;
    struct operands inputs;
    struct ptx_config config;
    struct ptx_map map;
    struct ptx_loc_map locs;
    struct ptx_matrix matrix;
};

/* ---- inputs ---------------------------------------------------------------------------- */

/* The shape that the configuration has, in place of a map. */
static bool map_of_config(struct decoding *decoding)
{
    const struct ptx_config *config = &decoding->config;
    char path[PATH_BYTES];
    if (config->t_end < config->t_start || config->n_probes_estimate == 0) {
        message_plain("%s: t_end is below t_start, or n_probes_estimate 0", decoding->tool->config);
        return false;
    }
    decoding->map = (struct ptx_map){.cells = PTX_CELLS_COMPAT,
                                     .lane = PTX_LANE_THREAD,
                                     .lanes = (uint64_t)config->t_end - config->t_start + 1,
                                     .capacity = config->n_probes_estimate,
                                     .ids = UINT32_C(1) << PTX_COMPAT_ID_BITS};
    decoding->map.buffer_bytes = decoding->map.lanes * config->n_probes_estimate * PTX_COMPAT_BYTES;
    snprintf(path, sizeof path, "%s/%s", config->analysis_dir, config->loc_map);
    return ptx_loc_map_read(&decoding->locs, path);
}

static bool read_inputs(struct decoding *decoding)
{
    const struct ptx_tool_options *tool = decoding->tool;
    ptx_config_defaults(&decoding->config);
    if (tool->config && !ptx_config_read(&decoding->config, tool->config))
        return false;
    if (!tool->map)
        return map_of_config(decoding) &&
               ptx_matrix_read_raw(&decoding->matrix, &decoding->map, decoding->inputs.words[0]);
    if (!ptx_map_read(&decoding->map, tool->map) || !ptx_map_locs(&decoding->map, &decoding->locs))
        return false;
    if (decoding->map.mode == PTX_MODE_CONFIG) {
        message_plain("%s: mode config records nothing, its buffer is seven numbers", tool->map);
        return false;
    }
    return ptx_matrix_read_raw(&decoding->matrix, &decoding->map, decoding->inputs.words[0]);
}

static void decoding_free(struct decoding *decoding)
{
    ptx_matrix_free(&decoding->matrix);
    ptx_loc_map_free(&decoding->locs);
    ptx_map_free(&decoding->map);
}

/* ---- files ----------------------------------------------------------------------------- */

/* False with the message given. */
typedef bool form_fn(struct out *out, const struct decoding *decoding);

static bool form_npy(struct out *out, const struct decoding *decoding)
{
    ptx_write_npy(out, &decoding->matrix);
    return true;
}
static bool form_csv(struct out *out, const struct decoding *decoding)
{
    ptx_write_csv(out, &decoding->matrix, decoding->tool->csv_header);
    return true;
}
static bool form_trace(struct out *out, const struct decoding *decoding)
{
    ptx_write_trace(out, &decoding->matrix, &decoding->locs);
    return true;
}
static bool form_locs(struct out *out, const struct decoding *decoding)
{
    ptx_loc_map_write(out, &decoding->locs);
    return true;
}

static enum exit_code write_output(const struct decoding *decoding,
                                   const struct out_options *output, form_fn *form)
{
    struct out out;
    if (!out_open(&out, output, decoding->inputs))
        return EXIT_BAD_DATA;
    bool formed = form(&out, decoding);
    if (!formed)
        out_discard(&out);
    return exit_worse(formed ? EXIT_GOOD : EXIT_BAD_DATA, out_close(&out));
}

static enum exit_code write_form(const struct decoding *decoding, const char *folder,
                                 const char *name, form_fn *form)
{
    char path[PATH_BYTES];
    int count = snprintf(path, sizeof path, "%s/%s", folder, name);
    bool force = decoding->tool->output.force || decoding->tool->config;
    if (count < 0 || (size_t)count >= sizeof path) {
        message_plain("%s: this name is too long", folder);
        return EXIT_BAD_DATA;
    }
    return write_output(decoding, &(struct out_options){path, force}, form);
}

static struct ptx_sanitizing how_to_sanitize(const struct ptx_tool_options *tool,
                                             const struct ptx_config *config)
{
    return (struct ptx_sanitizing){.compat = tool->compat,
                                   .dead = !tool->keep_dead && (!tool->config || config->dead),
                                   .merge = !tool->keep_edges && (!tool->config || config->merge)};
}

static bool form_active(struct out *out, const struct decoding *decoding)
{
    struct ptx_active active = {{0}, {0}};
    bool made = ptx_sanitize(&active, &decoding->matrix, &decoding->locs,
                             how_to_sanitize(decoding->tool, &decoding->config));
    if (made)
        ptx_active_write(out, &active);
    ptx_active_free(&active);
    return made;
}

/* A folder of the options takes all, in the place of the configuration's two. */
static enum exit_code write_files(const struct decoding *decoding)
{
    const struct ptx_config *config = &decoding->config;
    const char *folder = decoding->tool->folder;
    const char *output = folder ? folder : config->output_dir;
    const char *analysis = folder ? folder : config->analysis_dir;
    if (!folder && !decoding->tool->config)
        return EXIT_GOOD;
    if (!ptx_make_folder(output) || !ptx_make_folder(analysis))
        return EXIT_BAD_DATA;
    enum exit_code code = write_form(decoding, output, "raw.npy", form_npy);
    code = exit_worse(code, write_form(decoding, output, config->raw_csv, form_csv));
    code = exit_worse(code, write_form(decoding, output, config->trace_json, form_trace));
    if (decoding->tool->map)
        code = exit_worse(code, write_form(decoding, analysis, config->loc_map, form_locs));
    return exit_worse(code, write_form(decoding, analysis, config->active_list, form_active));
}

/* ---- decode ---------------------------------------------------------------------------- */

static enum exit_code write_summary(const struct decoding *decoding)
{
    struct ptx_sums sums;
    struct out out;
    uint32_t cost =
        decoding->tool->pair_cost_given ? decoding->tool->pair_cost : decoding->matrix.pair_cost;
    if (!ptx_sums_make(&sums, &decoding->matrix, NULL, cost))
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    if (out_open(&out, &decoding->tool->output, decoding->inputs)) {
        ptx_write_summary(&out, &decoding->matrix, &decoding->locs);
        out_format(&out,
                   "\nAll lanes, by START and END; %" PRIu32
                   " cycles of an empty pair are taken off each record\n",
                   cost);
        ptx_sums_write_pairs(&out, &sums, &decoding->locs);
        struct ptx_whole whole = {0};
        ptx_whole_add(&whole, &decoding->matrix, cost);
        out_text(&out, "\n");
        ptx_whole_write(&out, &whole);
        code = out_close(&out);
    }
    ptx_sums_free(&sums);
    return code;
}

/* A folder of launches, which names its maps. */
static enum exit_code decode_folder(const struct ptx_tool_options *tool, const char *folder)
{
    struct ptx_folder_summary of_folder;
    const struct out_options output = {tool->profile, tool->output.force};
    enum exit_code code = ptx_folder_write(folder, &output, &of_folder);
    if (of_folder.dropped)
        message_plain("%s: %" PRIu64 " records found no room", folder, of_folder.dropped);
    if (of_folder.skipped)
        message_plain("%s: %" PRIu64 " launches were not recorded", folder, of_folder.skipped);
    ptx_folder_summary_free(&of_folder);
    return code;
}

enum exit_code ptx_tool_decode(const struct ptx_tool_options *tool, struct operands files)
{
    struct decoding decoding = {.tool = tool, .inputs = files};
    if (tool->profile)
        return decode_folder(tool, files.words[0]);
    if (!tool->map && !tool->config)
        return message_usage(
            "decode needs the probes: --map MAP, --config of a compatible tool, or "
            "--rbwp FILE and a folder");
    enum exit_code code = EXIT_BAD_DATA;
    if (read_inputs(&decoding)) {
        const char *path = decoding.inputs.words[0];
        if (decoding.matrix.dropped)
            message_plain("%s: %" PRIu64 " records found no room: %" PRIu32 " a lane is too few",
                          path, decoding.matrix.dropped, decoding.map.capacity);
        if (decoding.matrix.rows == 0)
            message_plain("%s: nothing was recorded", path);
        code = exit_worse(write_files(&decoding), write_summary(&decoding));
    }
    decoding_free(&decoding);
    return code;
}

/* ---- sanitize -------------------------------------------------------------------------- */

static enum exit_code sanitize_files(const struct ptx_tool_options *tool,
                                     const struct ptx_config *config, const char *csv,
                                     const char *locs, const struct out_options *output)
{
    struct decoding decoding = {.tool = tool, .config = *config};
    char *words[] = {(char *)(uintptr_t)csv, (char *)(uintptr_t)locs};
    enum exit_code code = EXIT_BAD_DATA;
    decoding.inputs = (struct operands){words, 2};
    if (ptx_loc_map_read(&decoding.locs, locs) && ptx_matrix_read_csv(&decoding.matrix, csv))
        code = write_output(&decoding, output, form_active);
    decoding_free(&decoding);
    return code;
}

/* A list for each map that launches of the folder name. */
static enum exit_code sanitize_folder(const struct ptx_tool_options *tool,
                                      const struct ptx_config *config, const char *folder)
{
    uint32_t count;
    return ptx_folder_active(folder, tool->folder ? tool->folder : folder,
                             how_to_sanitize(tool, config), &count);
}

enum exit_code ptx_tool_sanitize(const struct ptx_tool_options *tool, struct operands files)
{
    struct ptx_config config;
    struct stat status;
    char csv[PATH_BYTES], locs[PATH_BYTES], active[PATH_BYTES];
    ptx_config_defaults(&config);
    if (tool->config && !ptx_config_read(&config, tool->config))
        return EXIT_BAD_DATA;
    if (files.count && stat(files.words[0], &status) == 0 && S_ISDIR(status.st_mode))
        return sanitize_folder(tool, &config, files.words[0]);
    if (!tool->config && !tool->loc_map)
        return message_usage("sanitize needs the source lines: --loc-map FILE, or --config");
    snprintf(csv, sizeof csv, "%s/%s", config.output_dir, config.raw_csv);
    snprintf(locs, sizeof locs, "%s/%s", config.analysis_dir, config.loc_map);
    snprintf(active, sizeof active, "%s/%s", config.analysis_dir, config.active_list);
    struct out_options output = tool->output;
    if (tool->config && !output.path)
        output = (struct out_options){active, true};
    return sanitize_files(tool, &config, files.count ? files.words[0] : csv,
                          tool->loc_map ? tool->loc_map : locs, &output);
}
