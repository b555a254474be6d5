# SPDX-License-Identifier: Apache-2.0
# librbwp: the object targets of the folders, linked into one library.
#
# The static library is always made. With BUILD_SHARED_LIBS (the default) the shared one is made
# from the same objects and is what rbwp::rbwp means; without, rbwp::rbwp is the static one.

get_property(rbwp_include_directories GLOBAL PROPERTY RBWP_INCLUDE_DIRECTORIES)

function(rbwp_library name type)
  add_library(${name} ${type} $<TARGET_OBJECTS:rbwp-format> $<TARGET_OBJECTS:rbwp-runtime>)
  rbwp_target_settings(${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME rbwp)
  foreach(directory IN LISTS rbwp_include_directories)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${directory}>)
  endforeach()
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PRIVATE ZLIB::ZLIB Threads::Threads)
endfunction()

rbwp_library(rbwp-static STATIC)
set_target_properties(rbwp-static PROPERTIES EXPORT_NAME static)
add_library(rbwp::static ALIAS rbwp-static)

if(BUILD_SHARED_LIBS)
  rbwp_library(rbwp-shared SHARED)
  # Before 1.0 the ABI may change with each minor version, the SONAME only with the major one.
  set_target_properties(rbwp-shared PROPERTIES
    EXPORT_NAME rbwp VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  set(map ${PROJECT_BINARY_DIR}/rbwp.map)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/rbwp.map.in ${map} @ONLY)
  target_link_options(rbwp-shared PRIVATE LINKER:--version-script=${map})
  if(NOT RBWP_SANITIZE) # whose run-time the program brings
    target_link_options(rbwp-shared PRIVATE LINKER:-z,defs)
  endif()
  set_property(TARGET rbwp-shared PROPERTY LINK_DEPENDS ${map})
  add_library(rbwp::rbwp ALIAS rbwp-shared)
else()
  add_library(rbwp::rbwp ALIAS rbwp-static)
endif()
