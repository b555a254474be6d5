# SPDX-License-Identifier: Apache-2.0
# The models of the protocols between threads (tests/model). They know nothing of the build: once is
# enough.
if(NOT RBWP_SANITIZE)
  rbwp_share(share 3)
  set(which --part ${share})
  if(RBWP_TEST_ALL)
    set(which --deep)
  endif()
  rbwp_add_test(model ${PROJECT_SOURCE_DIR}/tests/model/run.sh ${which})
  set_tests_properties(model PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500 PROCESSORS 1)
endif()
