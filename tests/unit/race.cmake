# SPDX-License-Identifier: Apache-2.0
# Races held still at test points, with the runtime's sources compiled once more, and the models of
# the protocols behind them.
get_target_property(rbwp_runtime_sources rbwp-runtime SOURCES)
get_target_property(rbwp_runtime_links rbwp-runtime LINK_LIBRARIES)
foreach(topic record)
  add_executable(race_${topic} ${PROJECT_SOURCE_DIR}/tests/stress/race_${topic}.c record_support.c
    ${rbwp_runtime_sources})
  rbwp_target_settings(race_${topic})
  target_compile_definitions(race_${topic} PRIVATE
    RBWP_TEST_POINTS RBWP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(race_${topic} PRIVATE
    ${PROJECT_SOURCE_DIR}/format ${PROJECT_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(race_${topic} PRIVATE
    ${rbwp_runtime_links} rbwp-format PkgConfig::CMOCKA ZLIB::ZLIB Threads::Threads)
  rbwp_add_test(stress_race_${topic} race_${topic})
endforeach()

# The models know nothing of the build: once is enough.
if(NOT RBWP_SANITIZE)
  rbwp_add_test(model ${PROJECT_SOURCE_DIR}/tests/model/run.sh)
  set_tests_properties(model PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 PROCESSORS 1)
endif()
