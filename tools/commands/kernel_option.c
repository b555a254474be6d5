/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_option.h"

#include <stdio.h>
#include <string.h>

bool kernel_store_number(void *value, const char *text, struct option_error *error)
{
    return option_number(text, 1, UINT32_MAX, value, error);
}

bool kernel_store_hz(void *value, const char *text, struct option_error *error)
{
    static const struct {
        const char *unit;
        uint64_t hz;
    } units[] = {{"", 1}, {"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}};
    uint64_t number = 0, *hz = value;
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits && digits < 12; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (digits > 0 && digits < 12 && strcmp(text + digits, units[i].unit) == 0 && number &&
            number <= 10000000000 / units[i].hz) {
            *hz = number * units[i].hz;
            return true;
        }
    snprintf(error->text, sizeof error->text,
             "is no rate from 1 Hz to 10 GHz, as in 100000000 or 100MHz");
    return false;
}
