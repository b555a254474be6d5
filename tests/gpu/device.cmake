# SPDX-License-Identifier: Apache-2.0
# The header for kernels: on the host, in each of its variants, which write the same.
function(rbwp_device_test variant source)
  add_executable(test_device_${variant} ${source})
  rbwp_target_settings(test_device_${variant})
  target_include_directories(test_device_${variant} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
  rbwp_open_rooms(test_device_${variant} format)
  target_compile_definitions(test_device_${variant} PRIVATE ${ARGN})
  target_link_libraries(test_device_${variant} PRIVATE rbwp::static PkgConfig::CMOCKA Threads::Threads)
  rbwp_add_test(gpu_device_header_${variant} test_device_${variant})
endfunction()
rbwp_device_test(plain test_device.c)
rbwp_device_test(ahead test_device_ahead.c)
rbwp_device_test(variant test_device.c RBWP_DEV_EVENT_COUNTERS=2 RBWP_DEV_EVENT_KEEP=1 RBWP_DEV_FENCE=0
  RBWP_DEVICE_ENABLED=0) # which takes out the macros alone

# What compilers for kernels make of it. Sanitizers have nothing to say of that.
if(NOT RBWP_SANITIZE)
  foreach(part nvidia amd host hip nvrtc hiprtc) # each is skipped where its compilers are not; nvcc takes too long
    rbwp_add_test(gpu_device_code_${part} python3 ${CMAKE_CURRENT_SOURCE_DIR}/device_code.py
      ${PROJECT_BINARY_DIR}/include/rbwp_device.h ${part})
    set_tests_properties(gpu_device_code_${part} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
