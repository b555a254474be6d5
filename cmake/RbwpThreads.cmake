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
  set(map rbwp-threads.map)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(map rbwp-threads-x86_64.map)
  endif()
  rbwp_loaded_library(rbwp-threads ${map} runtime-threads)
  # For who wants GPUs and threads of a program in one file: both with one recorder.
  rbwp_loaded_library(rbwp-record ${map} runtime-threads gpu-inject)
endif()
