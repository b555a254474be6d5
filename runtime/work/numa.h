/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa.h - which CPUs the process may use, by NUMA domain.
 *
 * Domains are the kernel's nodes (/sys/devices/system/node). Only CPUs in the
 * calling thread's affinity mask count, so cpusets and taskset are respected;
 * a domain without any is dropped. A machine without that folder, or whose
 * domains hold none of our CPUs, is one domain with the id 0.
 */
#ifndef NUMA_H
#define NUMA_H

#include "rbwp_format.h"

#ifndef NUMA_NODE_FOLDER /* tests make one up */
#define NUMA_NODE_FOLDER "/sys/devices/system/node"
#endif

struct numa_domain {
    int id;         /* the kernel's number */
    unsigned *cpus; /* ascending */
    unsigned cpu_count;
};

struct numa_map {
    struct numa_domain *domains; /* ascending by id, at least one */
    unsigned count, room;
};

/*
 * Reads the domains, or with by_domain false makes one of all CPUs. The map is to be freed with
 * numa_free. RBWP_E_MEMORY; RBWP_E_IO if the kernel does not say which CPUs are ours.
 */
enum rbwp_status numa_read(const char *node_folder, bool by_domain, struct numa_map *map_out);
void numa_free(struct numa_map *map);

/* From here on the calling thread runs on these CPUs only. 0 or an errno value. */
int numa_pin(const unsigned *cpus, unsigned cpu_count);

/*
 * Reads the kernel's list format, "0-3,8" and a newline at most, up to its first fault. Numbers
 * below limit are passed to found, ascending.
 */
void numa_read_list(const char *list, unsigned limit, void (*found)(unsigned number, void *context),
                    void *context);

#endif /* NUMA_H */
