# SPDX-License-Identifier: Apache-2.0
# Tests of the recorder, of sessions, and of the encoders that they write with.
foreach(topic block_encoder chunk_encoder clock deflate_records huffman node session_config)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
foreach(topic extend names output session thread_registry)
  rbwp_unit_test(test_${topic} test_${topic}.c record_support.c)
endforeach()

# These let memory run out.
rbwp_unit_test(test_chunk_pool test_chunk_pool.c)
rbwp_unit_test(test_recorder test_recorder.c record_support.c)
foreach(topic chunk_pool recorder)
  target_link_options(test_${topic} PRIVATE LINKER:--wrap=mmap,--wrap=mmap64)
endforeach()

set(rbwp_record_stress restart threads signal)
if(NOT RBWP_SANITIZE MATCHES thread) # which knows no threads in a child of a process with threads
  list(APPEND rbwp_record_stress fork)
endif()
foreach(topic IN LISTS rbwp_record_stress)
  rbwp_unit_test(test_record_${topic}
    ${PROJECT_SOURCE_DIR}/tests/stress/test_record_${topic}.c record_support.c)
endforeach()

# With test points: the runtime's sources once more, compiled for this test.
get_target_property(rbwp_runtime_sources rbwp-runtime SOURCES)
get_target_property(rbwp_runtime_links rbwp-runtime LINK_LIBRARIES)
add_executable(test_drain test_drain.c record_support.c ${rbwp_runtime_sources})
rbwp_target_settings(test_drain)
target_compile_definitions(test_drain PRIVATE RBWP_TEST_POINTS)
target_include_directories(test_drain PRIVATE
  ${PROJECT_SOURCE_DIR}/format ${PROJECT_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_drain PRIVATE
  ${rbwp_runtime_links} rbwp-format PkgConfig::CMOCKA ZLIB::ZLIB Threads::Threads)
rbwp_add_test(unit_test_drain test_drain)
