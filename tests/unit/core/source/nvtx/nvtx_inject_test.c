/* NVTX by the real nvtx3 header: the program runs itself with the injection set and reads its own ring file. Skipped (77) without
 * the header. */
#include <stdio.h>

#if !__has_include(<nvtx3/nvToolsExt.h>)
int main(void)
{
	fprintf(stderr, "no nvtx3 header\n");
	return 77;
}
#else
#include <dirent.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "core/ring/drain.h"
#include "core/source/nvtx/nvtx_abi.h"
#include "tests/test.h"

_Static_assert((int)PP_NVTX_PUSH_EX == (int)NVTX_CBID_CORE_RangePushEx, "CORE ids");
_Static_assert((int)PP_NVTX_THREAD_W == (int)NVTX_CBID_CORE_NameOsThreadW, "CORE ids");
_Static_assert((int)PP_NVTX_D_PUSH_EX == (int)NVTX_CBID_CORE2_DomainRangePushEx, "CORE2 ids");
_Static_assert((int)PP_NVTX_D_INITIALIZE == (int)NVTX_CBID_CORE2_Initialize, "CORE2 ids");
_Static_assert(sizeof(struct pp_nvtx_attributes) == sizeof(nvtxEventAttributes_t), "attributes");
_Static_assert(offsetof(struct pp_nvtx_attributes, message) == offsetof(nvtxEventAttributes_t, message), "attributes");

static char text[65536];
static size_t used;

/* One line a record: kind, domain, category, text. */
static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	(void)slot;
	for (uint32_t i = 0; i < count; i++) {
		char name[256] = "";
		uint32_t n = r[i].length < PP_TEXT_INLINE ? r[i].length : PP_TEXT_INLINE;

		if (r[i].kind == PP_RECORD_TEXT)
			continue;
		memcpy(name, r[i].range.text, n);
		for (uint32_t m = 1; m <= r[i].more; m++, n += PP_RECORD_CONT_TEXT)
			memcpy(name + n, r[i + m].text, r[i + m].length);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%u %u %u %s\n", r[i].kind, r[i].range.domain,
		                         r[i].range.nvtx_category, name);
	}
}

static uint64_t started;

static void *other_thread(void *arg)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "loader");
	nvtxRangeEnd(started);
	return arg;
}

static void use_nvtx(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
	nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .category = 7};
	pthread_t t;

	nvtxDomainNameCategoryA(domain, 7, "seven");
	nvtxMarkA("plain");
	CHECK_INT(nvtxRangePushA("outer"), 0);
	CHECK_INT(nvtxRangePushW(L"wide \u00e4\u20ac"), 1);
	CHECK_INT(nvtxRangePop(), 1);
	CHECK_INT(nvtxRangePop(), 0);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = string;
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "a name that is longer than what a record holds inline";
	nvtxDomainMarkEx(NULL, &a);
	nvtxMarkEx(&a);
	started = nvtxRangeStartA("async");
	CHECK(started != 0);
	pthread_create(&t, NULL, other_thread, NULL);
	pthread_join(t, NULL);
	a.size = 8;
	nvtxMarkEx(&a);
	CHECK(nvtxDomainRegisterStringA(domain, "registered") == string);
	CHECK(nvtxDomainResourceCreate(domain, NULL) != NULL);
	nvtxDomainDestroy(domain);
}

static void read_ring(const char *spool)
{
	static const struct pp_drain_sink sink = {.records = on_records};
	static const char want[] =
	        "5 0 0 plain\n1 0 0 outer\n1 0 0 wide \303\244\342\202\254\n2 0 0 \n2 0 0 \n1 1 7 registered\n2 1 0 \n"
	        "5 0 7 a name that is longer than what a record holds inline\n"
	        "5 0 7 a name that is longer than what a record holds inline\n3 0 0 async\n5 0 0 \n4 0 0 \n";
	const struct pp_ring_header *h;
	struct pp_drain *d = NULL;
	char path[512] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	struct pp_err err;

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	closedir(dir);
	CHECK_INT(pp_drain_open(path, PP_DRAIN_PRIVATE, &d, &err), 0);
	if (!d)
		return;
	pp_drain_run(d, &sink);
	CHECK_STR(text, want);
	h = pp_drain_header(d);
	CHECK_INT(atomic_load(&h->domains), 2);
	CHECK_STR(h->domain[1].text, "solver");
	CHECK_INT(atomic_load(&h->categories), 1);
	CHECK(h->category[0].owner == 1 && h->category[0].id == 7);
	CHECK_STR(h->category[0].text, "seven");
	CHECK_STR(h->thread[1].name, "loader");
	pp_drain_close(d);
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
	use_nvtx();
	read_ring(getenv("PODPROF_SPOOL"));
	snprintf(path, sizeof(path), "%s/rank-0.claim", getenv("PODPROF_SPOOL"));
	unlink(path);
	rmdir(getenv("PODPROF_SPOOL"));
	return test_end();
}
#endif
