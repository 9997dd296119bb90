/* The clock: what mapping and solving cost, what a round takes and how good it is at 64 to 10 240 domains beside Score-P's scheme,
 * what the kernel's receive stamps bring. Simulated hosts run the real exchange in virtual time (clock_sim.h of the unit tests). */
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"
#include "core/clock/tree.h"
#include "tests/bench/bench.h"
#include "tests/unit/aggregate/keeper/clock/clock_sim.h"

enum { STAMPS = 200000, SECOND = 1000000000, PINGS = 10, TRIPS = 100 };

static int figure(const char *what, const char *unit, double value, double gate, const char *note)
{
	struct bench_figure f = {.bench = "clock", .what = what, .unit = unit, .gate = gate, .note = note};

	f.value = f.low = f.high = value;
	return bench_print(&f);
}

/* A band of bursts every 5 s, 100 trips of 30 us each. */
static void fill(struct pp_band *b, int bursts)
{
	struct pp_band_options o = {0};

	pp_band_init(b, &o, NULL);
	for (int k = 0; k < bursts; k++) {
		int64_t x = k * 5 * (int64_t)SECOND;
		struct pp_band_group *g = pp_band_begin(b, x, x + 7);

		for (int i = 0; i < TRIPS; i++, x += 40000) {
			int64_t late = (i * 7919) % 3000;

			pp_band_trip(b, g, x, x + 15000 + late, x + 16000 + late, x + 31000 + 2 * late);
		}
	}
}

static int mapping(void)
{
	static int64_t time[STAMPS];
	struct bench_figure f = {.bench = "clock", .what = "a sorted run through 120 pieces", .unit = "ns/stamp", .gate = 3};
	double took[BENCH_REPS];
	struct pp_pieces p;
	struct pp_band b;

	fill(&b, 120);
	pp_band_solve(&b, NULL);
	pp_pieces_of_band(&b, SECOND, &p, NULL);
	for (int r = 0; r < BENCH_REPS; r++) {
		double begin;

		for (int i = 0; i < STAMPS; i++)
			time[i] = i * (int64_t)(595.0 * SECOND / STAMPS);
		begin = bench_ns();
		pp_pieces_map_run(&p, time, STAMPS, sizeof(time[0]));
		took[r] = (bench_ns() - begin) / STAMPS;
	}
	bench_take(&f, took, BENCH_REPS, 0.25, 0.5, 0.75);
	pp_pieces_release(&p);
	pp_band_release(&b);
	return bench_print(&f);
}

static int solving(void)
{
	struct bench_figure f = {.bench = "clock", .what = "a window of 30 s: hulls of 7 bursts, band", .unit = "us", .gate = 0};
	double took[BENCH_REPS];

	for (int r = 0; r < BENCH_REPS; r++) {
		double begin = bench_ns();
		struct pp_band b;

		fill(&b, 7);
		pp_band_solve(&b, NULL);
		took[r] = (bench_ns() - begin) / 1000;
		pp_band_release(&b);
	}
	bench_take(&f, took, BENCH_REPS, 0.25, 0.5, 0.75);
	return bench_print(&f);
}

static const struct sim_path ethernet = {15000, 15000, 5000, 300000, 0.05, 0.001};

static void set_hosts(struct sim *s)
{
	for (uint32_t i = 0; i < s->hosts; i++) {
		struct sim_host *h = &s->host[i];

		h->clock.offset_ns = 7300 * (int64_t)SECOND + sim_between(s, -7200 * (int64_t)SECOND, 7200 * (int64_t)SECOND);
		h->clock.drift = 200e-6 * (2 * sim_random(s) - 1);
		h->clock.sway = 0.05e-6 * sim_random(s);
		h->clock.period_ns = (20 + 40 * sim_random(s)) * SECOND;
		h->path = ethernet;
		h->path.up *= 0.8 + 0.4 * sim_random(s);
		h->path.down *= 0.8 + 0.4 * sim_random(s);
	}
}

struct score {
	double offset[2], at[2]; /* at both ends */
};

/* Score-P: rank 0 with each of the others in turn, 10 ping-pongs, the middle of the shortest; at both ends, a line in between. */
static int64_t score_p(struct sim *s, struct score *score, int end, int64_t begin)
{
	int64_t t = begin;

	for (uint32_t i = 1; i < s->hosts; i++) {
		const struct sim_host *h = &s->host[i];
		int64_t shortest = INT64_MAX;

		for (int k = 0; k < PINGS; k++) {
			int64_t sent = sim_tick(&s->host[0].clock, t), there = 0, back;

			for (int way = 0; way < 2; way++) {
				t += (int64_t)((way ? h->path.up : h->path.down) - ethernet.jitter * log(1 - sim_random(s)));
				t += sim_random(s) < ethernet.stall_part ? (int64_t)(ethernet.stall * sim_random(s)) : 0;
				t += (int64_t)(-s->handle_ns * log(1 - sim_random(s)));
				if (!way)
					there = sim_tick(&h->clock, t);
			}
			back = sim_tick(&s->host[0].clock, t);
			if (back - sent < shortest) {
				shortest = back - sent;
				score[i].at[end] = (double)there;
				score[i].offset[end] = (double)(sent + (back - sent) / 2 - there);
			}
		}
	}
	return t - begin;
}

static double score_error(const struct sim *s, const struct score *score, uint32_t host, int64_t at)
{
	double x = (double)sim_tick(&s->host[host].clock, at), y = (double)sim_tick(&s->host[0].clock, at);
	double f = (x - score[host].at[0]) / (score[host].at[1] - score[host].at[0]);

	return fabs(x + score[host].offset[0] + f * (score[host].offset[1] - score[host].offset[0]) - y);
}

/* A window of 30 s: ours has a round at begin and end and every 5 s, theirs one at each end. */
static int scale(uint32_t domains)
{
	struct score *score = calloc(domains, sizeof(*score));
	int64_t ours = 0, theirs, end = 30 * (int64_t)SECOND;
	double worst = 0, bound = 0, worst_score = 0;
	char what[96], note[200];
	uint64_t instants = 0, above = 0;
	struct sim s;

	if (!score || sim_open(&s, domains, domains))
		return 1;
	set_hosts(&s);
	sim_connect(&s, 30);
	for (uint64_t round = 1; round <= 7; round++) {
		int64_t took = sim_round(&s, round, 5 * (int64_t)SECOND);

		ours = took > ours ? took : ours;
		sim_run(&s, (int64_t)round * 5 * SECOND);
	}
	theirs = score_p(&s, score, 0, SECOND);
	score_p(&s, score, 1, end);
	for (uint32_t i = 1; i < domains; i++) {
		struct pp_pieces p;

		if (sim_pieces(&s, i, 10 * (int64_t)SECOND, &p, NULL))
			continue;
		for (int64_t at = SECOND; at < end; at += SECOND / 3) {
			int64_t x = sim_tick(&s.host[i].clock, at), here = pp_pieces_bound(&p, x);
			int64_t error = llabs(pp_pieces_map(&p, x) - sim_tick(&s.host[0].clock, at));

			instants++;
			above += error > here;
			worst = fmax(worst, (double)error);
			bound = fmax(bound, (double)here);
			worst_score = fmax(worst_score, score_error(&s, score, i, at));
		}
		pp_pieces_release(&p);
	}
	printf("| %u | %s | %.0f ms | %.1f us | %.1f us | %.0f ms | %.1f us | none |\n", domains,
	       pp_tree_hubs(domains) ? "two levels" : "star", (double)ours / 1e6, bound / 1e3, worst / 1e3, (double)theirs / 1e6,
	       worst_score / 1e3);
	snprintf(what, sizeof(what), "a round of %u domains, simulated", domains);
	snprintf(note, sizeof(note),
	         "worst bound %.1f us, worst error %.1f us, %llu of %llu instants above their bound; Score-P's scheme %.0f ms, "
	         "worst "
	         "error %.1f us, no bound",
	         bound / 1e3, worst / 1e3, (unsigned long long)above, (unsigned long long)instants, (double)theirs / 1e6,
	         worst_score / 1e3);
	domains = pp_tree_hubs(domains) ? domains : 0;
	sim_close(&s);
	free(score);
	/* With two levels no slower than theirs, which is 10 trips with one after another. */
	return figure(what, "ms", (double)ours / 1e6, domains ? (double)theirs / 1e6 : 0, note) | (above || !instants);
}

static void nap(int64_t ns)
{
	struct timespec t = {ns / SECOND, ns % SECOND};

	nanosleep(&t, NULL);
}

static const uint8_t key[PP_CLOCK_KEY] = {1};

static struct pp_clock_link *open_link(int no_stamps)
{
	struct pp_clock_link_options o = {.kind = PP_TICK_RAW, .ticks_per_ns = 1, .no_kernel_stamps = no_stamps};
	struct pp_clock_link *l = NULL;

	return pp_clock_link_open(&o, &l, NULL) ? NULL : l;
}

static double median_bound(struct pp_clock_link *l)
{
	double width[64];
	struct pp_band_node *node = NULL;
	struct pp_pieces p;
	size_t nodes = 0;
	int widths = 0;

	if (pp_clock_link_pieces(l, SECOND, &p, NULL) || pp_clock_link_nodes(l, &node, &nodes, NULL))
		return 0;
	for (size_t i = 0; i < nodes && i < 64; i++)
		width[widths++] = (node[i].high - node[i].low) / 2;
	qsort(width, (size_t)widths, sizeof(width[0]), bench_order);
	pp_pieces_release(&p);
	free(node);
	return widths ? width[widths / 2] : 0;
}

static double children_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* Two processes on loopback, 21 rounds of 100 trips. */
static int sockets(int no_stamps)
{
	static const uint32_t child[] = {1};
	struct pp_clock_exchange_options o = {.child = child, .children = 1}, other = {.self = 1, .hello_ns = 10000000};
	static const char address[] = "127.0.0.1";
	struct pp_clock_link *l = open_link(no_stamps), *c;
	struct pp_clock_link_state state = {0};
	double took[21], bound = 0, cpu;
	char note[96];
	double before = children_ms();
	uint16_t port;
	int pipes[2];
	pid_t pid;

	memcpy(o.key, key, sizeof(key));
	memcpy(other.key, key, sizeof(key));
	if (!l || pp_clock_link_bind(l, address, &port, NULL) || pp_clock_link_join(l, &o, NULL, 0, NULL) || pipe(pipes))
		return 1;
	pid = fork();
	if (!pid) {
		c = open_link(no_stamps);
		if (!c || pp_clock_link_join(c, &other, address, port, NULL))
			_exit(1);
		for (int i = 0; i < 3000 && (state.turn < 21 || state.busy); i++, nap(5000000))
			pp_clock_link_state(c, &state);
		bound = median_bound(c);
		_exit(write(pipes[1], &bound, sizeof(bound)) != sizeof(bound));
	}
	for (int i = 0; i < 1000 && !state.answered; i++, nap(2000000))
		pp_clock_link_state(l, &state);
	for (uint64_t r = 1; r <= 21; r++) {
		pp_clock_link_start(l, r);
		do {
			nap(1000000);
			pp_clock_link_state(l, &state);
		} while (state.busy);
		took[r - 1] = (double)state.round_took_ns / 1e6;
	}
	if (read(pipes[0], &bound, sizeof(bound)) != sizeof(bound))
		bound = 0;
	waitpid(pid, NULL, 0);
	cpu = children_ms() - before;
	qsort(took, 21, sizeof(took[0]), bench_order);
	snprintf(note, sizeof(note), "median round %.1f ms, %.2f ms CPU of the asking keeper", took[10], cpu / 21);
	pp_clock_link_free(l);
	return figure(no_stamps ? "UDP loopback, own receive stamps: half width"
	                        : "UDP loopback, the kernel's receive stamps: half width",
	              "ns", bound, 0, note);
}

int main(void)
{
	int missed;

	if (!bench_asked())
		return 77;
	missed = mapping();
	missed |= solving();
	for (int i = 0; i < 2; i++) {
		missed |= sockets(1);
		missed |= sockets(0);
	}
	printf("| domains | tree | a round | worst bound | worst error | Score-P's: a round | worst error | bound |\n");
	for (uint32_t domains = 64; domains <= 4096; domains *= 4) /* the last stands for 10 240 */
		missed |= scale(domains < 4096 ? domains : 10240);
	return missed;
}
