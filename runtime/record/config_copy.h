/* SPDX-License-Identifier: Apache-2.0 */
/* config_copy.h - a session's configuration with texts of its own. */
#ifndef CONFIG_COPY_H
#define CONFIG_COPY_H

#include "rbwp_session.h"

/* False without memory: the copy is empty then. from: whole, as sized_take gives it. */
bool config_copy(struct rbwp_session_config *copy, const struct rbwp_session_config *from);
void config_copy_free(struct rbwp_session_config *copy);

#endif /* CONFIG_COPY_H */
