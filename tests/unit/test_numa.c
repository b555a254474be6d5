/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of numa.c: the kernel's lists, domains out of a made-up folder, affinity, pinning. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numa.h"

static char text[200];

static void append(unsigned number, void *context)
{
    (void)context;
    snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", number);
}

static const char *numbers_of(const char *list)
{
    text[0] = '\0';
    numa_read_list(list, 100, append, NULL);
    return text;
}

/* Ranges, singles, the newline; faults and numbers beyond the limit end it quietly. */
static void test_lists(void **state)
{
    (void)state;
    assert_string_equal(numbers_of("0-3,8,10-11\n"), "0 1 2 3 8 10 11 ");
    assert_string_equal(numbers_of("5\n"), "5 ");
    assert_string_equal(numbers_of(""), "");
    assert_string_equal(numbers_of("\n"), "");
    assert_string_equal(numbers_of("3-1,4"), "4 ");
    assert_string_equal(numbers_of("1,x,2"), "1 ");
    assert_string_equal(numbers_of("98-4000000000"), "98 99 ");
    assert_string_equal(numbers_of("99999999999999999999999"), "");
}

/* ---- a made-up /sys/devices/system/node -------------------------------------------- */

static char folder[] = "/tmp/rbwp_test_numa_XXXXXX";

static void write_file(const char *name, const char *content)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void make_node(unsigned id, const char *cpus)
{
    char name[300];
    snprintf(name, sizeof name, "%s/node%u", folder, id);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "node%u/cpulist", id);
    write_file(name, cpus);
}

/* The first CPU that this process may use; it exists on every machine. */
static unsigned first_cpu(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    return cpu;
}

static unsigned cpus_allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return (unsigned)CPU_COUNT(&set);
}

/* Domains without a CPU of ours (none at all, or only foreign ones) are dropped. */
static void test_domains(void **state)
{
    (void)state;
    char cpus[32];
    snprintf(cpus, sizeof cpus, "%u,60000-60007\n", first_cpu());
    write_file("online", "0-3\n");
    make_node(0, "\n");
    make_node(1, "60000-60010\n");
    make_node(2, cpus);
    make_node(3, cpus); /* listed twice: the first domain has it */
    struct numa_map map;
    assert_int_equal(numa_read(folder, true, &map), RBWP_OK);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.domains[0].id, 2);
    assert_int_equal(map.domains[0].cpu_count, 1);
    assert_int_equal(map.domains[0].cpus[0], first_cpu());
    numa_free(&map);
}

/* ---- memory that runs out ------------------------------------------------------------ */

static bool no_realloc, no_calloc, no_cpu_set;

void *__real_realloc(void *memory, size_t bytes);
/* The cmocka of a C library without versions takes these, too. */
#pragma GCC visibility push(default)
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    return no_realloc ? NULL : __real_realloc(memory, bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return no_calloc ? NULL : __real_calloc(count, bytes);
}
#ifdef __GLIBC__ /* whose CPU_ALLOC it is; musl's is calloc */
cpu_set_t *__real___sched_cpualloc(size_t cpus);
cpu_set_t *__wrap___sched_cpualloc(size_t cpus);
cpu_set_t *__wrap___sched_cpualloc(size_t cpus)
{
    return no_cpu_set ? NULL : __real___sched_cpualloc(cpus);
}
#endif
#pragma GCC visibility pop

/* Too little memory for what the kernel lists is no machine of one domain. */
static void test_no_memory(void **state)
{
    (void)state;
    struct numa_map map;
    char cpus[32];
    snprintf(cpus, sizeof cpus, "%u\n", first_cpu());
    write_file("online", "2\n");
    make_node(2, cpus);
    no_realloc = true;
    enum rbwp_status status = numa_read(folder, true, &map);
    no_realloc = false;
    assert_int_equal(status, RBWP_E_MEMORY);
    assert_null(map.domains); /* nothing is left to free */
    no_calloc = true;
    status = numa_read(folder, true, &map);
    no_calloc = false;
    assert_int_equal(status, RBWP_E_MEMORY);
    assert_null(map.domains);
    const unsigned cpu = first_cpu();
    no_cpu_set = no_calloc = true;
    const int pinned = numa_pin(&cpu, 1);
    no_cpu_set = no_calloc = false;
    assert_int_equal(pinned, ENOMEM);
}

/* Without the folder, with nothing of ours in it, or when not asked for: one domain of all. */
static void test_one_domain(void **state)
{
    (void)state;
    struct numa_map map;
    assert_int_equal(numa_read("/no/such/folder", true, &map), RBWP_OK);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.domains[0].cpu_count, cpus_allowed());
    numa_free(&map);
    write_file("online", "1\n");
    assert_int_equal(numa_read(folder, true, &map), RBWP_OK);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.domains[0].id, 0);
    assert_int_equal(map.domains[0].cpu_count, cpus_allowed());
    numa_free(&map);
    assert_int_equal(numa_read(NUMA_NODE_FOLDER, false, &map), RBWP_OK);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.domains[0].cpu_count, cpus_allowed());
    numa_free(&map);
}

/* The kernel's own folder: every CPU of ours is in exactly one domain. */
static void test_this_machine(void **state)
{
    (void)state;
    struct numa_map map;
    assert_int_equal(numa_read(NUMA_NODE_FOLDER, true, &map), RBWP_OK);
    unsigned cpus = 0;
    for (unsigned i = 0; i < map.count; i++)
        cpus += map.domains[i].cpu_count;
    assert_int_equal(cpus, cpus_allowed());
    numa_free(&map);
}

/* A thread that has pinned itself. */
static void *count_cpus(void *argument)
{
    struct numa_map map;
    unsigned cpu = first_cpu(), none = 60007;
    *(unsigned *)argument = 0;
    if (numa_pin(&none, 1) != EINVAL || numa_pin(&cpu, 1) != 0)
        return NULL;
    if (numa_read(NUMA_NODE_FOLDER, false, &map) == RBWP_OK && map.count == 1 &&
        map.domains[0].cpus[0] == first_cpu())
        *(unsigned *)argument = map.domains[0].cpu_count;
    numa_free(&map);
    return NULL;
}

/* It may use that CPU only, and numa_read says so (cpusets); a CPU that is not there is refused. */
static void test_pin(void **state)
{
    (void)state;
    unsigned seen;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count_cpus, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen, 1);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[300];
    for (unsigned id = 0; id < 4; id++) {
        snprintf(path, sizeof path, "%s/node%u/cpulist", folder, id);
        unlink(path);
        snprintf(path, sizeof path, "%s/node%u", folder, id);
        rmdir(path);
    }
    snprintf(path, sizeof path, "%s/online", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_one_domain),
        cmocka_unit_test(test_this_machine), cmocka_unit_test(test_pin),
    };
    return cmocka_run_group_tests_name("numa", tests, make_folder, remove_folder);
}
