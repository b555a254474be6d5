# SPDX-License-Identifier: Apache-2.0
# Tests of the recorder, of sessions, and of the encoders that they write with.
foreach(topic block_encoder chunk_encoder clock clock_drift deflater huffman node session_config)
  rbwp_serial_test(test_${topic} test_${topic}.c)
endforeach()
foreach(topic extend job names output process session)
  rbwp_unit_test(test_${topic} test_${topic}.c)
endforeach()
rbwp_add_test(unit_test_session_disk test_session disk)
set_tests_properties(unit_test_session_disk PROPERTIES SKIP_RETURN_CODE 77)

# Without inlining gcc 12 has dropped the text of a thread's automatic name.
rbwp_held_test(test_thread_registry test_thread_registry.c
  ${PROJECT_SOURCE_DIR}/runtime/record/hot/thread_attach.c)
target_compile_options(test_thread_registry PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O2> -fno-inline)

# With callers of any rights, and without descriptors.
rbwp_unit_test(test_control test_control.c)
foreach(function accept4 poll getsockopt getresuid getresgid capget)
  target_link_options(test_control PRIVATE LINKER:--wrap=${function})
endforeach()

rbwp_unit_test(test_rows test_rows.c)
if(NOT RBWP_SANITIZE MATCHES thread) # one thread in most of it, and much work
  rbwp_held_test(test_keep test_keep.c ${PROJECT_SOURCE_DIR}/runtime/record/session/dump.c)
  target_compile_definitions(test_keep PRIVATE NUMBERS_TRIED=3u)
endif()
rbwp_held_test(test_range test_range.c)
rbwp_unit_test(test_queue test_queue.c)
rbwp_unit_test(test_args test_args.c)
rbwp_unit_test(test_slot_limits test_slot_limits.c)
if(RBWP_HAVE_GLIBC)
  rbwp_serial_test(test_waiter test_waiter.c ${PROJECT_SOURCE_DIR}/runtime/threads/waiter.c)
endif()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/jobs/mpi/*.c)
rbwp_unit_test(test_locks test_locks.c ${sources})
target_include_directories(test_locks SYSTEM BEFORE PRIVATE one_process) # for mpi.h
rbwp_serial_test(test_mpi test_mpi.c ${sources})
if(TARGET test_mpi)
  target_include_directories(test_mpi SYSTEM BEFORE PRIVATE many_processes)
  foreach(function transport_arrived transport_room transport_payload_done transport_lost now_ns clock_offset_add)
    target_link_options(test_mpi PRIVATE LINKER:--wrap=rbwp_${function})
  endforeach()
endif()

if(TARGET test_clock)
  target_link_options(test_clock PRIVATE LINKER:--wrap=clock_gettime)
  target_link_options(test_clock_drift PRIVATE LINKER:--wrap=clock_gettime)
  target_link_libraries(test_clock_drift PRIVATE m)
endif()

rbwp_unit_test(test_stall test_stall.c)

# These let memory run out.
rbwp_unit_test(test_chunk_pool test_chunk_pool.c)
rbwp_unit_test(test_recorder test_recorder.c)
foreach(topic chunk_pool recorder)
  target_link_options(test_${topic} PRIVATE LINKER:--wrap=mmap,--wrap=mmap64)
endforeach()
target_link_options(test_chunk_pool PRIVATE LINKER:--wrap=munmap)

rbwp_unit_test(test_record_memory
  ${PROJECT_SOURCE_DIR}/tests/stress/test_record_memory.c)
foreach(function malloc calloc realloc free strdup strndup mmap mmap64 munmap fallocate fallocate64
    pthread_create)
  target_link_options(test_record_memory PRIVATE LINKER:--wrap=${function})
endforeach()

# With the time-stamp counter, if there is one, and without.
rbwp_unit_test(test_record_clock
  ${PROJECT_SOURCE_DIR}/tests/stress/test_record_clock.c)
target_link_options(test_record_clock PRIVATE LINKER:--wrap=clock_gettime)
rbwp_add_test(unit_test_record_clock_monotonic test_record_clock)
set_tests_properties(unit_test_record_clock_monotonic PROPERTIES ENVIRONMENT RBWP_CLOCK=monotonic)

set(rbwp_record_stress life restart threads signal trouble closed)
if(NOT RBWP_SANITIZE MATCHES thread) # which knows no threads in a child, and has one thread in churn
  list(APPEND rbwp_record_stress churn claim)
  rbwp_unit_test(test_record_rows
    ${PROJECT_SOURCE_DIR}/tests/stress/test_record_rows.c)
endif()
if(NOT RBWP_SANITIZE) # children of a process with threads: sanitized.h
  list(APPEND rbwp_record_stress fork)
  rbwp_held_test(test_record_child
    ${PROJECT_SOURCE_DIR}/tests/stress/test_record_child.c
    ${PROJECT_SOURCE_DIR}/runtime/record/session/session.c)
  target_compile_definitions(test_record_child PRIVATE PARENT_ENDS_MS=100000u)
endif()
foreach(topic IN LISTS rbwp_record_stress)
  rbwp_unit_test(test_record_${topic}
    ${PROJECT_SOURCE_DIR}/tests/stress/test_record_${topic}.c)
endforeach()

if(TARGET test_record_claim)
  target_link_options(test_record_claim PRIVATE LINKER:--wrap=fstatvfs,--wrap=fstatvfs64)
endif()
if(TARGET test_record_fork)
  target_link_options(test_record_fork PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()
foreach(function pwrite64 fallocate64 ftruncate64 fdatasync openat64 mmap64)
  target_link_options(test_record_closed PRIVATE LINKER:--wrap=${function})
endforeach()

if(NOT RBWP_SANITIZE MATCHES thread) # slower than its fast clock: its stops take the disk for one that stands still
  rbwp_unit_test(test_months ${PROJECT_SOURCE_DIR}/tests/stress/test_months.c)
  target_link_options(test_months PRIVATE
    LINKER:--wrap=clock_gettime,--wrap=pthread_cond_timedwait)
endif()

# One lets the disk be full.
rbwp_held_test(test_record_live
  ${PROJECT_SOURCE_DIR}/tests/stress/test_record_live.c
  ${PROJECT_SOURCE_DIR}/runtime/record/base/live.c)
target_compile_definitions(test_record_live PRIVATE LOG_RETRY_NS=0)
target_link_options(test_record_live PRIVATE LINKER:--wrap=fallocate,--wrap=fallocate64)

# Threads held in the middle of a race.
rbwp_held_test(test_drain test_drain.c)
rbwp_held_test(test_live_snapshot test_live_snapshot.c)
rbwp_held_test(race_record ${PROJECT_SOURCE_DIR}/tests/stress/race_record.c)
rbwp_held_test(test_record_jump
  ${PROJECT_SOURCE_DIR}/tests/stress/test_record_jump.c
  ${PROJECT_SOURCE_DIR}/runtime/record/hot/recording.c)
target_compile_definitions(test_record_jump PRIVATE RECORDING_STUCK_NS=INT64_C\(500000000\))

rbwp_unit_test(test_dlclose ${PROJECT_SOURCE_DIR}/tests/stress/test_dlclose.c)
target_link_libraries(test_dlclose PRIVATE ${CMAKE_DL_LIBS})
function(rbwp_dlclose_plugin name library macro)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/tests/stress/dlclose_plugin.c)
  rbwp_target_settings(${name})
  target_link_libraries(${name} PRIVATE ${library})
  target_compile_definitions(test_dlclose PRIVATE ${macro}="$<TARGET_FILE:${name}>")
  add_dependencies(test_dlclose ${name})
endfunction()
rbwp_dlclose_plugin(dlclose_plugin_static rbwp::static PLUGIN_STATIC)
if(BUILD_SHARED_LIBS)
  rbwp_dlclose_plugin(dlclose_plugin rbwp::rbwp PLUGIN)
endif()
