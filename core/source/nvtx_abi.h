/* The part of NVIDIA's NVTX 3 injection interface that the collector answers, in our own declarations.
 * In: none. Out: types for nvtx_inject.c. Numbers are the interface's; tests compare them with the real header. */
#ifndef PP_SOURCE_NVTX_ABI_H
#define PP_SOURCE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum pp_nvtx_export { PP_NVTX_EXPORT_CALLBACKS = 1, PP_NVTX_EXPORT_VERSION = 3 };
enum pp_nvtx_module { PP_NVTX_CORE = 1, PP_NVTX_CORE2 = 5 };

enum pp_nvtx_core {
	PP_NVTX_MARK_EX = 1,
	PP_NVTX_MARK_A,
	PP_NVTX_MARK_W,
	PP_NVTX_START_EX,
	PP_NVTX_START_A,
	PP_NVTX_START_W,
	PP_NVTX_END,
	PP_NVTX_PUSH_EX,
	PP_NVTX_PUSH_A,
	PP_NVTX_PUSH_W,
	PP_NVTX_POP,
	PP_NVTX_CATEGORY_A,
	PP_NVTX_CATEGORY_W,
	PP_NVTX_THREAD_A,
	PP_NVTX_THREAD_W,
	PP_NVTX_CORE_IDS
};

enum pp_nvtx_core2 {
	PP_NVTX_D_MARK_EX = 1,
	PP_NVTX_D_START_EX,
	PP_NVTX_D_END,
	PP_NVTX_D_PUSH_EX,
	PP_NVTX_D_POP,
	PP_NVTX_D_RESOURCE_CREATE,
	PP_NVTX_D_RESOURCE_DESTROY,
	PP_NVTX_D_CATEGORY_A,
	PP_NVTX_D_CATEGORY_W,
	PP_NVTX_D_STRING_A,
	PP_NVTX_D_STRING_W,
	PP_NVTX_D_CREATE_A,
	PP_NVTX_D_CREATE_W,
	PP_NVTX_D_DESTROY,
	PP_NVTX_D_INITIALIZE,
	PP_NVTX_CORE2_IDS
};

enum pp_nvtx_message { PP_NVTX_MESSAGE_ASCII = 1, PP_NVTX_MESSAGE_WIDE = 2, PP_NVTX_MESSAGE_REGISTERED = 3 };

struct pp_nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct pp_nvtx_attributes) == 48, "as NVTX 3 lays it out");
_Static_assert(offsetof(struct pp_nvtx_attributes, message_type) == 32, "as NVTX 3 lays it out");

typedef void (*pp_nvtx_function)(void);
typedef const void *(*pp_nvtx_get_export)(uint32_t id);

struct pp_nvtx_callbacks {
	size_t size;
	/* *ret_table: array of pointers to the DSO's function pointers */
	int (*module_table)(uint32_t module, pp_nvtx_function ***ret_table, unsigned *ret_count);
};

struct pp_nvtx_version {
	size_t size;
	uint32_t version, reserved;
	void (*set_version)(uint32_t version);
};

#endif
