# SPDX-License-Identifier: Apache-2.0
# What every target of the project shares, and what a folder of the library is.

set(RBWP_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla)
if(RBWP_WERROR)
  list(APPEND RBWP_WARNINGS -Werror)
endif()

# Language, warnings and sanitizers, on the target alone: a project that takes us in with
# add_subdirectory keeps its own. _GNU_SOURCE is for futex, membarrier and affinity.
function(rbwp_target_settings target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON C_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE ${RBWP_WARNINGS} -fno-strict-aliasing)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE _FILE_OFFSET_BITS=64)
  if(RBWP_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${RBWP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${RBWP_SANITIZE})
  endif()
endfunction()

# A folder of the library: an object target from every *.c in it. Its installed headers, rbwp_*.h,
# are linked into a directory of the build tree, and that directory is all that a target linked to
# this one gets on its include path. So a private header of a neighbour is not found by name.
function(rbwp_folder name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/rbwp_*.h)
  set(include ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${include})
  foreach(header IN LISTS headers)
    get_filename_component(file ${header} NAME)
    file(CREATE_LINK ${header} ${include}/${file} SYMBOLIC)
  endforeach()

  add_library(${name} OBJECT ${sources})
  rbwp_target_settings(${name})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${include}>)
  set_property(GLOBAL APPEND PROPERTY RBWP_PUBLIC_HEADERS ${headers})
  set_property(GLOBAL APPEND PROPERTY RBWP_INCLUDE_DIRECTORIES ${include})
endfunction()
