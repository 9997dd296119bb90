/* What the tests of ITT share: a static copy, a domain, and the program's own ring, read as the keeper does. */
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ring/drain.h"
#include "core/source/itt/itt_names.h"
#include "tests/test.h"
#include "tests/unit/core/source/itt/itt_copy.h"

enum { SEEN = 16384 };

struct seen {
	uint16_t kind, domain;
	uint32_t slot;
	pp_tick tick;
	uint64_t id;
	double value;
	char *text;
};

static struct seen seen[SEEN];
static size_t seen_count;
static char ring_path[512];
static struct pp_drain *drain;
static struct itt_copy torch;
static struct pp_itt_domain *domain;
static const struct pp_itt_id none;
static void (*init)(struct pp_itt_global *, int);

static inline void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	for (uint32_t i = 0; i < count && seen_count < SEEN; i += 1 + r[i].more) {
		size_t length = r[i].length, n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;
		struct seen *s = &seen[seen_count];

		if (r[i].kind == PP_RECORD_THREAD_END) /* the ring's own */
			continue;
		seen_count++;
		*s = (struct seen){r[i].kind,          r[i].range.domain,    slot, r[i].tick, r[i].range.id,
		                   r[i].counter.value, calloc(1, length + 1)};
		memcpy(s->text, r[i].range.text, n);
		for (uint32_t k = 1; k <= r[i].more; k++, n += PP_RECORD_CONT_TEXT)
			memcpy(s->text + n, r[i + k].text, r[i + k].length);
	}
}

/* What was recorded since the last time. */
static inline void look(void)
{
	static const struct pp_drain_sink sink = {.records = on_records};

	for (size_t i = 0; i < seen_count; i++)
		free(seen[i].text);
	seen_count = 0;
	pp_drain_run(drain, &sink);
}

static inline const struct seen *find(enum pp_record_kind kind, const char *text)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i].kind == kind && !strcmp(seen[i].text, text))
			return &seen[i];
	return NULL;
}

static inline uint64_t lost(enum pp_loss loss)
{
	const struct pp_ring_header *h = pp_drain_header(drain);
	uint64_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&h->thread_used); i++)
		n += atomic_load(&h->thread[i].lost[loss]);
	return n;
}

static inline int find_ring(const char *spool)
{
	struct dirent *e;
	DIR *dir = opendir(spool);

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(ring_path, sizeof(ring_path), "%s/%s", spool, e->d_name);
	if (dir)
		closedir(dir);
	return *ring_path != '\0';
}

static inline void task(struct itt_copy *c, struct pp_itt_domain *d, const char *name)
{
	c->task_begin(d, none, none, c->string_handle_create(name));
	c->task_end(d);
}

/* Runs the program again with the collector `argv[1]` loaded and a spool of its own; before that `bare`, without. */
static inline int itt_run(int argc, char **argv, void (*bare)(void), void (*tests)(void))
{
	char spool[] = "/tmp/podprof-itt-XXXXXX", path[512];

	if (argc > 1 && strcmp(argv[1], "run")) {
		void *library = dlopen(argv[1], RTLD_NOW);

		unsetenv("PODPROF_SPOOL");
		*(void **)&init = library ? dlsym(library, "__itt_api_init") : NULL;
		CHECK(init != NULL);
		if (init && bare)
			bare();
		if (test_failures || !mkdtemp(spool))
			return 1;
		setenv("PODPROF_SPOOL", spool, 1);
		setenv("PODPROF_WAIT", "0", 1);
		setenv("LD_PRELOAD", argv[1], 1);
		execl("/proc/self/exe", argv[0], "run", (char *)NULL);
		return 1;
	}
	*(void **)&init = dlsym(RTLD_DEFAULT, "__itt_api_init");
	if (!init)
		return 1;
	tests();
	pp_drain_close(drain);
	unlink(ring_path);
	snprintf(path, sizeof(path), "%s/rank-0.claim", getenv("PODPROF_SPOOL"));
	unlink(path);
	rmdir(getenv("PODPROF_SPOOL"));
	return test_end();
}

/* The ring is there; what is in it has been looked at. */
static inline int itt_open(void)
{
	struct pp_err err = {""};

	if (!find_ring(getenv("PODPROF_SPOOL")) || pp_drain_open(ring_path, 0, &drain, &err)) {
		CHECK_STR(err.text, "a ring");
		return 0;
	}
	look();
	return 1;
}
