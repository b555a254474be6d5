/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: nanosleep leaves the word of the rseq area as it was, as on a kernel that does not
 * clear it behind a system call. */
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern const ptrdiff_t __rseq_offset __attribute__((weak));

__attribute__((visibility("default"))) int nanosleep(const struct timespec *wanted,
                                                     struct timespec *left)
{
    char *thread_pointer;
    if (!&__rseq_offset)
        return (int)syscall(SYS_nanosleep, wanted, left);
#ifdef __x86_64__
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(thread_pointer));
#endif
    volatile uint64_t *word = (volatile uint64_t *)(thread_pointer + __rseq_offset + 8);
    const uint64_t before = *word;
    const int result = (int)syscall(SYS_nanosleep, wanted, left);
    *word = before;
    return result;
}
