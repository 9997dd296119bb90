/* A program that plays a plan on the stand-in of CUDA: trace_host PLAN STEPS MARKS [graph] [cut]. A line of PLAN is an action:
 *   k STREAM NS   launches a kernel that runs that long     w STREAM   waits for what the stream has got
 *   h NS          works on the host                         s          ends a step
 * After the last step of the plan it begins again, until STEPS are done. MARKS gets a line for each step: its number, and
 * CLOCK_REALTIME before and after its begin was marked. graph: a CUDA graph is made before the first step. cut: the program ends
 * after the last launch, and waits for nothing. Used by edges.py. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"
#include "tests/gpu/replay.h"

enum { ACTIONS = 1 << 16, SET_UP_MS = 100 };

static struct action {
	char what;
	unsigned stream;
	unsigned long long ns;
} plan[ACTIONS];
static int actions;
static replay_launch_function launch;
static replay_synchronize_function synchronize;

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void nap(unsigned long long ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static int read_plan(const char *path)
{
	char line[64];
	FILE *f = fopen(path, "re");

	while (f && actions < ACTIONS && fgets(line, sizeof(line), f)) {
		struct action *a = &plan[actions++];

		a->what = line[0];
		if ((a->what == 'k' && sscanf(line, "k %u %llu", &a->stream, &a->ns) != 2) ||
		    (a->what == 'h' && sscanf(line, "h %llu", &a->ns) != 1) ||
		    (a->what == 'w' && sscanf(line, "w %u", &a->stream) != 1) || !strchr("khws", a->what))
			actions = 0;
	}
	if (f)
		fclose(f);
	return actions ? 0 : -1;
}

static int up(int has_graph)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = NULL;
	_Atomic int *graph;

	if (!cuda)
		return -1;
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&launch = dlsym(cuda, "replay_launch");
	*(void **)&synchronize = dlsym(cuda, "replay_synchronize");
	graph = dlsym(cuda, "replay_has_graph");
	if (!init || !launch || !synchronize || !graph || init(0))
		return -1;
	nap(SET_UP_MS * 1000000ull);
	atomic_store(graph, has_graph);
	return 0;
}

/* One step from action `at` on; returns the next action. */
static int step(int at)
{
	for (; at < actions && plan[at].what != 's'; at++) {
		struct replay_kernel kernel = {.name = "gemm", .stream = plan[at].stream, .ns = plan[at].ns};

		if (plan[at].what == 'k')
			launch(&kernel);
		else if (plan[at].what == 'w')
			synchronize(plan[at].stream);
		else
			nap(plan[at].ns);
	}
	return at + 1 < actions ? at + 1 : 0;
}

int main(int argc, char **argv)
{
	int has_graph = 0, is_cut = 0, at = 0, steps;
	FILE *marks;

	for (int i = 4; i < argc; i++) {
		has_graph |= !strcmp(argv[i], "graph");
		is_cut |= !strcmp(argv[i], "cut");
	}
	marks = argc > 3 ? fopen(argv[3], "we") : NULL;
	if (!marks || read_plan(argv[1]))
		return 2;
	podprof_range_push("set up");
	if (up(has_graph))
		return 3;
	podprof_range_pop();
	steps = (int)strtol(argv[2], NULL, 10);
	for (int i = 0; i <= steps; i++) {
		unsigned long long before = now_ns();

		podprof_step_begin(i);
		fprintf(marks, "%d %llu %llu\n", i, before, now_ns());
		fflush(marks);
		at = step(at);
	}
	if (is_cut)
		return fclose(marks);
	podprof_step_end();
	for (unsigned s = 0; s < 8; s++)
		synchronize(s);
	return fclose(marks);
}
