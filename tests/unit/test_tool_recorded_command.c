/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h: a command line as the trailer has it. */
#include "recorded_command.h"
#include "unit.h"

/* Guards: zero bytes stand between arguments (SPEC.md, 10.3), so the last one may be empty, and no
 * byte is no argument, not an empty one. */
static void zero_bytes_stand_between_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        uint32_t bytes;
        const char *shown; /* each argument followed by | */
    } cases[] = {
        {"", 0, ""},        {"a", 1, "a|"},    {"a\0", 2, "a||"},        {"\0", 1, "||"},
        {"\0\0", 2, "|||"}, {"\0a", 2, "|a|"}, {"ab\0\0c", 5, "ab||c|"}, {"a\0bc", 3, "a|b|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rbwp_trailer trailer = {.command = cases[i].command,
                                       .command_bytes = cases[i].bytes};
        struct recorded_command arguments = recorded_command_of(&trailer);
        char shown[64] = "";
        const char *text;
        size_t bytes;
        while (recorded_command_next(&arguments, &text, &bytes)) {
            strncat(shown, text, bytes);
            strcat(shown, "|");
        }
        assert_string_equal(shown, cases[i].shown);
        assert_false(recorded_command_next(&arguments, &text, &bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(zero_bytes_stand_between_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
