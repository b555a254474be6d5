/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp tables: the file's own tables (SPEC.md, section 9.2), listed, or one of them exported. */
#include "documents.h"
#include "table_export.h"
#include "table_list.h"

struct tables_options {
    bool json;
    const char *csv, *table, *format;
    uint32_t limit;
    struct filter_options filter;
    struct out_options output;
};

static const struct option tables_option_table[] = {
    {"json", 0, NULL, NULL, "the list as JSON; several files give an array",
     offsetof(struct tables_options, json), NULL},
    CSV_OPTION(offsetof(struct tables_options, csv), "tables columns"),
    {"table", 0, "NAME", NULL, "the rows of this table (name or number) instead of the list",
     offsetof(struct tables_options, table), NULL},
    {"as", 0, "FORMAT", "csv tsv ndjson", "how to write them: csv (default), tsv, ndjson",
     offsetof(struct tables_options, format), option_store_text},
    {"limit", 0, "N", "1..4294967295", "the first N rows of each file",
     offsetof(struct tables_options, limit), NULL},
    {0},
};

static const struct option_group tables_groups[] = {
    {"Content", tables_option_table, 0},
    {"Filters, with --table", filter_row_option_table, offsetof(struct tables_options, filter)},
    {"Output", out_option_table, offsetof(struct tables_options, output)},
    {0},
};

static bool find_form(const char *format, enum cell_form *form_out)
{
    static const char *const names[] = {
        [CELL_CSV] = "csv", [CELL_TSV] = "tsv", [CELL_JSON] = "ndjson"};
    for (int i = 0; i < 3; i++)
        if (!format || strcmp(format, names[i]) == 0) {
            *form_out = (enum cell_form)i;
            return true;
        }
    message_usage("--as '%s' is not csv, tsv or ndjson", format);
    return false;
}

/* shown: of the list, files before; of rows, their columns (table_export.h). */
static enum exit_code tables_one_file(struct out *out, const struct tables_options *options,
                                      enum cell_form form, const char *path, uint64_t *shown)
{
    struct input input;
    uint64_t broken = 0;
    enum exit_code code = EXIT_GOOD;
    if (!input_open(&input, path, filter_needs_names(&options->filter)))
        return EXIT_BAD_DATA;
    struct table_export wanted = {options->table, form, options->limit, &options->filter, shown};
    struct table_list_form list = {options->json, options->csv, *shown == 0};
    if (*shown && !options->table && !options->csv)
        out_text(out, options->json ? ",\n" : "\n");
    if (options->table)
        code = table_export(out, &input, &wanted, &broken);
    else if (!table_list(out, &input, list, &broken))
        code = EXIT_BAD_DATA;
    *shown += !options->table;
    if (broken)
        code = exit_worse(code, EXIT_PARTIAL);
    return exit_worse(code, input_close(&input));
}

static enum exit_code tables_run(void *config, struct operands files)
{
    const struct tables_options *options = config;
    struct out out;
    enum cell_form form;
    bool filtered = filter_is_set(&options->filter) || options->filter.labels.count;
    if (!options->table && (options->format || options->limit || filtered))
        return message_usage("--as, --limit and filters go with --table NAME");
    if (options->table && options->csv)
        return message_usage("--csv is for the list; --table NAME has --as csv");
    if (!find_form(options->format, &form) ||
        !csv_is_known(result_has_list(table_list_columns, options->csv), options->csv,
                      options->json))
        return EXIT_USAGE;
    if (!out_open(&out, &options->output, files))
        return EXIT_BAD_DATA;
    bool json = options->json && !options->table, array = json && files.count > 1;
    enum exit_code code = EXIT_GOOD;
    uint64_t shown = 0;
    out_text(&out, array ? "[" : "");
    for (int i = 0; i < files.count && !out_failed(&out); i++)
        code = exit_worse(code, tables_one_file(&out, options, form, files.words[i], &shown));
    out_text(&out, array ? "]\n" : json && shown ? "\n" : "");
    return exit_worse(code, out_close(&out));
}

const struct command command_tables = {
    .name = "tables",
    .summary = "list and export the tables that files hold",
    .operands = "FILE...",
    .description =
        "Lists the tables in RBWP files: name, rows, columns, and the first rows; with\n"
        "--table the rows of one, as text. Any table is shown, known or not: its schema\n"
        "is in the file.\n"
        "Exit status: 0 good, 1 bad data or no such table, 2 usage, 3 partly read.",
    .groups = tables_groups,
    .config_bytes = sizeof(struct tables_options),
    .needs_file = true,
    .run = tables_run,
};
