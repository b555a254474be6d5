# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build directory: a .tar.gz that can be unpacked anywhere. Debian's packages are made from debian/.

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "RBWP")
set(CPACK_PACKAGE_CONTACT "The RBWP authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME rbwp-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
include(CPack)
