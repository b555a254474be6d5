/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay_loaded.h - dlclose does not unload this code.
 *
 * The writer thread runs it, and threads that have recorded have a destructor in it. The shared
 * library is linked with -z nodelete; a plugin that has the static one inside is marked when it is
 * loaded. Not later: dlopen waits for a constructor that in turn may wait for the thread that calls
 * us.
 */
#ifndef STAY_LOADED_H
#define STAY_LOADED_H

void stay_loaded(void);

#endif /* STAY_LOADED_H */
