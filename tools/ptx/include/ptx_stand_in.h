/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_stand_in.h - rbwp-ptxas: called in the place of ptxas, with its arguments.
 *
 * The PTX among the arguments gets probes, and the real ptxas the same arguments with that in its
 * place. Whatever goes wrong on the way, the real one gets what it would have got, and one line
 * says why; without PTX among the arguments (--version) that is all there is.
 *
 * From the environment:
 *   RBWP_PTXAS        the real one; default: the next ptxas on PATH, else that of /usr/local/cuda
 *   RBWP_PTX_OPTIONS  options as rbwp ptx instrument takes them, with blanks between
 *   RBWP_PTX_DIR      a folder that gets HASH.map.json, the map of each module
 *   RBWP_PTX_ACTIVE   a folder that may have HASH.active.json, the probes that a module is to keep;
 *                     HASH is that of the map without it (rbwp ptx sanitize makes them)
 *   RBWP_PTX_KEEP     1: it gets HASH.original.ptx and HASH.probes.ptx too
 */
#ifndef PTX_STAND_IN_H
#define PTX_STAND_IN_H

/* The exit status; 127 when there is no ptxas. argv[0] is the name it was called by. */
int ptx_stand_in(int count, char **argv);

#endif /* PTX_STAND_IN_H */
