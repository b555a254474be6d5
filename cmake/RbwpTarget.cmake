# SPDX-License-Identifier: Apache-2.0
# What every target of the project shares.

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
  # Numbers that stand in enums are numbers.
  if(CMAKE_C_COMPILER_ID STREQUAL Clang AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
    target_compile_options(${target} PRIVATE -Wno-enum-float-conversion)
  endif()
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE _FILE_OFFSET_BITS=64)
  if(RBWP_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${RBWP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${RBWP_SANITIZE})
    # NVTX, CUPTI and drivers call us, and we them, with handles that are of another type on each side.
    if(CMAKE_C_COMPILER_ID STREQUAL Clang AND RBWP_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize=function)
    elseif(RBWP_SANITIZE MATCHES undefined)
      # gcc asks the flags of the addition that makes a thread-local variable's address whether that is null; the linker
      # makes it another instruction, which sets none. clang looks for null pointers.
      target_compile_options(${target} PRIVATE -fno-sanitize=null,nonnull-attribute)
    endif()
  endif()
endfunction()
