/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - see fields.h. Members are moved by memcpy, since their types differ. */
#include "fields.h"

#include "buffer.h"

/* From the struct to the file or back: for numbers both ways are the same. */
static void field_copy(const struct field *field, void *to, const void *from)
{
    if (field->type == FIELD_BYTES)
        memcpy(to, from, field->bytes);
    else
        copy_le(to, from, field->bytes);
}

void fields_put(const struct layout *layout, const void *from, uint8_t *to)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        field_copy(field, to + field->at, (const char *)from + field->member);
    }
}

void fields_take(const struct layout *layout, const uint8_t *from, void *to)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        field_copy(field, (char *)to + field->member, from + field->at);
    }
}

bool fields_equal(const struct layout *layout, const void *a, const void *b)
{
    bool equal = true;
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        equal = equal && memcmp((const char *)a + field->member, (const char *)b + field->member,
                                field->bytes) == 0;
    }
    return equal;
}

const void *member_pointer(const void *from, size_t member)
{
    const void *value;
    memcpy(&value, (const char *)from + member, sizeof value);
    return value;
}

void member_set_pointer(void *to, size_t member, const void *value)
{
    memcpy((char *)to + member, &value, sizeof value);
}

/* A number of at most 64 bits, sign-extended if it is signed. */
static uint64_t field_number(const struct field *field, const void *from)
{
    uint8_t bytes[8] = {0};
    copy_le(bytes, (const char *)from + field->member, field->bytes);
    return load_le64(bytes);
}

const struct field *fields_text(const struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->fields[i].type == FIELD_TEXT)
            return &layout->fields[i];
    return NULL;
}

void field_put_text(const struct field *text, const void *from, struct buffer *buffer)
{
    buffer_append(buffer, member_pointer(from, text->text), field_number(text, from));
}

bool field_take_text(const struct field *text, struct cursor *cursor, void *to)
{
    const uint8_t *bytes = cursor_take(cursor, field_number(text, to));
    member_set_pointer(to, text->text, bytes);
    return bytes;
}
