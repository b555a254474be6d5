# SPDX-License-Identifier: Apache-2.0
# Tests of the transfer channels.
foreach(topic channel channel_shape channel_move channel_reduce channel_transfer)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
target_link_libraries(test_channel_reduce PRIVATE m)
