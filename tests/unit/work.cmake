# SPDX-License-Identifier: Apache-2.0
# Tests of the flags and of the work manager.
rbwp_serial_test(test_work_flags test_work_flags.c)
foreach(topic flags work_mask doorbell numa)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
target_link_options(test_numa PRIVATE LINKER:--wrap=realloc,--wrap=calloc,--wrap=__sched_cpualloc)
rbwp_unit_test(test_work_session test_work_session.c)
rbwp_unit_test(stress_work ${PROJECT_SOURCE_DIR}/tests/stress/stress_work.c)

# With NUMA domains out of a folder that the test makes up.
rbwp_held_test(test_work test_work.c ${PROJECT_SOURCE_DIR}/runtime/work/work.c)
target_compile_definitions(test_work PRIVATE
  NUMA_NODE_FOLDER="${CMAKE_CURRENT_BINARY_DIR}/work_test_nodes")
