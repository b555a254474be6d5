# SPDX-License-Identifier: Apache-2.0
# Tests of format/.
foreach(topic bytes grow index_map crc32c header block descriptor format_fields trailer resync index bad
    sized table table_index archive)
  rbwp_serial_test(test_${topic} test_${topic}.c)
endforeach()
foreach(topic source reader writer verify hostile)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
rbwp_unit_test(test_golden test_golden.c json_tree.c)
