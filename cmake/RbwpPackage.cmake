# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build directory: a .tar.gz that can be unpacked anywhere, and a .deb.

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "RBWP")
set(CPACK_PACKAGE_CONTACT "The RBWP authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME rbwp-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, zlib1g")
if(SQLite3_FOUND)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libsqlite3-0")
endif()
if(LIBDW_FOUND)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libdw1 (>= 0.187), libelf1")
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "zlib1g-dev")
if(RBWP_MPI_FLAVOURS) # librbwp-mpi is for programs that have theirs
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libopenmpi3 | libmpich12")
endif()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
