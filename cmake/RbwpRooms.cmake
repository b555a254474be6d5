# SPDX-License-Identifier: Apache-2.0
# Rooms: folders with walls. rooms.txt says which sees which.

# rbwp_rooms(WING): an object target rbwp-WING-ROOM for every room of the top folder, which sees
# only what the table allows, and rbwp-WING for all of them together: with their objects for who
# links it, and with the headers that the wing installs.
function(rbwp_rooms wing)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt lines REGEX "^${wing}[/:]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt)
  add_library(rbwp-${wing} INTERFACE)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^[^:]+" room "${line}")
    string(REGEX REPLACE "^[^:]+: *" "" seen "${line}")
    separate_arguments(seen)
    rbwp_room(${room} ${seen})
    rbwp_room_target(target ${room})
    if(TARGET ${target})
      target_sources(rbwp-${wing} INTERFACE $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
  target_include_directories(rbwp-${wing} INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
endfunction()

# The name of a room's target: format, which is a wing of one room, has two.
function(rbwp_room_target name_out room)
  string(REPLACE "/" "-" name "rbwp-${room}")
  if(NOT room MATCHES "/")
    string(APPEND name "-room")
  endif()
  set(${name_out} ${name} PARENT_SCOPE)
endfunction()

function(rbwp_room room)
  rbwp_room_target(target ${room})
  set(folder ${PROJECT_SOURCE_DIR}/${room})
  rbwp_install_headers(${folder}/include)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  if(NOT sources) # what the rooms in it show
    return()
  endif()
  add_library(${target} OBJECT ${sources})
  rbwp_target_settings(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Of the other wings libraries and tests take single objects.
  if(RBWP_FEW_OBJECTS AND room MATCHES "^tools/")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    target_compile_options(${target} PRIVATE -Wno-shadow) # of a variable of another file
  endif()
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE ZLIB::ZLIB Threads::Threads)
  foreach(other IN ITEMS ${room} LISTS ARGN)
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${other}/include)
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${other}/include)
    endif()
  endforeach()
endfunction()

# Links the headers that are installed into one directory of the build tree: what a target that is
# linked with the library gets on its include path.
function(rbwp_install_headers folder)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/rbwp_*.h ${folder}/rbwp.hpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
  foreach(header IN LISTS headers)
    get_filename_component(file ${header} NAME)
    file(CREATE_LINK ${header} ${PROJECT_BINARY_DIR}/include/${file} SYMBOLIC)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY RBWP_PUBLIC_HEADERS ${headers})
endfunction()

# For tests, which look behind the walls: all that the rooms of these wings have.
function(rbwp_open_rooms target)
  foreach(wing IN LISTS ARGN)
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt lines REGEX "^${wing}[/:]")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "^[^:]+" room "${line}")
      target_include_directories(${target} PRIVATE
        ${PROJECT_SOURCE_DIR}/${room} ${PROJECT_SOURCE_DIR}/${room}/include)
    endforeach()
  endforeach()
endfunction()
