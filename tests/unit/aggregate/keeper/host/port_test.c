/* Network ports of a made /sys, from files to a rank's rows. */
#include "aggregate/keeper/host/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/tick.h"
#include "core/capture/rank.h"
#include "tests/test.h"

static char root[] = "/tmp/podprof-port-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512], words[600];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	snprintf(words, sizeof(words), "mkdir -p \"$(dirname '%s')\"", full);
	CHECK_INT(system(words), 0);
	f = fopen(full, "we");
	CHECK(f != NULL);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void make_ethernet(const char *name, int is_virtual, const char *sent)
{
	char path[256];
	const struct {
		const char *file, *text;
	} file[] = {{"type", "1"},
	            {"operstate", "up"},
	            {"speed", "25000"},
	            {"statistics/tx_bytes", sent},
	            {"statistics/rx_bytes", "2000"},
	            {"statistics/rx_errors", "3"},
	            {"statistics/tx_errors", "4"},
	            {"statistics/rx_dropped", "5"}};

	for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file[i].file);
		put(path, file[i].text);
	}
	snprintf(path, sizeof(path), "/sys/class/net/%s/device/vendor", name);
	if (!is_virtual)
		put(path, "0x15b3");
}

static void make_infiniband(const char *device, const char *state, const char *layer)
{
	char path[256];
	const struct {
		const char *file, *text;
	} file[] = {{"state", state},
	            {"link_layer", layer},
	            {"rate", "200 Gb/sec (4X HDR)"},
	            {"counters/port_xmit_data", "1000"},
	            {"counters/port_rcv_data", "500"},
	            {"counters/port_xmit_wait", "77"},
	            {"counters/symbol_error", "1"},
	            {"counters/link_downed", "2"},
	            {"counters/port_xmit_discards", "6"},
	            {"hw_counters/out_of_sequence", "8"},
	            {"hw_counters/packet_seq_err", "9"}};

	for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s", device, file[i].file);
		put(path, file[i].text);
	}
}

static size_t ports_read(struct pp_ports *p, struct pp_rank *rank)
{
	*rank = (struct pp_rank){.rank = 0};
	pp_ports_init(p, root);
	pp_ports_run(p, 0);
	CHECK_INT(p->rows, 0); /* nobody records */
	pp_ports_run(p, 1);
	pp_ports_run(p, 1); /* not so soon again */
	pp_ports_give(p, PP_TICK_RAW, rank);
	return rank->ports;
}

static void end(struct pp_ports *p, struct pp_rank *rank)
{
	free(rank->port);
	pp_ports_release(p);
}

TEST(a_container_has_a_virtual_port_only)
{
	struct pp_ports p;
	struct pp_rank rank;

	make_ethernet("veth0", 1, "1000");
	make_ethernet("lo", 1, "9");
	CHECK_INT(ports_read(&p, &rank), 1);
	CHECK_STR(rank.port[0].name, "veth0");
	end(&p, &rank);
}

TEST(each_kind_of_port)
{
	const uint64_t before = pp_tick_raw();
	struct pp_ports p;
	struct pp_rank rank;
	const struct pp_port *e, *i;

	make_ethernet("eth0", 0, "1000");
	make_ethernet("eth1", 0, "1000");
	put("/sys/class/net/eth1/operstate", "down");
	make_infiniband("mlx5_0", "4: ACTIVE", "InfiniBand");
	make_infiniband("mlx5_1", "1: DOWN", "InfiniBand");
	make_infiniband("mlx5_2", "4: ACTIVE", "Ethernet");
	CHECK_INT(ports_read(&p, &rank), 3);
	e = &rank.port[0];
	i = &rank.port[1];
	CHECK_STR(e->name, "eth0");
	CHECK(e->link == PP_PORT_ETHERNET && e->rate_mbit == 25000 && (uint64_t)e->time > before);
	CHECK(e->sent == 1000 && e->received == 2000 && e->errors == 7 && e->dropped == 5 && e->lost == -1 && e->waited == -1);
	CHECK_STR(i->name, "mlx5_0/1");
	CHECK(i->link == PP_PORT_INFINIBAND && i->rate_mbit == 200000);
	CHECK(i->sent == 4000 && i->received == 2000); /* counted in words of four bytes */
	CHECK(i->errors == 3 && i->dropped == 6 && i->lost == 17 && i->waited == 77);
	CHECK(rank.port[2].link == PP_PORT_ROCE);
	end(&p, &rank);
}

TEST(more_than_there_is_room_for)
{
	struct pp_ports p;
	struct pp_rank rank;
	char name[16];

	for (int k = 0; k < PP_PORTS + 2; k++) {
		snprintf(name, sizeof(name), "many%d", k);
		make_ethernet(name, 0, "1");
	}
	CHECK_INT(ports_read(&p, &rank), PP_PORTS);
	CHECK(strstr(rank.state_why, "network ports of the host are not read: more than 64"));
	end(&p, &rank);
}

int main(void)
{
	char words[128];

	CHECK(mkdtemp(root) != NULL);
	a_container_has_a_virtual_port_only();
	each_kind_of_port();
	more_than_there_is_room_for();
	snprintf(words, sizeof(words), "rm -rf '%s'", root);
	CHECK_INT(system(words), 0);
	return test_end();
}
