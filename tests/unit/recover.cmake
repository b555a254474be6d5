# SPDX-License-Identifier: Apache-2.0
# Tests of the recovery, and of reading a file that grows.
foreach(topic recover follow)
  rbwp_serial_test(test_${topic} test_${topic}.c)
endforeach()
