/* SPDX-License-Identifier: Apache-2.0 */
/* Guards that runtime/collect/ompt_abi.h says what OpenMP's header says. Compiling it is the test.
 */
#include <omp-tools.h>

#include "abi.h"
#include "ompt_abi.h"

ABI_SAME(OMPT_THREAD_BEGIN, (int)ompt_callback_thread_begin);
ABI_SAME(OMPT_THREAD_END, (int)ompt_callback_thread_end);
ABI_SAME(OMPT_PARALLEL_BEGIN, (int)ompt_callback_parallel_begin);
ABI_SAME(OMPT_PARALLEL_END, (int)ompt_callback_parallel_end);
ABI_SAME(OMPT_TASK_CREATE, (int)ompt_callback_task_create);
ABI_SAME(OMPT_TASK_SCHEDULE, (int)ompt_callback_task_schedule);
ABI_SAME(OMPT_IMPLICIT_TASK, (int)ompt_callback_implicit_task);
ABI_SAME(OMPT_SYNC_REGION_WAIT, (int)ompt_callback_sync_region_wait);
ABI_SAME(OMPT_MUTEX_ACQUIRE, (int)ompt_callback_mutex_acquire);
ABI_SAME(OMPT_MUTEX_ACQUIRED, (int)ompt_callback_mutex_acquired);
ABI_SAME(OMPT_SOMETIMES, (int)ompt_set_sometimes);
ABI_SAME(OMPT_BEGIN, (int)ompt_scope_begin);
ABI_SAME(OMPT_END, (int)ompt_scope_end);
ABI_SAME(OMPT_TASK_INITIAL, (int)ompt_task_initial);
ABI_SAME(OMPT_TASK_EXPLICIT, (int)ompt_task_explicit);
ABI_SAME(OMPT_YIELD, (int)ompt_task_yield);
ABI_SAME(OMPT_SWITCH, (int)ompt_task_switch);
ABI_SAME(sizeof(union ompt_data), sizeof(ompt_data_t));
ABI_FIELD(struct ompt_start_result, initialize, ompt_start_tool_result_t, initialize);
ABI_FIELD(struct ompt_start_result, finalize, ompt_start_tool_result_t, finalize);
ABI_FIELD(struct ompt_start_result, tool, ompt_start_tool_result_t, tool_data);
