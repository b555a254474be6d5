/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a recorder would keep of its own stack, in three calls of its own: a line "place
 * word" for each register and word, then its executable mappings as /proc has them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define KEPT_BYTES (32 << 10)

static void print_mappings(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp "))
            printf("map %s", line);
    if (maps)
        fclose(maps);
}

/* The end of the stack that the address is in. */
static uintptr_t end_of_stack(uintptr_t in)
{
    char line[4096];
    uintptr_t start, end, found = in;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 && start <= in && in < end)
            found = end;
    if (maps)
        fclose(maps);
    return found;
}

static void print_word(uint64_t place, uint64_t word)
{
    printf("%" PRIu64 " %" PRIu64 "\n", place, word);
}

__attribute__((noinline, noclone)) int innermost(int depth)
{
    ucontext_t now;
    getcontext(&now);
#ifdef __x86_64__
    const uint64_t instruction = (uint64_t)now.uc_mcontext.gregs[REG_RIP];
    const uint64_t stack = (uint64_t)now.uc_mcontext.gregs[REG_RSP];
    const uint64_t frame = (uint64_t)now.uc_mcontext.gregs[REG_RBP];
#else
    const uint64_t instruction = now.uc_mcontext.pc;
    const uint64_t stack = now.uc_mcontext.sp;
    const uint64_t frame = now.uc_mcontext.regs[29];
#endif
    const uint64_t end = end_of_stack((uintptr_t)stack);
    print_word(0, instruction);
    print_word(1, stack);
    print_word(2, frame);
    for (uint64_t at = stack; at < end && at < stack + KEPT_BYTES; at += sizeof at)
        print_word(at, *(const uint64_t *)(uintptr_t)at);
    print_mappings();
    return depth;
}

__attribute__((noinline, noclone)) int middle(int depth)
{
    volatile int local[16] = {depth};
    return innermost(depth + local[3]) + local[0];
}

__attribute__((noinline, noclone)) int outer(int depth)
{
    volatile int local[40] = {depth};
    return middle(depth + local[2]) + local[0];
}

int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc) < 0;
}
