/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands over hostile files: whatever is in the file, each ends with an exit code that it
 * promises, JSON is valid, and text has no control characters.
 *
 * Which command and options an input is for is taken from its bytes, so that an input is an RBWP
 * file and nothing else.
 */
#include "command.h"
#include "fuzz.h"
#include "json_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct command command_dump, command_info, command_tables;

static const struct way {
    const struct command *command;
    const char *options[4]; /* up to NULL */
    bool text;
} ways[] = {
    {&command_dump, {NULL}, false},
    {&command_dump, {"--ndjson"}, false},
    {&command_dump, {"--spans"}, false},
    {&command_dump, {"--spans", "--ndjson", "--min-duration=1us"}, false},
    {&command_dump, {"--slot=0", "--thread=*", "--from=+1ms"}, false},
    {&command_info, {"--json"}, false},
    {&command_info, {NULL}, true},
    {&command_info, {"--quick"}, true},
    {&command_tables, {"--json"}, false},
    {&command_tables, {NULL}, true},
    {&command_tables, {"--table=1", "--as=ndjson", "--from=+1us"}, false},
    {&command_tables, {"--table=job", "--name=c*"}, true},
};

static enum exit_code run(const struct way *way, int in, int out)
{
    char in_name[32], out_name[32], output[] = "--output", force[] = "--force";
    snprintf(in_name, sizeof in_name, "/proc/self/fd/%d", in);
    snprintf(out_name, sizeof out_name, "/proc/self/fd/%d", out);
    char options[4][32], *words[10] = {in_name, output, out_name, force};
    int count = 4;
    for (int i = 0; i < 4 && way->options[i]; i++) {
        snprintf(options[i], sizeof options[i], "%s", way->options[i]);
        words[count++] = options[i];
    }
    struct option_error error;
    void *config = calloc(1, way->command->config_bytes);
    REQUIRE(config);
    REQUIRE(options_parse(way->command->groups, config, words, &count, &error) == OPTIONS_DONE);
    enum exit_code code = way->command->run(config, (struct operands){words, count});
    free(config);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_BYTES_MAX)
        return 0;
    uint32_t sum = (uint32_t)size;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    const struct way *way = &ways[(sum ^ sum >> 16) % (sizeof ways / sizeof ways[0])];
    int in = memory_file(data, size), out = memory_file("", 0);
    enum exit_code code = run(way, in, out);
    REQUIRE(code == EXIT_GOOD || code == EXIT_BAD_DATA || code == EXIT_PARTIAL);
    REQUIRE(way->text ? text_file_is_visible(out) : json_file_is_valid(out));
    close(in);
    close(out);
    return 0;
}
