/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_calls.h"

#include "tables.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* clang-format off */
#define CALL(name) {SYS_##name, #name}

static const struct {
    long number;
    char name[20];
} system_calls[] = {
    CALL(futex), CALL(read), CALL(readv), CALL(pread64), CALL(preadv), CALL(write), CALL(writev),
    CALL(pwrite64), CALL(pwritev), CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg), CALL(sendto),
    CALL(sendmsg), CALL(sendmmsg), CALL(accept), CALL(accept4), CALL(connect), CALL(ppoll),
    CALL(pselect6), CALL(epoll_pwait), CALL(nanosleep), CALL(clock_nanosleep), CALL(wait4),
    CALL(waitid), CALL(fsync), CALL(fdatasync), CALL(sync), CALL(syncfs), CALL(msync),
    CALL(sync_file_range), CALL(openat), CALL(close), CALL(fallocate), CALL(ftruncate),
    CALL(unlinkat), CALL(mkdirat), CALL(getdents64), CALL(fcntl), CALL(ioctl), CALL(flock),
    CALL(splice), CALL(tee), CALL(vmsplice), CALL(sendfile), CALL(io_getevents), CALL(semtimedop),
    CALL(semop), CALL(msgrcv), CALL(msgsnd), CALL(mq_timedreceive), CALL(mq_timedsend),
    CALL(rt_sigtimedwait), CALL(rt_sigsuspend), CALL(mmap), CALL(munmap), CALL(mprotect),
    CALL(madvise), CALL(mremap), CALL(brk), CALL(execve), CALL(clone), CALL(exit_group),
    CALL(sched_yield), CALL(restart_syscall),
/* Of some machines, or of some years. */
#ifdef SYS_copy_file_range
    CALL(copy_file_range),
#endif
#ifdef SYS_epoll_pwait2
    CALL(epoll_pwait2),
#endif
#ifdef SYS_io_uring_enter
    CALL(io_uring_enter),
#endif
#ifdef SYS_open
    CALL(open),
#endif
#ifdef SYS_poll
    CALL(poll),
#endif
#ifdef SYS_select
    CALL(select),
#endif
#ifdef SYS_epoll_wait
    CALL(epoll_wait),
#endif
#ifdef SYS_pause
    CALL(pause),
#endif
};
/* clang-format on */
enum { SYSTEM_CALLS_NAMED = sizeof system_calls / sizeof system_calls[0] };

bool system_calls_prepare(void)
{
    return tables_make_name_room(SYSTEM_CALLS_NAMED);
}

uint64_t system_call_name(int64_t system_call)
{
    uint64_t number = 0;
    size_t i = 0;
    while (i < SYSTEM_CALLS_NAMED && system_calls[i].number != system_call)
        i++;
    if (i == SYSTEM_CALLS_NAMED)
        return 0;
    char *text = (char *)system_calls[i].name; /* NOLINT: nobody writes it */
    return tables_name_that_stays(&text, strlen(text), &number) == RBWP_OK ? number : 0;
}
