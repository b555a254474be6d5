/* SPDX-License-Identifier: Apache-2.0 */
/* Two functions that record the same, by scopes and by the calls of C: their code is compared. */
#include <rbwp.hpp>

extern volatile int done;
extern const rbwp::item work;
extern const rbwp::sub_item part;
extern const rbwp::key number;
extern "C" void by_scopes(unsigned long value), by_calls(unsigned long value);

void by_scopes(unsigned long value)
{
    rbwp::scope call(work);
    call.arg(number, value);
    rbwp::scope inner(part);
    done = 1;
}

void by_calls(unsigned long value)
{
    rbwp_begin(work.slot());
    rbwp_arg_u64(number.number(), value);
    rbwp_fine_begin(part.id());
    done = 1;
    rbwp_fine_end();
    rbwp_end();
}
