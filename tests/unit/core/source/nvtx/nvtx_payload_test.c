/* NVTX beyond ranges, by the real nvtx3 headers: payloads, schemas, names of handles, locks, the memory extension. The program runs
 * itself with the injection set and reads its own ring file as the keeper does. Skipped (77) without the headers. */
#include <stdio.h>

#if !__has_include(<nvtx3/nvToolsExtPayload.h>) || !__has_include(<nvtx3/nvToolsExtSync.h>)
int main(void)
{
	fprintf(stderr, "no nvtx3 headers\n");
	return 77;
}
#else
#define CUDA_NO_HALF
#include <dirent.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#if __has_include(<nvtx3/nvToolsExtMem.h>)
#include <nvtx3/nvToolsExtMem.h>
#endif
#if __has_include(<cuda.h>) && __has_include(<nvtx3/nvToolsExtCuda.h>)
#include <nvtx3/nvToolsExtCuda.h>
#define HAVE_CUDA 1
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/drain.h"
#include "core/ring/intern.h"
#include "core/source/nvtx/nvtx_abi.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

#define SAME(a, b) _Static_assert((long long)(a) == (long long)(b), "as the header has it")
#define PLACE(ours, a, theirs, b)                                                                                                  \
	_Static_assert(offsetof(struct ours, a) == offsetof(theirs, b) && sizeof(struct ours) == sizeof(theirs), "layout")

SAME(PP_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(PP_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
SAME(PP_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(PP_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(PP_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
SAME(PP_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(PP_NVTX_PAYLOAD_EXT, NVTX_PAYLOAD_TYPE_EXT);
SAME(PP_NVTX_CUDA, NVTX_CB_MODULE_CUDA);
SAME(PP_NVTX_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(PP_NVTX_CUDART, NVTX_CB_MODULE_CUDART);
SAME(PP_NVTX_SYNC, NVTX_CB_MODULE_SYNC);
SAME(PP_NVTX_CUDA_IDS, NVTX_CBID_CUDA_SIZE);
SAME(PP_NVTX_CUDART_IDS, NVTX_CBID_CUDART_SIZE);
SAME(PP_NVTX_OPENCL_IDS, NVTX_CBID_OPENCL_SIZE);
SAME(PP_NVTX_SYNC_IDS, NVTX_CBID_SYNC_SIZE);
SAME(PP_NVTX_EXT_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
SAME(PP_NVTX_P_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
SAME(PP_NVTX_P_START, NVTX3EXT_CBID_nvtxRangeStartPayload);
SAME(PP_NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(PP_NVTX_SCHEMA_SIZE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
SAME(PP_NVTX_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
SAME(PP_NVTX_THREAD_NATIVE, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE);
SAME(PP_NVTX_THREAD_POSIX, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX);
PLACE(pp_nvtx_payload, bytes, nvtxPayloadData_t, payload);
PLACE(pp_nvtx_entry, offset, nvtxPayloadSchemaEntry_t, offset);
PLACE(pp_nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
PLACE(pp_nvtx_schema, align, nvtxPayloadSchemaAttr_t, packAlign);
PLACE(pp_nvtx_enumerator, is_flag, nvtxPayloadEnum_t, isFlag);
PLACE(pp_nvtx_enum, size, nvtxPayloadEnumAttr_t, sizeOfEnum);
PLACE(pp_nvtx_resource_attributes, message, nvtxResourceAttributes_t, message);
PLACE(pp_nvtx_extension, segment, nvtxExtModuleInfo_t, segments);
PLACE(pp_nvtx_segment, slot, nvtxExtModuleSegment_t, functionSlots);

struct reduce { /* what a library would tell of a collective */
	uint64_t comm;
	int32_t op;
	float scale;
	uint16_t shape[3];
	char tag[10];
	double norm;
	const char *pointer;
};

static nvtxDomainHandle_t domain;

static nvtxEventAttributes_t attributes(const char *name)
{
	nvtxEventAttributes_t a = {
	        .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .messageType = NVTX_MESSAGE_TYPE_ASCII};

	a.message.ascii = name;
	return a;
}

static void core_payloads(void)
{
	nvtxEventAttributes_t a = attributes("u64");

	a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	a.payload.ullValue = UINT64_MAX;
	nvtxMarkEx(&a);
	a = attributes("i64");
	a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	a.payload.llValue = -5;
	nvtxRangePushEx(&a);
	nvtxRangePop();
	a = attributes("double");
	a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	a.payload.dValue = 0.5;
	nvtxDomainMarkEx(domain, &a);
	a = attributes("u32");
	a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
	a.payload.ullValue = UINT64_MAX;
	nvtxMarkEx(&a);
	a = attributes("i32");
	a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	a.payload.iValue = -7;
	nvtxRangeEnd(nvtxRangeStartEx(&a));
	a = attributes("float");
	a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
	a.payload.fValue = 1.25f;
	nvtxMarkEx(&a);
	a = attributes("odd type");
	a.payloadType = 4711;
	nvtxMarkEx(&a);
	a = attributes("plain");
	nvtxMarkEx(&a);
}

static uint64_t register_schema(uint64_t enumeration, uint64_t id)
{
	const nvtxPayloadSchemaEntry_t entry[] = {
	        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "comm"},
	        {.type = enumeration, .name = "op"},
	        {.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "scale"},
	        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
	         .type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16,
	         .name = "shape",
	         .arrayOrUnionDetail = 3},
	        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
	         .name = "tag",
	         .arrayOrUnionDetail = 10,
	         .offset = offsetof(struct reduce, tag)},
	        {.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "norm"},
	        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_HIDE, .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "pointer"},
	};
	nvtxPayloadSchemaAttr_t attr = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
	                                             NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
	                                             NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
	                                             NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
	                                .name = "reduce",
	                                .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
	                                .entries = entry,
	                                .numEntries = sizeof(entry) / sizeof(entry[0]),
	                                .payloadStaticSize = sizeof(struct reduce),
	                                .schemaId = id};

	if (id)
		attr.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
	return nvtxPayloadSchemaRegister(domain, &attr);
}

static void ext_payloads(void)
{
	const nvtxPayloadEnum_t value[] = {{"sum", 0, 0}, {"max", 3, 0}};
	const nvtxPayloadEnumAttr_t kinds = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
	                                                  NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
	                                                  NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
	                                     .entries = value,
	                                     .numEntries = 2,
	                                     .sizeOfEnum = 4};
	struct reduce r = {
	        .comm = 12, .op = 3, .scale = 0.25f, .shape = {4, 5, 6}, .tag = "gradients", .norm = 1.5, .pointer = "no"};
	uint64_t enumeration = nvtxPayloadEnumRegister(domain, &kinds), schema = register_schema(enumeration, 0);
	nvtxPayloadData_t one = {schema, sizeof(r), &r}, two[2] = {{schema, SIZE_MAX, &r}, {NVTX_PAYLOAD_ENTRY_TYPE_INT, 4, &r.op}};
	nvtxPayloadData_t small = {schema, 9, &r}, null = {schema, sizeof(r), NULL}, unknown = {99999999, 8, &r};
	nvtxPayloadData_t string = {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "as it is"},
	                  raw = {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, 3, "\1\2\3"};
	static char large[5000];
	nvtxPayloadData_t much = {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, sizeof(large), large};
	nvtxEventAttributes_t a = attributes("by attribute");
	nvtxRangeId_t id;

	CHECK(schema >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START && enumeration != schema);
	CHECK(register_schema(enumeration, 77 + NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) == 77 + NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
	CHECK_INT(nvtxPayloadSchemaRegister(domain, NULL), 0);
	CHECK_INT(nvtxDomainIsEnabled(domain), 1);
	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = 1;
	a.payload.ullValue = (uint64_t)(uintptr_t)&one;
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	CHECK_INT(nvtxRangePushPayload(domain, two, 2), 0);
	CHECK_INT(nvtxRangePopPayload(domain, &string, 1), 0);
	nvtxMarkPayload(domain, &small, 1);
	nvtxMarkPayload(domain, &null, 1);
	nvtxMarkPayload(domain, &unknown, 1);
	nvtxMarkPayload(domain, &raw, 1);
	nvtxMarkPayload(domain, &much, 1);
	nvtxMarkPayload(domain, NULL, 1);
	nvtxMarkPayload(domain, &one, 0);
	id = nvtxRangeStartPayload(domain, &raw, 1);
	CHECK(id != 0);
	nvtxRangeEndPayload(domain, id, &string, 1);
	one.schemaId = 77 + NVTX_PAYLOAD_SCHEMA_ID_STATIC_START;
	nvtxMarkPayload(domain, &one, 1);
}

static void *named_thread(void *arg)
{
	nvtxResourceAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE};

	a.identifierType = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE;
	a.identifier.ullValue = (uint64_t)syscall(SYS_gettid);
	a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	a.message.unicode = L"reader \u00fc";
	CHECK(nvtxDomainResourceCreate(domain, &a) != NULL);
	nvtxMarkA("from the reader");
	return arg;
}

enum { LONG_NAME = 3000 };

static const char *long_name(void)
{
	static char text[LONG_NAME + 1];

	for (int i = 0; i < LONG_NAME; i++)
		text[i] = (char)('a' + i % 23);
	return text;
}

/* Two domains whose names differ behind what a row holds. */
static void long_domains(void)
{
	char *text[2] = {NULL, NULL};
	nvtxDomainHandle_t handle[2];

	for (int i = 0; i < 2; i++) {
		CHECK(asprintf(&text[i], "%.100s of domain %d", long_name(), i) > 0);
		handle[i] = nvtxDomainCreateA(text[i]);
		CHECK(handle[i] == nvtxDomainCreateA(text[i]));
		nvtxDomainNameCategoryA(handle[i], 1, text[i]);
		free(text[i]);
	}
	CHECK(asprintf(&text[0], "%.100s of both", long_name()) > 0);
	for (int i = 0; i < 2; i++)
		nvtxDomainNameCategoryA(handle[i], 2, text[0]);
	free(text[0]);
	CHECK(handle[0] != handle[1]);
}

static void names_and_locks(void)
{
	nvtxResourceAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE};
	nvtxSyncUserAttributes_t lock = {.version = NVTX_VERSION, .size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE};
	nvtxResourceHandle_t handle;
	nvtxSyncUser_t sync;
	pthread_t t;

	a.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
	a.identifier.pValue = &a;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "table of weights";
	handle = nvtxDomainResourceCreate(domain, &a);
	CHECK(handle != NULL);
	nvtxDomainResourceDestroy(handle);
	nvtxDomainResourceDestroy(NULL);
	a.message.ascii = long_name(); /* as templates of C++ are */
	CHECK(nvtxDomainResourceCreate(domain, &a) != NULL);
	a.size = 4;
	CHECK(nvtxDomainResourceCreate(domain, &a) != NULL);
	pthread_create(&t, NULL, named_thread, NULL);
	pthread_join(t, NULL);
	lock.messageType = NVTX_MESSAGE_TYPE_ASCII;
	lock.message.ascii = "queue";
	sync = nvtxDomainSyncUserCreate(domain, &lock);
	CHECK(sync != NULL);
	CHECK(nvtxDomainSyncUserCreate(NULL, NULL) != NULL);
	nvtxDomainSyncUserAcquireStart(sync);
	nvtxDomainSyncUserAcquireFailed(sync);
	nvtxDomainSyncUserAcquireStart(sync);
	nvtxDomainSyncUserAcquireSuccess(sync);
	nvtxDomainSyncUserReleasing(sync);
	nvtxDomainSyncUserDestroy(sync);
	nvtxDomainSyncUserDestroy(NULL);
#ifdef HAVE_CUDA
	nvtxNameCuDeviceA(3, "third device");
	nvtxNameCuDeviceA(3, "third device");
	nvtxNameCuStreamW((CUstream)(uintptr_t)0x1234, L"copies \u20ac");
	nvtxNameCuContextA(NULL, NULL);
#endif
#ifdef NVTX_EXT_MODULEID_MEM
	nvtxMemHeapUnregister(domain, nvtxMemHeapRegister(domain, NULL));
	nvtxMemHeapReset(domain, NULL);
#endif
}

/* Everything that has a payload, a line each: kind, name, payload. */
static void list_payloads(const struct pp_capture *c, char *text, size_t size)
{
	size_t used = 0;

	for (size_t t = 0; t < c->rank[0].threads; t++)
		for (size_t i = 0; i < c->rank[0].thread[t].spans && used < size; i++) {
			const struct pp_span *s = &c->rank[0].thread[t].span[i];
			char value[PP_PAYLOAD_BYTES] = "-";
			double d;

			memcpy(&d, &s->range.payload, sizeof(d));
			if (s->range.payload_type == PP_PAYLOAD_EXT)
				snprintf(value, sizeof(value), "%.95s",
				         pp_intern_text(c->payloads, (uint32_t)s->range.payload, NULL));
			else if (s->range.payload_type == PP_PAYLOAD_DOUBLE)
				snprintf(value, sizeof(value), "%g", d);
			else if (s->range.payload_type)
				snprintf(value, sizeof(value), "type %d: %llx", s->range.payload_type,
				         (unsigned long long)s->range.payload);
			used += (size_t)snprintf(text + used, size - used, "%d %s: %s\n", s->kind,
			                         pp_intern_text(c->names, s->name, NULL), value);
		}
}

#define STRUCT "comm=12, op=max, scale=0.25, shape=[4, 5, 6], tag=\"gradients\", norm=1.5"
static const char want[] =
        "2 u64: type 1: ffffffffffffffff\n0 i64: type 2: fffffffffffffffb\n2 double: 0.5\n2 u32: type 4: ffffffff\n"
        "1 i32: type 5: fffffff9\n2 float: type 6: 3fa00000\n2 odd type: -\n2 plain: -\n"
        "0 by attribute: " STRUCT "\n0 reduce: " STRUCT
        "; 3; \"as it is\"\n2 reduce: 9 bytes 0x0c0000000000000003\n2 reduce: 0 bytes\n"
        "2 : 8 bytes 0x0c00000000000000\n2 : 3 bytes 0x010203\n"
        "2 : 5000 bytes 0x0000000000000000000000000000000000000000000000000000000000000000000000000000000000\n"
        "2 : -\n2 : -\n1 : 3 bytes 0x010203; \"as it is\"\n2 reduce: " STRUCT "\n2 from the reader: -\n";

static void read_ring(const char *spool)
{
	struct pp_rings *rings = pp_rings_new(64 << 20);
	struct pp_capture c = {0};
	char path[512] = "", text[8192] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	struct pp_err err = {""};
	const struct pp_ring_header *h;
	const char *both;

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	closedir(dir);
	pp_rings_private(rings);
	CHECK_INT(pp_rings_open(rings, path, &err), 0);
	pp_rings_drain(rings, 0, NULL);
	h = pp_rings_header(rings, 0);
	CHECK_STR(h->thread[1].name, "reader \303\274");
	CHECK(memmem(h->definition, sizeof(h->definition), "table of weights", 16) != NULL);
	CHECK(memmem(h->definition, sizeof(h->definition), long_name(), LONG_NAME) != NULL);
	CHECK(memmem(h->definition, sizeof(h->definition), " of domain 0", 12) != NULL);
	CHECK(memmem(h->definition, sizeof(h->definition), " of domain 1", 12) != NULL);
	both = memmem(h->definition, sizeof(h->definition), " of both", 8);
	CHECK(both &&
	      memmem(both + 8, sizeof(h->definition) - (size_t)(both + 8 - (const char *)h->definition), " of both", 8) != NULL);
#ifdef HAVE_CUDA
	CHECK(memmem(h->definition, sizeof(h->definition), "third device", 12) != NULL);
	CHECK(memmem(h->definition, sizeof(h->definition), "copies \342\202\254", 10) != NULL);
#endif
	CHECK_INT(pp_rings_finish(rings, &c, &err), 0);
	list_payloads(&c, text, sizeof(text));
	CHECK_STR(text, want);
	for (int i = 0; i < PP_LOSSES; i++)
		CHECK_INT(c.rank[0].lost[i], 0);
	pp_capture_release(&c);
	pp_rings_free(rings);
	unlink(path);
}

int main(int argc, char **argv)
{
	char spool[] = "/tmp/podprof-nvtx-XXXXXX", path[512];

	if (argc > 1 && strcmp(argv[1], "run")) {
		if (!mkdtemp(spool))
			return 1;
		setenv("PODPROF_SPOOL", spool, 1);
		setenv("PODPROF_WAIT", "0", 1);
		setenv("LD_PRELOAD", argv[1], 1);
		setenv("NVTX_INJECTION64_PATH", argv[1], 1);
		execl("/proc/self/exe", argv[0], "run", (char *)NULL);
		return 1;
	}
	domain = nvtxDomainCreateA("solver");
	core_payloads();
	ext_payloads();
	names_and_locks();
	long_domains();
	read_ring(getenv("PODPROF_SPOOL"));
	snprintf(path, sizeof(path), "%s/rank-0.claim", getenv("PODPROF_SPOOL"));
	unlink(path);
	rmdir(getenv("PODPROF_SPOOL"));
	return test_end();
}
#endif
