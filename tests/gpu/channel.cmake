# SPDX-License-Identifier: Apache-2.0
# GPU channels against the host's, on each API; and the PTX that travels with the source.
add_executable(test_gpu_channel test_gpu_channel.c)
rbwp_target_settings(test_gpu_channel)
target_link_libraries(test_gpu_channel PRIVATE rbwp::jobs Threads::Threads)
set(size)
if(RBWP_SANITIZE) # large ones take half a minute there
  set(size --small)
endif()
foreach(api cuda hip opencl)
  rbwp_add_test(gpu_channel_${api} test_gpu_channel ${api} ${size})
endforeach()
set(tests gpu_channel_cuda gpu_channel_hip gpu_channel_opencl)
if(NOT RBWP_SANITIZE) # the same text in every build
  rbwp_add_test(gpu_channel_ptx
    bash ${CMAKE_CURRENT_SOURCE_DIR}/channel_ptx.sh ${PROJECT_SOURCE_DIR}/gpu/channel/kernels)
  list(APPEND tests gpu_channel_ptx)
endif()
set_tests_properties(${tests} PROPERTIES SKIP_RETURN_CODE 77)

# The HIP backend over an NVIDIA driver (hip_shim.c); here over the fake one.
add_library(rbwp-hip-shim SHARED hip_shim.c)
rbwp_target_settings(rbwp-hip-shim)
set_target_properties(rbwp-hip-shim PROPERTIES OUTPUT_NAME amdhip64)
rbwp_open_rooms(rbwp-hip-shim gpu format)
target_link_libraries(rbwp-hip-shim PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

rbwp_gpu_test(test_hip_shim)
rbwp_add_test(gpu_hip_shim test_hip_shim
  $<TARGET_FILE:rbwp-hip-shim> $<TARGET_FILE:rbwp-fake-gpu-now>)

rbwp_gpu_test(test_channel_plan)
rbwp_add_test(gpu_channel_plan test_channel_plan)

rbwp_gpu_test(test_channel_faults)
target_link_libraries(test_channel_faults PRIVATE rbwp-fake-gpu-now)
foreach(api cuda hip opencl)
  rbwp_add_test(gpu_channel_faults_${api} test_channel_faults ${api}
    $<TARGET_FILE:rbwp-fake-gpu-now>)
endforeach()
