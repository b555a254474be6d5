# SPDX-License-Identifier: Apache-2.0
# GPU channels against the host's, on each API; and the PTX that travels with the source.
add_executable(test_gpu_channel test_gpu_channel.c)
rbwp_target_settings(test_gpu_channel)
target_link_libraries(test_gpu_channel PRIVATE rbwp::rbwp Threads::Threads)
foreach(api cuda hip opencl)
  rbwp_gpu_test(channel_${api} test_gpu_channel ${api})
endforeach()
rbwp_gpu_test(channel_ptx bash ${CMAKE_CURRENT_SOURCE_DIR}/channel_ptx.sh ${PROJECT_SOURCE_DIR}/gpu/kernels)
