/* Coordinates of ranks: of what names they come, and of what they do not. */
#include "aggregate/tools/coordinates.h"

#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 8 };

static struct pp_dataset d;

/* Groups of `size` ranks with `stride` between them, all with this name. */
static void name_groups(struct pp_made_job *m, const char *name, int32_t size, int32_t stride)
{
	int32_t member[RANKS];

	for (int32_t r = 0; r < RANKS; r++) {
		if (r / stride % size)
			continue;
		for (int32_t i = 0; i < size; i++)
			member[i] = r + i * stride;
		pp_made_communicator(m, name, member, (uint32_t)size);
	}
}

static void end(struct pp_made_job *m)
{
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};

	d = pp_made_end(m);
	pp_dataset_tables(&d, table);
	CHECK_INT(pp_tool_coordinates(&d, table, &err), 0);
}

/* 2 x 2 x 2, and the mesh's names for two dimensions together and for one of them again. */
TEST(mesh)
{
	struct pp_made_job m;
	uint8_t chosen[RANKS] = {0, 0, 0, 0, 1, 1};
	char text[32];

	pp_made_begin(&m, RANKS, RANKS, 0, 1);
	name_groups(&m, "mesh_dp_cp", 4, 1);
	name_groups(&m, "mesh_cp", 2, 1);
	name_groups(&m, "mesh_dp", 2, 2);
	name_groups(&m, "mesh_pp", 2, 4);
	name_groups(&m, "mesh_pp", 2, 4); /* of another device's backend */
	name_groups(&m, "checks", 2, 1);  /* no dimension where others are known to be */
	end(&m);
	CHECK_STR(d.worker[0].coordinates, "pp 0, dp 0, cp 0");
	CHECK_STR(d.worker[5].coordinates, "pp 1, dp 0, cp 1");
	CHECK_STR(d.worker[7].coordinates, "pp 1, dp 1, cp 1");
	pp_coordinates_common(&d, chosen, text, sizeof(text));
	CHECK_STR(text, "pp 1, dp 0");
	chosen[0] = 1;
	pp_coordinates_common(&d, chosen, text, sizeof(text));
	CHECK_STR(text, "dp 0");
	pp_dataset_release(&d);
}

TEST(megatron)
{
	struct pp_made_job m;

	pp_made_begin(&m, RANKS, RANKS, 0, 1);
	name_groups(&m, "TENSOR_MODEL_PARALLEL_GROUP", 2, 1);
	name_groups(&m, "DATA_PARALLEL_GROUP", 4, 2);
	name_groups(&m, "MODEL_PARALLEL_GROUP", 2, 1);
	end(&m);
	CHECK_STR(d.worker[5].coordinates, "dp 2, tp 1");
	pp_dataset_release(&d);
}

/* One dimension, which is the whole world; and groups whose name nobody knows. */
TEST(others)
{
	struct pp_made_job m;

	pp_made_begin(&m, RANKS, RANKS, 0, 1);
	name_groups(&m, "mesh_dp", 8, 1);
	end(&m);
	CHECK_STR(d.worker[5].coordinates, "dp 5");
	pp_dataset_release(&d);
	pp_made_begin(&m, RANKS, RANKS, 0, 1);
	name_groups(&m, "stage", 4, 2);
	end(&m);
	CHECK_STR(d.worker[5].coordinates, "stage 2");
	pp_dataset_release(&d);
}

TEST(no_dimension)
{
	static const int32_t both[] = {0, 1}, again[] = {1, 2};
	struct pp_made_job m;

	pp_made_begin(&m, RANKS, RANKS, 0, 1);
	name_groups(&m, "mesh_dim_0", 2, 1);
	name_groups(&m, "group 3", 2, 1);
	name_groups(&m, "", 2, 1);
	name_groups(&m, "default_pg", 8, 1);
	pp_made_communicator(&m, "ends", both, 2); /* with a common rank */
	pp_made_communicator(&m, "ends", again, 2);
	end(&m);
	for (size_t w = 0; w < RANKS; w++)
		CHECK_STR(d.worker[w].coordinates, "");
	pp_dataset_release(&d);
}

int main(void)
{
	mesh();
	megatron();
	others();
	no_dimension();
	return test_end();
}
