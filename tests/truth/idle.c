/* SPDX-License-Identifier: Apache-2.0 */
/* Three threads wait by a system call that nobody wraps, to the end; one works; the first sleeps.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word;

static void *idle(void *unused)
{
#ifdef __x86_64__
    long result;
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(&word), "S"(FUTEX_WAIT), "d"(0), "r"(timeout)
                     : "rcx", "r11", "memory");
#else
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
#endif
    return unused;
}

static void *spin(void *unused)
{
    for (volatile int forever = 1; forever;)
        ;
    return unused;
}

int main(void)
{
    static const char *const names[] = {"idle 1", "idle 2", "idle 3", "spins"};
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, i < 3 ? idle : spin, NULL);
        pthread_setname_np(thread, names[i]);
    }
    usleep(500000);
    struct timespec ran;
    clockid_t clock;
    pthread_getcpuclockid(thread, &clock);
    clock_gettime(clock, &ran);
    printf("%ld\n", ran.tv_sec * 1000000000L + ran.tv_nsec);
    return 0;
}
