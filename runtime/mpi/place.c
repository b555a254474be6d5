/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void place_of_self(struct place *place)
{
    *place = (struct place){.pid = getpid()};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, place->boot, sizeof place->boot - 1) < 0)
            place->boot[0] = 0;
        close(fd);
    }
    struct stat space;
    if (stat("/proc/self/ns/pid", &space) == 0)
        place->pid_space = space.st_ino;
    gethostname(place->host, sizeof place->host - 1);
}

bool places_are_near(const struct place *a, const struct place *b)
{
    return a->boot[0] && a->pid_space && a->pid_space == b->pid_space &&
           memcmp(a->boot, b->boot, sizeof a->boot) == 0;
}

int place_handle(const struct place *place)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (pid_t)place->pid, 0u);
#else
    (void)place;
    return -1;
#endif
}

bool place_is_empty(const struct place *place)
{
    return kill((pid_t)place->pid, 0) < 0 && errno == ESRCH;
}
