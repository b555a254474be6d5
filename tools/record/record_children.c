/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library in the program adds a line "+" before fork returns in the parent, which may end at
 * once (daemon(3)), and a line "PID NAME" in the child (runtime/threads/wrap_thread.c).
 */
#include "record_children.h"
#include "message.h"
#include "record_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_MAX = 5, TEXT_BYTES = 512 };

static char list[PATH_MAX]; /* "": there is none */

bool record_children_set_up(struct record_environment *environment)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(list, sizeof list, "%s/rbwp-children-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    int fd = mkstemp(list);
    if (fd < 0) {
        message("%s: %s: forked processes are not counted", list, strerror(errno));
        list[0] = '\0';
        return true;
    }
    close(fd);
    return record_set(environment, "RBWP_THREADS_CHILDREN", list);
}

/* How many, and who they are, as far as they have come to say so. */
static unsigned read_list(FILE *lines, char names[TEXT_BYTES])
{
    char *line = NULL;
    size_t room = 0, used = 0;
    unsigned count = 0, named = 0;
    names[0] = '\0';
    for (ssize_t bytes; (bytes = getline(&line, &room, lines)) > 0;) {
        line[bytes - 1] = '\0';
        count += strcmp(line, "+") == 0;
        char *name = strchr(line, ' ');
        if (!name || named++ >= NAMED_MAX)
            continue;
        *name = '\0';
        used += (size_t)snprintf(names + used, TEXT_BYTES - used, "%s%.40s %.12s", used ? ", " : "",
                                 name + 1, line);
    }
    free(line);
    if (named > NAMED_MAX)
        snprintf(names + used, TEXT_BYTES - used, " and %u more", named - NAMED_MAX);
    return count;
}

void record_children_say(const char *file)
{
    char names[TEXT_BYTES], with[PATH_MAX];
    FILE *lines = *list ? fopen(list, "re") : NULL;
    if (!lines)
        return;
    const unsigned count = read_list(lines, names);
    fclose(lines);
    (void)unlink(list);
    list[0] = '\0';
    if (count && record_files_name(file, "%p", with, sizeof with))
        message_plain("%u process%s that it forked %s not recorded%s%s%s: -o %s records each",
                      count, count == 1 ? "" : "es", count == 1 ? "is" : "are", *names ? " (" : "",
                      names, *names ? ")" : "", with);
}
