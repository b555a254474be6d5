# SPDX-License-Identifier: Apache-2.0
# Buffers that kernels write, as plain memory.
foreach(topic lanes events)
  if(NOT RBWP_THREADS_ONLY)
    add_executable(test_${topic} test_${topic}.c)
    rbwp_target_settings(test_${topic})
    target_include_directories(test_${topic} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
    rbwp_open_rooms(test_${topic} gpu format)
    target_link_libraries(test_${topic} PRIVATE $<TARGET_OBJECTS:rbwp-gpu-buffers> rbwp-format
      PkgConfig::CMOCKA ZLIB::ZLIB Threads::Threads)
    rbwp_add_test(gpu_${topic} test_${topic})
  endif()
endforeach()

# Ranges on the timeline of GPUs, from plain records.
if(NOT RBWP_THREADS_ONLY)
  add_executable(test_annotate test_annotate.c)
  rbwp_target_settings(test_annotate)
  target_include_directories(test_annotate PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
  rbwp_open_rooms(test_annotate gpu format)
  target_link_libraries(test_annotate PRIVATE $<TARGET_OBJECTS:rbwp-gpu-annotate>
    "$<FILTER:$<TARGET_OBJECTS:rbwp-format-room>,INCLUDE,/(grow|index_map)[.]c[.]o>" PkgConfig::CMOCKA)
  rbwp_add_test(gpu_annotate test_annotate)
endif()
