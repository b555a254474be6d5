/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa.c - NUMA domains from sysfs, CPUs from the affinity mask, pinning.
 *
 * libnuma would give the same; two small files are not worth a dependency.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numa.h"
#include "grow.h"

#define CPUS_LIMIT 65536u    /* the kernel's own limit is far below */
#define DOMAINS_LIMIT 1024u  /* the kernel's MAX_NUMNODES */
#define LIST_BYTES_MAX 32768 /* of a list file: sysfs files hold a page, or a little more */

/* A set of CPUs with room for the machine's. */
struct cpu_mask {
    cpu_set_t *set;
    size_t bytes;
    unsigned limit; /* CPUs it has room for */
};

/* ---- lists ------------------------------------------------------------------ */

void numa_read_list(const char *list, unsigned limit, void (*found)(unsigned number, void *context),
                    void *context)
{
    while (isdigit((unsigned char)*list)) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        for (unsigned long number = first; number <= last && number < limit; number++)
            found((unsigned)number, context);
        list = end + (*end == ',');
    }
}

/* The text of a small file, to be freed; NULL if it cannot be read. */
static char *read_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = malloc(LIST_BYTES_MAX + 1);
    size_t used = 0;
    ssize_t got = text ? 1 : -1;
    while (got > 0 && used < LIST_BYTES_MAX) {
        got = read(fd, text + used, LIST_BYTES_MAX - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    return text;
}

/* ---- CPUs ------------------------------------------------------------------- */

/* The CPUs of the calling thread's affinity mask. set is NULL on failure. */
static enum rbwp_status read_affinity(struct cpu_mask *mask_out)
{
    /* The kernel refuses a mask smaller than its own with EINVAL; there is no better way to ask. */
    for (unsigned limit = 1024; limit <= CPUS_LIMIT; limit *= 2) {
        struct cpu_mask mask = {CPU_ALLOC(limit), CPU_ALLOC_SIZE(limit), limit};
        if (!mask.set)
            return RBWP_E_MEMORY;
        CPU_ZERO_S(mask.bytes, mask.set);
        if (sched_getaffinity(0, mask.bytes, mask.set) == 0) {
            *mask_out = mask;
            return RBWP_OK;
        }
        CPU_FREE(mask.set);
        if (errno != EINVAL)
            break;
    }
    return RBWP_E_IO;
}

/* Gives a domain room for all CPUs of the mask. */
static bool domain_make(struct numa_domain *domain, int id, const struct cpu_mask *mask)
{
    int count = CPU_COUNT_S(mask->bytes, mask->set);
    *domain = (struct numa_domain){.id = id, .cpus = calloc((size_t)count + 1, sizeof(unsigned))};
    return domain->cpus != NULL;
}

/* The CPUs of the mask that a list names are moved from the mask to the domain. */
struct taker {
    struct numa_domain *domain;
    const struct cpu_mask *mask;
};

static void take_cpu(unsigned cpu, void *context)
{
    const struct taker *taker = context;
    if (!CPU_ISSET_S(cpu, taker->mask->bytes, taker->mask->set))
        return;
    CPU_CLR_S(cpu, taker->mask->bytes, taker->mask->set);
    taker->domain->cpus[taker->domain->cpu_count++] = cpu;
}

/* ---- domains ---------------------------------------------------------------- */

struct domain_reader {
    const char *node_folder;
    const struct cpu_mask *mask;
    struct numa_map *map;
    enum rbwp_status status;
};

static void read_domain(unsigned id, void *context)
{
    struct domain_reader *reader = context;
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/node%u/cpulist", reader->node_folder, id);
    char *list = length > 0 && (size_t)length < sizeof path ? read_text(path) : NULL;
    if (!list || reader->status != RBWP_OK) {
        free(list);
        return;
    }
    struct numa_map *map = reader->map;
    struct numa_domain domain = {0};
    if (!grow_array32(&map->domains, &map->room, map->count + 1, sizeof *map->domains) ||
        !domain_make(&domain, (int)id, reader->mask)) {
        reader->status = RBWP_E_MEMORY;
    } else {
        struct taker taker = {&domain, reader->mask};
        numa_read_list(list, reader->mask->limit, take_cpu, &taker);
        if (domain.cpu_count > 0)
            map->domains[map->count++] = domain;
        else
            free(domain.cpus);
    }
    free(list);
}

/* Adds the domains that the kernel lists. */
static enum rbwp_status read_domains(const char *node_folder, const struct cpu_mask *mask,
                                     struct numa_map *map)
{
    struct domain_reader reader = {node_folder, mask, map, RBWP_OK};
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/online", node_folder);
    char *online = length > 0 && (size_t)length < sizeof path ? read_text(path) : NULL;
    if (online)
        numa_read_list(online, DOMAINS_LIMIT, read_domain, &reader);
    free(online);
    return reader.status;
}

/* One domain of all CPUs. */
static enum rbwp_status make_whole(const struct cpu_mask *mask, struct numa_map *map)
{
    map->domains = malloc(sizeof *map->domains);
    if (!map->domains || !domain_make(map->domains, 0, mask))
        return RBWP_E_MEMORY;
    map->count = 1;
    struct taker taker = {map->domains, mask};
    for (unsigned cpu = 0; cpu < mask->limit; cpu++)
        take_cpu(cpu, &taker);
    return RBWP_OK;
}

enum rbwp_status numa_read(const char *node_folder, bool by_domain, struct numa_map *map_out)
{
    *map_out = (struct numa_map){0};
    struct cpu_mask mask = {0};
    enum rbwp_status status = read_affinity(&mask);
    if (status != RBWP_OK)
        return status;
    if (by_domain)
        status = read_domains(node_folder, &mask, map_out);
    if (status == RBWP_OK && map_out->count == 0) {
        free(map_out->domains);
        status = make_whole(&mask, map_out);
    }
    CPU_FREE(mask.set);
    if (status != RBWP_OK)
        numa_free(map_out);
    return status;
}

void numa_free(struct numa_map *map)
{
    for (unsigned i = 0; i < map->count; i++)
        free(map->domains[i].cpus);
    free(map->domains);
    *map = (struct numa_map){0};
}

/* By the thread itself: musl makes none with a mask. */
int numa_pin(const unsigned *cpus, unsigned cpu_count)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_LIMIT);
    size_t set_bytes = CPU_ALLOC_SIZE(CPUS_LIMIT);
    if (!set)
        return ENOMEM;
    CPU_ZERO_S(set_bytes, set);
    for (unsigned i = 0; i < cpu_count; i++)
        CPU_SET_S(cpus[i], set_bytes, set);
    int failed = sched_setaffinity(0, set_bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    return failed;
}
