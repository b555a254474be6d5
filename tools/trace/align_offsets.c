/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets from a file, line by line. */
#include "align_offsets.h"
#include "filter.h"
#include "message.h"
#include "grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool align_parse_time(const char *text, int64_t *ns_out, struct option_error *error)
{
    bool negative = text[0] == '-';
    if (!filter_parse_duration(text + (negative || text[0] == '+'), ns_out, error))
        return false;
    if (*ns_out > INT64_C(1) << 60) {
        snprintf(error->text, sizeof error->text, "is too large");
        return false;
    }
    *ns_out = negative ? -*ns_out : *ns_out;
    return true;
}

static bool add(struct align_offsets *offsets, const struct align_offset *offset)
{
    if (!grow_array32(&offsets->list, &offsets->room, offsets->count + 1, sizeof *offsets->list))
        return false;
    offsets->list[offsets->count++] = *offset;
    return true;
}

static bool parse_line(char *line, struct align_offset *offset, struct option_error *error)
{
    char *rest, *end, *word = strtok_r(line, " \t\r\n", &rest);
    unsigned long node = strtoul(word, &end, 10);
    snprintf(error->text, sizeof error->text, "is not 'NODE TIME [ERROR]'");
    if (*end || word[0] < '0' || word[0] > '9' || node > UINT32_MAX)
        return false;
    *offset = (struct align_offset){.node = (uint32_t)node};
    word = strtok_r(NULL, " \t\r\n", &rest);
    if (!word || !align_parse_time(word, &offset->ahead_ns, error))
        return false;
    word = strtok_r(NULL, " \t\r\n", &rest);
    if (!word)
        return true;
    int64_t error_ns;
    offset->has_error = true;
    if (!filter_parse_duration(word, &error_ns, error))
        return false;
    offset->error_ns = (uint64_t)error_ns;
    return strtok_r(NULL, " \t\r\n", &rest) == NULL;
}

bool align_offsets_read(struct align_offsets *offsets, const char *path)
{
    char line[256];
    bool good = true;
    FILE *file = fopen(path, "re");
    if (!file) {
        message("%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    for (unsigned number = 1; good && fgets(line, sizeof line, file); number++) {
        struct align_offset offset;
        struct option_error error;
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r\n")] == '\0')
            continue;
        good = parse_line(line, &offset, &error) && add(offsets, &offset);
        if (!good)
            message("%s: line %u %s", path, number, error.text);
    }
    fclose(file);
    if (!good)
        align_offsets_free(offsets);
    return good;
}

const struct align_offset *align_offset_of(const struct align_offsets *offsets, uint32_t node)
{
    for (uint32_t i = 0; i < offsets->count; i++)
        if (offsets->list[i].node == node)
            return &offsets->list[i];
    return NULL;
}

void align_offsets_free(struct align_offsets *offsets)
{
    free(offsets->list);
    *offsets = (struct align_offsets){0};
}
