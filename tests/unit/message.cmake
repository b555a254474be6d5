# SPDX-License-Identifier: Apache-2.0
# Tests of active messages.
foreach(name message message_wire)
  rbwp_unit_test(test_${name} test_${name}.c)
endforeach()
# With its test point, and without the rest of the room.
add_executable(test_message_inbox test_message_inbox.c
  ${PROJECT_SOURCE_DIR}/runtime/jobs/message/message_inbox.c)
rbwp_target_settings(test_message_inbox)
rbwp_open_rooms(test_message_inbox format runtime)
target_include_directories(test_message_inbox PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_message_inbox PRIVATE RBWP_TEST_POINTS)
target_link_libraries(test_message_inbox PRIVATE PkgConfig::CMOCKA Threads::Threads)
rbwp_add_test(unit_test_message_inbox test_message_inbox)
target_link_options(test_message PRIVATE LINKER:--wrap=calloc)
