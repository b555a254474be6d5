/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - a struct of the format as a table of its fields.
 *
 * A line for each field says where it is in the struct, where in the bytes of a file, and what it
 * is called in JSON. Encoder, decoder, printer and verifier walk the table, so that a field is
 * written down once. Type and width in the file are those of the struct's member. The lines stand
 * in the order of the JSON members.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct cursor;

enum field_type {
    FIELD_UNSIGNED,
    FIELD_SIGNED,
    FIELD_BYTES, /* as they are; in hexadecimal for people */
    FIELD_TEXT   /* the number is its length; its bytes stand behind the fields */
};

struct field {
    const char *key;                     /* in JSON; NULL: it is not shown */
    const char *(*value_name)(unsigned); /* a word for the number, shown as word_key; or NULL */
    const char *word_key;
    uint16_t member;   /* offset in the struct; of a text that of its length */
    uint16_t text;     /* offset in the struct of the pointer to a text */
    uint8_t at, bytes; /* in the file */
    uint8_t type;      /* enum field_type */
};

struct layout {
    const struct field *fields;
    size_t count;
};

#define FIELD_MEMBER(of, name) (((struct of *)0)->name)
#define FIELD_AT(of, name, place)                                                                  \
    .member = offsetof(struct of, name), .at = place, .bytes = sizeof FIELD_MEMBER(of, name),      \
    .type = _Generic(FIELD_MEMBER(of, name), int64_t                                               \
                     : FIELD_SIGNED, uint8_t *                                                     \
                     : FIELD_BYTES, default                                                        \
                     : FIELD_UNSIGNED)
/* Of struct `of` the member `name`, at offset `place` in the file. */
#define FIELD(of, name, place, json)                                                               \
    {                                                                                              \
        .key = json, FIELD_AT(of, name, place)                                                     \
    }
/* The same of a number that has a word, shown as KEY_name. */
#define FIELD_NAMED(of, name, place, json, words)                                                  \
    {                                                                                              \
        .key = json, .value_name = words, .word_key = json "_name", FIELD_AT(of, name, place)      \
    }
/* A text with its length in name_bytes, which stands at place. */
#define FIELD_TEXT_OF(of, name, place, json)                                                       \
    {                                                                                              \
        .key = json, .member = offsetof(struct of, name##_bytes),                                  \
        .text = offsetof(struct of, name), .at = place,                                            \
        .bytes = sizeof FIELD_MEMBER(of, name##_bytes), .type = FIELD_TEXT                         \
    }
#define LAYOUT(list)                                                                               \
    {                                                                                              \
        list, sizeof(list) / sizeof((list)[0])                                                     \
    }

/* A struct into bytes, which were 0, and back. Of a text that is its length. */
void fields_put(const struct layout *layout, const void *from, uint8_t *to);
void fields_take(const struct layout *layout, const uint8_t *from, void *to);
/* The text among the fields; NULL: there is none. It is not copied when it is taken; false: the
 * cursor has not so many bytes. */
const struct field *fields_text(const struct layout *layout);
void field_put_text(const struct field *text, const void *from, struct buffer *buffer);
bool field_take_text(const struct field *text, struct cursor *cursor, void *to);

/* The numbers and bytes of both are the same. */
bool fields_equal(const struct layout *layout, const void *a, const void *b);

/* Members of a struct by their offsets. */
const void *member_pointer(const void *from, size_t member);
void member_set_pointer(void *to, size_t member, const void *value);

#endif /* FIELDS_H */
