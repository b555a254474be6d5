/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who controls a session from outside, for how long, and what becomes of the signals that do: a
 * start that is refused takes nothing from the session in progress, a stop ends all of it, nobody
 * gets done what he could not do himself, and a signal never ends the program.
 */
#include "control_words.h"
#include "record_support.h"
#include "sanitized.h"
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANG_S 60u

/* ---- a caller ---------------------------------------------------------------------------------
 */

/* Connects to who listens for this process; -1: nobody does. */
static int connect_to_control(void)
{
    char line[512], wanted[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = 0;
    FILE *sockets = fopen("/proc/net/unix", "r");
    assert_non_null(sockets);
    snprintf(wanted, sizeof wanted, "@rbwp-ctl/%lu/%ld/", (unsigned long)geteuid(), (long)getpid());
    while (bytes == 0 && fgets(line, sizeof line, sockets)) {
        const char *name = strstr(line, wanted);
        if (name)
            bytes = (socklen_t)snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%.*s",
                                        (int)strcspn(name + 1, "\n"), name + 1);
    }
    fclose(sockets);
    if (bytes == 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes)),
                     0);
    return fd;
}

/* What comes back from words that a 0 ends each; "nobody". */
static const char *ask(const char *words, size_t bytes)
{
    static char answer[4096];
    int fd = connect_to_control();
    if (fd < 0)
        return "nobody";
    assert_int_equal(send(fd, words, bytes, MSG_NOSIGNAL), bytes);
    ssize_t got = recv(fd, answer, sizeof answer - 1, 0);
    close(fd);
    assert_true(got > 0);
    answer[got] = '\0';
    return answer;
}

#define ASK(words) ask(words, sizeof words)

/* ---- how long ---------------------------------------------------------------------------------
 */

/* A library in the process that wants a session, too, takes nothing from the one in progress. */
static void refused_start_disarms_nothing(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1), other = test_config(1);
    struct rbwp_session *session, *refused;
    config.signals = "USR1=pause";
    config.children = true;
    other.logfile = test_path("other.bin");
    session = start(&config);
    assert_int_equal(rbwp_session_start(&other, &refused, NULL), RBWP_E_BUSY);
    other.level = 0;
    assert_int_equal(rbwp_session_start(&other, &refused, NULL), RBWP_OK);
    assert_null(refused);
    assert_non_null(strstr(ASK("status"), "recording: yes\nlevel: 1"));
    raise(SIGUSR1);
    while (!strstr(ASK("status"), "level: 0"))
        ;
    raise(SIGUSR1);
    while (!strstr(ASK("status"), "level: 1"))
        ;
#ifndef SANITIZED
    char path[256];
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_S);
        if (rbwp_thread_attach("child") == RBWP_OK)
            rbwp_begin(0);
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(path, sizeof path, "%.*s.%ld.bin", (int)strlen(config.logfile) - 4, config.logfile,
             (long)child);
    assert_int_equal(unlink(path), 0);
#endif
    (void)stop(session);
    assert_string_equal(ASK("status"), "nobody");
}

/* What others have stopped the program stops as well: nobody listens then, and the next session is
 * controlled as that one says. */
static void a_stop_ends_what_others_stopped(void **state)
{
    (void)state;
    struct rbwp_session_config first = test_config(1), second = test_config(2);
    first.signals = "USR1=stop";
    second.signals = "USR2=stop";
    second.logfile = test_path("second.bin");
    struct rbwp_session *session = start(&first);
    assert_int_equal(ASK("stop")[0], '0');
    (void)stop(session);
    assert_string_equal(ASK("start"), "nobody");
    session = start(&second);
    raise(SIGUSR2);
    while (!strstr(ASK("status"), "recording: no"))
        ;
    assert_non_null(strstr(ASK("start"), "second-"));
    raise(SIGUSR1); /* does nothing any more */
    (void)stop(session);
    assert_string_equal(ASK("status"), "nobody");
}

/* ---- signals ----------------------------------------------------------------------------------
 */

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

/* A signal that has controlled a session never ends the program, not after a stop, a refused start
 * or in a child; a handler that the program has installed since stays. */
static void signals_are_harmless(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1), wrong = test_config(1);
    struct rbwp_session *session;
    wrong.signals = "USR2=level,USR1=fly";
    assert_int_equal(rbwp_session_start(&wrong, &session, NULL), RBWP_E_USAGE);
    raise(SIGUSR2);
    wrong.signals = "USR2=level,USR2=stop";
    assert_int_equal(rbwp_session_start(&wrong, &session, NULL), RBWP_E_USAGE);
    config.signals = "USR1=level,USR2=stop,WINCH=pause";
    signal(SIGWINCH, SIG_IGN);
    session = start(&config);
#ifndef SANITIZED
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
#endif
    signal(SIGUSR2, handle);
    (void)stop(session);
    raise(SIGUSR1);
    raise(SIGUSR2);
    assert_int_equal(handled, 1);
    assert_ptr_equal(signal(SIGWINCH, SIG_DFL), SIG_IGN);
    signal(SIGUSR2, SIG_DFL);
}

/* ---- no descriptor ----------------------------------------------------------------------------
 */

int __real_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __real_poll(struct pollfd *fds, nfds_t count, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);

static _Atomic int refusals, rests;

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    if (atomic_load(&refusals) == 0)
        return __real_accept4(fd, address, bytes, flags);
    atomic_fetch_sub(&refusals, 1);
    errno = EMFILE;
    return -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
    bool rest = count == 2 && fds[0].fd < 0 && ms > 0;
    atomic_fetch_add(&rests, rest);
    return __real_poll(fds, count, rest ? 1 : ms);
}

/* While the program has no descriptor left who listens rests instead of asking again and again. */
static void no_descriptor_is_no_spin(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    atomic_store(&rests, 0);
    atomic_store(&refusals, 3);
    assert_non_null(strstr(ASK("status"), "recording: yes"));
    assert_int_equal(atomic_load(&rests), 3);
    (void)stop(session);
}

/* ---- who --------------------------------------------------------------------------------------
 */

static struct {
    uid_t user[3];
    gid_t group[3];
    unsigned capabilities;
    uid_t peer;
    gid_t peer_groups[3]; /* the first is his own; 0 ends them */
} faked;
static bool is_faked;

int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes);
int __real_getresuid(uid_t *user, uid_t *effective, uid_t *saved);
int __wrap_getresuid(uid_t *user, uid_t *effective, uid_t *saved);
int __real_getresgid(gid_t *group, gid_t *effective, gid_t *saved);
int __wrap_getresgid(gid_t *group, gid_t *effective, gid_t *saved);
int __real_capget(cap_user_header_t header, cap_user_data_t data);
int __wrap_capget(cap_user_header_t header, cap_user_data_t data);

int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *bytes)
{
    if (!is_faked)
        return __real_getsockopt(fd, level, option, value, bytes);
    if (option == SO_PEERCRED) {
        *(struct ucred *)value = (struct ucred){1, faked.peer, faked.peer_groups[0]};
    } else {
        *bytes = (faked.peer_groups[1] != 0) * (socklen_t)sizeof(gid_t);
        memcpy(value, &faked.peer_groups[1], *bytes);
    }
    return 0;
}

int __wrap_getresuid(uid_t *user, uid_t *effective, uid_t *saved)
{
    if (!is_faked)
        return __real_getresuid(user, effective, saved);
    *user = faked.user[0], *effective = faked.user[1], *saved = faked.user[2];
    return 0;
}

int __wrap_getresgid(gid_t *group, gid_t *effective, gid_t *saved)
{
    if (!is_faked)
        return __real_getresgid(group, effective, saved);
    *group = faked.group[0], *effective = faked.group[1], *saved = faked.group[2];
    return 0;
}

int __wrap_capget(cap_user_header_t header, cap_user_data_t data)
{
    if (!is_faked)
        return __real_capget(header, data);
    memset(data, 0, 2 * sizeof *data);
    data[1].permitted = faked.capabilities;
    return 0;
}

enum { U = 1000, V = 1001, G = 100, H = 101 }; /* users and groups */

/* Who could do it himself may have it done; others may not, whatever the program asked for, but for
 * its user, who names no file then. */
static void nobody_gets_more_rights(void **state)
{
    (void)state;
    static const struct {
        uid_t user[3];
        gid_t group[3];
        unsigned capabilities;
        uid_t peer;
        gid_t peer_groups[3];
        enum control_rights by_default, asked_for;
    } cases[] = {
        {{U, U, U}, {G, G, G}, 0, U, {G}, CONTROL_RIGHTS_ALL, CONTROL_RIGHTS_ALL},
        {{U, U, U}, {G, G, G}, 0, 0, {H}, CONTROL_RIGHTS_ALL, CONTROL_RIGHTS_ALL},
        {{U, U, U}, {G, G, G}, 0, V, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NONE},
        {{U, U, U}, {G, H, G}, 0, U, {G, H}, CONTROL_RIGHTS_ALL, CONTROL_RIGHTS_ALL},
        {{U, U, U}, {G, H, H}, 0, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{U, U, U}, {G, G, H}, 0, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{U, U, U}, {H, G, G}, 0, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{U, U, U}, {G, G, G}, 1, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{U, V, V}, {G, G, G}, 0, V, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{U, V, V}, {G, G, G}, 0, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{V, V, U}, {G, G, G}, 0, V, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NO_FILE},
        {{0, 0, 0}, {0, 0, 0}, 1, U, {G}, CONTROL_RIGHTS_NONE, CONTROL_RIGHTS_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(&faked, &cases[i], sizeof faked);
        is_faked = true;
        enum control_rights by_default = control_rights_of(-1, false),
                            asked_for = control_rights_of(-1, true);
        is_faked = false;
        if (by_default != cases[i].by_default || asked_for != cases[i].asked_for)
            fail_msg("case %zu: %d, %d", i, by_default, asked_for);
    }
}

static bool is_refused_for_its_file(const char *words, size_t bytes, bool may_name_files)
{
    static struct control_answer answer;
    char copy[100];
    assert_true(bytes <= sizeof copy);
    memcpy(copy, words, bytes);
    answer = (struct control_answer){.bytes = 0};
    control_carry_out_bytes(copy, bytes, may_name_files, &answer);
    answer.text[answer.bytes] = '\0';
    assert_true(answer.refused);
    return strstr(answer.text, "which file it writes to is not said from outside");
}

/* Nothing can be written to any of them, so each is refused for one reason or another. */
static void who_may_name_no_file_names_none(void **state)
{
    (void)state;
    static const char start[] = "start\0/nonexistent/a.bin", dump[] = "dump\0/nonexistent/a.bin";
    assert_true(is_refused_for_its_file(start, sizeof start, false));
    assert_true(is_refused_for_its_file(dump, sizeof dump, false));
    assert_false(is_refused_for_its_file(start, sizeof start, true));
    assert_false(is_refused_for_its_file(dump, sizeof dump, true));
    assert_false(is_refused_for_its_file("dump\0", sizeof "dump\0", false)); /* FILE left away */
    assert_false(is_refused_for_its_file("dump", sizeof "dump", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_start_disarms_nothing),
        cmocka_unit_test(a_stop_ends_what_others_stopped),
        cmocka_unit_test(signals_are_harmless),
        cmocka_unit_test(no_descriptor_is_no_spin),
        cmocka_unit_test(nobody_gets_more_rights),
        cmocka_unit_test(who_may_name_no_file_names_none),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
