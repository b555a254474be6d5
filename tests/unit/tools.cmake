# SPDX-License-Identifier: Apache-2.0
# Parts of the command rbwp. They see tools/ and the installed headers of format/, as the command
# does, and are linked without the runtime.
if(RBWP_BUILD_TOOLS)
  file(GLOB rbwp_tool_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_tool_*.c)
  if(RBWP_THREADS_ONLY)
    list(FILTER rbwp_tool_tests INCLUDE REGEX "_(ordered_jobs|trace)\\.c$")
  endif()
  foreach(source ${rbwp_tool_tests})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    rbwp_target_settings(${name})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    rbwp_open_rooms(${name} tools)
    target_link_libraries(${name} PRIVATE rbwp-tools rbwp-format PkgConfig::CMOCKA Threads::Threads)
    rbwp_add_test(unit_${name} ${name})
  endforeach()
endif()
