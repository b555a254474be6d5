# SPDX-License-Identifier: Apache-2.0
"""This package under names of other systems, so that a script of theirs changes its import line alone:
triton_instrumenter, warpscope, iris and iris_gluon. docs/coming-from.md says what is called what, and what differs."""
