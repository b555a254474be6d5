/* SPDX-License-Identifier: Apache-2.0 */
#include "live_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *live_path(const char *path)
{
    char *live = malloc(strlen(path) + sizeof ".live");
    if (live)
        sprintf(live, "%s.live", path);
    return live;
}
