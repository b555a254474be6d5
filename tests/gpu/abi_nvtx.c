/* SPDX-License-Identifier: Apache-2.0 */
/* Guards that gpu/inject/nvtx_abi.h says what NVTX's headers say. Compiling it is the test. */
#include <nvtx3/nvToolsExt.h>

#include "abi.h"
#include "nvtx_abi.h"

ABI_SAME(NVTX_TABLE_CALLBACKS, (int)NVTX_ETID_CALLBACKS);
ABI_FIELD(struct nvtx_callbacks, bytes, NvtxExportTableCallbacks, struct_size);
ABI_FIELD(struct nvtx_callbacks, functions, NvtxExportTableCallbacks, GetModuleFunctionTable);
ABI_SAME(NVTX_MODULE_CORE, (int)NVTX_CB_MODULE_CORE);
ABI_SAME(NVTX_MODULE_DOMAINS, (int)NVTX_CB_MODULE_CORE2);
ABI_SAME(NVTX_MARK_EX, (int)NVTX_CBID_CORE_MarkEx);
ABI_SAME(NVTX_MARK_W, (int)NVTX_CBID_CORE_MarkW);
ABI_SAME(NVTX_START_EX, (int)NVTX_CBID_CORE_RangeStartEx);
ABI_SAME(NVTX_START_A, (int)NVTX_CBID_CORE_RangeStartA);
ABI_SAME(NVTX_START_W, (int)NVTX_CBID_CORE_RangeStartW);
ABI_SAME(NVTX_END, (int)NVTX_CBID_CORE_RangeEnd);
ABI_SAME(NVTX_PUSH_EX, (int)NVTX_CBID_CORE_RangePushEx);
ABI_SAME(NVTX_PUSH_A, (int)NVTX_CBID_CORE_RangePushA);
ABI_SAME(NVTX_PUSH_W, (int)NVTX_CBID_CORE_RangePushW);
ABI_SAME(NVTX_POP, (int)NVTX_CBID_CORE_RangePop);
ABI_SAME(NVTX_NAME_THREAD_A, (int)NVTX_CBID_CORE_NameOsThreadA);
ABI_SAME(NVTX_NAME_THREAD_W, (int)NVTX_CBID_CORE_NameOsThreadW);
ABI_SAME(NVTX_DOMAIN_MARK_EX, (int)NVTX_CBID_CORE2_DomainMarkEx);
ABI_SAME(NVTX_DOMAIN_START_EX, (int)NVTX_CBID_CORE2_DomainRangeStartEx);
ABI_SAME(NVTX_DOMAIN_END, (int)NVTX_CBID_CORE2_DomainRangeEnd);
ABI_SAME(NVTX_DOMAIN_PUSH_EX, (int)NVTX_CBID_CORE2_DomainRangePushEx);
ABI_SAME(NVTX_DOMAIN_POP, (int)NVTX_CBID_CORE2_DomainRangePop);
ABI_SAME(NVTX_DOMAIN_REGISTER_A, (int)NVTX_CBID_CORE2_DomainRegisterStringA);
ABI_SAME(NVTX_DOMAIN_REGISTER_W, (int)NVTX_CBID_CORE2_DomainRegisterStringW);
ABI_SAME(NVTX_DOMAIN_CREATE_A, (int)NVTX_CBID_CORE2_DomainCreateA);
ABI_SAME(NVTX_DOMAIN_CREATE_W, (int)NVTX_CBID_CORE2_DomainCreateW);
ABI_SAME(NVTX_DOMAIN_DESTROY, (int)NVTX_CBID_CORE2_DomainDestroy);

#define EVENT(ours, real) ABI_FIELD(struct nvtx_attributes, ours, nvtxEventAttributes_t, real)
EVENT(version, version);
EVENT(bytes, size);
EVENT(category, category);
EVENT(payload_type, payloadType);
EVENT(payload, payload);
EVENT(message_type, messageType);
EVENT(message, message);
ABI_SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
ABI_SAME(NVTX_U64, (int)NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
ABI_SAME(NVTX_I64, (int)NVTX_PAYLOAD_TYPE_INT64);
ABI_SAME(NVTX_F64, (int)NVTX_PAYLOAD_TYPE_DOUBLE);
ABI_SAME(NVTX_U32, (int)NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
ABI_SAME(NVTX_I32, (int)NVTX_PAYLOAD_TYPE_INT32);
ABI_SAME(NVTX_F32, (int)NVTX_PAYLOAD_TYPE_FLOAT);
ABI_SAME(NVTX_TEXT, (int)NVTX_MESSAGE_TYPE_ASCII);
ABI_SAME(NVTX_WIDE, (int)NVTX_MESSAGE_TYPE_UNICODE);
ABI_SAME(NVTX_REGISTERED, (int)NVTX_MESSAGE_TYPE_REGISTERED);
