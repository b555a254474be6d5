/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_ptx.h"
#include "bytes.h"
#include "grow.h"
#include "inject_names.h"
#include "index_map.h"
#include "inject_log.h"

#include <stdlib.h>
#include <string.h>

struct known_site {
    const void *function, *context;
    struct inject_site site;
};

static pthread_mutex_t sites_lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards sites, and adding to the lists */
static struct known_site *sites;
static uint32_t site_count, site_room;
static struct index_map site_places;
static unsigned filled_in; /* the age in which sites were found */
static atomic_uint age;    /* rises whenever handles may come to mean something else */
static _Atomic(struct inject_module *) modules;
static _Atomic(struct inject_kernel *) kernels;

struct inject_kernel *inject_kernels(void)
{
    return atomic_load(&kernels);
}

void inject_sites_module_gone(const void *handle)
{
    for (struct inject_module *module = atomic_load(&modules); module; module = module->next)
        if (!handle || module->handle == handle)
            atomic_store(&module->gone, true);
    atomic_fetch_add(&age, 1);
}

void inject_sites_again(void)
{
    atomic_fetch_add(&age, 1);
}

void inject_sites_stream_gone(const void *stream)
{
    for (struct inject_module *module = atomic_load(&modules); module; module = module->next)
        for (int i = 0; i < INJECT_PENDING; i++) {
            void *expected = (void *)(uintptr_t)stream;
            atomic_compare_exchange_strong(&module->pending[i], &expected, NULL);
        }
}

/* ---- kernels --------------------------------------------------------------------------- */

static struct inject_kernel *site_kernel_of(uint64_t hash, const char *name)
{
    struct inject_kernel *kernel = atomic_load(&kernels);
    while (kernel && (kernel->hash != hash || strcmp(kernel->name, name) != 0))
        kernel = kernel->next;
    if (kernel)
        return kernel;
    kernel = calloc(1, sizeof *kernel);
    if (kernel && !(kernel->name = strdup(name))) {
        free(kernel);
        return NULL;
    }
    if (kernel) {
        kernel->hash = hash;
        kernel->next = atomic_load(&kernels);
        atomic_store(&kernels, kernel);
    }
    return kernel;
}

/* ---- modules --------------------------------------------------------------------------- */

static bool shape_good(const struct ptx_shape *shape)
{
    return shape->magic == PTX_SHAPE_MAGIC && shape->hash != 0 && shape->buffer_bytes > 0 &&
           shape->buffer_bytes <= UINT64_C(1) << 40 && shape->buffer_bytes <= SIZE_MAX / 2;
}

static void take_shape(struct ptx_shape *shape, const uint8_t bytes[sizeof(struct ptx_shape)])
{
    uint64_t words[PTX_SHAPE_WORDS];
    for (size_t i = 0; i < PTX_SHAPE_WORDS; i++)
        words[i] = load_le64(bytes + 8 * i);
    memcpy(shape, words, sizeof *shape);
}

/* Attached. Fills what the module's variables say; false: it has no probes. */
static bool read_variables(struct inject_module *module, void *context)
{
    cuda_pointer shape;
    uint8_t read[sizeof module->shape];
    size_t bytes;
    if (cu.cuModuleGetGlobal_v2(&module->buffer, &bytes, module->handle, PTX_BUFFER_NAME) !=
            DRIVER_OK ||
        bytes != sizeof(uint64_t) ||
        cu.cuModuleGetGlobal_v2(&shape, &bytes, module->handle, PTX_SHAPE_NAME) != DRIVER_OK ||
        bytes != sizeof module->shape)
        return false;
    module->device = inject_device_get(context);
    if (module->device && inject_read(module->device, read, shape, sizeof read) == DRIVER_OK)
        take_shape(&module->shape, read);
    if (!shape_good(&module->shape))
        return inject_log_once(
            "a module's probes are of another version: its launches are not recorded");
    if (cu.cuModuleGetGlobal_v2(&module->dropped, &bytes, module->handle, PTX_DROPPED_NAME) !=
            DRIVER_OK ||
        bytes != sizeof(uint64_t))
        module->dropped = 0;
    return true;
}

static struct inject_module *make_module(void *handle, void *context)
{
    struct inject_module *module = calloc(1, sizeof *module);
    if (!module)
        return NULL;
    module->handle = handle;
    if (!read_variables(module, context)) {
        free(module);
        return NULL;
    }
    pthread_rwlock_init(&module->lock, NULL);
    module->next = atomic_load(&modules);
    atomic_store(&modules, module);
    return module;
}

static void *module_of_function(void *function)
{
    driver_module handle = NULL;
    return cu.cuFuncGetModule(&handle, function) == DRIVER_OK ? handle : NULL;
}

/* Attached: a kernel of no context has a function, in a module, in each. */
static void *module_handle(void *launched)
{
    const struct inject_handle handle = inject_handle_of(launched);
    driver_function function = launched;
    switch (handle.kind) {
    case HANDLE_FUNCTION:
        return handle.from;
    case HANDLE_KERNEL:
        if (!cu.cuKernelGetFunction || cu.cuKernelGetFunction(&function, launched) != DRIVER_OK)
            return NULL;
        return module_of_function(function);
    case HANDLE_KERNELS_FUNCTION:
        return module_of_function(function);
    case HANDLE_GONE:
        break;
    }
    return NULL;
}

/* Attached. */
static struct inject_site look_up(const struct inject_launch *launch)
{
    void *handle = module_handle(launch->function);
    struct inject_module *module = atomic_load(&modules);
    while (module && (module->handle != handle || atomic_load(&module->gone) ||
                      atomic_load(&module->device->gone)))
        module = module->next;
    if (!module && handle)
        module = make_module(handle, launch->context);
    struct inject_site site = {module, NULL};
    if (module)
        site.kernel = site_kernel_of(module->shape.hash, launch->symbol ? launch->symbol : "?");
    if (!site.kernel)
        site.module = NULL;
    return site;
}

/* ---- the table ------------------------------------------------------------------------- */

static uint64_t site_hash(const struct inject_launch *launch)
{
    return (uintptr_t)launch->function ^ (uintptr_t)launch->context << 1;
}

static const struct known_site *find_site(const struct inject_launch *launch)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&site_places, site_hash(launch), &step)) != INDEX_NONE;)
        if (sites[i].function == launch->function && sites[i].context == launch->context)
            return &sites[i];
    return NULL;
}

static void forget_old(void)
{
    unsigned now = atomic_load(&age);
    if (now == filled_in)
        return;
    index_map_clear(&site_places);
    site_count = 0;
    filled_in = now;
}

static struct inject_site look_up_attached(const struct inject_launch *launch)
{
    struct inject_attached saved;
    struct inject_site site = {NULL, NULL};
    if (inject_attach(launch->context, &saved)) {
        site = look_up(launch);
        inject_detach(&saved);
    }
    return site;
}

struct inject_site inject_site_of(const struct inject_launch *launch)
{
    struct inject_site site = {NULL, NULL};
    pthread_mutex_lock(&sites_lock);
    forget_old();
    const struct known_site *known = find_site(launch);
    if (known) {
        site = known->site;
    } else if (grow_array32(&sites, &site_room, site_count + 1, sizeof *sites) &&
               index_map_add(&site_places, site_hash(launch), site_count)) {
        site = look_up_attached(launch);
        sites[site_count++] = (struct known_site){launch->function, launch->context, site};
    }
    pthread_mutex_unlock(&sites_lock);
    return site;
}
