/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_ptx.h"
#include "inject_record.h"

#include <stdlib.h>

#define LAUNCHES 8
#define WAIT_MS 10000

/* The launch that a thread is in. */
struct self {
    struct inject_recording recording;
    bool recorded;
};

/* Made with the thread's first launch of a kernel with probes: this library may have few bytes in
 * threads, as it is loaded when they run. */
static _Thread_local struct self *own;
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static bool have_key;
static atomic_uint launches_max = LAUNCHES;
static uint64_t wait_ns;

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long number = text ? strtoul(text, &end, 10) : 0;
    return text && *text && *end == '\0' && number < UINT32_MAX ? (unsigned)number : otherwise;
}

bool inject_ptx_open(const char *folder)
{
    atomic_store(&launches_max, number_of("RBWP_PTX_LAUNCHES", LAUNCHES));
    wait_ns = (uint64_t)number_of("RBWP_PTX_WAIT_MS", WAIT_MS) * 1000000;
    return inject_folder_open(folder);
}

/* ---- what is not recorded -------------------------------------------------------------- */

static const char *const skip_names[INJECT_SKIPS] = {"capture", "limit", "memory",
                                                     "busy",    "wait",  "error"};

/* The first of each kernel has a line at once: not all processes get to their end. */
static void skipped(struct inject_kernel *kernel, int why)
{
    if (atomic_fetch_add(&kernel->skipped[why], 1) == 0)
        inject_folder_skipped(kernel->hash, kernel->name, skip_names[why], 0);
}

void inject_ptx_close(void)
{
    for (struct inject_kernel *kernel = inject_kernels(); kernel; kernel = kernel->next)
        for (int why = 0; why < INJECT_SKIPS; why++) {
            uint64_t count = atomic_load(&kernel->skipped[why]);
            if (count > 1)
                inject_folder_skipped(kernel->hash, kernel->name, skip_names[why], count - 1);
        }
}

/* ---- launches -------------------------------------------------------------------------- */

static void at_thread_exit(void *made)
{
    own = NULL;
    free(made);
}

static void make_key(void)
{
    have_key = pthread_key_create(&own_key, at_thread_exit) == 0;
}

/* NULL: no memory. */
static struct self *self_of_thread(void)
{
    if (own)
        return own;
    pthread_once(&own_once, make_key);
    struct self *made = have_key ? calloc(1, sizeof *made) : NULL;
    if (made && pthread_setspecific(own_key, made) != 0) {
        free(made);
        made = NULL;
    }
    return own = made;
}

/* Whether so many were taken that there is none for us. One that is under way may still give its
 * own back, behind rbwp_inject_ptx_again. */
static bool used_up(const struct inject_kernel *kernel, unsigned taken)
{
    int since = (int)(taken - atomic_load(&kernel->before));
    return since >= 0 && (unsigned)since >= atomic_load(&launches_max);
}

/* Takes one of the kernel's launches; else why not. */
static int take(struct inject_kernel *kernel, const struct inject_module *module)
{
    if (used_up(kernel, atomic_load(&kernel->taken)))
        return SKIP_LIMIT;
    if (atomic_load(&kernel->closed))
        return SKIP_WAIT;
    if (atomic_load(&module->closed))
        return SKIP_CAPTURE;
    if (!used_up(kernel, atomic_fetch_add(&kernel->taken, 1)))
        return INJECT_RECORDED;
    atomic_fetch_sub(&kernel->taken, 1);
    return SKIP_LIMIT;
}

__attribute__((visibility("default"))) void rbwp_inject_ptx_again(unsigned launches)
{
    atomic_store(&launches_max, launches);
    for (struct inject_kernel *kernel = inject_kernels(); kernel; kernel = kernel->next)
        atomic_store(&kernel->before, atomic_load(&kernel->taken));
}

/* The module's lock is held for writing if the launch is recorded, else nothing is. */
static int try_to_record(struct self *self)
{
    struct inject_site site = self->recording.site;
    int why = take(site.kernel, site.module);
    if (why != INJECT_RECORDED)
        return why;
    why = SKIP_BUSY;
    if (pthread_rwlock_trywrlock(&site.module->lock) == 0) {
        why = inject_record_begin(&self->recording, wait_ns);
        if (why != INJECT_RECORDED)
            pthread_rwlock_unlock(&site.module->lock);
    }
    if (why != INJECT_RECORDED)
        atomic_fetch_sub(&site.kernel->taken, 1);
    return why;
}

void inject_ptx_enter(const struct inject_launch *launch)
{
    struct inject_site site = inject_site_of(launch);
    struct self *self = site.module ? self_of_thread() : NULL;
    if (!self)
        return;
    self->recording.site = site;
    self->recording.launch = *launch;
    int why = try_to_record(self);
    self->recorded = why == INJECT_RECORDED;
    if (self->recorded)
        return;
    skipped(site.kernel, why);
    pthread_rwlock_rdlock(&site.module->lock);
}

void inject_ptx_exit(int result)
{
    struct inject_recording *recording = own ? &own->recording : NULL;
    if (!recording || !recording->site.module)
        return;
    struct inject_site site = recording->site;
    recording->site.module = NULL;
    if (own->recorded) {
        recording->site = site;
        int why = inject_record_end(recording, result, wait_ns);
        recording->site.module = NULL;
        if (why != INJECT_RECORDED) {
            atomic_fetch_sub(&site.kernel->taken, 1);
            skipped(site.kernel, why);
        }
    } else {
        inject_record_pending(&site, &recording->launch);
    }
    pthread_rwlock_unlock(&site.module->lock);
}
