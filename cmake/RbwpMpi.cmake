# SPDX-License-Identifier: Apache-2.0
# librbwp-mpi: runtime/jobs/mpi, once for each MPI library (RbwpFindMpi.cmake). librbwp-mpi.so and
# rbwp::mpi are the default one's; those of another are librbwp-mpi-FLAVOUR.so and
# rbwp::mpi-FLAVOUR. Their ABIs differ, so a program takes one of them.

# The target of librbwp-mpi for an MPI library.
function(rbwp_mpi_target target_out flavour)
  set(target rbwp-mpi)
  if(TARGET rbwp-mpi-${flavour})
    set(target rbwp-mpi-${flavour})
  endif()
  set(${target_out} ${target} PARENT_SCOPE)
endfunction()

function(rbwp_mpi_library flavour suffix)
  set(target rbwp-mpi${suffix})
  set(folders ${RBWP_MPI_LINK_${flavour}}) # where its libraries lie, unless that is searched anyway
  list(FILTER folders INCLUDE REGEX "^-L")
  list(TRANSFORM folders REPLACE "^-L" "")
  if(folders AND CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(REMOVE_ITEM folders ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/jobs/mpi/*.c)
  if(NOT suffix)
    set(sources $<TARGET_OBJECTS:rbwp-runtime-jobs-mpi>)
  endif()
  # What fills in errors is no call of librbwp's.
  add_library(${target} SHARED ${sources} ${PROJECT_SOURCE_DIR}/format/failure.c)
  rbwp_target_settings(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${RBWP_MPI_INCLUDE_${flavour}})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/runtime/jobs/mpi ${PROJECT_SOURCE_DIR}/format/include)
  target_link_libraries(${target} PUBLIC rbwp-jobs-shared
    PRIVATE ${RBWP_MPI_LINK_${flavour}} Threads::Threads)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME mpi${suffix} RBWP_MPI_NAME "${RBWP_MPI_NAME_${flavour}}" VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "\$ORIGIN;${folders}" BUILD_RPATH "${folders}")
  set(map ${PROJECT_BINARY_DIR}/rbwp-mpi.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/rbwp.map.in ${map} @ONLY)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:-z,nodelete)
  set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${map})
  add_library(rbwp::mpi${suffix} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY RBWP_MPI_TARGETS ${target})
endfunction()

foreach(flavour IN LISTS RBWP_MPI_FLAVOURS)
  list(GET RBWP_MPI_FLAVOURS 0 first)
  if(flavour STREQUAL first)
    rbwp_mpi_library(${flavour} "")
  else()
    rbwp_mpi_library(${flavour} "-${flavour}")
  endif()
endforeach()
