/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_schema.h - the tables, indices and views of the SQLite export, described in
 * docs/design/export-tables.md. */
#ifndef SQLITE_SCHEMA_H
#define SQLITE_SCHEMA_H

extern const char sqlite_tables[];  /* before anything is put in */
extern const char sqlite_indices[]; /* behind it: sorting once is faster than keeping in order */
extern const char sqlite_views[];

#endif /* SQLITE_SCHEMA_H */
