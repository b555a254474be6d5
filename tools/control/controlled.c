/* SPDX-License-Identifier: Apache-2.0 */
#include "controlled.h"

#include "message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX "rbwp-ctl/"
#define REQUEST_BYTES_MAX 8192u

/* ---- who there is --------------------------------------------------------------------- */

/* The name at the end of a line of /proc/net/unix, whose first byte, a 0, is written "@". */
static bool read_line(char *line, struct controlled *process)
{
    char *name = strstr(line, " @" PREFIX);
    int used = 0;
    if (!name)
        return false;
    name += 2;
    name[strcspn(name, "\n")] = '\0';
    if (strlen(name) >= sizeof process->name - 1 ||
        sscanf(name, PREFIX "%lu/%ld/%n", &process->uid, &process->pid, &used) != 2 || used == 0)
        return false;
    strcpy(process->name, name);
    return geteuid() == 0 || process->uid == geteuid();
}

static int by_process(const void *left, const void *right)
{
    const struct controlled *a = left, *b = right;
    return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid) : strcmp(a->name, b->name);
}

/* One socket has a line for itself and one for each connection that it has not taken yet. */
static size_t without_twins(struct controlled *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(list[kept - 1].name, list[i].name) != 0)
            list[kept++] = list[i];
    return kept;
}

bool controlled_list(struct controlled **list_out, size_t *count_out)
{
    struct controlled *list = NULL, found;
    size_t count = 0, room = 0, line_room = 0;
    char *line = NULL;
    bool memory = true;
    FILE *sockets = fopen("/proc/net/unix", "re");
    if (!sockets) {
        message("/proc/net/unix: %s", strerror(errno));
        return false;
    }
    while (memory && getline(&line, &line_room, sockets) > 0) {
        if (!read_line(line, &found))
            continue;
        if (count == room) {
            struct controlled *more = realloc(list, (room = 2 * room + 16) * sizeof *list);
            memory = more != NULL;
            list = more ? more : list;
        }
        if (memory)
            list[count++] = found;
    }
    free(line);
    fclose(sockets);
    if (count)
        qsort(list, count, sizeof *list, by_process);
    *list_out = list;
    *count_out = without_twins(list, count);
    if (!memory) {
        message("out of memory");
        free(list);
    }
    return memory;
}

void controlled_explain(long pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (stat(path, &status) != 0)
        message("there is no process %ld", pid);
    else if (geteuid() != 0 && status.st_uid != geteuid())
        message("process %ld is another user's: that one or root may control it", pid);
    else
        message("process %ld does not listen: it records nothing (-bgworkprofile_ctl 1 makes it "
                "listen before), or -bgworkprofile_ctl 0 forbids it",
                pid);
}

/* ---- asking --------------------------------------------------------------------------- */

static bool cannot(struct controlled_answer *answer, const char *why)
{
    answer->refused = true;
    answer->bytes = (size_t)snprintf(answer->text, sizeof answer->text, "%s\n", why);
    return false;
}

static int connect_to(const struct controlled *process, unsigned wait_s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval wait = {.tv_sec = (time_t)wait_s};
    size_t bytes = strlen(process->name);
    memcpy(address.sun_path + 1, process->name, bytes);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (connect(fd, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_the_process(int fd, const struct controlled *process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == process->uid && peer.pid == process->pid;
}

/* Words, each with its 0. */
static size_t pack(char *const *words, size_t count, char *request)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        size_t word_bytes = strlen(words[i]) + 1;
        if (bytes + word_bytes > REQUEST_BYTES_MAX)
            return 0;
        memcpy(request + bytes, words[i], word_bytes);
        bytes += word_bytes;
    }
    return bytes;
}

static bool converse(int fd, const char *request, size_t bytes, struct controlled_answer *answer)
{
    if (send(fd, request, bytes, MSG_NOSIGNAL) < 0)
        return cannot(answer,
                      errno == EAGAIN ? "it does not answer (is it stopped?)" : "it has gone");
    ssize_t got = recv(fd, answer->text, sizeof answer->text - 1, 0);
    if (got <= 0)
        return cannot(answer, got < 0 && errno == EAGAIN ? "it does not answer (is it stopped?)"
                                                         : "it has gone");
    answer->refused = answer->text[0] != '0';
    answer->bytes = (size_t)got - 1;
    memmove(answer->text, answer->text + 1, answer->bytes);
    answer->text[answer->bytes] = '\0';
    return true;
}

bool controlled_ask(const struct controlled *process, char *const *words, size_t count,
                    unsigned wait_s, struct controlled_answer *answer)
{
    char request[REQUEST_BYTES_MAX];
    size_t bytes = pack(words, count, request);
    if (bytes == 0)
        return cannot(answer, "the words are too long");
    int fd = connect_to(process, wait_s);
    if (fd < 0)
        return cannot(answer,
                      errno == EAGAIN ? "it does not answer (is it stopped?)" : "it has gone");
    bool answered = is_the_process(fd, process)
                        ? converse(fd, request, bytes, answer)
                        : cannot(answer, "its socket was made by another process or user: nothing "
                                         "was said to it");
    close(fd);
    return answered;
}
