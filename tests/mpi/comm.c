/* Communicators: ids equal on all members without a message, different between communicators, right after free and reuse. 4 ranks.
 */
#include "tests/mpi/want.h"

static uint64_t seen[256];
static int seen_count;

/* The COMM record that the last call made: its id is the same on all members and was never seen before. */
static uint64_t fresh(int line, const char *name, MPI_Comm made)
{
	const struct fake_record *f;
	const struct pp_record_mpi *m = one_call(__FILE__, line, name);
	uint64_t id = 0;

	(void)m;
	if (made == MPI_COMM_NULL) {
		CHECK_INT(how_many(PP_RECORD_COMM), 0);
		return 0;
	}
	f = nth(PP_RECORD_COMM, 0);
	same(__FILE__, line, name, "COMM records", how_many(PP_RECORD_COMM), 1);
	if (f)
		id = f->record.comm.comm;
	for (int i = 0; i < seen_count; i++)
		same(__FILE__, line, name, "seen before", seen[i] == id, 0);
	if (seen_count < 256)
		seen[seen_count++] = id;
	same(__FILE__, line, name, "equal id", equal_on(made, id), 1);
	forget();
	return id;
}

#define FRESH(name, made) fresh(__LINE__, name, made)

static int members(const struct fake_record *f, int32_t *to)
{
	memcpy(to, f->text, f->record.length < 256 ? f->record.length : 256);
	return (int)(f->record.length / sizeof *to);
}

TEST(test_dups)
{
	MPI_Comm c[4], idup;
	MPI_Request r;
	uint64_t id;

	for (int i = 0; i < 4; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &c[i]);
		FRESH("MPI_Comm_dup", c[i]);
	}
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &idup);
	FRESH("MPI_Comm_dup_with_info", idup);
	MPI_Comm_free(&idup);
	forget();
	MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r);
	one_call(__FILE__, __LINE__, "MPI_Comm_idup");
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	id = nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	forget();
	MPI_Barrier(idup);
	WANT("MPI_Barrier", -1, 0, 0);
	CHECK(last_call()->comm == id);
	CHECK(equal_on(MPI_COMM_WORLD, id));
	MPI_Comm_free(&idup);
	for (int i = 0; i < 4; i++) {
		forget();
		MPI_Comm_free(&c[i]);
		WANT("MPI_Comm_free", -1, 0, 0);
		CHECK(last_call()->comm == seen[i]);
		CHECK(c[i] == MPI_COMM_NULL);
	}
	forget();
}

TEST(test_makes)
{
	int weights[1] = {1};
	MPI_Comm c;
	MPI_Group world, group;

	MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &c);
	FRESH("MPI_Comm_split", c);
	MPI_Comm_free(&c);
	forget();
	MPI_Comm_split(MPI_COMM_WORLD, me ? 1 : MPI_UNDEFINED, 0, &c);
	FRESH("MPI_Comm_split", c);
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	forget();
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
	FRESH("MPI_Comm_split_type", c);
	MPI_Comm_disconnect(&c);
	WANT("MPI_Comm_disconnect", -1, 0, 0);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){3, 1}, &group);
	MPI_Comm_create(MPI_COMM_WORLD, group, &c);
	FRESH("MPI_Comm_create", c);
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	forget();
	if (me == 1 || me == 3) {
		MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &c);
		FRESH("MPI_Comm_create_group", c);
		/* rank 0 of it is world rank 3 */
		MPI_Bcast(weights, 1, MPI_INT, 0, c);
		WANT("MPI_Bcast", 3, me == 3 ? 4 : 0, me == 3 ? 0 : 4);
		MPI_Comm_free(&c);
		forget();
	}
	MPI_Group_free(&group);
	MPI_Group_free(&world);
}

TEST(test_topologies)
{
	int dims[2] = {2, 2}, periods[2] = {0, 0}, remain[2] = {1, 0}, index[4] = {1, 2, 3, 4}, edges[4] = {1, 0, 3, 2};
	int one = (me + 1) % ranks, degree = 1, weights[1] = {1}, from = (me + ranks - 1) % ranks;
	MPI_Comm c, d;

	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
	FRESH("MPI_Cart_create", c);
	MPI_Cart_sub(c, remain, &d);
	FRESH("MPI_Cart_sub", d);
	MPI_Comm_free(&d);
	MPI_Comm_free(&c);
	forget();
	MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &c);
	FRESH("MPI_Graph_create", c);
	MPI_Comm_free(&c);
	forget();
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, &one, weights, MPI_INFO_NULL, 0, &c);
	FRESH("MPI_Dist_graph_create", c);
	MPI_Comm_free(&c);
	forget();
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, weights, 1, &one, weights, MPI_INFO_NULL, 0, &c);
	FRESH("MPI_Dist_graph_create_adjacent", c);
	MPI_Comm_free(&c);
	forget();
}

TEST(test_intercomm)
{
	MPI_Comm c, half, inter;

	MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &half);
	forget();
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me / 2 ? 0 : 2, 5, &inter);
	one_call(__FILE__, __LINE__, "MPI_Intercomm_create");
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	if (nth(PP_RECORD_COMM, 0)) {
		int32_t list[64];
		uint64_t id = nth(PP_RECORD_COMM, 0)->record.comm.comm;

		CHECK_INT(members(nth(PP_RECORD_COMM, 0), list), 4);
		for (int i = 0; i < 4; i++)
			CHECK_INT(list[i], i);
		CHECK(equal_on(MPI_COMM_WORLD, id));
	}
	forget();
	MPI_Intercomm_merge(inter, me / 2, &c);
	FRESH("MPI_Intercomm_merge", c);
	MPI_Comm_free(&c);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	forget();
}

#define NAME "tensor parallel, with a name longer than inline bytes"

TEST(test_members_and_names)
{
	MPI_Comm c;
	int32_t list[64];

	MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &c);
	take_all();
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	if (nth(PP_RECORD_COMM, 0)) {
		CHECK_INT(members(nth(PP_RECORD_COMM, 0), list), 2);
		CHECK_INT(list[0], 2 + me % 2);
		CHECK_INT(list[1], me % 2);
		CHECK_INT(nth(PP_RECORD_COMM, 0)->record.comm.size, 2);
	}
	MPI_Comm_set_name(c, NAME);
	one_call(__FILE__, __LINE__, "MPI_Comm_set_name");
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	if (nth(PP_RECORD_COMM, 0)) {
		CHECK_INT(nth(PP_RECORD_COMM, 0)->record.comm.is_name, 1);
		CHECK_STR(nth(PP_RECORD_COMM, 0)->text, NAME);
	}
	MPI_Send(list, 1, MPI_INT, 0, 0, c);
	WANT("MPI_Send", 2 + me % 2, 4, 0);
	if (me >= 2) {
		MPI_Recv(list, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE);
		WANT("MPI_Recv", me, 0, 4);
		MPI_Recv(list, 1, MPI_INT, MPI_ANY_SOURCE, 0, c, MPI_STATUS_IGNORE);
		WANT("MPI_Recv", me % 2, 0, 4);
	}
	MPI_Comm_free(&c);
	forget();
}

/* Handles come back: each life has an id and a count of its own. */
TEST(test_reuse)
{
	MPI_Comm c, first = MPI_COMM_NULL;
	int reused = 0;

	for (int i = 0; i < 40; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &c);
		FRESH("MPI_Comm_dup", c);
		reused += c == first;
		first = c;
		for (uint32_t n = 1; n < 4; n++) { /* equal_on() was number 0 and 1 */
			MPI_Barrier(c);
			WANT("MPI_Barrier", -1, 0, 0);
			CHECK_INT(last_call()->sequence, n + 1);
			CHECK(last_call()->comm == seen[seen_count - 1]);
		}
		MPI_Comm_free(&c);
		forget();
	}
#if !defined(__SANITIZE_ADDRESS__) /* it keeps freed memory back */
	CHECK(reused > 0);
#endif
	(void)reused;
}

/* Made while nothing was recorded: members come with the first record that needs them. */
TEST(test_made_idle)
{
	MPI_Comm c;

	fake->record_on(0);
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_set_name(c, "later");
	MPI_Barrier(c);
	fake->record_on(1);
	MPI_Barrier(c);
	WANT("MPI_Barrier", -1, 0, 0);
	CHECK_INT(last_call()->sequence, 1);
	CHECK_INT(how_many(PP_RECORD_COMM), 2);
	MPI_Barrier(c);
	WANT("MPI_Barrier", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_COMM), 0);
	MPI_Comm_free(&c);
	forget();
}

static uint64_t id_of(MPI_Comm c)
{
	uint64_t id;

	forget();
	MPI_Comm_set_name(c, "asked");
	id = one_call(__FILE__, __LINE__, "MPI_Comm_set_name") ? last_call()->comm : 0;
	forget();
	return id;
}

/* Of two communicators with the same members every second rank makes the second one's children first. */
TEST(test_another_order_on_every_rank)
{
	MPI_Comm from[2], made[2], again;
	MPI_Request r[2];
	int first = me % 2;

	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &from[i]);
	for (int k = 0; k < 2; k++) {
		int i = k ? !first : first;

		MPI_Comm_idup(from[i], &made[i], &r[i]);
	}
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	CHECK(id_of(made[0]) != id_of(made[1]));
	CHECK(equal_on(MPI_COMM_WORLD, id_of(made[0])));
	CHECK(equal_on(MPI_COMM_WORLD, id_of(made[1])));
	for (int i = 0; i < 2; i++) {
		MPI_Comm_free(&made[i]);
		MPI_Comm_free(&from[i]);
	}
	/* only half of the ranks have more of these members before */
	for (int i = 0; i < 3; i++) {
		MPI_Comm_split(MPI_COMM_SELF, 0, 0, &again);
		MPI_Comm_free(&again);
		if (me % 2)
			break;
	}
	MPI_Comm_split(MPI_COMM_WORLD, 0, me, &again);
	CHECK(equal_on(MPI_COMM_WORLD, id_of(again)));
	MPI_Comm_free(&again);
	forget();
}

/* Two groups of the same members with other tags, and the same tag twice; rank 1 makes another one of its own in between. */
TEST(test_groups_by_tag)
{
	MPI_Group world, all, own;
	MPI_Comm c[3], alone;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 4, (int[]){3, 2, 1, 0}, &all);
	MPI_Group_incl(world, 1, &me, &own);
	for (int i = 0; i < 3; i++) {
		if (me == 1) {
			MPI_Comm_create_group(MPI_COMM_WORLD, own, 9, &alone);
			MPI_Comm_free(&alone);
		}
		MPI_Comm_create_group(MPI_COMM_WORLD, all, i == 1 ? 8 : 7, &c[i]);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(equal_on(MPI_COMM_WORLD, id_of(c[i])));
		CHECK(id_of(c[i]) != id_of(c[(i + 1) % 3]));
	}
	for (int i = 0; i < 3; i++)
		MPI_Comm_free(&c[i]);
	MPI_Group_free(&world);
	MPI_Group_free(&all);
	MPI_Group_free(&own);
	forget();
}

static MPI_Comm hidden;

/* Called inside of MPI_Comm_dup, where no wrapper looks. */
static int copy_attribute(MPI_Comm from, int key, void *extra, void *value, void *ret_value, int *ret_flag)
{
	(void)from, (void)key, (void)extra, (void)value, (void)ret_value;
	*ret_flag = 0;
	return MPI_Comm_split(MPI_COMM_SELF, 0, 0, &hidden);
}

/* One that nobody saw made is like no other rank's, and says so. */
TEST(test_unknown)
{
	MPI_Comm c;
	int key, text = 0;
	uint64_t id;

	MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
	MPI_Comm_dup(MPI_COMM_SELF, &c);
	MPI_Comm_set_attr(c, key, &text);
	forget();
	hidden = MPI_COMM_NULL;
	{
		MPI_Comm d;

		MPI_Comm_dup(c, &d);
		MPI_Comm_free(&d);
	}
	forget();
	CHECK(hidden != MPI_COMM_NULL);
	if (hidden != MPI_COMM_NULL) {
		MPI_Barrier(hidden);
		WANT("MPI_Barrier", -1, 0, 0);
		id = last_call()->comm;
		CHECK_INT(how_many(PP_RECORD_COMM), 2);
		for (int i = 0; i < 2; i++)
			text += nth(PP_RECORD_COMM, i) && nth(PP_RECORD_COMM, i)->record.comm.is_name == PP_COMM_UNKNOWN;
		CHECK_INT(text, 1);
		CHECK(!equal_on(MPI_COMM_WORLD, id));
		MPI_Comm_free(&hidden);
	}
	MPI_Comm_free(&c);
	MPI_Comm_free_keyval(&key);
	forget();
}

TEST(test_world_sequence)
{
	MPI_Comm c;
	uint32_t n;

	MPI_Barrier(MPI_COMM_WORLD);
	WANT("MPI_Barrier", -1, 0, 0);
	n = last_call()->sequence;
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	WANT("MPI_Comm_dup", -1, 0, 0);
	CHECK_INT(last_call()->sequence, n + 1);
	MPI_Comm_free(&c);
	forget();
	MPI_Barrier(MPI_COMM_WORLD);
	WANT("MPI_Barrier", -1, 0, 0);
	CHECK_INT(last_call()->sequence, n + 2);
	CHECK(equal_on(MPI_COMM_WORLD, n));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	forget();
	test_dups();
	test_makes();
	test_topologies();
	test_intercomm();
	test_members_and_names();
	test_reuse();
	test_made_idle();
	test_another_order_on_every_rank();
	test_groups_by_tag();
	test_unknown();
	test_world_sequence();
	return want_end();
}
