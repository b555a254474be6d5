# SPDX-License-Identifier: Apache-2.0
# Which MPI libraries are here. Sets RBWP_MPI_FLAVOURS (openmpi, mpich, mpi for others), the default
# one first, and for each RBWP_MPI_INCLUDE_f, RBWP_MPI_LINK_f, RBWP_MPI_NAME_f, and RBWP_MPI_RUN_f,
# what starts a job of it.
#
# FindMPI finds one, and a machine may have several. Each has a compiler wrapper, which tells what
# it would call; mpicc is whichever its owner made the default.

option(RBWP_WITH_MPI "Build librbwp-mpi for each MPI library that is there" ${rbwp_on_top})
set(RBWP_MPI_COMPILERS "mpicc;mpicc.openmpi;mpicc.mpich" CACHE STRING
  "Compiler wrappers of the MPI libraries to build for; the first that is there is the default one")

# Sets NAME and FLAVOUR by what its header says; "" if it has none.
function(rbwp_mpi_look name_out flavour_out includes)
  list(TRANSFORM includes PREPEND "-I")
  file(WRITE ${PROJECT_BINARY_DIR}/mpi_look.c "#include <mpi.h>\n")
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${includes} -E -dM ${PROJECT_BINARY_DIR}/mpi_look.c
    OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE failed)
  set(name "")
  set(flavour "")
  if(failed)
    # no header
  elseif(macros MATCHES "define OMPI_MAJOR_VERSION ([0-9]+)")
    set(name "Open MPI ${CMAKE_MATCH_1}")
    foreach(part IN ITEMS MINOR RELEASE)
      string(REGEX MATCH "define OMPI_${part}_VERSION ([0-9]+)" whole "${macros}")
      string(APPEND name ".${CMAKE_MATCH_1}")
    endforeach()
    set(flavour openmpi)
  elseif(macros MATCHES "define MPICH_VERSION \"([^\"]+)\"")
    set(name "MPICH ${CMAKE_MATCH_1}")
    set(flavour mpich)
  elseif(macros MATCHES "define MPI_VERSION ([0-9]+)")
    set(name "an MPI of standard ${CMAKE_MATCH_1}")
    set(flavour mpi)
  endif()
  set(${name_out} "${name}" PARENT_SCOPE)
  set(${flavour_out} "${flavour}" PARENT_SCOPE)
endfunction()

# Whether what is built here can be linked with it (it may be of another machine type).
function(rbwp_mpi_links out includes link)
  file(WRITE ${PROJECT_BINARY_DIR}/mpi_links.c
    "#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
  try_compile(good ${PROJECT_BINARY_DIR}/mpi_links ${PROJECT_BINARY_DIR}/mpi_links.c
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${includes}" LINK_LIBRARIES ${link})
  set(${out} ${good} PARENT_SCOPE)
  unset(good CACHE)
endfunction()

macro(rbwp_mpi_try compiler)
  execute_process(COMMAND ${compiler} -show OUTPUT_VARIABLE words ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(words UNIX_COMMAND "${words}")
  set(includes ${words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(link ${words})
  list(FILTER link INCLUDE REGEX "^(-L|-l|-pthread|-Wl,-rpath)")
  rbwp_mpi_look(name flavour "${includes}")
  if(flavour AND NOT flavour IN_LIST RBWP_MPI_FLAVOURS)
    rbwp_mpi_links(links "${includes}" "${link}")
    if(links)
      list(APPEND RBWP_MPI_FLAVOURS ${flavour})
      set(RBWP_MPI_INCLUDE_${flavour} ${includes})
      set(RBWP_MPI_LINK_${flavour} ${link})
      set(RBWP_MPI_NAME_${flavour} "${name}")
      get_filename_component(folder ${compiler} DIRECTORY)
      find_program(rbwp_mpi_run NAMES mpiexec.${flavour} mpiexec HINTS ${folder})
      set(RBWP_MPI_RUN_${flavour} ${rbwp_mpi_run})
      unset(rbwp_mpi_run CACHE)
    else()
      message(STATUS "${name} is here, but programs of this build cannot be linked with it")
    endif()
  endif()
endmacro()

set(RBWP_MPI_FLAVOURS "")
if(RBWP_WITH_MPI AND BUILD_SHARED_LIBS AND NOT RBWP_SANITIZE MATCHES thread)
  foreach(wrapper IN LISTS RBWP_MPI_COMPILERS)
    find_program(rbwp_mpi_wrapper ${wrapper})
    if(rbwp_mpi_wrapper)
      rbwp_mpi_try(${rbwp_mpi_wrapper})
    endif()
    unset(rbwp_mpi_wrapper CACHE)
  endforeach()
endif()

set(names "")
foreach(flavour IN LISTS RBWP_MPI_FLAVOURS)
  list(APPEND names "${RBWP_MPI_NAME_${flavour}}")
endforeach()
list(JOIN names ", " names)
if(names)
  message(STATUS "librbwp-mpi: for ${names}")
elseif(NOT rbwp_on_top AND NOT RBWP_WITH_MPI)
  # not asked for
elseif(NOT RBWP_WITH_MPI)
  message(STATUS "librbwp-mpi: not built (RBWP_WITH_MPI is off)")
elseif(NOT BUILD_SHARED_LIBS)
  message(STATUS "librbwp-mpi: not built (it needs the shared librbwp: BUILD_SHARED_LIBS)")
elseif(RBWP_SANITIZE MATCHES thread)
  message(STATUS "librbwp-mpi: not built (ThreadSanitizer cannot look into MPI libraries)")
else()
  message(STATUS "librbwp-mpi: not built (no MPI here: libopenmpi-dev, libmpich-dev or RBWP_MPI_COMPILERS)")
endif()
