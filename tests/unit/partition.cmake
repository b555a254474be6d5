# SPDX-License-Identifier: Apache-2.0
# Tests of index spaces and of the operations on them. Memory runs out where the test wants it.
rbwp_serial_test(test_bands test_bands.c)
rbwp_unit_test(test_partition test_partition.c)
target_link_options(test_partition PRIVATE LINKER:--wrap=realloc,--wrap=calloc)
