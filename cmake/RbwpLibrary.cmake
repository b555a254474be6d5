# SPDX-License-Identifier: Apache-2.0
# librbwp: the objects of format/, runtime/ and gpu/, linked into one library.
#
# The static library is always made. With BUILD_SHARED_LIBS (the default) the shared one is made
# from the same objects and is what rbwp::rbwp means; without, rbwp::rbwp is the static one.

function(rbwp_library name type)
  add_library(${name} ${type})
  foreach(wing IN ITEMS format runtime gpu)
    target_sources(${name} PRIVATE $<TARGET_PROPERTY:rbwp-${wing},INTERFACE_SOURCES>)
  endforeach()
  rbwp_target_settings(${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME rbwp)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PRIVATE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

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
  set(object $<TARGET_FILE_DIR:${archive}>/rbwp.o)
  add_custom_command(TARGET ${archive} POST_BUILD VERBATIM
    COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -o ${object}
      -Wl,--whole-archive $<TARGET_FILE:${archive}>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
    COMMAND ${CMAKE_COMMAND} -E remove -f $<TARGET_FILE:${archive}>
    COMMAND ${CMAKE_AR} rcs $<TARGET_FILE:${archive}> ${object}
    COMMAND ${CMAKE_COMMAND} -E remove -f ${object})
endfunction()

rbwp_library(rbwp-static STATIC)
set_target_properties(rbwp-static PROPERTIES EXPORT_NAME static)
rbwp_hide_private_names(rbwp-static)
add_library(rbwp::static ALIAS rbwp-static)

if(BUILD_SHARED_LIBS)
  rbwp_library(rbwp-shared SHARED)
  # Before 1.0 the ABI may change with each minor version, and the SONAME does.
  set_target_properties(rbwp-shared PROPERTIES
    EXPORT_NAME rbwp VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(map ${PROJECT_BINARY_DIR}/rbwp.map)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/rbwp.map.in ${map} @ONLY)
  target_link_options(rbwp-shared PRIVATE LINKER:--version-script=${map})
  # Threads run its code and have its destructors when a program calls dlclose: it stays.
  target_link_options(rbwp-shared PRIVATE LINKER:-z,nodelete)
  if(NOT RBWP_SANITIZE) # whose run-time the program brings
    target_link_options(rbwp-shared PRIVATE LINKER:-z,defs)
  endif()
  set_property(TARGET rbwp-shared PROPERTY LINK_DEPENDS ${map})
  add_library(rbwp::rbwp ALIAS rbwp-shared)
else()
  add_library(rbwp::rbwp ALIAS rbwp-static)
endif()
