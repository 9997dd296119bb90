/* Classes of stragglers in made-up jobs with heavy-tailed noise: many random places of each class, and jobs with noise only. With
 * CLASS_PRINT set it prints the rates and what is wrong. */
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { NONE, RANK, HOST, ROLE, ROTATING, ONE_OFF, PERIODIC, FROM_LATER_ON, SMALL_ROLES };
enum { CALM, EXPONENTIAL, LOG_NORMAL, PARETO, PREEMPTED, UNEVEN, NOISES };

#define STEP 20e6 /* ns */

struct job {
	struct pp_dataset d;
	struct pp_row_blame_step *row;
	size_t rows;
	uint64_t state;
	size_t ranks, steps, collectives;
	double *extra, *all;            /* [steps][ranks] ns of late work; [steps] of all ranks */
	double *bias;                   /* [ranks] */
	int noise, reason, long_reason; /* of delays of more than two steps */
	double level;                   /* of the noise, of a step */
};

static struct pp_table table[PP_TABLES];

static double random_one(struct job *j)
{
	j->state = j->state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(j->state >> 33) + 0.5) / 2147483648.0;
}

static size_t random_below(struct job *j, size_t n)
{
	return (size_t)(random_one(j) * (double)n) % n;
}

static double random_normal(struct job *j)
{
	return sqrt(-2 * log(random_one(j))) * cos(6.283185307179586 * random_one(j));
}

static double random_noise(struct job *j, size_t rank)
{
	double level = j->level * STEP, p = random_one(j);

	switch (j->noise) {
	case EXPONENTIAL:
		return -level * log(p);
	case LOG_NORMAL:
		return fmin(0.5 * level * exp(random_normal(j)), 0.8 * STEP);
	case PARETO: /* of infinite variance, but for the limit */
		return fmin(level * (pow(p, -1 / 2.0) - 1), 0.8 * STEP);
	case PREEMPTED: /* time slices of more ranks than cores */
		return p < 4 * j->level ? 1e6 + 9e6 * random_one(j) : 0.05 * level * fabs(random_normal(j));
	case UNEVEN:
		return j->bias[rank] * level + 0.2 * level * fabs(random_normal(j));
	default:
		return 0.2 * level * fabs(random_normal(j));
	}
}

static void begin(struct job *j, uint64_t seed, size_t ranks, size_t steps, size_t per_host)
{
	*j = (struct job){.state = seed * 7919 + 13, .ranks = ranks, .steps = steps};
	j->reason = j->long_reason = PP_CATEGORY_HOST_COMPUTE;
	j->extra = calloc(ranks * steps, sizeof(*j->extra));
	j->all = calloc(steps, sizeof(*j->all));
	j->bias = calloc(ranks, sizeof(*j->bias));
	j->row = calloc(ranks * steps, sizeof(*j->row));
	j->d.worker = calloc(ranks, sizeof(*j->d.worker));
	j->d.step = calloc(steps, sizeof(*j->d.step));
	j->d.cell = calloc(ranks * steps, sizeof(*j->d.cell));
	j->d.workers = ranks;
	j->d.steps = steps;
	for (int i = 0; i < 20; i++)
		random_one(j);
	j->collectives = 1 + 3 * random_below(j, 2);
	j->noise = (int)random_below(j, NOISES);
	j->level = 0.01 + 0.05 * random_one(j);
	for (size_t r = 0; r < ranks; r++) {
		j->bias[r] = random_one(j);
		j->d.worker[r].rank = (int32_t)r;
		snprintf(j->d.worker[r].host, sizeof(j->d.worker[r].host), "h%zu", r / per_host);
	}
	for (size_t s = 0; s < steps; s++)
		j->d.step[s].number = 10 + (int64_t)s;
}

/* Collectives of all ranks: who comes last is charged with the waiting of all. */
static void run_collective(struct job *j, size_t s, double *at, int is_first)
{
	struct pp_row_cell *cell = &j->d.cell[s * j->ranks];
	size_t last = 0;
	double sum = 0;

	for (size_t r = 0; r < j->ranks; r++) {
		double share = 1.0 / (double)j->collectives, noise = random_noise(j, r) * share;

		at[r] = STEP * share + noise + (is_first ? j->extra[s * j->ranks + r] + j->all[s] : 0);
		cell[r].exclusive_ns[PP_CATEGORY_HOST_COMPUTE] += (int64_t)at[r];
		last = at[r] > at[last] ? r : last;
	}
	for (size_t r = 0; r < j->ranks; r++) {
		int64_t wait = (int64_t)(at[last] - at[r]);

		cell[r].wait_ns += wait;
		cell[r].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] += wait + 10000;
		cell[r].step_ns += (int64_t)at[last] + 10000;
		cell[r].present = 1;
		sum += (double)wait;
	}
	cell[last].late_ns += (int64_t)sum;
}

static void run(struct job *j)
{
	double *at = calloc(j->ranks, sizeof(*at));
	struct pp_err err = {""};

	for (size_t s = 0; s < j->steps; s++)
		for (size_t i = 0; i < j->collectives; i++)
			run_collective(j, s, at, i == 0);
	for (size_t i = 0; i < j->ranks * j->steps; i++)
		if (j->d.cell[i].late_ns)
			j->row[j->rows++] = (struct pp_row_blame_step){
			        .step = j->d.step[i / j->ranks].number,
			        .worker = (int32_t)(i % j->ranks),
			        .step_blame_ns = j->d.cell[i].late_ns,
			        .step_error_ns = 1000,
			        .step_reason = (pp_c_CODE)(j->extra[i] > 2 * STEP ? j->long_reason : j->reason)};
	j->d.blame_step = j->row;
	j->d.blame_steps = j->rows;
	pp_dataset_tables(&j->d, table);
	CHECK_INT(pp_tool_straggler_class(&j->d, table, &err), 0);
	free(at);
}

static void end(struct job *j)
{
	free(j->extra);
	free(j->all);
	free(j->bias);
	free(j->row);
	free(j->d.worker);
	free(j->d.step);
	free(j->d.cell);
	free(table[PP_TABLE_straggler_class].row);
	table[PP_TABLE_straggler_class] = (struct pp_table){0};
}

static const struct pp_row_straggler_class *rows_of(size_t *ret)
{
	*ret = table[PP_TABLE_straggler_class].rows;
	return table[PP_TABLE_straggler_class].row;
}

static const struct pp_row_straggler_class *find(int class, int64_t worker)
{
	size_t n;
	const struct pp_row_straggler_class *row = rows_of(&n);

	for (size_t i = 0; i < n; i++)
		if (row[i].class == class && (worker < -1 || row[i].class_worker == worker))
			return &row[i];
	return NULL;
}

static void print_rows(const struct job *j, const char *what)
{
	size_t n;
	const struct pp_row_straggler_class *row = rows_of(&n);

	if (!getenv("CLASS_PRINT"))
		return;
	fprintf(stderr, "%s: %zu ranks, %zu steps, %zu collectives, noise %d of %.3f\n", what, j->ranks, j->steps, j->collectives,
	        j->noise, j->level);
	for (size_t i = 0; i < n && i < 5; i++)
		fprintf(stderr, "    %d %.2f %s\n", (int)row[i].class, row[i].confidence, row[i].what);
}

/* How much late: half a step is usual, more than any noise here but the rarest. */
static double late_ns(struct job *j)
{
	return STEP * (0.4 + 0.6 * random_one(j));
}

static void add_late(struct job *j, size_t step, size_t rank, double ns)
{
	j->extra[step * j->ranks + rank] += ns * (0.95 + 0.1 * random_one(j));
}

struct truth {
	int class;
	int64_t worker;        /* -2: any */
	int64_t period, first; /* 0: not judged */
};

static void add_stalls(struct job *j, size_t first, const struct truth *t, double ns)
{
	for (size_t s = first; s < j->steps; s += (size_t)t->period)
		add_late(j, s, (size_t)t->worker, ns);
}

/* Every 4th rank has this role. */
static void add_late_role(struct job *j, size_t role, double ns)
{
	for (size_t r = 0; r < j->ranks; r++)
		j->d.worker[r].role = (int32_t)(r % 4);
	for (size_t s = 0; s < j->steps; s++)
		for (size_t r = role; r < j->ranks; r += 4)
			add_late(j, s, r, ns);
}

/* Writes a pattern into the job, at a random place. */
static struct truth inject(struct job *j, int class, size_t per_host)
{
	double ns = late_ns(j), part = 0.6 + 0.4 * random_one(j);
	size_t rank = random_below(j, j->ranks), host = rank / per_host, period, phase;
	struct truth t = {class, (int64_t)rank, 0, 0};

	part = random_below(j, 2) ? 1 : part;
	switch (class) {
	case RANK:
		for (size_t s = 0; s < j->steps; s++)
			if (random_one(j) < part)
				add_late(j, s, rank, ns);
		break;
	case HOST:
		t.worker = (int64_t)(host * per_host);
		for (size_t s = 0; s < j->steps; s++)
			for (size_t r = host * per_host; r < (host + 1) * per_host; r++)
				add_late(j, s, r, ns);
		break;
	case ROLE:
		t.worker = (int64_t)(rank % 4);
		add_late_role(j, rank % 4, ns);
		break;
	case ROTATING:
		t.worker = -1;
		phase = 1 + random_below(j, 3);
		for (size_t s = 0; s < j->steps; s++)
			add_late(j, s, (rank + s * phase) % j->ranks, ns);
		break;
	case ONE_OFF:
		add_late(j, j->steps / 10 + random_below(j, j->steps - j->steps / 10), rank, (3 + 7 * random_one(j)) * STEP);
		break;
	case PERIODIC:
		period = 3 + random_below(j, j->steps / 4 - 2);
		period = period == 4 ? 5 : period;
		t.period = (int64_t)period;
		phase = random_below(j, period);
		add_stalls(j, phase, &t, 2 * ns);
		break;
	case FROM_LATER_ON:
		t.class = PERIODIC;
		period = 3 + random_below(j, j->steps / 10);
		period = period == 4 ? 3 : period;
		t.period = (int64_t)period;
		phase = period + random_below(j, j->steps - 4 * period); /* four stalls are left */
		t.first = j->d.step[phase].number;
		add_stalls(j, phase, &t, 2 * ns);
		break;
	case SMALL_ROLES: /* of one rank or two, none of them late */
		t.class = NONE;
		j->d.worker[rank].role = 1;
		if (random_below(j, 2))
			j->d.worker[(rank + 1) % j->ranks].role = 2;
		break;
	default:
		break;
	}
	return t;
}

static const struct shape {
	size_t ranks, per_host;
} shape[] = {{8, 4}, {16, 4}, {64, 8}, {1024, 8}};
static const char *const class_name[] = {"none",    "persistent_rank", "persistent_host", "persistent_role", "rotating",
                                         "one_off", "periodic",        "from later on",   "small roles"};

struct rates {
	size_t jobs, missed, more;
};

static void one_job(uint64_t seed, const struct shape *sh, size_t steps, int class, struct rates *rates)
{
	struct job j;
	struct truth t;
	const struct pp_row_straggler_class *row;
	size_t n, extra;

	begin(&j, seed, sh->ranks, steps, sh->per_host);
	t = inject(&j, class, sh->per_host);
	run(&j);
	rows_of(&n);
	row = t.class == NONE ? find(NONE, -2) : find(t.class, t.worker);
	if (row && ((t.period && row->period != t.period) || (t.first && row->first_step != t.first)))
		row = NULL;
	extra = n - (row != NULL);
	rates->jobs++;
	rates->missed += !row;
	rates->more += row && extra;
	if (!row || extra)
		print_rows(&j, class_name[class]);
	end(&j);
}

/* Rates over all sizes; `most` per cent of them may be missed, or have more than the truth. */
static void check_class(int class, size_t jobs, size_t large, double most)
{
	static const size_t steps[] = {20, 50, 100};
	struct rates all = {0};

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		struct rates rates = {0};
		size_t n = shape[i].ranks >= 1024 ? large : jobs;

		for (uint64_t seed = 0; seed < n; seed++)
			one_job(1000 * seed + 100 * i + (uint64_t) class, &shape[i], steps[seed % 3], class, &rates);
		fprintf(stderr, "%-16s %5zu ranks: %4zu jobs, missed %zu, more found in %zu\n", class_name[class], shape[i].ranks,
		        rates.jobs, rates.missed, rates.more);
		all.jobs += rates.jobs;
		all.missed += rates.missed;
		all.more += rates.more;
	}
	CHECK((double)all.missed <= most * (double)all.jobs);
	CHECK((double)all.more <= most * (double)all.jobs);
}

/* Noise only, of the kind and level given. */
static void begin_noise(struct job *j, size_t ranks, size_t steps, size_t per_host, int noise, double level)
{
	begin(j, 4711, ranks, steps, per_host);
	j->collectives = 1;
	j->noise = noise;
	j->level = level;
}

static void run_and_print(struct job *j, const char *what)
{
	run(j);
	print_rows(j, what);
}

static void several(void)
{
	const struct pp_row_straggler_class *row;
	struct job j;
	size_t n;

	begin_noise(&j, 16, 40, 4, EXPONENTIAL, 0.01); /* ranks that are late in all steps, by unequal times, and a single stall */
	for (size_t s = 0; s < 40; s++) {
		add_late(&j, s, 3, 0.5 * STEP);
		add_late(&j, s, 9, 0.35 * STEP);
	}
	add_late(&j, 30, 12, 5 * STEP);
	run_and_print(&j, "several");
	rows_of(&n);
	CHECK_INT(n, 3);
	CHECK(find(RANK, 3) && find(RANK, 9));
	row = find(ONE_OFF, 12);
	CHECK(row && row->first_step == 40 && row->class_steps == 1);
	CHECK(row && strncmp(row->what, "Once, in step 40, rank 12 on host h3", 36) == 0);
	if (find(RANK, 3)) {
		CHECK(find(RANK, 3)->confidence > 0.8);
		CHECK_INT(find(RANK, 3)->class_reason, PP_CATEGORY_HOST_COMPUTE);
		CHECK(strstr(find(RANK, 3)->what, "Rank 3 on host h0 is later than its peers by"));
	}
	end(&j);
	begin_noise(&j, 32, 100, 4, EXPONENTIAL, 0.01); /* three ranks, equally late */
	for (size_t s = 0; s < 100; s++)
		for (size_t r = 5; r < 32; r += 10)
			add_late(&j, s, r, 0.5 * STEP);
	run_and_print(&j, "three");
	rows_of(&n);
	CHECK_INT(n, 3);
	CHECK(find(RANK, 5) && find(RANK, 15) && find(RANK, 25));
	end(&j);
	begin_noise(&j, 16, 100, 4, EXPONENTIAL, 0.01); /* in three of ten steps, without order */
	for (size_t s = 0; s < 100; s++)
		if (random_one(&j) < 0.3)
			add_late(&j, s, 7, STEP);
	run_and_print(&j, "some");
	CHECK(find(RANK, 7) != NULL);
	CHECK(find(RANK, 7) && find(RANK, 7)->class_steps < 50);
	end(&j);
}

static void hosts_and_pairs(void)
{
	const struct pp_row_straggler_class *row;
	struct job j;
	size_t n;

	begin_noise(&j, 8, 30, 1, EXPONENTIAL, 0.01); /* a host of one rank is a rank */
	for (size_t s = 0; s < 30; s++)
		add_late(&j, s, 6, 0.3 * STEP);
	run_and_print(&j, "host of one");
	rows_of(&n);
	CHECK_INT(n, 1);
	row = find(RANK, 6);
	CHECK(row && row->rank_share > 0.8 && row->rank_share <= 1 && row->host_share > 0.8 && row->step_share < 0.2);
	end(&j);
	begin_noise(&j, 8, 30, 2, EXPONENTIAL, 0.01); /* a host whose one rank is always the last */
	for (size_t s = 0; s < 30; s++) {
		add_late(&j, s, 4, 0.5 * STEP);
		add_late(&j, s, 5, 0.6 * STEP);
	}
	run_and_print(&j, "host");
	rows_of(&n);
	CHECK_INT(n, 1);
	CHECK(find(HOST, 4) != NULL);
	CHECK_STR(find(HOST, 4) ? find(HOST, 4)->class_host : "", "h2");
	end(&j);
	begin_noise(&j, 2, 30, 1, EXPONENTIAL, 0.02);
	run_and_print(&j, "two ranks, noise");
	CHECK(find(NONE, -1) != NULL);
	end(&j);
	begin_noise(&j, 2, 30, 1, EXPONENTIAL, 0.02);
	for (size_t s = 0; s < 30; s++)
		add_late(&j, s, 1, 0.3 * STEP);
	run_and_print(&j, "two ranks");
	CHECK(find(RANK, 1) != NULL);
	end(&j);
}

static void stalls(void)
{
	struct job j;
	size_t n;
	const struct pp_row_straggler_class *row;

	begin_noise(&j, 16, 60, 4, EXPONENTIAL, 0.01); /* all ranks write a checkpoint */
	for (size_t s = 4; s < 60; s += 10)
		j.all[s] = 2 * STEP;
	run_and_print(&j, "all stall");
	rows_of(&n);
	row = find(PERIODIC, -1);
	CHECK_INT(n, 1);
	CHECK(row && row->period == 10 && row->first_step == 14 && row->class_steps == 6);
	CHECK(row && strstr(row->what, "All ranks together stall every 10 steps"));
	end(&j);
	begin_noise(&j, 16, 60, 4, EXPONENTIAL, 0.01); /* some rank, another one each time */
	for (size_t s = 4; s < 60; s += 10)
		add_late(&j, s, (s * 7) % 16, 2 * STEP);
	run_and_print(&j, "some rank stalls");
	row = find(PERIODIC, -1);
	CHECK(row && row->period == 10);
	end(&j);
	begin_noise(&j, 8, 60, 4, EXPONENTIAL, 0.01); /* every second step is a period */
	for (size_t s = 0; s < 60; s += 2)
		add_late(&j, s, 5, STEP);
	run_and_print(&j, "every second");
	row = find(PERIODIC, 5);
	rows_of(&n);
	CHECK(n == 1 && row && row->period == 2);
	end(&j);
	begin_noise(&j, 8, 100, 4, EXPONENTIAL, 0.01); /* turns of five steps */
	for (size_t s = 0; s < 100; s++)
		add_late(&j, s, s / 5 % 8, STEP);
	run_and_print(&j, "turns of five");
	rows_of(&n);
	CHECK(n == 1 && find(ROTATING, -1));
	end(&j);
}

/* A rank that stalls, and is late in other steps for another reason. */
static void late_and_stalls(void)
{
	const struct pp_row_straggler_class *row, *stall;
	struct job j;
	size_t n;

	begin_noise(&j, 8, 60, 4, EXPONENTIAL, 0.01);
	j.long_reason = PP_CATEGORY_OUTPUT;
	for (size_t s = 0; s < 60; s++)
		add_late(&j, s, 3, s % 10 == 4 ? 6 * STEP : 0.4 * STEP);
	run_and_print(&j, "late and stalls");
	rows_of(&n);
	row = find(RANK, 3);
	stall = find(PERIODIC, 3);
	CHECK(n == 2 && row && stall);
	CHECK(row && row->class_reason == PP_CATEGORY_HOST_COMPUTE && (double)row->class_ns < 7 * 60 * 0.5 * STEP);
	CHECK(stall && strstr(stall->next, "write in the background"));
	CHECK(stall && stall->class_reason == PP_CATEGORY_OUTPUT && stall->period == 10 &&
	      (double)stall->class_ns > 7 * 6 * 5 * STEP);
	end(&j);
	begin_noise(&j, 8, 60, 4, CALM, 0.01); /* so short beside the stalls that nobody cares */
	j.long_reason = PP_CATEGORY_OUTPUT;
	for (size_t s = 0; s < 60; s++)
		add_late(&j, s, 3, s % 10 == 4 ? 60 * STEP : 0.1 * STEP);
	run_and_print(&j, "late by nothing and stalls");
	rows_of(&n);
	CHECK(n == 1 && find(PERIODIC, 3));
	end(&j);
}

/* Start-up in the job's first step, delays within the clock error, no delays at all, one rank. */
static void nothing_to_find(void)
{
	struct job j;
	size_t n;

	begin_noise(&j, 8, 20, 4, EXPONENTIAL, 0.01);
	for (size_t s = 0; s < 20; s++)
		j.d.step[s].number = (int64_t)s;
	add_late(&j, 0, 3, 20 * STEP);
	run_and_print(&j, "start-up");
	CHECK(find(NONE, -1) != NULL);
	end(&j);
	begin_noise(&j, 8, 20, 4, CALM, 0.01);
	for (size_t s = 0; s < 20; s++)
		add_late(&j, s, 3, 0.02 * STEP);
	run_and_print(&j, "small");
	CHECK(find(NONE, -1) != NULL);
	end(&j);
	begin_noise(&j, 1, 20, 1, EXPONENTIAL, 0.01);
	run_and_print(&j, "one rank");
	rows_of(&n);
	CHECK_INT(n, 0);
	end(&j);
}

/* Late where the made job says so: in these jobs every late rank is so for a reason of its own. */
static void classify_made(struct pp_dataset *d, struct job *j)
{
	struct pp_err err = {""};

	*j = (struct job){.ranks = d->workers, .steps = d->steps};
	j->row = calloc(d->workers * d->steps, sizeof(*j->row));
	for (size_t i = 0; i < d->workers * d->steps; i++)
		if (d->cell[i].late_ns)
			j->row[j->rows++] = (struct pp_row_blame_step){.step = d->step[i / d->workers].number,
			                                               .worker = (int32_t)(i % d->workers),
			                                               .step_blame_ns = d->cell[i].late_ns,
			                                               .step_reason = PP_CATEGORY_HOST_COMPUTE};
	d->blame_step = j->row;
	d->blame_steps = j->rows;
	pp_dataset_tables(d, table);
	CHECK_INT(pp_tool_role(d, table, &err), 0);
	d->role = table[PP_TABLE_role].row;
	d->roles = table[PP_TABLE_role].rows;
	CHECK_INT(pp_tool_straggler_class(d, table, &err), 0);
}

static void release_made(struct pp_dataset *d, struct job *j)
{
	struct pp_intern *names = (struct pp_intern *)d->names;

	d->blame_step = NULL;
	d->blame_steps = 0;
	free(j->row);
	pp_dataset_release(d);
	pp_intern_free(names);
	free(table[PP_TABLE_straggler_class].row);
}

/* Stages of `width` ranks; stages wait for each other in every step, although no rank is slow. `slow`: a rank, or 100 + a stage. */
static struct pp_dataset make_pipeline(size_t stages, size_t width, size_t slow, uint64_t seed)
{
	struct pp_made_job m;
	struct job random = {.state = seed};
	size_t ranks = stages * width, hops = 2 * (stages - 1);
	uint64_t group[4];

	pp_made_begin(&m, ranks, 4, 5, 40);
	for (int32_t g = 0; g < 4 && width == 4; g++)
		group[g] = pp_made_communicator(&m, "stage", (int32_t[]){g * 4, g * 4 + 1, g * 4 + 2, g * 4 + 3}, 4);
	for (size_t s = 0; s < 40; s++) {
		pp_made_begin_all(&m, s);
		for (size_t i = 0; i < 8 * hops; i++) { /* 8 micro-batches, forward and backward */
			size_t hop = i % hops, a = hop < stages - 1 ? hop : hops - hop, b = hop < stages - 1 ? hop + 1 : a - 1;

			for (size_t r = 0; r < width; r++) {
				size_t from = a * width + r;
				double ns = 1e6 * (1 - 0.05 * log(random_one(&random)));

				ns *= a == 0 || a == stages - 1 ? 2 : 1; /* the others work forward and backward */
				ns *= slow == from || slow == 100 + a ? 1.6 : 1;
				pp_made_work(&m, from, PP_CATEGORY_HOST_COMPUTE, (int64_t)ns);
				pp_made_message(&m, from, b * width + r, 0, 1 << 16, 5000, 1);
			}
		}
		for (size_t g = 0; g < 4 && width == 4; g++)
			pp_made_collective(&m, group[g], "MPI_Allreduce", 1 << 20, 100000);
		pp_made_end_all(&m);
	}
	return pp_made_end(&m);
}

static void pipelines(void)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct pp_dataset d = make_pipeline(4, 4, SIZE_MAX, seed);
		struct job j;
		size_t n, slow = (size_t)seed % 16;

		classify_made(&d, &j);
		print_rows(&j, "pipeline");
		CHECK_INT(d.roles, 3);
		CHECK(find(NONE, -1) != NULL);
		release_made(&d, &j);
		d = make_pipeline(4, 4, slow, seed);
		classify_made(&d, &j);
		print_rows(&j, "pipeline with a slow rank");
		rows_of(&n);
		CHECK(n == 1 && find(RANK, (int64_t)slow));
		release_made(&d, &j);
		d = make_pipeline(4, 4, 101 + seed % 2, seed); /* a stage in the middle */
		classify_made(&d, &j);
		print_rows(&j, "pipeline with a slow stage");
		rows_of(&n);
		CHECK(n == 1 && find(ROLE, 4));
		release_made(&d, &j);
	}
}

/* A job whose blame and roles are found by their own tools. */
static void run_made(struct pp_dataset *d, const char *what)
{
	struct pp_err err = {""};
	struct job j = {.ranks = d->workers, .steps = d->steps};

	CHECK_INT(pp_tools_run(d, &err), 0);
	table[PP_TABLE_straggler_class] = (struct pp_table){.row = d->straggler_class, .rows = d->straggler_classes};
	print_rows(&j, what);
}

static void end_made(struct pp_dataset *d)
{
	struct pp_intern *names = (struct pp_intern *)d->names;

	pp_dataset_release(d);
	pp_intern_free(names);
	table[PP_TABLE_straggler_class] = (struct pp_table){0};
}

/* Ranks `from` and `to` have roles of their own: a message, then a sum of all. From step 6 on `slow` works 5 ms longer. `to`
 * SIZE_MAX: all others send to `from`, a role of one rank. */
static struct pp_dataset make_relay(size_t ranks, size_t from, size_t to, size_t slow, uint64_t seed)
{
	struct pp_made_job m;
	struct job random = {.state = seed};

	pp_made_begin(&m, ranks, 4, 1, 32);
	for (size_t s = 0; s < 32; s++) {
		for (size_t r = 0; r < ranks; r++) {
			pp_made_step_begin(&m, r, s);
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, (int64_t)(5e6 * (1 - 0.02 * log(random_one(&random)))));
			if (r == slow && s >= 6)
				pp_made_work(&m, r, PP_CATEGORY_INPUT, 5000000);
		}
		for (size_t r = 0; r < ranks && to == SIZE_MAX; r++)
			if (r != from)
				pp_made_message(&m, r, from, 0, 64, 1000, 0);
		if (to != SIZE_MAX)
			pp_made_message(&m, from, to, 0, 64, 1000, 0);
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 10, 20000);
		pp_made_end_all(&m);
	}
	return pp_made_end(&m);
}

static void small_roles(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t ranks = 6 + seed % 10, from = seed % ranks, to = seed % 3 ? (from + 1 + seed % 4) % ranks : SIZE_MAX, n;
		struct pp_dataset d = make_relay(ranks, from, to, SIZE_MAX, seed);

		run_made(&d, "relay");
		CHECK(d.roles >= 2);
		CHECK(find(NONE, -1) != NULL);
		end_made(&d);
		for (size_t slow = 0; slow < ranks; slow++) {
			d = make_relay(ranks, from, to, slow, seed);
			run_made(&d, "relay with a slow rank");
			rows_of(&n);
			CHECK(n == 1 && find(RANK, (int64_t)slow) && find(RANK, (int64_t)slow)->class_reason == PP_CATEGORY_INPUT);
			end_made(&d);
		}
	}
}

/* Its ends are roles of one rank: a place there alone makes nobody late. */
static void narrow_pipelines(void)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		size_t stages = 5 + seed, n;
		struct pp_dataset d = make_pipeline(stages, 1, SIZE_MAX, seed);

		run_made(&d, "narrow pipeline");
		CHECK_INT(d.roles, 3);
		CHECK(find(NONE, -1) != NULL);
		end_made(&d);
		for (size_t slow = 0; slow < stages; slow += stages - 1) {
			d = make_pipeline(stages, 1, slow, seed);
			run_made(&d, "narrow pipeline with a slow end");
			rows_of(&n);
			CHECK(n == 1 && find(RANK, (int64_t)slow));
			end_made(&d);
		}
	}
}

/* Any bits in any row: no crash, numbers that a file may hold. */
static void hostile(void)
{
	for (uint64_t seed = 1; seed < 300; seed++) {
		struct job j;
		size_t n;
		const struct pp_row_straggler_class *row;

		begin(&j, seed, 8, 20, 4);
		inject(&j, (int)(seed % 7), 4);
		run(&j);
		free(table[PP_TABLE_straggler_class].row);
		for (int i = 0; i < 60; i++) {
			size_t which = random_below(&j, 4), size;
			unsigned char *byte = which == 0   ? (unsigned char *)&j.d.cell[random_below(&j, 160)]
			                      : which == 1 ? (unsigned char *)&j.row[random_below(&j, j.rows)]
			                      : which == 2 ? (unsigned char *)&j.d.step[random_below(&j, 20)]
			                                   : (unsigned char *)&j.d.worker[random_below(&j, 8)].role;

			size = which == 0   ? sizeof(*j.d.cell)
			       : which == 1 ? sizeof(*j.row)
			       : which == 2 ? sizeof(*j.d.step)
			                    : sizeof(j.d.worker->role);
			byte[random_below(&j, size)] = (unsigned char)random_below(&j, 256);
		}
		pp_dataset_tables(&j.d, table);
		CHECK_INT(pp_tool_straggler_class(&j.d, table, &(struct pp_err){""}), 0);
		row = rows_of(&n);
		CHECK(n > 0);
		for (size_t i = 0; i < n; i++)
			CHECK(row[i].class_ns >= 0 && row[i].class_ns <= PP_TABLE_TIME_MAX && row[i].confidence >= 0 &&
			      row[i].confidence <= 1 && row[i].class <= PERIODIC && row[i].class_worker >= -1 &&
			      row[i].class_worker < 8);
		end(&j);
	}
}

int main(int argc, char **argv)
{
	size_t jobs = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 60, large = jobs / 10;

	check_class(NONE, 5 * jobs, large, 0.01);
	check_class(RANK, jobs, large, 0.03);
	check_class(HOST, jobs, large, 0.03);
	check_class(ROLE, jobs, large, 0.03);
	check_class(ROTATING, jobs, large, 0.03);
	check_class(ONE_OFF, jobs, large, 0.05);
	check_class(PERIODIC, jobs, large, 0.05);
	check_class(FROM_LATER_ON, jobs, large, 0.05);
	check_class(SMALL_ROLES, 5 * jobs, large, 0.01);
	several();
	hosts_and_pairs();
	stalls();
	late_and_stalls();
	nothing_to_find();
	pipelines();
	small_roles();
	narrow_pipelines();
	hostile();
	return test_end();
}
