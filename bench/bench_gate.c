/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gate.c - a program with ten work items, of which the first, "encode", takes PERCENT more
 * (gate.py).
 *
 *     bench_gate PERCENT
 *
 * Two threads; an item does so many steps of its kind, whatever time they take.
 */
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 10, CALLS = 24, TABLE = 1 << 18, NUMBERS = 1 << 13 };

static unsigned slots[ITEMS];
static uint32_t table[TABLE];
static int null;

static void must(enum rbwp_status status)
{
    if (status != RBWP_OK)
        abort();
}

/* Computes; a step is some 100 ns. */
static uint32_t mix(uint32_t value, long steps)
{
    for (long i = 0; i < steps * 32; i++)
        value = (value ^ value >> 15) * UINT32_C(0x85ebca6b) + 1;
    return value;
}

/* Reads a table that the first caches do not hold. */
static uint32_t look_up(uint32_t value, long steps)
{
    for (long i = 0; i < steps * 8; i++)
        value = table[(value ^ (uint32_t)i * 2654435761u) % TABLE] + value * 5;
    return value;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static uint32_t sort(uint32_t value, long steps)
{
    static _Thread_local uint32_t numbers[NUMBERS];
    const size_t count = (size_t)steps < NUMBERS ? (size_t)steps : NUMBERS;
    for (size_t i = 0; i < count; i++)
        numbers[i] = value = value * 1664525 + 1013904223;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    return numbers[0];
}

static uint32_t call_kernel(uint32_t value, long steps)
{
    for (long i = 0; i < steps / 2; i++)
        value += (uint32_t)write(null, &value, sizeof value);
    return value;
}

static uint32_t copy_pages(uint32_t value, long steps)
{
    const size_t bytes = (size_t)steps * 256;
    char *pages = malloc(bytes);
    if (pages)
        memset(pages, (int)value, bytes);
    value += pages ? (unsigned char)pages[bytes / 2] : 0;
    free(pages);
    return value;
}

static uint32_t sleep_for(uint32_t value, long steps)
{
    nanosleep(&(struct timespec){0, steps * 100}, NULL);
    return value;
}

static const struct {
    const char *name;
    uint32_t (*work)(uint32_t value, long steps);
    long steps;
} items[ITEMS] = {
    {"encode", mix, 10000},       {"checksum", mix, 5000},      {"index", look_up, 4000},
    {"merge", look_up, 6000},     {"sort", sort, 6000},         {"order", sort, 3000},
    {"write", call_kernel, 6000}, {"clear", copy_pages, 12000}, {"pause", sleep_for, 5000},
    {"reply", mix, 500},
};

static long percent;

static void *worker(void *name)
{
    uint32_t value = 1;
    must(rbwp_thread_attach(name));
    for (int call = 0; call < CALLS * ITEMS; call++) {
        const int item = call % ITEMS;
        rbwp_begin(slots[item]);
        value = items[item].work(value, items[item].steps * (item ? 100 : 100 + percent) / 100);
        rbwp_end();
    }
    return value == 1 ? name : NULL;
}

int main(int argc, char **argv)
{
    struct rbwp_error error;
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    pthread_t other;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK || argc != 2 ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK)
        return 2;
    percent = strtol(argv[1], NULL, 10);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (uint32_t i = 0; i < TABLE; i++)
        table[i] = mix(i, 1);
    for (int i = 0; i < ITEMS; i++)
        must(rbwp_work_item_register(items[i].name, &slots[i]));
    if (pthread_create(&other, NULL, worker, (void *)(uintptr_t) "other"))
        return 1;
    worker((void *)(uintptr_t) "main");
    pthread_join(other, NULL);
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
