/* SPDX-License-Identifier: Apache-2.0 */
#include "controlled.h"

#include "grow.h"
#include "message.h"
#include "read_clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX "rbwp-ctl/"
#define REQUEST_BYTES_MAX 8192u
#define LOOK_MS 250 /* at those who have not answered: are they stopped? */
#define KNOCK_MS 20 /* at those who let nobody in: again */

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

bool controlled_list(struct controlled **list_out, size_t *count_out)
{
    struct controlled *list = NULL, found;
    size_t count = 0, room = 0, line_room = 0;
    char *line = NULL;
    bool memory = true;
    FILE *sockets = fopen("/proc/net/unix", "re");
    if (!sockets)
        return message_fail("/proc/net/unix: %s", strerror(errno));
    while (memory && getline(&line, &line_room, sockets) > 0) {
        if (!read_line(line, &found))
            continue;
        memory = grow_array(&list, &room, count + 1, sizeof *list);
        if (memory)
            list[count++] = found;
    }
    free(line);
    fclose(sockets);
    if (count)
        qsort(list, count, sizeof *list, by_process);
    *list_out = list;
    /* One socket has a line for itself and one for each connection that it has not taken yet. */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(list[kept - 1].name, list[i].name) != 0)
            list[kept++] = list[i];
    *count_out = kept;
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
        message(
            "process %ld does not listen: it records nothing, or was given more rights than its "
            "caller has (-bgworkprofile_ctl 1 makes such a one listen), or "
            "-bgworkprofile_ctl 0 forbids it",
            pid);
}

/* ---- asking --------------------------------------------------------------------------- */

/* Words, each with its 0. */
static size_t controlled_pack(char *const *words, size_t count, char *request)
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

/* One that is being asked. Nothing here waits: others are asked at the same time. */
struct asked {
    const struct controlled *process;
    struct controlled_answer *answer;
    int fd; /* -1: it is over */
    bool connected;
};

static void controlled_end(struct asked *asked, const char *why)
{
    if (why) {
        asked->answer->refused = true;
        asked->answer->bytes =
            (size_t)snprintf(asked->answer->text, sizeof asked->answer->text, "%s\n", why);
    }
    if (asked->fd >= 0)
        close(asked->fd);
    asked->fd = -1;
}

static bool is_the_process(int fd, const struct controlled *process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == process->uid && peer.pid == process->pid;
}

/* Says the words, if the process has room for who connects. */
static void controlled_say(struct asked *asked, const char *request, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t name_bytes = strlen(asked->process->name);
    memcpy(address.sun_path + 1, asked->process->name, name_bytes);
    if (connect(asked->fd, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_bytes)) != 0) {
        if (errno != EAGAIN && errno != EINTR)
            controlled_end(asked, "it has gone");
    } else if (!is_the_process(asked->fd, asked->process)) {
        controlled_end(asked,
                       "its socket was made by another process or user: nothing was said to it");
    } else if (send(asked->fd, request, bytes, MSG_NOSIGNAL) < 0) {
        controlled_end(asked, "it has gone");
    } else {
        asked->connected = true;
    }
}

static void hear(struct asked *asked)
{
    struct controlled_answer *answer = asked->answer;
    ssize_t got = recv(asked->fd, answer->text, sizeof answer->text - 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0) {
        answer->refused = answer->text[0] != '0';
        answer->bytes = (size_t)got - 1;
        memmove(answer->text, answer->text + 1, answer->bytes);
        answer->text[answer->bytes] = '\0';
    }
    controlled_end(asked, got > 0 ? NULL : "it has gone");
}

/* By a signal or a debugger: nothing will come. */
static bool is_stopped(long pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    const char *state = strrchr(text, ')'); /* behind the program's name */
    return state && (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}

static int64_t now_ms(void)
{
    return read_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Waits until one of them can go on, at most so long; how many are left. */
static size_t go_on(struct asked *asked, size_t count, const char *request, size_t bytes,
                    int64_t most_ms)
{
    struct pollfd waits[CONTROLLED_AT_ONCE];
    size_t left = 0;
    int64_t ms = most_ms < LOOK_MS ? most_ms : LOOK_MS;
    for (size_t i = 0; i < count; i++) {
        if (asked[i].fd >= 0 && !asked[i].connected)
            controlled_say(&asked[i], request, bytes);
        if (asked[i].fd >= 0 && !asked[i].connected)
            ms = ms < KNOCK_MS ? ms : KNOCK_MS;
        waits[i] = (struct pollfd){asked[i].connected ? asked[i].fd : -1, POLLIN, 0};
        left += asked[i].fd >= 0;
    }
    if (left == 0)
        return 0;
    const bool silence = poll(waits, (nfds_t)count, ms < 0 ? 0 : (int)ms) == 0;
    for (size_t i = 0; i < count; i++)
        if (waits[i].revents)
            hear(&asked[i]);
        else if (silence && asked[i].fd >= 0 && is_stopped(asked[i].process->pid))
            controlled_end(&asked[i], "it is stopped (kill -CONT lets it go on)");
    return left;
}

void controlled_ask(const struct controlled *list, size_t count, char *const *words,
                    size_t word_count, unsigned wait_s, struct controlled_answer *answers)
{
    char request[REQUEST_BYTES_MAX];
    struct asked asked[CONTROLLED_AT_ONCE];
    size_t bytes = controlled_pack(words, word_count, request);
    const int64_t end_ms = now_ms() + (int64_t)wait_s * 1000;
    for (size_t i = 0; i < count; i++) {
        asked[i] = (struct asked){.process = &list[i], .answer = &answers[i]};
        asked[i].fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (asked[i].fd < 0 || bytes == 0)
            controlled_end(&asked[i], bytes ? strerror(errno) : "the words are too long");
    }
    while (now_ms() < end_ms && go_on(asked, count, request, bytes, end_ms - now_ms()) > 0)
        ;
    for (size_t i = 0; i < count; i++)
        if (asked[i].fd >= 0)
            controlled_end(&asked[i], "it does not answer (is it busy with another request?)");
}
