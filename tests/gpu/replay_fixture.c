/* Reads a fixture. Called by both stand-ins and gpu_host. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/source/cupti/cupti_abi.h"
#include "tests/gpu/replay.h"

static int read_kernel(const char *text, struct replay_row *r)
{
	return sscanf(text, "kernel %u %u %llu %llu %u %u %u %ux%ux%u %ux%ux%u %199[^\n]", &r->device, &r->stream, &r->delay,
	              &r->ns, &r->registers, &r->shared, &r->dynamic, &r->grid[0], &r->grid[1], &r->grid[2], &r->block[0],
	              &r->block[1], &r->block[2], r->name) == 14;
}

static int read_copy(const char *text, struct replay_row *r)
{
	char way[8];

	if (sscanf(text, "copy %7s %u %u %llu %llu %llu", way, &r->device, &r->stream, &r->delay, &r->ns, &r->bytes) != 6)
		return 0;
	r->copy = !strcmp(way, "htod") ? 1 : !strcmp(way, "dtoh") ? 2 : 8;
	return 1;
}

static int read_pool(const char *text, struct replay_row *r)
{
	char action[12];

	if (sscanf(text, "pool %11s %u %llx %llu %llu %llu", action, &r->device, &r->pool, &r->pool_size, &r->pool_used,
	           &r->threshold) != 6)
		return 0;
	r->is_imported = !strcmp(action, "import");
	r->pool_action = !strcmp(action, "destroy") ? PP_CUPTI_POOL_DESTROYED
	                 : !strcmp(action, "trim")  ? PP_CUPTI_POOL_TRIMMED
	                 : !strcmp(action, "bad")   ? 0
	                                            : PP_CUPTI_POOL_CREATED;
	return 1;
}

static int read_row(const char *text, struct replay_row *r)
{
	static const struct {
		const char *word;
		enum replay_kind kind;
	} kinds[] = {{"device ", REPLAY_DEVICE}, {"kernel ", REPLAY_KERNEL},   {"copy ", REPLAY_COPY},    {"peer ", REPLAY_PEER},
	             {"set ", REPLAY_SET},       {"alloc ", REPLAY_ALLOC},     {"free ", REPLAY_FREE},    {"sync ", REPLAY_SYNC},
	             {"pool ", REPLAY_POOL},     {"poolalloc ", REPLAY_ALLOC}, {"poolfree ", REPLAY_FREE}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(text, kinds[i].word, strlen(kinds[i].word)) != 0)
			continue;
		r->kind = kinds[i].kind;
		switch (r->kind) {
		case REPLAY_DEVICE:
			return sscanf(text, "device %u %llu %llu %u %u %199[^\n]", &r->device, &r->bytes, &r->bandwidth,
			              &r->capability, &r->multiprocessors, r->name) == 6;
		case REPLAY_KERNEL:
			return read_kernel(text, r);
		case REPLAY_COPY:
			return read_copy(text, r);
		case REPLAY_PEER:
			return sscanf(text, "peer %u %u %llu %llu %llu %u", &r->device, &r->stream, &r->delay, &r->ns, &r->bytes,
			              &r->other) == 6;
		case REPLAY_SET:
			return sscanf(text, "set %u %u %llu %llu %llu", &r->device, &r->stream, &r->delay, &r->ns, &r->bytes) == 5;
		case REPLAY_SYNC:
			return sscanf(text, "sync %u %u %llu", &r->device, &r->stream, &r->ns) == 3;
		case REPLAY_POOL:
			return read_pool(text, r);
		default:
			if (*text == 'p')
				return sscanf(strchr(text, ' '), "%u %llu %llx %llx %llu %llu %llu", &r->device, &r->bytes,
				              &r->address, &r->pool, &r->pool_size, &r->pool_used, &r->threshold) == 7;
			return sscanf(strchr(text, ' '), "%u %llu %llx", &r->device, &r->bytes, &r->address) == 3;
		}
	}
	return 0;
}

int replay_read(const char *path, struct replay_fixture *f)
{
	static const char head[] = "podprof replay of CUPTI: ";
	char line[512];
	FILE *file = path ? fopen(path, "re") : NULL;

	memset(f, 0, sizeof(*f));
	if (!file || !fgets(f->head, sizeof(f->head), file) || strncmp(f->head, head, strlen(head)) != 0 ||
	    (strncmp(f->head + strlen(head), "CONSTRUCTED", 11) != 0 && strncmp(f->head + strlen(head), "RECORDED on ", 12) != 0)) {
		fprintf(stderr, "replay: '%s' is no fixture. Set REPLAY_FIXTURE.\n", path ? path : "");
		if (file)
			fclose(file);
		return -1;
	}
	while (fgets(line, sizeof(line), file)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (f->rows == REPLAY_ROWS || !read_row(line, &f->row[f->rows])) {
			fprintf(stderr, "replay: '%s': bad row: %s", path, line);
			fclose(file);
			return -1;
		}
		f->rows++;
	}
	fclose(file);
	return 0;
}

int replay_asked(const char *variable, const char *function)
{
	const char *at = getenv(variable);
	size_t length = strlen(function);

	for (; at && (at = strstr(at, function)); at += length)
		if (at[length] == '=')
			return (int)strtol(at + length + 1, NULL, 10);
	return 0;
}

int replay_enters(const char *function)
{
	int ms = replay_asked("REPLAY_SLOW", function);
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	sigset_t crash;

	if (ms)
		nanosleep(&t, NULL);
	if (replay_asked("REPLAY_CRASH", function)) {
		sigemptyset(&crash);
		sigaddset(&crash, SIGSEGV);
		pthread_sigmask(SIG_UNBLOCK, &crash, NULL); /* podprof's thread blocks all */
		raise(SIGSEGV);
	}
	return replay_asked("REPLAY_FAIL", function);
}

/* unit.gpu.cupti_real holds it to NVIDIA's cuptiActivityGetNextRecord(). */
static size_t known_size(uint32_t kind, uint32_t version)
{
	int new = version >= 130500, old = version < 130000;

	switch (kind) {
	case PP_CUPTI_KERNEL:
		return new ? 248 : old ? 208 : version >= 130100 ? 224 : 216;
	case PP_CUPTI_MEMCPY:
		return new ? 112 : 96;
	case PP_CUPTI_MEMCPY2:
		return 96;
	case PP_CUPTI_MEMSET:
		return new ? 104 : 88;
	case PP_CUPTI_DRIVER:
	case PP_CUPTI_RUNTIME:
		return 40;
	case PP_CUPTI_DEVICE:
		return new ? 192 : 184;
	case PP_CUPTI_SYNC:
	case PP_CUPTI_OVERHEAD:
		return 56;
	case PP_CUPTI_MEMORY2:
		return 128;
	case PP_CUPTI_POOL:
		return old ? 72 : 80;
	case PP_CUPTI_JIT:
		return 72;
	case REPLAY_UNKNOWN:
		return new ? 88 : 136;
	default:
		return 0;
	}
}

/* Versions of later majors append to each record, as all have done. */
size_t replay_size(uint32_t kind, uint32_t version)
{
	size_t known = known_size(kind, version);

	return known && version >= 140000 ? known + 64 : known;
}

void replay_uuid(unsigned device, int is_slice, uint8_t ret_uuid[16])
{
	const char *first = getenv("REPLAY_FIRST_GPU");
	unsigned gpu = device + (first ? (unsigned)strtoul(first, NULL, 10) : 0);

	for (int i = 0; i < 16; i++)
		ret_uuid[i] = (uint8_t)(0x10 * i + (is_slice ? 8 : 0));
	ret_uuid[15] = (uint8_t)gpu;
}
