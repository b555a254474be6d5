# SPDX-License-Identifier: Apache-2.0
# Tests of active messages.
foreach(name message message_inbox message_wire)
  rbwp_unit_test(test_${name} test_${name}.c)
endforeach()
target_link_options(test_message PRIVATE LINKER:--wrap=calloc)
