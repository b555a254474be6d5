# SPDX-License-Identifier: Apache-2.0
# Tests of the transfer channels.
rbwp_unit_test(test_channel test_channel.c)
foreach(topic shape move reduce transfer)
  rbwp_serial_test(test_channel_${topic} test_channel_${topic}.c)
endforeach()
if(TARGET test_channel_reduce)
  target_link_libraries(test_channel_reduce PRIVATE m)
endif()
