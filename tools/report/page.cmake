# SPDX-License-Identifier: Apache-2.0
# The page of rbwp report, inside the command.
set(rbwp_page ${CMAKE_CURRENT_SOURCE_DIR}/report)
set(rbwp_page_text ${CMAKE_CURRENT_BINARY_DIR}/page_text.c)
foreach(part inflate base model args inside lines draw timeline find tables range findings flame nodes place keys) # in the order in which they need each other
  list(APPEND rbwp_page_scripts ${rbwp_page}/page_${part}.js)
endforeach()
list(JOIN rbwp_page_scripts "," rbwp_page_script_list)
set(rbwp_diff_scripts ${rbwp_page}/page_inflate.js ${rbwp_page}/page_base.js ${rbwp_page}/page_diff.js)
list(JOIN rbwp_diff_scripts "," rbwp_diff_script_list)
add_custom_command(OUTPUT ${rbwp_page_text} VERBATIM
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${rbwp_page_text} -DHEADER=page_data.h
    -P ${PROJECT_SOURCE_DIR}/cmake/RbwpEmbedFiles.cmake
    page_html_head=${rbwp_page}/page_head.html page_html=${rbwp_page}/page.html
    page_css=${rbwp_page}/page.css page_js=${rbwp_page_script_list}
    page_diff_html=${rbwp_page}/page_diff.html page_diff_js=${rbwp_diff_script_list}
  DEPENDS ${rbwp_page}/page_head.html ${rbwp_page}/page.html ${rbwp_page}/page.css
    ${rbwp_page_scripts} ${rbwp_page}/page_diff.html ${rbwp_page}/page_diff.js ${PROJECT_SOURCE_DIR}/cmake/RbwpEmbedFiles.cmake)
target_sources(rbwp-tools-report PRIVATE ${rbwp_page_text})
