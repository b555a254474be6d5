/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - the inline calls as functions. Who calls them cannot keep what a begin found beside
 * its end, so the depth is kept here: the outermost begin is the call, the others are sub-items.
 */
#include "rbwp_foreign.h"

#include "rbwp_args.h"
#include "rbwp_range.h"

static _Thread_local unsigned foreign_depth RBWP_TLS_MODEL_;

int rbwp_foreign_begin(unsigned slot, unsigned id)
{
    const int level = __atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED);
    if (level > 0 && !rbwp_self_.thread)
        return RBWP_FOREIGN_NOT_ATTACHED;
    if (foreign_depth++ == 0)
        rbwp_begin(slot);
    else
        rbwp_fine_begin(id);
    return level;
}

void rbwp_foreign_end(void)
{
    if (foreign_depth == 0)
        return;
    if (--foreign_depth == 0)
        rbwp_end();
    else
        rbwp_fine_end();
}

void rbwp_foreign_arg(uint64_t key, unsigned type, uint64_t bits)
{
    if (rbwp_is_on_(2) && type >= RBWP_ARG_U64 && type <= RBWP_ARG_NAME)
        rbwp_arg_(key, type, bits);
}

void rbwp_foreign_arg_text(uint64_t key, const char *text)
{
    rbwp_arg_text(key, text);
}

uint64_t rbwp_foreign_range_start(uint64_t name, uint64_t id)
{
    return rbwp_range_start(name, id);
}

void rbwp_foreign_range_stop(uint64_t range)
{
    rbwp_range_stop(range);
}

enum rbwp_status rbwp_foreign_start(int argc, char **argv, struct rbwp_session **session_out,
                                    struct rbwp_error *error)
{
    struct rbwp_session_config config = {.size = sizeof config};
    enum rbwp_status status = rbwp_session_parse(&config, argv ? &argc : NULL, argv, error);
    *session_out = NULL;
    return status == RBWP_OK ? rbwp_session_start(&config, session_out, error) : status;
}
