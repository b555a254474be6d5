/* SPDX-License-Identifier: Apache-2.0 */
#include "on_load.h"

#include <dlfcn.h>

#ifdef __GLIBC__
#include <link.h>

void stay_loaded(void)
{
    static const char here;
    Dl_info info;
    struct link_map *object;
    /* The name by which it is loaded is found without a look at any file. A program has none. */
    if (dladdr1(&here, &info, (void **)&object, RTLD_DL_LINKMAP) != 0 && object->l_name[0])
        (void)dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#else /* musl unloads nothing */
void stay_loaded(void) {}
#endif
