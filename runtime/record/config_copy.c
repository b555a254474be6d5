/* SPDX-License-Identifier: Apache-2.0 */
#include "config_copy.h"

#include <stdlib.h>
#include <string.h>

static const char **text_of(struct rbwp_session_config *config, unsigned i)
{
    const char **texts[] = {&config->logfile, &config->rules, &config->signals, &config->settings};
    return i < sizeof texts / sizeof texts[0] ? texts[i] : NULL;
}

bool config_copy(struct rbwp_session_config *copy, const struct rbwp_session_config *from)
{
    bool whole = true;
    *copy = *from;
    for (unsigned i = 0; text_of(copy, i); i++) {
        const char **text = text_of(copy, i);
        whole &= !*text || (*text = strdup(*text));
    }
    if (!whole)
        config_copy_free(copy);
    return whole;
}

void config_copy_free(struct rbwp_session_config *copy)
{
    for (unsigned i = 0; text_of(copy, i); i++)
        free((void *)(uintptr_t)*text_of(copy, i));
    *copy = (struct rbwp_session_config){0};
}
