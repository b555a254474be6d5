# SPDX-License-Identifier: Apache-2.0
# Text as C strings, by CMake alone.

# rbwp_c_string(OUT TEXT): TEXT as a C string literal, a line of it to a line.
function(rbwp_c_string out text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()
