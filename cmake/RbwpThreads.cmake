# SPDX-License-Identifier: Apache-2.0
# librbwp-threads.so: runtime/threads with the recorder inside, to be preloaded. Needs glibc, whose
# calls it stands in for; sanitizers stand in for the same ones.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(__GLIBC__ "features.h" RBWP_HAVE_GLIBC)
unset(CMAKE_REQUIRED_DEFINITIONS)

if(RBWP_HAVE_GLIBC AND RBWP_BUILD_TOOLS AND BUILD_SHARED_LIBS AND NOT RBWP_SANITIZE)
  # A program sees the calls that it would have made, and nothing of the recorder. Those without a
  # version here stand in for any.
  set(map ${CMAKE_CURRENT_LIST_DIR}/rbwp-threads.map)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(map ${CMAKE_CURRENT_LIST_DIR}/rbwp-threads-x86_64.map)
  endif()
  # librbwp-record.so is for who wants GPUs and threads of a program in one file: both with one
  # recorder.
  foreach(library rbwp-threads rbwp-record)
    add_library(${library} MODULE $<TARGET_OBJECTS:rbwp-runtime-threads>)
    foreach(wing IN ITEMS format runtime)
      target_sources(${library} PRIVATE $<TARGET_PROPERTY:rbwp-${wing},INTERFACE_SOURCES>)
    endforeach()
    rbwp_target_settings(${library})
    target_link_libraries(${library} PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${library} PRIVATE LINKER:--version-script=${map} LINKER:-z,nodelete
      LINKER:-z,defs)
    set_property(TARGET ${library} PROPERTY LINK_DEPENDS ${map})
    if(RBWP_INSTALL)
      install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
  endforeach()
  target_sources(rbwp-record PRIVATE $<TARGET_OBJECTS:rbwp-gpu-inject>)
endif()
