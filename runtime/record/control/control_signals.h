/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_signals.h - signals that start, stop and pause the recording, or change its level.
 *
 * A handler only notes the signal and wakes the control thread, which carries it out.
 */
#ifndef CONTROL_SIGNALS_H
#define CONTROL_SIGNALS_H

#include "rbwp_format.h"

/*
 * "USR2", "USR1=level,USR2=toggle"; NULL is none. RBWP_E_USAGE: a wrong word, a signal that the
 * program uses, or one that cannot be caught; then none is taken.
 */
enum rbwp_status control_signals_take(const char *signals, struct rbwp_error *error);
/* They do nothing any more. A signal's default is not put back: it ends the process, and who sends
 * the signal need not know that recording has ended. Programs that are executed have the default.
 */
void control_signals_give_back(void);
/* Handlers send a byte to this socket. */
struct held;
void control_signals_wake(const struct held *end);
/* The control thread: what came since. */
void control_signals_carry_out(void);
/* Dumps that were not made, since signals asked for too many: so many are made at once, then one a
 * minute. */
#define CONTROL_DUMPS_AT_ONCE 16
uint64_t control_signals_left_out(void);

#endif /* CONTROL_SIGNALS_H */
