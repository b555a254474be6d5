# SPDX-License-Identifier: Apache-2.0
# librbwp: the objects of format/, runtime/ and gpu/, linked into one library; librbwp-jobs: those of
# runtime/jobs/ and gpu/channel/, which programs that only record do not need.
#
# The static libraries are always made. With BUILD_SHARED_LIBS (the default) the shared ones are made
# from the same objects and are what rbwp::rbwp and rbwp::jobs mean; without, these are the static ones.

function(rbwp_library name type output)
  add_library(${name} ${type} ${ARGN})
  rbwp_target_settings(${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

foreach(wing format runtime gpu)
  list(APPEND rbwp_library_sources $<TARGET_PROPERTY:rbwp-${wing},INTERFACE_SOURCES>)
endforeach()
# With what both have: no calls of librbwp's.
set(rbwp_jobs_sources $<TARGET_PROPERTY:rbwp-runtime-jobs,INTERFACE_SOURCES> $<TARGET_OBJECTS:rbwp-gpu-channel>
  "$<FILTER:$<TARGET_OBJECTS:rbwp-format-room>,INCLUDE,/(failure|sized|grow|index_map)[.]c[.]o>"
  "$<FILTER:$<TARGET_OBJECTS:rbwp-gpu-backend>,INCLUDE,/gpu_backend[.]c[.]o>")

# Hidden names still meet those of the program when it links an archive of several objects. So the
# archive gets one object, in which all but the exported names are local. (So who links it gets all
# of it.) Left as it is where that cannot be: with sanitizers and --coverage, which bring tables of their own, and
# with LTO, whose objects have no code yet.
function(rbwp_hide_private_names archive)
  if(RBWP_SANITIZE OR CMAKE_INTERPROCEDURAL_OPTIMIZATION OR NOT CMAKE_OBJCOPY
      OR CMAKE_C_FLAGS MATCHES "-flto|-fsanitize|--coverage")
    return()
  endif()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}") # what decides on the kind of object
  if(CMAKE_SIZEOF_VOID_P EQUAL 4) # i386: groups hold the thunks, and with a local name they get lost
    list(APPEND flags -Wl,--force-group-allocation)
  endif()
  set(object $<TARGET_FILE_DIR:${archive}>/${archive}.o)
  add_custom_command(TARGET ${archive} POST_BUILD VERBATIM
    COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -o ${object}
      -Wl,--whole-archive $<TARGET_FILE:${archive}>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
    COMMAND ${CMAKE_COMMAND} -E remove -f $<TARGET_FILE:${archive}>
    COMMAND ${CMAKE_AR} rcs $<TARGET_FILE:${archive}> ${object}
    COMMAND ${CMAKE_COMMAND} -E remove -f ${object})
endfunction()

rbwp_library(rbwp-static STATIC rbwp ${rbwp_library_sources})
set_target_properties(rbwp-static PROPERTIES EXPORT_NAME static)
rbwp_hide_private_names(rbwp-static)
add_library(rbwp::static ALIAS rbwp-static)
rbwp_library(rbwp-jobs-static STATIC rbwp-jobs ${rbwp_jobs_sources})
set_target_properties(rbwp-jobs-static PROPERTIES EXPORT_NAME jobs-static)
target_link_libraries(rbwp-jobs-static PUBLIC rbwp-static)
rbwp_hide_private_names(rbwp-jobs-static)
add_library(rbwp::jobs-static ALIAS rbwp-jobs-static)

function(rbwp_shared_library name export output)
  rbwp_library(${name} SHARED ${output} ${ARGN})
  # Before 1.0 the ABI may change with each minor version, and the SONAME does.
  set_target_properties(${name} PROPERTIES
    EXPORT_NAME ${export} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(map ${PROJECT_BINARY_DIR}/rbwp.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/rbwp.map.in ${map} @ONLY)
  target_link_options(${name} PRIVATE LINKER:--version-script=${map})
  # Threads run its code and have its destructors when a program calls dlclose: it stays.
  target_link_options(${name} PRIVATE LINKER:-z,nodelete)
  if(NOT RBWP_SANITIZE) # whose run-time the program brings
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
  set_property(TARGET ${name} PROPERTY LINK_DEPENDS ${map})
  add_library(rbwp::${export} ALIAS ${name})
endfunction()

if(BUILD_SHARED_LIBS)
  rbwp_shared_library(rbwp-shared rbwp rbwp ${rbwp_library_sources})
  rbwp_shared_library(rbwp-jobs-shared jobs rbwp-jobs ${rbwp_jobs_sources})
  target_link_libraries(rbwp-jobs-shared PUBLIC rbwp-shared)
  set_target_properties(rbwp-jobs-shared PROPERTIES INSTALL_RPATH "\$ORIGIN")
else()
  add_library(rbwp::rbwp ALIAS rbwp-static)
  add_library(rbwp::jobs ALIAS rbwp-jobs-static)
endif()

# rbwp_loaded_library(NAME MAP ROOM...): a library that runtimes, drivers or the loader load into
# programs which know nothing of it, with a recorder of its own inside that nobody else sees. They
# call it as long as the process lives.
function(rbwp_loaded_library name map)
  add_library(${name} MODULE)
  foreach(room IN LISTS ARGN)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:rbwp-${room}>)
  endforeach()
  foreach(wing IN ITEMS format runtime)
    target_sources(${name} PRIVATE $<TARGET_PROPERTY:rbwp-${wing},INTERFACE_SOURCES>)
  endforeach()
  rbwp_target_settings(${name})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
  set(map ${PROJECT_SOURCE_DIR}/cmake/${map})
  target_link_options(${name} PRIVATE LINKER:--version-script=${map} LINKER:-z,nodelete)
  if(NOT RBWP_SANITIZE) # whose run-time the program brings
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
  set_property(TARGET ${name} PROPERTY LINK_DEPENDS ${map})
  if(RBWP_INSTALL)
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

if(RBWP_BUILD_TOOLS) # rbwp record is who needs it
  rbwp_loaded_library(rbwp-inject rbwp-inject.map gpu-inject)
  rbwp_loaded_library(rbwp-ompt rbwp-ompt.map runtime-collect)
  rbwp_loaded_library(rbwp-itt rbwp-itt.map runtime-collect)
endif()
