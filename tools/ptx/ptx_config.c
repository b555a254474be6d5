/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_config.h"
#include "message.h"
#include "options.h"
#include "ptx_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
