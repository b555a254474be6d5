/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_wishes.h - limits for slots by their names, before there are slots of that name: what a file
 * of settings says of them. Applied to those that there are, and to each that gets the name later.
 */
#ifndef SLOT_WISHES_H
#define SLOT_WISHES_H

#include "rbwp_format.h"

#define SLOT_WISHES_MAX 256u

enum slot_wish { SLOT_WISH_ENABLED, SLOT_WISH_DISABLED, SLOT_WISH_LEAST };

/* Copied. least_ns: of SLOT_WISH_LEAST. False: too many, or no memory. */
bool slot_wishes_add(const char *name, enum slot_wish wish, uint64_t least_ns);
void slot_wishes_forget(void);
/* The same; lift takes back what each did. */
void slot_wishes_lift(void (*lift)(const char *name, enum slot_wish wish));

/* A slot has this name from now on. No lock is held. */
void slot_wishes_named(unsigned slot, const char *name);

#endif /* SLOT_WISHES_H */
