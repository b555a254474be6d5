# SPDX-License-Identifier: Apache-2.0
# The Python package and rbwp-config. The package is nothing but its files: whoever has its directory in PYTHONPATH, or
# gives RBWP_PYTHON_DIR as one that Python searches anyway, can import it.

set(RBWP_PYTHON_DIR ${CMAKE_INSTALL_DATADIR}/rbwp/python CACHE STRING
  "Where the Python package is installed, below the prefix")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/rbwp DESTINATION ${RBWP_PYTHON_DIR}
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

# Absolute install directories are taken as they are, others are below the prefix.
foreach(pair IN ITEMS include:${CMAKE_INSTALL_INCLUDEDIR} lib:${CMAKE_INSTALL_LIBDIR} python:${RBWP_PYTHON_DIR})
  string(REGEX MATCH "^([a-z]+):(.*)$" whole ${pair})
  if(IS_ABSOLUTE ${CMAKE_MATCH_2})
    set(rbwp_config_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  else()
    set(rbwp_config_${CMAKE_MATCH_1} "$prefix/${CMAKE_MATCH_2}")
  endif()
endforeach()
if(IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR})
  set(rbwp_config_up ..)
else()
  file(RELATIVE_PATH rbwp_config_up /${CMAKE_INSTALL_BINDIR} /)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/rbwp-config.in ${PROJECT_BINARY_DIR}/rbwp-config @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/rbwp-config DESTINATION ${CMAKE_INSTALL_BINDIR})
