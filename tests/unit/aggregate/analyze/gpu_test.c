/* /gpu and /port of samples made by hand. gpu_test GOLDEN [--update]. */
#include "core/capture/side.h"
#include "tests/unit/aggregate/tools_kit.h"

enum { MOST = 16, MS = 1000000 };

/* A sample of which nothing is known but the time. */
static struct pp_state *sample(struct kit *k, size_t r, uint32_t device, int64_t time)
{
	struct pp_rank *rank = &k->capture.rank[r];
	struct pp_state *s;

	if (!rank->state)
		rank->state = calloc(MOST, sizeof(*s));
	s = &rank->state[rank->states++];
	memset(s, 0xff, sizeof(*s));
	s->pressure_cpu = s->pressure_memory = s->pressure_io = -1;
	s->time = time;
	s->device = device + 1;
	return s;
}

static void clocked(struct pp_state *s, int64_t mhz, int64_t mw, int64_t reason, int64_t busy)
{
	s->clock_hz = mhz * 1000000;
	s->memory_hz = 2619000000;
	s->max_hz = 1980000000;
	s->power_mw = mw;
	s->reason = reason;
	s->busy = busy;
	s->limit_mw = 650000;
	s->default_mw = 700000;
}

static void counted(struct pp_state *s, int64_t base)
{
	s->energy_mj = 100000 + base;
	s->power_ns = 50 * base;
	s->thermal_ns = 0;
	s->ecc_corrected = base / 10;
	s->ecc_uncorrected = 0;
	s->pcie_replays = base;
	s->pcie_sent = (UINT32_MAX - 10 + base) & UINT32_MAX; /* goes round */
	s->pcie_received = 1000 - base;                       /* goes back: somebody reset it */
	s->nvlink_sent = base * 1024;
	s->nvlink_errors = base == 20 ? 3 : 2;
}

static void add_device(struct kit *k, size_t r, size_t devices)
{
	struct pp_rank *rank = &k->capture.rank[r];

	rank->device = calloc(devices, sizeof(*rank->device));
	rank->devices = devices;
	for (size_t i = 0; i < devices; i++)
		rank->device[i] = (struct pp_device){.number = (uint32_t)i, .kind = "GPU"};
}

/* Rank 0: a GPU with kernels; samples far from them are idle. Its second GPU has no sample. */
static void add_working(struct kit *k)
{
	add_span(&k->capture, 0, 1, PP_SPAN_DEVICE, "kernel", kit_at(1), kit_at(1) + 500);
	k->capture.rank[0].thread[1].device = 1;
	add_device(k, 0, 2);
	clocked(sample(k, 0, 0, kit_at(1)), 1400, 500000, 4, 90);
	counted(&k->capture.rank[0].state[0], 0);
	clocked(sample(k, 0, 0, kit_at(1) + 10 * MS), 1500, 600000, 0x20, 80);
	counted(&k->capture.rank[0].state[1], 20);
	k->capture.rank[0].state[1].temperature = 82;
	k->capture.rank[0].state[1].processes = 2;
	clocked(sample(k, 0, 0, kit_at(1) + 60 * MS), 300, 90000, 1, 10); /* idle */
	k->capture.rank[0].state[2].temperature = 60;
	k->capture.rank[0].state[2].remap = 1;
}

/* Rank 1: no kernel was recorded: the driver says when it worked. One sample: no count grew. The host's own row is none of it. */
static void add_unseen(struct kit *k)
{
	add_device(k, 1, 1);
	sample(k, 1, 0, kit_at(1))->device = 0;
	clocked(sample(k, 1, 0, kit_at(2)), 1980, 650000, 0, 100);
	counted(&k->capture.rank[1].state[1], 10);
	clocked(sample(k, 1, 0, kit_at(3)), 210, 80000, 1, 0);
}

static void port(struct kit *k, size_t r, const char *name, int64_t time, int64_t sent, int64_t errors)
{
	struct pp_rank *rank = &k->capture.rank[r];
	struct pp_port *p;

	if (!rank->port)
		rank->port = calloc(MOST, sizeof(*p));
	p = &rank->port[rank->ports++];
	*p = (struct pp_port){.time = time,
	                      .rate_mbit = -1,
	                      .sent = sent,
	                      .received = -1,
	                      .errors = errors,
	                      .dropped = 0,
	                      .lost = -1,
	                      .waited = -1};
	snprintf(p->name, sizeof(p->name), "%s", name);
}

/* Two ports in turn, one with a count that was reset; one that was read once. */
static void add_ports(struct kit *k)
{
	port(k, 0, "mlx5_0/1", kit_at(1), 1000, 1);
	port(k, 0, "eth0", kit_at(1), 5, 0);
	port(k, 0, "mlx5_0/1", kit_at(2), 4000, 3);
	port(k, 0, "eth0", kit_at(2), 2, 0);
	port(k, 0, "mlx5_0/1", kit_at(3), 4500, 3);
	port(k, 0, "eth0", kit_at(3), 7, 0);
	port(k, 1, "eth0", kit_at(2), 7, 0);
}

int main(int argc, char **argv)
{
	struct kit k;

	kit_begin(&k);
	add_working(&k);
	add_unseen(&k);
	add_ports(&k);
	kit_end(&k);
	kit_table(&k, PP_TABLE_gpu);
	kit_table(&k, PP_TABLE_state);
	kit_table(&k, PP_TABLE_port);
	kit_check(&k, argv[1], argc > 2);
	return test_end();
}
