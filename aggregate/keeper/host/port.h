/* Counters of the host's network ports while ranks record: InfiniBand, RoCE and Ethernet, from sysfs. In: /sys/class. Out: rows of
 * pp_rank.port of the host's lowest rank. One thread. Called by sample.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/side.h"

enum { PP_PORTS = 64 };

enum pp_port_link { PP_PORT_ETHERNET, PP_PORT_INFINIBAND, PP_PORT_ROCE }; /* words of /port's link */

struct pp_port_reading {       /* one port at one time */
	uint64_t raw, counter; /* ticks of both kinds, core/base/tick.h */
	struct pp_port values; /* all but its time */
};

struct pp_ports {
	const char *root; /* "", or the directory that stands for "/" */
	struct pp_port_place {
		char name[24];     /* eth0, mlx5_0/1 */
		char path[160];    /* of its counters, below root */
		uint8_t link;      /* enum pp_port_link */
		int64_t rate_mbit; /* -1: unknown */
	} place[PP_PORTS];
	size_t places;
	size_t left_out; /* ports beyond PP_PORTS */
	struct pp_port_reading *row;
	size_t rows, room;
	int recording;
	int64_t next_ns;
};

/* `root` must live as long. To be released. */
void pp_ports_init(struct pp_ports *p, const char *root);
void pp_ports_release(struct pp_ports *p);
/* Each turn of the keeper: reads the ports twice a second while ranks record, and when they begin. */
void pp_ports_run(struct pp_ports *p, int recording);
/* Copies what was read to the rank, whose ticks are of this kind. */
void pp_ports_give(const struct pp_ports *p, int tick_kind, struct pp_rank *rank);
