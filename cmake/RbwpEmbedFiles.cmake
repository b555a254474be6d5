# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=FILE.c -DHEADER=FILE.h -P RbwpEmbedFiles.cmake NAME=FILE[,FILE...]...
# Writes each list of files as the array NAME and its length NAME_bytes. Needs no tool but cmake.
set(text "/* Made from files of the page; do not edit. */\n#include \"${HEADER}\"\n")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(number RANGE 0 ${last})
  if(CMAKE_ARGV${number} MATCHES "^([a-z_]+)=(.*)$")
    set(name ${CMAKE_MATCH_1})
    string(REPLACE "," ";" files "${CMAKE_MATCH_2}")
    set(hex "")
    foreach(file IN LISTS files)
      file(READ ${file} part HEX)
      string(APPEND hex "${part}")
    endforeach()
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND text "\nconst char ${name}[] = {\n${hex}};\n"
      "const size_t ${name}_bytes = sizeof ${name};\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${text}")
