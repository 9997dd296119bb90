/* core/window/trigger.c without the rest of the guest: the keeper's page, the header of a ring, what was switched and emitted.
 * For trigger*_test.c. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "core/ring/ring_file.h"
#include "core/window/trigger.h"
#include "tests/test.h"

extern struct pp_control kit_page;
extern struct pp_ring_header kit_header;
extern _Atomic int kit_recording, kit_switches, kit_step_ends;

/* Like a new process at its claim. steps: "10:12,20:22"; "" none. */
void kit_claim(const char *steps, int by_time);
/* The keeper rings; returns the number. */
uint32_t kit_ring(enum pp_ask_kind kind, int64_t first, int64_t last);
/* What this rank says of request `number`; -1: nothing yet. */
int kit_word(uint32_t number);
/* A step as source/api.c marks it; returns whether it was recorded. */
int kit_step(int64_t number);

/* Each test in a child: a process is a rank once. */
static inline void kit_alone(void (*test)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		test_failures = 0;
		test();
		_exit(test_failures != 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}
