/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - a socket by which this user controls the recording of a running process (rbwp ctl).
 *
 * A thread of its own sleeps until somebody connects or a signal comes: it costs nothing before.
 * The socket has a name that stands in no folder (abstract), with user and process in it, so that
 * nothing is left behind by who dies, and nobody can put a link or a file in its way. Who may
 * connect is in control_words.h, all others are sent away; what they may say, too.
 *
 * The thread, its socket, and the copy of the configuration. A host program may close descriptors
 * that are not its own and get them anew for something else (held.h): then the thread leaves.
 */
#include "control_words.h"
#include "held.h"
#include "helper_thread.h"
#include "recording.h"
#include "running.h"
#include "session_config.h"
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_MS 1000 /* for who has connected to say what it wants */
#define STRANGER_MS 20  /* the same for who may say nothing */
#define BACKLOG 8
#define REST_MS 1000 /* where no descriptor is to be had for who comes */

/* Guards who listens. Not held while the thread is waited for, nor by it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool listening, joining;
static pthread_cond_t has_left = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
/* The thread's own: one whose descriptors the program has closed may still be asleep when the next
 * begins. Whoever leaves last, it or who ends it, frees it. */
static struct door {
    struct held listener, woken;
    _Atomic bool leaving, one_has_left;
} * door;
/* The other end of `woken`. Sockets: all eventfds have one inode, and who writes to a pipe that the
 * program has closed the other end of gets SIGPIPE. */
static struct held control_waker = {.fd = -1};

/* ---- descriptors ----------------------------------------------------------------------- */

/* The name's end is chance, so that nobody can have it before us. */
static int make_listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t chance = 0;
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != (ssize_t)sizeof chance)
        chance = (uint64_t)(uintptr_t)&address;
    int bytes =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rbwp-ctl/%lu/%ld/%016llx",
                 (unsigned long)geteuid(), (long)getpid(), (unsigned long long)chance);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (bind(fd, (const struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes)) != 0 ||
         listen(fd, BACKLOG) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- who comes ------------------------------------------------------------------------- */

static void send_text(int fd, bool refused, const char *text, size_t bytes)
{
    struct iovec parts[2] = {{refused ? (char[]){"1"} : (char[]){"0"}, 1}, {(void *)text, bytes}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What was said, within so long; -1: nothing. An answer without having read would not arrive. */
static ssize_t listen_to(int fd, int ms, char request[CONTROL_REQUEST_BYTES_MAX])
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    return poll(&asked, 1, ms) == 1
               ? recv(fd, request, CONTROL_REQUEST_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC)
               : -1;
}

static void control_serve(int fd)
{
    static const char refusal[] =
        "only root, and who has all rights of the process (its user, groups "
        "and capabilities), may control it\n";
    static struct control_answer answer; /* of the one thread */
    char request[CONTROL_REQUEST_BYTES_MAX];
    const enum control_rights rights =
        control_rights_of(fd, control_kept.control == RBWP_CONTROL_ALWAYS);
    ssize_t bytes =
        listen_to(fd, rights == CONTROL_RIGHTS_NONE ? STRANGER_MS : REQUEST_MS, request);
    if (bytes < 0)
        return;
    if (rights == CONTROL_RIGHTS_NONE) {
        send_text(fd, true, refusal, sizeof refusal - 1);
        return;
    }
    answer.bytes = 0;
    answer.refused = false;
    control_carry_out_bytes(request, (size_t)bytes, rights == CONTROL_RIGHTS_ALL, &answer);
    send_text(fd, answer.refused, answer.text, answer.bytes);
}

/* False: who comes cannot be let in now. */
static bool serve_next(const struct held *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    control_serve(fd);
    close(fd);
    return true;
}

static void leave_door(struct door *own)
{
    if (atomic_exchange(&own->one_has_left, true))
        free(own);
}

static void *control(void *argument)
{
    struct door *own = argument;
    bool rests = false;
    recording_prepare_end();
    while (!atomic_load_explicit(&own->leaving, memory_order_acquire)) {
        struct pollfd waits[2] = {{.fd = rests ? -1 : own->listener.fd, .events = POLLIN},
                                  {.fd = own->woken.fd, .events = POLLIN}};
        if (poll(waits, 2, rests ? REST_MS : -1) < 0 && errno != EINTR)
            break;
        char bytes[64];
        if (!held_is_ours(&own->listener) || !held_is_ours(&own->woken) ||
            (waits[1].revents && read(own->woken.fd, bytes, sizeof bytes) == 0))
            break; /* the program has closed them, or the other end */
        control_signals_carry_out();
        rests = waits[0].revents && !serve_next(&own->listener);
    }
    held_close(&own->listener); /* nobody is to wait where nobody answers */
    held_close(&own->woken);
    leave_door(own);
    return NULL;
}

/* ---- begin and end --------------------------------------------------------------------- */

static void give_up_all(void)
{
    held_close(&door->listener);
    held_close(&door->woken);
    held_close(&control_waker);
}

/* Locked. False if it cannot be: recording goes on as well. */
static bool listen_now(void)
{
    int ends[2] = {-1, -1};
    free(door); /* a parent's */
    door = calloc(1, sizeof *door);
    if (!door)
        return false;
    (void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
    held_take(&door->listener, make_listener());
    held_take(&door->woken, ends[0]);
    held_take(&control_waker, ends[1]);
    control_signals_wake(&control_waker);
    if (door->listener.fd >= 0 && door->woken.fd >= 0 && control_waker.fd >= 0 &&
        helper_thread_start(&thread, "rbwp-control", control, door) == 0)
        listening = true;
    if (!listening) {
        give_up_all();
        free(door);
        door = NULL;
    }
    return listening;
}

/* Once for each thread; not by the thread itself. */
static void control_leave(void)
{
    pthread_mutex_lock(&lock);
    bool mine = listening && !joining && !pthread_equal(thread, pthread_self());
    joining = joining || mine;
    pthread_mutex_unlock(&lock);
    if (!mine)
        return;
    control_signals_give_back();
    atomic_store_explicit(&door->leaving, true, memory_order_release);
    if (held_is_ours(&control_waker) && send(control_waker.fd, "", 1, MSG_NOSIGNAL) > 0)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread); /* the program has closed what would wake it: it sleeps on */
    pthread_mutex_lock(&lock);
    held_close(&control_waker);
    leave_door(door);
    door = NULL;
    config_copy_free(&control_kept);
    listening = joining = false;
    pthread_cond_broadcast(&has_left);
    pthread_mutex_unlock(&lock);
}

/* Somebody listens at level 0, too. */
static bool stays_at_level_0(void)
{
    pthread_mutex_lock(&lock);
    bool stays = control_kept.control == RBWP_CONTROL_ALWAYS;
    pthread_mutex_unlock(&lock);
    return stays;
}

static enum rbwp_status control_begin(const struct rbwp_session_config *given,
                                      struct rbwp_error *error)
{
    struct rbwp_session_config config;
    enum rbwp_status status =
        sized_take(&config, sizeof config, given, "rbwp_session_config", error);
    if (status != RBWP_OK)
        return status;
    bool wanted = config.control == RBWP_CONTROL_ALWAYS ||
                  (config.control == RBWP_CONTROL_RECORDING && config.level > 0 &&
                   !control_rights_were_raised());
    if (config.level > 0 || wanted || !stays_at_level_0())
        control_leave(); /* what was said for an earlier session */
    control_lift_settings();
    if (config.settings && (status = control_apply_settings(config.settings, error)) != RBWP_OK)
        return status;
    pthread_mutex_lock(&lock);
    if (wanted && !listening && !joining)
        config_copy_free(&control_kept); /* a parent's */
    if (wanted && !listening && !joining && config_copy(&control_kept, &config)) {
        status = control_signals_take(control_kept.signals, error);
        if (status != RBWP_OK || !listen_now())
            config_copy_free(&control_kept);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static bool control_session_ended(void)
{
    bool stays = stays_at_level_0();
    if (!stays)
        control_leave();
    return !stays;
}

/* Another thread may be waiting for it just now. */
static void control_end(void)
{
    control_leave();
    pthread_mutex_lock(&lock);
    while (joining && !pthread_equal(thread, pthread_self()))
        pthread_cond_wait(&has_left, &lock);
    pthread_mutex_unlock(&lock);
}

static void control_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&has_left, NULL);
    if (listening) {
        control_signals_give_back();
        give_up_all();
        control_kept.control = RBWP_CONTROL_NONE;
    }
    listening = joining = false;
}

static const struct session_control calls = {
    .begin = control_begin,
    .session_began = control_words_session_began,
    .session_ended = control_session_ended,
    .end = control_end,
    .after_fork = control_after_fork,
};

/* Here, at the top of all that records: the session below does not know who controls it. */
enum rbwp_status rbwp_session_start(const struct rbwp_session_config *config,
                                    struct rbwp_session **session_out, struct rbwp_error *error)
{
    session_control = &calls;
    return running_start_program(config, session_out, error);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/*
 * The rule is the kernel's for debuggers (ptrace), which can have anything done: all three user and
 * group ids are the caller's, and there is no capability that he might lack. What the caller's are
 * is not looked up in /proc: he can execute another program meanwhile. User and group ids that this
 * user namespace does not know all look the same, so that nobody is known by them.
 */

#define GROUPS_MAX 256
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* not in all C libraries' headers */
#endif
#define OVERFLOW_ID 65534 /* where /proc does not say */

bool control_rights_were_raised(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* The numbers at the beginning of a file; how many there are of three. */
static int read_numbers(const char *path, unsigned long number[3])
{
    FILE *file = fopen(path, "re");
    int count = file ? fscanf(file, "%lu %lu %lu", &number[0], &number[1], &number[2]) : 0;
    if (file)
        fclose(file);
    return count;
}

/* The id may stand for any that this user namespace does not know. map: which it knows. */
static bool is_anybodys(unsigned long id, const char *map, const char *overflow)
{
    unsigned long number[3];
    unsigned long nobody = read_numbers(overflow, number) >= 1 ? number[0] : OVERFLOW_ID;
    return id == nobody &&
           (read_numbers(map, number) != 3 || number[0] != 0 || number[2] < UINT32_MAX);
}

int capget(cap_user_header_t header, cap_user_data_t data); /* which no header of C libraries has */

static bool has_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    return capget(&head, data) != 0 || data[0].permitted || data[1].permitted;
}

/* The groups of who has connected. */
struct groups {
    gid_t first, more[GROUPS_MAX];
    size_t count; /* of more */
};

static struct groups groups_of(int connection, const struct ucred *peer)
{
    struct groups groups = {.first = peer->gid};
    socklen_t bytes = sizeof groups.more;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.more, &bytes) == 0)
        groups.count = bytes / sizeof groups.more[0];
    return groups;
}

static bool is_in(const struct groups *groups, gid_t gid)
{
    bool found = gid == groups->first;
    for (size_t i = 0; i < groups->count && !found; i++)
        found = gid == groups->more[i];
    return found && !is_anybodys(gid, "/proc/self/gid_map", "/proc/sys/kernel/overflowgid");
}

static bool has_our_groups(int connection, const struct ucred *peer)
{
    gid_t group, effective, saved;
    const struct groups groups = groups_of(connection, peer);
    return getresgid(&group, &effective, &saved) == 0 && is_in(&groups, group) &&
           is_in(&groups, effective) && is_in(&groups, saved);
}

enum control_rights control_rights_of(int connection, bool was_asked_for)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    uid_t user, effective, saved;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
        getresuid(&user, &effective, &saved) != 0)
        return CONTROL_RIGHTS_NONE;
    if (peer.uid == 0)
        return CONTROL_RIGHTS_ALL;
    if (is_anybodys(peer.uid, "/proc/self/uid_map", "/proc/sys/kernel/overflowuid"))
        return CONTROL_RIGHTS_NONE;
    if (peer.uid == user && peer.uid == effective && peer.uid == saved &&
        has_our_groups(connection, &peer) && !has_capabilities())
        return CONTROL_RIGHTS_ALL;
    return was_asked_for && (peer.uid == user || peer.uid == effective) ? CONTROL_RIGHTS_NO_FILE
                                                                        : CONTROL_RIGHTS_NONE;
}
