/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp ptx instrument: options, configuration and defaults come together here, and what was made is
 * written: the text, its map, the map of lines.
 *
 * All outputs are made in memory before the first is written, so what is refused leaves nothing.
 */
#include "ptx_instrument.h"

#include "message.h"
#include "ptx_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define CAPACITY 256
#define LAST_THREAD 127

/* ---- options and configuration --------------------------------------------------------- */

static bool ptx_instrument_take_mode(struct ptx_options *options, const char *word,
                                     const char *path)
{
    for (int i = 0; i < PTX_MODE_COUNT; i++)
        if (strcmp(word, ptx_mode_name((enum ptx_mode)i)) == 0) {
            options->mode = (enum ptx_mode)i;
            return true;
        }
    message_plain("%s: mode '%s' is none of block, single, entire, config, cfg, mma, warp", path,
                  word);
    return false;
}

/* What the command line leaves open, from the configuration. */
static bool fill_from(struct ptx_options *options, const struct ptx_tool_options *tool,
                      const struct ptx_config *config)
{
    if (!tool->mode_given && !ptx_instrument_take_mode(options, config->mode, tool->config))
        return false;
    if (options->capacity == 0)
        options->capacity = config->n_probes_estimate;
    if (options->range_count == 0) {
        options->ranges[0] = (struct ptx_range){config->t_start, config->t_end, 1};
        options->range_count = 1;
    }
    if (!tool->file && options->mode <= PTX_MODE_CONFIG)
        options->file = config->target_file;
    return true;
}

static bool ptx_instrument_ends_with(const char *text, size_t count, const char *end)
{
    size_t end_count = strlen(end);
    return count >= end_count && memcmp(text + count - end_count, end, end_count) == 0 &&
           (count == end_count || text[count - end_count - 1] == '/');
}

/* What it could be: "1 a.py, 2 core.py". */
static void report_files(const struct ptx_source *source, const char *file)
{
    const struct ptx_module *module = &source->module;
    char list[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < module->count && used < sizeof list; i++) {
        uint32_t number = ptx_file_number(module, &module->statements[i]);
        struct ptx_span path = ptx_file(module, number);
        if (number)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu32 " %.*s",
                                     used ? ", " : "", number, (int)(path.end - path.begin),
                                     module->text + path.begin);
    }
    message_plain("%s: no .file in it is '%s'; it has %s", source->path, file,
                  *list ? list : "none");
}

/* --file: a number, all, or the end of a path that a .file names. */
static bool choose_file(struct ptx_options *options, const struct ptx_source *source,
                        const char *file)
{
    struct option_error error;
    const struct ptx_module *module = &source->module;
    if (strcmp(file, "all") == 0)
        return true;
    if (file[strspn(file, "0123456789")] == '\0')
        return option_number(file, 0, UINT32_MAX, &options->file, &error);
    for (uint32_t i = 0; i < module->count; i++) {
        uint32_t number = ptx_file_number(module, &module->statements[i]);
        struct ptx_span path = ptx_file(module, number);
        if (number > 0 &&
            ptx_instrument_ends_with(module->text + path.begin, path.end - path.begin, file)) {
            options->file = number;
            return true;
        }
    }
    report_files(source, file);
    return false;
}

/* The options as they hold for this source. False with the message given. */
static bool ptx_instrument_settle(struct ptx_options *options, const struct ptx_tool_options *tool,
                                  const struct ptx_config *config, const struct ptx_source *source)
{
    *options = tool->probes;
    if (tool->config && !fill_from(options, tool, config))
        return false;
    if (options->capacity == 0)
        options->capacity = CAPACITY;
    if (options->range_count == 0) {
        options->ranges[0] = (struct ptx_range){0, LAST_THREAD, 1};
        options->range_count = 1;
    }
    if (!tool->file && !tool->config && options->mode <= PTX_MODE_CONFIG)
        options->file = 1;
    return !tool->file || choose_file(options, source, tool->file);
}

/* ---- the list of active probes --------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* The option's, or the one that the configuration names, once it is there. */
static bool ptx_instrument_read_active(struct ptx_active *active,
                                       const struct ptx_tool_options *tool,
                                       const struct ptx_config *config, bool *read_out)
{
    char path[2 * PTX_CONFIG_TEXT];
    const char *wanted = tool->active;
    snprintf(path, sizeof path, "%s/%s", config->analysis_dir, config->active_list);
    if (!wanted && tool->config && config->enable && exists(path))
        wanted = path;
    *read_out = wanted != NULL;
    return !wanted || ptx_active_read(active, wanted);
}

/* ---- instrumenting --------------------------------------------------------------------- */

bool ptx_instrument(struct ptx_instrumented *made, const struct ptx_tool_options *tool,
                    const char *path)
{
    *made = (struct ptx_instrumented){0};
    ptx_config_defaults(&made->config);
    struct ptx_error error;
    struct ptx_active active = {{0}, {0}};
    bool limited = false;
    if ((tool->config && !ptx_config_read(&made->config, tool->config)) ||
        !ptx_instrument_read_active(&active, tool, &made->config, &limited))
        return false;
    bool good = ptx_source_open(&made->source, path);
    bool opened = good;
    if (good)
        good = ptx_instrument_settle(&made->options, tool, &made->config, &made->source);
    made->options.active = limited;
    made->options.active_start = (struct ptx_ids){active.start.ids, active.start.count};
    made->options.active_end = (struct ptx_ids){active.end.ids, active.end.count};
    if (good && !ptx_probes(&made->probes, &made->source.module, &made->options, &error)) {
        ptx_source_error(&made->source, &error);
        good = false;
    }
    made->options.active_start = made->options.active_end = (struct ptx_ids){0};
    ptx_active_free(&active);
    if (opened && !good)
        ptx_source_close(&made->source);
    return good;
}

void ptx_instrumented_free(struct ptx_instrumented *made)
{
    ptx_probes_free(&made->probes);
    ptx_source_close(&made->source);
}

/* ---- outputs --------------------------------------------------------------------------- */

enum exit_code ptx_write_text(const struct out_options *output, struct operands inputs,
                              const char *text, size_t bytes)
{
    struct out out;
    if (!out_open(&out, output, inputs))
        return EXIT_BAD_DATA;
    out_bytes(&out, text, bytes);
    return out_close(&out);
}

enum exit_code ptx_instrumented_map(const struct ptx_instrumented *made,
                                    const struct out_options *output, struct operands inputs)
{
    struct out out;
    if (!out_open(&out, output, inputs))
        return EXIT_BAD_DATA;
    ptx_map_write(&out, &made->source, &made->options, &made->probes);
    return out_close(&out);
}

/* Of spanning and early ends the last one counts. */
static enum exit_code write_loc_map(const struct ptx_instrumented *made,
                                    const struct out_options *output, struct operands inputs)
{
    struct ptx_loc_map map = {0};
    struct out out;
    bool good = true;
    for (uint32_t i = 0; i < made->probes.count && good; i++)
        good = ptx_loc_map_add(&map, made->probes.probes[i].id, made->probes.probes[i].loc);
    ptx_loc_map_finish(&map);
    enum exit_code code = EXIT_BAD_DATA;
    if (!good)
        message("out of memory");
    else if (out_open(&out, output, inputs)) {
        ptx_loc_map_write(&out, &map);
        code = out_close(&out);
    }
    ptx_loc_map_free(&map);
    return code;
}

bool ptx_make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    message_plain("%s: %s", path, strerror(errno));
    return false;
}

/* What the configuration wants beside: both texts, and the map of lines. These are overwritten. */
static enum exit_code write_configured(const struct ptx_instrumented *made, struct operands inputs)
{
    const struct ptx_config *config = &made->config;
    char path[2 * PTX_CONFIG_TEXT];
    struct out_options output = {path, true};
    enum exit_code code = EXIT_GOOD;
    if (config->output_dir[0] && config->dump_ptx) {
        if (!ptx_make_folder(config->output_dir))
            return EXIT_BAD_DATA;
        snprintf(path, sizeof path, "%s/original.ptx", config->output_dir);
        code = ptx_write_text(&output, inputs, made->source.text, made->source.bytes);
        snprintf(path, sizeof path, "%s/instrumented.ptx", config->output_dir);
        code = exit_worse(code,
                          ptx_write_text(&output, inputs, made->probes.text, made->probes.bytes));
    }
    if (config->analysis_dir[0]) {
        if (!ptx_make_folder(config->analysis_dir))
            return EXIT_BAD_DATA;
        snprintf(path, sizeof path, "%s/%s", config->analysis_dir, config->loc_map);
        code = exit_worse(code, write_loc_map(made, &output, inputs));
    }
    return code;
}

/* Where no .file stands, .loc may have any number. */
static bool may_have_file(const struct ptx_module *module, uint32_t file)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < module->count; i++) {
        uint32_t number = ptx_file_number(module, &module->statements[i]);
        if (number == file)
            return true;
        others += number != 0;
    }
    return others == 0;
}

/* False, with the message given: the number of the file is wrong. */
static bool look_at_probes(const struct ptx_instrumented *made)
{
    char number[16];
    if (made->probes.count || made->options.active || made->options.mode == PTX_MODE_CONFIG)
        return true;
    if (made->options.file && !may_have_file(&made->source.module, made->options.file)) {
        snprintf(number, sizeof number, "%" PRIu32, made->options.file);
        report_files(&made->source, number);
        return false;
    }
    message_plain("%s: no probe was put in: mode %s finds nothing in this kernel and file",
                  made->source.path, ptx_mode_name(made->options.mode));
    return true;
}

enum exit_code ptx_tool_instrument(const struct ptx_tool_options *tool, struct operands files)
{
    struct ptx_instrumented made;
    if (!ptx_instrument(&made, tool, files.words[0]))
        return EXIT_BAD_DATA;
    if (!look_at_probes(&made)) {
        ptx_instrumented_free(&made);
        return EXIT_BAD_DATA;
    }
    enum exit_code code = ptx_write_text(&tool->output, files, made.probes.text, made.probes.bytes);
    if (code == EXIT_GOOD && tool->map)
        code = ptx_instrumented_map(&made, &(struct out_options){tool->map, tool->output.force},
                                    files);
    if (code == EXIT_GOOD && tool->loc_map)
        code =
            write_loc_map(&made, &(struct out_options){tool->loc_map, tool->output.force}, files);
    if (code == EXIT_GOOD && tool->config)
        code = write_configured(&made, files);
    ptx_instrumented_free(&made);
    return code;
}

#define CONFIG_BYTES_MAX (1u << 20)

void ptx_config_defaults(struct ptx_config *config)
{
    *config = (struct ptx_config){.mode = "block",
                                  .target_file = 1,
                                  .t_end = 127,
                                  .n_probes_estimate = 256,
                                  .output_dir = "output",
                                  .raw_csv = "raw.csv",
                                  .trace_json = "trace.json",
                                  .dump_ptx = true,
                                  .analysis_dir = "analysis",
                                  .loc_map = "loc_map.json",
                                  .active_list = "active_probes.json"};
}

/* ---- values ---------------------------------------------------------------------------- */

static bool store_text(void *value, const char *text)
{
    if (strlen(text) >= PTX_CONFIG_TEXT)
        return false;
    strcpy(value, text);
    return true;
}

static bool store_number(void *value, const char *text)
{
    struct option_error error;
    return option_number(text, 0, INT32_MAX, value, &error);
}

static bool store_bool(void *value, const char *text)
{
    static const char *const words[] = {"0", "no", "false", "off", "1", "yes", "true", "on"};
    for (int i = 0; i < 8; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *(bool *)value = i >= 4;
            return true;
        }
    return false;
}

static const struct key {
    const char *section, *key;
    size_t offset;
    bool (*store)(void *value, const char *text);
} keys[] = {
    {"instrument", "mode", offsetof(struct ptx_config, mode), store_text},
    {"instrument", "target_file", offsetof(struct ptx_config, target_file), store_number},
    {"instrument", "t_start", offsetof(struct ptx_config, t_start), store_number},
    {"instrument", "t_end", offsetof(struct ptx_config, t_end), store_number},
    {"instrument", "n_probes_estimate", offsetof(struct ptx_config, n_probes_estimate),
     store_number},
    {"output", "output_dir", offsetof(struct ptx_config, output_dir), store_text},
    {"output", "raw_csv", offsetof(struct ptx_config, raw_csv), store_text},
    {"output", "trace_json", offsetof(struct ptx_config, trace_json), store_text},
    {"output", "dump_ptx", offsetof(struct ptx_config, dump_ptx), store_bool},
    {"analysis", "analysis_dir", offsetof(struct ptx_config, analysis_dir), store_text},
    {"analysis", "loc_map", offsetof(struct ptx_config, loc_map), store_text},
    {"analysis", "active_list", offsetof(struct ptx_config, active_list), store_text},
    {"sanitizer", "enable", offsetof(struct ptx_config, enable), store_bool},
    {"sanitizer", "dead", offsetof(struct ptx_config, dead), store_bool},
    {"sanitizer", "merge", offsetof(struct ptx_config, merge), store_bool},
};

/* ---- lines ----------------------------------------------------------------------------- */

/* text without blanks at both ends. */
static char *trimmed(char *text)
{
    text += strspn(text, " \t\r\v\f");
    size_t count = strlen(text);
    while (count > 0 && strchr(" \t\r\v\f", text[count - 1]))
        text[--count] = '\0';
    return text;
}

/* A comment begins a line, or stands behind a blank. */
static void cut_comment(char *line)
{
    for (char *at = line; *at; at++)
        if ((*at == ';' || *at == '#') && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
            *at = '\0';
            return;
        }
}

static bool take_key(struct ptx_config *config, const char *section, char *line)
{
    size_t end = strcspn(line, "=:");
    if (line[end] == '\0')
        return false;
    line[end] = '\0';
    char *key = trimmed(line), *value = trimmed(line + end + 1);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(section, keys[i].section) == 0 && strcasecmp(key, keys[i].key) == 0)
            return keys[i].store((char *)config + keys[i].offset, value);
    return true;
}

static bool ptx_config_take_line(struct ptx_config *config, char section[PTX_CONFIG_TEXT],
                                 char *line)
{
    cut_comment(line);
    line = trimmed(line);
    if (*line == '\0')
        return true;
    if (*line != '[')
        return take_key(config, section, line);
    char *close = strchr(line, ']');
    if (!close || close - line > PTX_CONFIG_TEXT)
        return false;
    *close = '\0';
    strcpy(section, line + 1);
    if (strcmp(section, "sanitizer") == 0)
        config->dead = config->merge = true;
    return true;
}

bool ptx_config_read(struct ptx_config *config, const char *path)
{
    char section[PTX_CONFIG_TEXT] = "";
    size_t bytes;
    ptx_config_defaults(config);
    char *text = ptx_read_file(path, CONFIG_BYTES_MAX, &bytes);
    if (!text)
        return false;
    bool good = true;
    unsigned number = 1;
    for (size_t at = 0; at < bytes && good; number++) {
        char line[1024], *end = memchr(text + at, '\n', bytes - at);
        size_t count = end ? (size_t)(end - text) - at : bytes - at;
        good = count < sizeof line && !memchr(text + at, '\0', count);
        if (good) {
            memcpy(line, text + at, count);
            line[count] = '\0';
            good = ptx_config_take_line(config, section, line);
        }
        if (!good)
            message_plain("%s:%u: neither [section] nor a key with a value that it takes", path,
                          number);
        at += count + 1;
    }
    free(text);
    return good;
}
