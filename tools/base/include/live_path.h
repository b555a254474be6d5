/* SPDX-License-Identifier: Apache-2.0 */
/* live_path.h - where the live file of an RBWP file lies (SPEC.md, section 11). */
#ifndef LIVE_PATH_H
#define LIVE_PATH_H

/* Its name beside path, in memory that the caller frees; NULL without memory. */
char *live_path(const char *path);

#endif /* LIVE_PATH_H */
