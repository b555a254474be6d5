/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats.h - the formats that are written, each once: exporter_NAME in export_NAME.c.
 *
 * The table of exporters and the words of --to, of its help and of completions come from this list.
 */
#ifndef FORMATS_H
#define FORMATS_H

/* By name; space parts it from the one before. HOST_FORMAT: nothing for what runs inside kernels.
 */
#define EXPORT_FORMATS(FORMAT, HOST_FORMAT)                                                        \
    FORMAT("", chrome)                                                                             \
    FORMAT(" ", csv)                                                                               \
    FORMAT(" ", firefox)                                                                           \
    FORMAT(" ", folded)                                                                            \
    HOST_FORMAT(" ", kineto)                                                                       \
    FORMAT(" ", legion)                                                                            \
    FORMAT(" ", ndjson)                                                                            \
    FORMAT(" ", npz)                                                                               \
    FORMAT(" ", parquet)                                                                           \
    FORMAT(" ", perfetto)                                                                          \
    FORMAT(" ", speedscope)                                                                        \
    FORMAT(" ", sqlite)                                                                            \
    FORMAT(" ", tsv)

/* "chrome csv firefox ..." */
#define EXPORT_WORD(space, name) space #name
#define EXPORT_NO_WORD(space, name)
#define EXPORT_WORDS EXPORT_FORMATS(EXPORT_WORD, EXPORT_WORD)
#define EXPORT_KERNEL_WORDS EXPORT_FORMATS(EXPORT_WORD, EXPORT_NO_WORD)

#define EXPORT_DECLARED(space, name) extern const struct exporter exporter_##name;
EXPORT_FORMATS(EXPORT_DECLARED, EXPORT_DECLARED)

/* Elements of an array. */
#define EXPORT_ELEMENT(space, name) &exporter_##name,
#define EXPORT_ELEMENTS EXPORT_FORMATS(EXPORT_ELEMENT, EXPORT_ELEMENT)

#endif /* FORMATS_H */
