/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of format_fields.c: its lines say what SPEC.md says. */
#include "format_fields.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- SPEC.md ------------------------------------------------------------------------------ */

enum { HEADER = TRAILER_SECTIONS, BLOCK, PLACES, ELSEWHERE = PLACES };

/* A page's place: the struct that tables of offsets are about until the next one begins. */
struct page {
    unsigned place;
    size_t fields[PLACES]; /* how many were described of each struct */
    unsigned sizes;        /* of entries */
};

static const struct layout *layout_of(unsigned place)
{
    return place == HEADER  ? &file_header_layout
           : place == BLOCK ? &block_header_layout
                            : &trailer_sections[place].layout;
}

/* A heading, or a line that begins with a tag. */
static void move(struct page *page, const char *line)
{
    char tag[5] = "";
    if (line[0] == '#') {
        page->place = strncmp(line, "## 3.", 5) == 0   ? HEADER
                      : strncmp(line, "## 4.", 5) == 0 ? BLOCK
                                                       : ELSEWHERE;
        (void)!sscanf(line, "### 10.%*u %4[A-Z]", tag);
    } else {
        (void)!sscanf(line, "%4[A-Z]", tag);
    }
    const struct trailer_section *section = trailer_section_of(tag);
    if (section)
        page->place = (unsigned)(section - trailer_sections);
}

static void assert_type(const struct field *field, const char *type)
{
    char expected[16];
    if (field->type == FIELD_BYTES)
        snprintf(expected, sizeof expected, "%u bytes ", field->bytes);
    else
        snprintf(expected, sizeof expected, "%c%u ", field->type == FIELD_SIGNED ? 'i' : 'u',
                 field->bytes * 8u);
    assert_string_equal(type, expected);
}

/* A row of a table: | offset | type | field | */
static void compare_row(struct page *page, const char *line)
{
    unsigned at;
    char type[16];
    if (page->place == ELSEWHERE || sscanf(line, "| %u | %15[^|]", &at, type) != 2)
        return;
    bool is_field = !strstr(line, "| ignored |") && !strstr(line, "| magic |");
    const struct layout *layout = layout_of(page->place);
    const struct field *found = NULL;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->fields[i].at == at)
            found = &layout->fields[i];
    assert_int_equal(found != NULL, is_field);
    if (!found)
        return;
    assert_type(found, type);
    page->fields[page->place]++;
}

/* "entries of 48 bytes", "entries of at least 40 bytes", "of one entry of 32 bytes" */
static void compare_size(struct page *page, const char *line)
{
    static const char *const phrases[] = {"entries of at least ", "entries of ", "one entry of "};
    unsigned long bytes = 0;
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0] && !bytes; i++) {
        const char *phrase = strstr(line, phrases[i]);
        bytes = phrase ? strtoul(phrase + strlen(phrases[i]), NULL, 10) : 0;
    }
    if (page->place >= TRAILER_SECTIONS || !bytes)
        return;
    assert_int_equal(bytes, trailer_sections[page->place].least_bytes);
    page->sizes++;
}

/* Guards: a field that moved, or is of another type, in the code or in the specification alone; one
 * that only the code has. */
static void fields_are_those_of_the_specification(void **state)
{
    (void)state;
    struct page page = {.place = ELSEWHERE};
    char *line = NULL;
    size_t room = 0;
    unsigned described = 0;
    FILE *file = fopen(RBWP_SOURCE_DIR "/SPEC.md", "r");
    assert_non_null(file);
    while (getline(&line, &room, file) >= 0) {
        move(&page, line);
        compare_row(&page, line);
        compare_size(&page, line);
    }
    for (unsigned place = 0; place < PLACES; place++) {
        described += page.fields[place] > 0;
        if (page.fields[place])
            assert_int_equal(page.fields[place], layout_of(place)->count);
    }
    assert_int_equal(described, 16); /* the others are described in words */
    assert_int_equal(page.sizes, 16);
    free(line);
    fclose(file);
}

/* ---- by themselves -------------------------------------------------------------------------- */

/* Guards: fields that overlap or lie beyond their entry, and a table whose element size is not
 * its struct's. */
static void fields_have_places_of_their_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++) {
        const struct trailer_section *section = &trailer_sections[i];
        bool taken[256] = {false};
        for (size_t j = 0; j < section->layout.count; j++) {
            const struct field *field = &section->layout.fields[j];
            assert_true(field->at + field->bytes <= section->entry_bytes);
            for (unsigned byte = field->at; byte < (unsigned)field->at + field->bytes; byte++) {
                assert_false(taken[byte]);
                taken[byte] = true;
            }
            if (section->form == SECTION_TABLE)
                assert_true(field->member + field->bytes <= section->element_bytes);
        }
        assert_true(section->least_bytes <= section->entry_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_those_of_the_specification),
        cmocka_unit_test(fields_have_places_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
