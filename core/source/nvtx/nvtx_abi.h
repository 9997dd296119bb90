/* The part of NVIDIA's NVTX 3 injection interface that the collector answers, in our own declarations.
 * In: none. Out: types for nvtx_inject.c. Numbers are the interface's; tests compare them with the real header. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_nvtx_export { PP_NVTX_EXPORT_CALLBACKS = 1, PP_NVTX_EXPORT_VERSION = 3 };
enum pp_nvtx_module {
	PP_NVTX_CORE = 1,
	PP_NVTX_CUDA,
	PP_NVTX_OPENCL,
	PP_NVTX_CUDART,
	PP_NVTX_CORE2,
	PP_NVTX_SYNC,
	PP_NVTX_MODULES,
};

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

/* Modules that give names to devices, contexts, streams ...: pairs of functions, A and W. */
enum { PP_NVTX_CUDA_IDS = 9, PP_NVTX_CUDART_IDS = 7, PP_NVTX_OPENCL_IDS = 15 };

enum pp_nvtx_sync {
	PP_NVTX_SYNC_CREATE = 1,
	PP_NVTX_SYNC_DESTROY,
	PP_NVTX_SYNC_ACQUIRE,
	PP_NVTX_SYNC_FAILED,
	PP_NVTX_SYNC_ACQUIRED,
	PP_NVTX_SYNC_RELEASING,
	PP_NVTX_SYNC_IDS
};

enum pp_nvtx_resource { PP_NVTX_THREAD_NATIVE = 0x10003, PP_NVTX_THREAD_POSIX = 0x10004 };

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

struct pp_nvtx_resource_attributes {
	uint16_t version, size;
	int32_t identifier_type;
	uint64_t identifier;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct pp_nvtx_resource_attributes) == 32, "as NVTX 3 lays it out");

#define PP_NVTX_PAYLOAD_EXT ((int32_t)0xDFBD0009) /* payload_type: `payload` points to `reserved` struct pp_nvtx_payload */

/* The payload extension: module 2, one segment of slots. */
enum { PP_NVTX_EXT_PAYLOAD = 2, PP_NVTX_EXT_PAYLOAD_COMPATIBLE = 0x0103 };
enum pp_nvtx_ext_payload {
	PP_NVTX_P_SCHEMA,
	PP_NVTX_P_ENUM,
	PP_NVTX_P_MARK,
	PP_NVTX_P_PUSH,
	PP_NVTX_P_POP,
	PP_NVTX_P_START,
	PP_NVTX_P_END,
	PP_NVTX_P_ENABLED,
	PP_NVTX_P_IDS
};

struct pp_nvtx_payload {
	uint64_t schema;
	size_t size; /* SIZE_MAX: as long as the schema says */
	const void *bytes;
};

enum pp_nvtx_schema_field { /* bits of `fields` */
	                    PP_NVTX_SCHEMA_NAME = 2,
	                    PP_NVTX_SCHEMA_TYPE = 4,
	                    PP_NVTX_SCHEMA_ENTRIES = 16,
	                    PP_NVTX_SCHEMA_NUM_ENTRIES = 32,
	                    PP_NVTX_SCHEMA_SIZE = 64,
	                    PP_NVTX_SCHEMA_ALIGN = 128,
	                    PP_NVTX_SCHEMA_ID = 256,
	                    PP_NVTX_ENUM_NAME = 2,
	                    PP_NVTX_ENUM_ENTRIES = 4,
	                    PP_NVTX_ENUM_NUM_ENTRIES = 8,
	                    PP_NVTX_ENUM_SIZE = 16,
	                    PP_NVTX_ENUM_ID = 32,
};

struct pp_nvtx_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail; /* length of an array or string */
	uint64_t offset; /* 0: behind the entry before */
	const void *semantics, *reserved;
};

struct pp_nvtx_schema {
	uint64_t fields;
	const char *name;
	uint64_t type, flags;
	const struct pp_nvtx_entry *entry;
	size_t entries, size, align;
	uint64_t id;
	void *extension;
};

struct pp_nvtx_enumerator {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

struct pp_nvtx_enum {
	uint64_t fields;
	const char *name;
	const struct pp_nvtx_enumerator *entry;
	size_t entries, size;
	uint64_t id;
	void *extension;
};

struct pp_nvtx_segment {
	size_t id, slots;
	intptr_t *slot; /* 0: never asked for */
};

struct pp_nvtx_extension {
	uint16_t version, size, module, compatibility;
	size_t segments;
	struct pp_nvtx_segment *segment;
	const void *get_export, *info;
};

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
