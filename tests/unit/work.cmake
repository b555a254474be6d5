# SPDX-License-Identifier: Apache-2.0
# Tests of the flags and of the work manager.
foreach(topic flags work_flags work_mask doorbell numa)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
rbwp_unit_test(test_work_session test_work_session.c record_support.c)
rbwp_unit_test(stress_work ${PROJECT_SOURCE_DIR}/tests/stress/stress_work.c)

# With test points, and NUMA domains out of a folder that the test makes up: the runtime's sources
# once more, compiled for this test.
get_target_property(rbwp_runtime_sources rbwp-runtime SOURCES)
get_target_property(rbwp_runtime_links rbwp-runtime LINK_LIBRARIES)
add_executable(test_work test_work.c ${rbwp_runtime_sources})
rbwp_target_settings(test_work)
target_compile_definitions(test_work PRIVATE
  RBWP_TEST_POINTS NUMA_NODE_FOLDER="${CMAKE_CURRENT_BINARY_DIR}/work_test_nodes")
target_include_directories(test_work PRIVATE
  ${PROJECT_SOURCE_DIR}/format ${PROJECT_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_work PRIVATE
  ${rbwp_runtime_links} rbwp-format PkgConfig::CMOCKA ZLIB::ZLIB Threads::Threads)
rbwp_add_test(unit_test_work test_work)
