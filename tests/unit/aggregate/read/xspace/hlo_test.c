/* Groups of devices that XLA's collectives name, and bytes of a device in them. */
#include "aggregate/read/xspace/hlo.h"

#include "tests/test.h"

static struct pp_hlo h;
static struct pp_hlo_group g;

static void put_groups(const uint32_t *member, size_t each, size_t groups)
{
	pp_hlo_release(&h);
	for (size_t i = 0; i < groups; i++) {
		CHECK_INT(pp_hlo_put_group(&h), 0);
		for (size_t k = 0; k < each; k++)
			CHECK_INT(pp_hlo_put_member(&h, member[i * each + k]), 0);
	}
}

/* Two replicas of two partitions; ids of devices as processes of JAX on CPUs have them. */
static int64_t ids[] = {0, 1, 2048, 2049};
static const struct pp_hlo_devices devices = {2, 2, ids}, unknown = {0};

TEST(what_an_opcode_is)
{
	pp_hlo_opcode("reduce-scatter-start", 20, &h);
	CHECK_INT(h.kind, PP_HLO_REDUCE_SCATTER);
	CHECK_INT(h.part, PP_HLO_START);
	pp_hlo_opcode("all-reduce-scatter", 18, &h);
	CHECK_INT(h.kind, PP_HLO_NONE);
	pp_hlo_opcode("all-to-all-done", 15, &h);
	CHECK_INT(h.part, PP_HLO_DONE);
}

/* [2,2]<=[2,2]T(1,0): columns of the array. */
TEST(groups_of_an_array)
{
	const uint64_t shape[] = {2, 2}, order[] = {1, 0}, large[] = {1 << 20, 1 << 20};

	h = (struct pp_hlo){.kind = PP_HLO_ALL_REDUCE, .has_channel = 1, .is_global = 1};
	CHECK_INT(pp_hlo_put_iota(&h, shape, 2, order, 2, 2), 0);
	CHECK_INT(pp_hlo_group_of(&h, &devices, 2048, &g), 1);
	CHECK_STR(g.text, "{0,2}");
	CHECK_INT(g.devices, 2);
	CHECK(g.is_known);
	pp_hlo_group_of(&h, &devices, 2049, &g);
	CHECK_STR(g.text, "{1,3}");
	CHECK(pp_hlo_put_iota(&h, large, 2, NULL, 1 << 20, 1 << 20) < 0);
	CHECK(pp_hlo_put_iota(&h, shape, 2, NULL, 3, 1) < 0);
	pp_hlo_release(&h);
}

/* Which group it is needs the device, its size does not. */
TEST(a_device_without_a_number)
{
	const uint32_t two[] = {0, 1, 2, 3}, uneven[] = {0, 1};

	h = (struct pp_hlo){.kind = PP_HLO_ALL_REDUCE, .has_channel = 1, .is_global = 1};
	put_groups(two, 2, 2);
	CHECK_INT(pp_hlo_group_of(&h, &unknown, -1, &g), 1);
	CHECK(!g.is_known);
	CHECK_INT(g.devices, 2);
	CHECK_INT(pp_hlo_put_group(&h), 0);
	CHECK_INT(pp_hlo_put_member(&h, 4), 0);
	pp_hlo_group_of(&h, &unknown, -1, &g);
	CHECK_INT(g.devices, 0);
	put_groups(uneven, 2, 1);
	pp_hlo_group_of(&h, &unknown, -1, &g);
	CHECK(g.is_known);
	CHECK_STR(g.text, "");
	CHECK_INT(pp_hlo_group_of(&h, &devices, 2048, &g), 0); /* the third of all takes no part */
	pp_hlo_release(&h);
}

/* Without a channel the numbers are of replicas, and each partition has groups of its own. */
TEST(numbers_of_replicas_and_partitions)
{
	const uint32_t both[] = {0, 1};
	uint64_t key;

	h = (struct pp_hlo){.kind = PP_HLO_ALL_REDUCE};
	put_groups(both, 2, 1);
	pp_hlo_group_of(&h, &devices, 0, &g);
	key = g.key;
	pp_hlo_group_of(&h, &devices, 2048, &g); /* replica 1, partition 0 */
	CHECK(g.key == key);
	pp_hlo_group_of(&h, &devices, 1, &g);
	CHECK(g.key != key);
	CHECK_INT(g.devices, 2);
	h.has_channel = 1; /* all partitions of the replicas */
	pp_hlo_group_of(&h, &devices, 1, &g);
	CHECK_INT(g.devices, 4);
	h.kind = PP_HLO_ALL_TO_ALL; /* partitions of a replica */
	pp_hlo_group_of(&h, &devices, 1, &g);
	CHECK_INT(g.devices, 2);
	pp_hlo_release(&h);
}

/* No list: all. Of devices that are not known that is no number. */
TEST(all_devices)
{
	h = (struct pp_hlo){.kind = PP_HLO_ALL_GATHER, .has_channel = 1, .is_global = 1};
	pp_hlo_group_of(&h, &devices, 1, &g);
	CHECK_INT(g.devices, 4);
	CHECK(g.is_known);
	pp_hlo_group_of(&h, &unknown, -1, &g);
	CHECK_INT(g.devices, 0);
	CHECK(g.is_known);
	h.is_odd = 1;
	pp_hlo_group_of(&h, &devices, 1, &g);
	CHECK(!g.is_known);
}

TEST(pairs_make_chains)
{
	const uint32_t pair[] = {0, 2, 2, 4, 1, 3, 3, 1};

	h = (struct pp_hlo){.kind = PP_HLO_PERMUTE, .has_channel = 1, .is_global = 1};
	put_groups(pair, 2, 4);
	CHECK_INT(pp_hlo_join_pairs(&h), 0);
	CHECK_INT(h.groups, 2);
	CHECK_INT(h.end[0], 3);
	CHECK_INT(h.member[1], 2);
	CHECK_INT(h.member[4], 3);
	pp_hlo_release(&h);
}

TEST(bytes_of_a_device)
{
	h = (struct pp_hlo){.kind = PP_HLO_ALL_GATHER, .result = 800, .operand = 100};
	CHECK_INT(pp_hlo_bytes(&h, 8), 800);
	h = (struct pp_hlo){.kind = PP_HLO_REDUCE_SCATTER, .result = 100};
	CHECK_INT(pp_hlo_bytes(&h, 8), 800);
	CHECK_INT(pp_hlo_bytes(&h, 0), 0);
}

int main(void)
{
	what_an_opcode_is();
	groups_of_an_array();
	a_device_without_a_number();
	numbers_of_replicas_and_partitions();
	all_devices();
	pairs_make_chains();
	bytes_of_a_device();
	return 0;
}
