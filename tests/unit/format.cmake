# SPDX-License-Identifier: Apache-2.0
# Tests of format/.
foreach(topic bytes crc32c header block descriptor trailer source resync index reader writer verify
    hostile bad sized table table_index)
  rbwp_unit_test(test_${topic} test_${topic}.c format_support.c)
endforeach()
rbwp_unit_test(test_golden test_golden.c format_support.c json_tree.c)
