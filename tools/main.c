/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp: the frame around the subcommands.
 *
 * Finds the subcommand (by the first word, or by the name it was called with:
 * rbwp-dump is rbwp dump), parses its options from its tables, and answers
 * help and version. A new subcommand is a name in the list below.
 */
#include "completion.h"
#include "importers.h"
#include "input_list.h"
#include "message.h"
#include "ptx_stand_in.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of the help. */
/* clang-format off */
#define COMMANDS(COMMAND) \
    COMMAND(archive) COMMAND(check) COMMAND(compare) COMMAND(ctl) COMMAND(diff) COMMAND(dump) \
    COMMAND(events) COMMAND(export) COMMAND(info) COMMAND(lanes) COMMAND(merge) COMMAND(processes) COMMAND(ptx) \
    COMMAND(record) COMMAND(repair) COMMAND(report) COMMAND(split) COMMAND(stacks) \
    COMMAND(stats) COMMAND(tables) COMMAND(tail) COMMAND(timeline) COMMAND(top) COMMAND(why)
/* clang-format on */

#define DECLARED(name) extern const struct command command_##name;
COMMANDS(DECLARED)
#define ELEMENT(name) &command_##name,
static const struct command *const commands[] = {COMMANDS(ELEMENT)};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* ---- help --------------------------------------------------------------- */

static void help_line(void *context, const char *text)
{
    out_text(context, text);
    out_text(context, "\n");
}

static bool open_stdout(struct out *out)
{
    return out_open(out, &(struct out_options){0}, (struct operands){0});
}

static enum exit_code show_version(void)
{
    struct out out;
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    out_format(&out, "rbwp %s\n", rbwp_version());
    return out_close(&out);
}

static enum exit_code command_help(const struct command *command)
{
    struct out out;
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    out_format(&out, "Usage: %s [options] %s\n\n", message_program(), command->operands);
    help_line(&out, command->description);
    if (command->inputs)
        help_line(
            &out,
            "\nA folder stands for the RBWP files named *.bin and *.rbwa in it, and so does a tar\n"
            "archive on standard input; a pattern in quotes for the files that it matches.");
    options_help(command->groups, help_line, &out);
    return out_close(&out);
}

static enum exit_code show_help(void)
{
    struct out out;
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    help_line(&out, "Usage: rbwp COMMAND [options] FILE...\n\n"
                    "Reads RBWP files: the background work of worker threads.\n\nCommands:");
    for (int i = 0; i < COMMAND_COUNT; i++)
        out_format(&out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    help_line(&out, "  help       show this help, or that of a command\n"
                    "  version    show the version\n\n"
                    "'rbwp COMMAND --help' tells about a command.");
    return out_close(&out);
}

/* ---- running ------------------------------------------------------------ */

static enum exit_code run_with(const struct command *command, void *config, struct operands words)
{
    if (words.count > 0 || !command->needs_file)
        return command->run(config, words);
    return message_usage("no FILE given ('-' is standard input)");
}

/* There may be more processes than files. */
static enum exit_code run_shard(const struct command *command, void *config, struct shard shard,
                                struct operands *files)
{
    if (files->count > 0 && shard.of && shard.number >= (uint32_t)files->count) {
        message_plain("part %" PRIu32 " of %" PRIu32 " has none of the %d files", shard.number,
                      shard.of, files->count);
        return EXIT_GOOD;
    }
    if (command->inputs == INPUTS_EACH)
        input_list_keep(files, shard);
    return run_with(command, config, *files);
}

static enum exit_code run_on(const struct command *command, void *config, struct operands words)
{
    struct operands files;
    bool usage;
    if (command->inputs == INPUTS_NONE)
        return run_with(command, config, words);
    const struct input_options *options =
        (const void *)((const char *)config + command->inputs_offset);
    enum exit_code code = EXIT_BAD_DATA;
    if (input_list_open(options, words, &files, &usage))
        code = run_shard(command, config, options->shard, &files);
    else if (usage)
        code = EXIT_USAGE;
    input_list_close(&files);
    return code;
}

static enum exit_code run_command(const struct command *command, char **words, int count)
{
    struct option_error error;
    void *config = calloc(1, command->config_bytes);
    if (!config)
        return message_bad_data("out of memory");
    enum exit_code code = EXIT_USAGE;
    switch (options_parse(command->groups, config, words, &count, &error)) {
    case OPTIONS_HELP:
        code = command_help(command);
        break;
    case OPTIONS_VERSION:
        code = show_version();
        break;
    case OPTIONS_WRONG:
        message_usage("%s", error.text);
        break;
    case OPTIONS_DONE:
        code = run_on(command, config, (struct operands){words, count});
        break;
    }
    free(config);
    return code;
}

static enum exit_code run_as(const struct command *command, char **words, int count)
{
    char program[64];
    snprintf(program, sizeof program, "rbwp %s", command->name);
    message_set_program(program);
    enum exit_code code = run_command(command, words, count);
    message_set_program("rbwp");
    return code;
}

static const char *next_command(void *context)
{
    int *at = context;
    return *at < COMMAND_COUNT ? commands[(*at)++]->name : NULL;
}

static enum exit_code unknown_command(const char *word)
{
    int at = 0;
    const char *near = options_nearest(word, next_command, &at);
    if (!near && access(word, F_OK) == 0)
        return message_usage(
            "'%s' is a file, a command comes first: rbwp info '%s' tells what is in it", word,
            word);
    return message_usage("unknown command '%s'%s%s%s", word, near ? ", did you mean '" : "",
                         near ? near : "", near ? "'?" : "");
}

static enum exit_code show_completion(const char *shell)
{
    struct out out;
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    bool known = completion_write(&out, shell, (struct command_list){commands, COMMAND_COUNT});
    enum exit_code code = out_close(&out);
    if (known)
        return code;
    return message_usage("unknown shell '%s': bash, zsh, fish", shell);
}

static enum exit_code show_man(const char *word)
{
    struct out out;
    const struct command *command = find_command(word);
    if (!command)
        return unknown_command(word);
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    completion_man(&out, command);
    return out_close(&out);
}

/* JSON Schema of a document. */
static enum exit_code show_schema(const char *name)
{
    struct out out;
    if (!open_stdout(&out))
        return EXIT_BAD_DATA;
    bool known = schema_write(&out, name);
    enum exit_code code = out_close(&out);
    if (!known)
        message_usage("no schema '%s'", name);
    return known ? code : EXIT_USAGE;
}

static enum exit_code run_help(char **words, int count)
{
    if (count == 0)
        return show_help();
    if (count == 2 && strcmp(words[0], "--completion") == 0)
        return show_completion(words[1]);
    if (count == 2 && strcmp(words[0], "--man") == 0)
        return show_man(words[1]);
    if (count == 2 && strcmp(words[0], "--schema") == 0)
        return show_schema(words[1]);
    const struct command *command = find_command(words[0]);
    char *help[] = {(char[]){"--help"}, NULL};
    return command ? run_as(command, help, 1) : unknown_command(words[0]);
}

static enum exit_code run_word(char **words, int count)
{
    if (count == 0)
        return message_usage("no command given");
    const char *word = words[0];
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return run_help(words + 1, count - 1);
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0)
        return show_version();
    const struct command *command = find_command(word);
    return command ? run_as(command, words + 1, count - 1) : unknown_command(word);
}

/* With one of the three closed, a file that we open would take its place. */
static bool reserve_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY); /* so that writing to it fails as it should */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

int main(int argc, char **argv)
{
    if (!reserve_standard_descriptors())
        return EXIT_BAD_DATA;
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is seen as EPIPE, and is no error */
#define ADD(name) trace_formats_add(&trace_format_##name);
    IMPORTERS(ADD)
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *called = argc > 0 ? slash ? slash + 1 : argv[0] : "rbwp";
    int words = argc > 0 ? argc - 1 : 0;
    if (strcmp(called, "rbwp-ptxas") == 0 || strcmp(called, "ptxas") == 0) {
        message_set_program("rbwp-ptxas");
        return ptx_stand_in(argc, argv);
    }
    const struct command *command =
        strncmp(called, "rbwp-", 5) == 0 ? find_command(called + 5) : NULL;
    if (!command)
        return (int)run_word(argv + (argc > 0), words);
    message_set_program(called);
    return (int)run_command(command, argv + 1, words);
}
