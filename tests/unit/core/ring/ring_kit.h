/* A ring file of this process with its keeper's end, for the ring tests: no claim, no exit handler. */
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ring/drain.h"
#include "core/ring/thread_ring.h"
#include "core/source/emit.h"
#include "tests/test.h"

static char kit_dir[64];
static struct pp_drain *kit_drain;

static inline int kit_open(uint64_t ring_bytes)
{
	struct pp_pool_options o = {.spool = kit_dir, .ring_bytes = ring_bytes, .local_size = 1};
	struct pp_err err = {""};

	snprintf(kit_dir, sizeof(kit_dir), "/tmp/podprof-ring-XXXXXX");
	if (!mkdtemp(kit_dir) || pp_rings_start(NULL) || pp_pool_create(&pp_ring_pool, &o, &err))
		goto fail;
	pp_ring_pool.header->size = pp_ring_pool.header->local_size = 1;
	pp_ring_pool.header->pid = getpid();
	if (pp_pool_publish(&pp_ring_pool, &err) || pp_drain_open(pp_ring_pool.path, 0, &kit_drain, &err))
		goto fail;
	pp_tick_init();
	atomic_store(&pp_wiped.phase, PP_PHASE_DECIDED);
	atomic_store(&pp_wiped.recording, 1);
	return 1;
fail:
	fprintf(stderr, "%s\n", err.text);
	return 0;
}

static inline void kit_close(void)
{
	pp_drain_close(kit_drain);
	unlink(pp_ring_pool.path);
	rmdir(kit_dir);
}

static inline void kit_mark(const char *name, size_t length, uint64_t id)
{
	struct pp_emit e = {.kind = PP_RECORD_MARK, .id = id};

	pp_emit_range(&e, name, length);
}

static inline uint64_t kit_lost(enum pp_loss loss)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&pp_ring_pool.header->thread_used); i++)
		n += atomic_load(&pp_ring_pool.header->thread[i].lost[loss]);
	return n;
}

static inline uint32_t kit_chunks(void)
{
	return atomic_load(&pp_ring_pool.header->chunk_used);
}

/* Each test has a process of its own: the rings are one a process. */
static inline void kit_run(void (*test)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		test();
		fflush(stderr);
		_exit(test_failures ? 1 : test_checks ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
}
