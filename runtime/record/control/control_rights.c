/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule is the kernel's for debuggers (ptrace), which can have anything done: all three user and
 * group ids are the caller's, and there is no capability that he might lack. What the caller's are
 * is not looked up in /proc: he can execute another program meanwhile. User and group ids that this
 * user namespace does not know all look the same, so that nobody is known by them.
 */
#include "control_rights.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

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
