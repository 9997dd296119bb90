/* Reads the counters of network ports; see port.h. What a device does not count is unknown. */
#include "aggregate/keeper/host/port.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/proc.h"
#include "core/base/tick.h"
#include "core/capture/rank.h"

enum { MOST_ROWS = 65536, WORD_BYTES = 4 };

static const int64_t period_ns = 500000000;

void pp_ports_init(struct pp_ports *p, const char *root)
{
	*p = (struct pp_ports){.root = root};
}

void pp_ports_release(struct pp_ports *p)
{
	free(p->row);
	*p = (struct pp_ports){.root = p->root};
}

/* The text of a file of the port, or of another one; "" where there is none. */
static const char *read_text(const struct pp_ports *p, const char *path, const char *name, char *text, size_t size)
{
	char full[512];
	long n;

	snprintf(full, sizeof(full), "%s%s/%s", p->root, path, name);
	n = pp_proc_read(full, text, size);
	if (n <= 0)
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* -1: there is no such counter. */
static int64_t read_count(const struct pp_ports *p, const char *path, const char *name)
{
	char text[64], *end;
	long long value;

	read_text(p, path, name, text, sizeof(text));
	value = strtoll(text, &end, 10);
	return end == text || value < 0 ? -1 : value;
}

/* Of those that are known; -1: none is. */
static int64_t sum_counts(const struct pp_ports *p, const char *path, const char *const *name)
{
	int64_t sum = -1;

	for (; *name; name++) {
		const int64_t one = read_count(p, path, *name);

		if (one >= 0)
			sum = (sum < 0 ? 0 : sum) + one;
	}
	return sum;
}

static struct pp_port_place *add_place(struct pp_ports *p, const char *name, const char *path, enum pp_port_link link)
{
	struct pp_port_place *place = &p->place[p->places];

	if (p->places == PP_PORTS || snprintf(place->name, sizeof(place->name), "%s", name) >= (int)sizeof(place->name) ||
	    snprintf(place->path, sizeof(place->path), "%s", path) >= (int)sizeof(place->path)) {
		p->left_out++;
		return NULL;
	}
	p->places++;
	place->link = (uint8_t)link;
	place->rate_mbit = -1;
	return place;
}

static void find_infiniband(struct pp_ports *p, const char *device)
{
	char path[300], text[64], name[300];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports", p->root, device);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		struct pp_port_place *place;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s/ports/%.16s", device, e->d_name);
		snprintf(name, sizeof(name), "%.18s/%.4s", device, e->d_name);
		if (strncmp(read_text(p, path, "state", text, sizeof(text)), "4:", 2) != 0) /* 4: ACTIVE */
			continue;
		read_text(p, path, "link_layer", text, sizeof(text));
		place = add_place(p, name, path, !strcmp(text, "Ethernet") ? PP_PORT_ROCE : PP_PORT_INFINIBAND);
		if (place && *read_text(p, path, "rate", text, sizeof(text))) /* "200 Gb/sec (4X HDR)" */
			place->rate_mbit = (int64_t)(strtod(text, NULL) * 1000);
	}
	if (dir)
		closedir(dir);
}

/* A bridge or a container's link would count what a port counts too; where there is no other, as in a container, it counts. */
static int is_virtual(const struct pp_ports *p, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/sys/class/net/%.64s/device", p->root, name);
	return access(path, F_OK) != 0;
}

static void find_ethernet(struct pp_ports *p, const char *name, int with_virtual)
{
	char path[160], text[64];
	struct pp_port_place *place;
	int64_t rate;

	snprintf(path, sizeof(path), "/sys/class/net/%.64s", name);
	if (!strcmp(name, "lo") || (is_virtual(p, name) && !with_virtual) || read_count(p, path, "type") != 1 ||
	    strcmp(read_text(p, path, "operstate", text, sizeof(text)), "up") != 0)
		return;
	place = add_place(p, name, path, PP_PORT_ETHERNET);
	rate = place ? read_count(p, path, "speed") : -1;
	if (place && rate > 0)
		place->rate_mbit = rate;
}

static void find_in(struct pp_ports *p, const char *class, int with_virtual)
{
	const int is_net = !strcmp(class, "net");
	char path[300];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/%s", p->root, class);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (is_net)
			find_ethernet(p, e->d_name, with_virtual);
		else
			find_infiniband(p, e->d_name);
	}
	if (dir)
		closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	const struct pp_port_place *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void find_ports(struct pp_ports *p)
{
	p->places = p->left_out = 0;
	find_in(p, "infiniband", 0);
	find_in(p, "net", 0);
	if (!p->places)
		find_in(p, "net", 1);
	qsort(p->place, p->places, sizeof(*p->place), by_name);
}

static int64_t times(int64_t value, int64_t factor)
{
	return value < 0 ? -1 : value * factor;
}

static void read_infiniband(const struct pp_ports *p, const struct pp_port_place *place, struct pp_port *v)
{
	static const char *const errors[] = {
	        "counters/symbol_error",    "counters/link_error_recovery",         "counters/link_downed",
	        "counters/port_rcv_errors", "counters/local_link_integrity_errors", NULL};
	static const char *const lost[] = {"hw_counters/out_of_sequence", "hw_counters/packet_seq_err",
	                                   "hw_counters/local_ack_timeout_err", NULL};

	v->sent = times(read_count(p, place->path, "counters/port_xmit_data"), WORD_BYTES);
	v->received = times(read_count(p, place->path, "counters/port_rcv_data"), WORD_BYTES);
	if (v->sent < 0) { /* EFA counts bytes */
		v->sent = read_count(p, place->path, "hw_counters/tx_bytes");
		v->received = read_count(p, place->path, "hw_counters/rx_bytes");
	}
	v->errors = sum_counts(p, place->path, errors);
	v->dropped = read_count(p, place->path, "counters/port_xmit_discards");
	v->lost = sum_counts(p, place->path, lost);
	v->waited = read_count(p, place->path, "counters/port_xmit_wait");
}

static void read_ethernet(const struct pp_ports *p, const struct pp_port_place *place, struct pp_port *v)
{
	static const char *const errors[] = {"statistics/rx_errors", "statistics/tx_errors", NULL};
	static const char *const dropped[] = {"statistics/rx_dropped", "statistics/tx_dropped", NULL};

	v->sent = read_count(p, place->path, "statistics/tx_bytes");
	v->received = read_count(p, place->path, "statistics/rx_bytes");
	v->errors = sum_counts(p, place->path, errors);
	v->dropped = sum_counts(p, place->path, dropped);
	v->lost = v->waited = -1;
}

/* Drops every second round where there are too many: rounds stay whole, as all ports are read at once. */
static void thin_out(struct pp_ports *p)
{
	const size_t rounds = p->rows / p->places;

	for (size_t i = 0; i < rounds / 2; i++)
		memmove(p->row + i * p->places, p->row + 2 * i * p->places, p->places * sizeof(*p->row));
	p->rows = rounds / 2 * p->places;
}

static void read_all(struct pp_ports *p)
{
	const uint64_t raw = pp_tick_raw(), counter = pp_tick_counter();

	if (p->rows + p->places > MOST_ROWS)
		thin_out(p);
	if (p->rows + p->places > p->room) {
		const size_t room = p->room ? 2 * p->room : (size_t)8 * PP_PORTS;
		struct pp_port_reading *row = realloc(p->row, room * sizeof(*row));

		if (!row)
			return;
		p->row = row;
		p->room = room;
	}
	for (size_t i = 0; i < p->places; i++) {
		const struct pp_port_place *place = &p->place[i];
		struct pp_port_reading *r = &p->row[p->rows++];

		*r = (struct pp_port_reading){raw, counter, {.link = place->link, .rate_mbit = place->rate_mbit}};
		memcpy(r->values.name, place->name, sizeof(r->values.name));
		if (place->link == PP_PORT_ETHERNET)
			read_ethernet(p, place, &r->values);
		else
			read_infiniband(p, place, &r->values);
	}
}

void pp_ports_run(struct pp_ports *p, int recording)
{
	const int64_t now = pp_clock_ns(CLOCK_MONOTONIC);
	const int begins = recording && !p->recording;

	p->recording = recording;
	if (!recording || (now < p->next_ns && !begins))
		return;
	if (!p->rows)
		find_ports(p); /* once: rounds have as many rows */
	p->next_ns = now + period_ns;
	read_all(p);
}

void pp_ports_give(const struct pp_ports *p, int tick_kind, struct pp_rank *rank)
{
	struct pp_port *row = calloc(p->rows + 1, sizeof(*row));

	for (size_t i = 0; row && i < p->rows; i++) {
		row[i] = p->row[i].values;
		row[i].time = (int64_t)(tick_kind == PP_TICK_RAW ? p->row[i].raw : p->row[i].counter);
	}
	if (row)
		pp_side_append(rank, PP_SIDE_ID_port, row, p->rows);
	if (p->left_out && !rank->state_why[0])
		snprintf(rank->state_why, sizeof(rank->state_why), "%zu network ports of the host are not read: more than %d",
		         p->left_out, PP_PORTS);
	free(row);
}
