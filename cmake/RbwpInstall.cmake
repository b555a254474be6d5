# SPDX-License-Identifier: Apache-2.0
# What is installed where: the library, its headers, the CMake package, rbwp.pc and all man pages.
# The commands install themselves (tools/CMakeLists.txt).

include(CMakePackageConfigHelpers)
set(rbwp_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rbwp)

get_property(rbwp_public_headers GLOBAL PROPERTY RBWP_PUBLIC_HEADERS)
install(FILES ${rbwp_public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# One export per library: who links the shared one needs no zlib to build with.
foreach(kind static shared)
  if(TARGET rbwp-${kind})
    install(TARGETS rbwp-${kind} EXPORT rbwp-${kind})
    install(EXPORT rbwp-${kind} NAMESPACE rbwp:: FILE rbwp-${kind}.cmake
      DESTINATION ${rbwp_package_dir})
  endif()
endforeach()

# librbwp-jobs, and librbwp-mpi for each MPI library: an export of its own each, so that a program needs
# only what it asked for.
get_property(rbwp_mpi_targets GLOBAL PROPERTY RBWP_MPI_TARGETS)
foreach(target IN ITEMS rbwp-jobs-static rbwp-jobs-shared LISTS rbwp_mpi_targets)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    # CMake takes all NAME-*.cmake for parts of NAME.cmake.
    install(EXPORT ${target} NAMESPACE rbwp:: FILE ${target}-library.cmake
      DESTINATION ${rbwp_package_dir})
  endif()
endforeach()
string(REPLACE "rbwp-" "" rbwp_mpi_components "${rbwp_mpi_targets}")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rbwp-config.cmake.in
  ${PROJECT_BINARY_DIR}/rbwp-config.cmake INSTALL_DESTINATION ${rbwp_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rbwp-config-version.cmake
  COMPATIBILITY SameMinorVersion) # as the SONAME says
install(FILES ${PROJECT_BINARY_DIR}/rbwp-config.cmake
  ${PROJECT_BINARY_DIR}/rbwp-config-version.cmake DESTINATION ${rbwp_package_dir})

# rbwp.pc says where it is relative to itself, so that the tree can be moved; absolute install
# directories are taken as they are.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(rbwp_pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(rbwp_pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(rbwp_pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH rbwp_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" rbwp_pc_up ${rbwp_pc_up})
  set(rbwp_pc_prefix \${pcfiledir}/${rbwp_pc_up})
  set(rbwp_pc_libdir \${prefix}/${CMAKE_INSTALL_LIBDIR})
  set(rbwp_pc_includedir \${prefix}/${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(BUILD_SHARED_LIBS)
  set(rbwp_pc_libs_private " -pthread")
  set(rbwp_pc_requires_private " zlib")
else()
  set(rbwp_pc_libs " -pthread")
  set(rbwp_pc_requires " zlib")
endif()
foreach(name rbwp rbwp-jobs)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/rbwp.pc ${PROJECT_BINARY_DIR}/rbwp-jobs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(target IN LISTS rbwp_mpi_targets)
  get_target_property(rbwp_mpi_name ${target} RBWP_MPI_NAME)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/rbwp-mpi.pc.in ${PROJECT_BINARY_DIR}/${target}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${target}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

file(GLOB rbwp_man_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-9])
foreach(page IN LISTS rbwp_man_pages)
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/SPEC.md ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/NEWS.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
