/* SPDX-License-Identifier: Apache-2.0 */
/* recording_now.c - which session records, and at which level: what all who record look at. */
#include "recording.h"

int rbwp_level_;
struct recording *recording_now;
