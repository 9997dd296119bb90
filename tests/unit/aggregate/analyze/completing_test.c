/* Which call completed each row's operation: Waitall, Sendrecv, Waitany and loops of Tests of captures made by hand, on several
 * threads, and in shares of hosts that are merged with a shift of their clocks. */
#include "aggregate/analyze/finish.h"
#include "aggregate/analyze/lone_call.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/capture/side.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

enum { TWO = 2, MESSAGES = 64, US = 1000 };

static struct pp_span_message message[TWO][MESSAGES];

static struct pp_capture make(void)
{
	struct pp_capture c = make_capture(TWO);

	for (size_t r = 0; r < TWO; r++) {
		c.rank[r].message = message[r];
		c.rank[r].records = 1;
		c.rank[r].clock[0] = 'c';
		add_step(&c, r, 0, 0, 1000 * US);
	}
	return c;
}

static struct pp_record_message_half half_of(size_t peer, int tag)
{
	return (struct pp_record_message_half){.peer = (int32_t)peer, .tag = tag, .flags = PP_MESSAGE_TAGGED | PP_MESSAGE_CERTAIN};
}

static void carry(struct pp_capture *c, size_t r, struct pp_span *s, int sends, int receives)
{
	struct pp_rank *rank = &c->rank[r];
	struct pp_span_message *m = &rank->message[rank->messages++];

	*m = (struct pp_span_message){0};
	if (sends >= 0)
		m->sent = half_of(1 - r, sends);
	if (receives >= 0)
		m->received = half_of(1 - r, receives);
	s->mpi.comm = 77;
	s->mpi.flags |= PP_MPI_HAS_MESSAGE;
	s->mpi.sequence = (uint32_t)rank->messages;
	s->mpi.sent = sends >= 0 ? 1000 : 0;
	s->mpi.received = receives >= 0 ? 1000 : 0;
	s->mpi.peer = (int32_t)(1 - r);
}

/* Request number: 1 + tag. */
static void posts(struct pp_capture *c, size_t r, int is_send, int tag, int64_t begin, int64_t done)
{
	const char *name = is_send ? "MPI_Isend" : "MPI_Irecv";
	struct pp_span *s = add_span(c, r, 0, PP_SPAN_REQUEST, name, begin, done);

	s->mpi.call = call_number(name);
	s->mpi.request = 1 + (uint32_t)tag;
	s->mpi.comm = 77;
	if (!is_send)
		carry(c, r, s, -1, tag);
	s = add_mpi(c, r, name, 0, begin, begin + 10);
	s->mpi.request = 1 + (uint32_t)tag;
	if (is_send)
		carry(c, r, s, tag, -1);
}

static void polls(struct pp_capture *c, size_t r, const char *name, int64_t begin, int64_t end)
{
	add_mpi(c, r, name, 100, begin, end)->flags |= PP_SPAN_POLLS;
}

static void sends(struct pp_capture *c, int tag, int64_t begin)
{
	carry(c, 1, add_mpi(c, 1, "MPI_Send", 0, begin, begin + 10), tag, -1);
}

static const struct pp_row_arrival *row_of(const struct pp_dataset *d, int tag, int32_t rank)
{
	for (size_t i = 0; i < d->collectives; i++)
		for (uint32_t k = 0; d->collective[i].tag == tag && k < d->collective[i].row_count; k++)
			if (d->arrival[d->collective[i].row_first + k].worker == rank)
				return &d->arrival[d->collective[i].row_first + k];
	abort();
}

static void check_call(const struct pp_dataset *d, int tag, int32_t rank, uint32_t call, int64_t begin, int is_polled)
{
	const struct pp_row_arrival *row = row_of(d, tag, rank);

	CHECK_INT(row->call, call);
	CHECK_INT(row->call_begin_ns, begin);
	CHECK_INT(row->polls, is_polled);
}

/* Rank 0 receives two messages with a Waitall, exchanges one, and takes two one by one; rank 1 sends. */
static void make_calls(struct pp_capture *c)
{
	posts(c, 0, 0, 0, 10 * US, 180 * US); /* seen complete before the Waitall ends */
	posts(c, 0, 0, 1, 11 * US, 200 * US);
	posts(c, 0, 0, 2, 12 * US, 300 * US);
	posts(c, 0, 0, 3, 13 * US, 320 * US);
	posts(c, 0, 0, 4, 14 * US, 900 * US);
	add_mpi(c, 0, "MPI_Waitall", 0, 100 * US, 200 * US);
	carry(c, 0, add_mpi(c, 0, "MPI_Sendrecv", 0, 210 * US, 220 * US), 6, 7);
	add_mpi(c, 0, "MPI_Waitany", 0, 230 * US, 300 * US);
	add_mpi(c, 0, "MPI_Waitany", 0, 310 * US, 320 * US);
	for (int tag = 0; tag < 5; tag++)
		sends(c, tag, 150 * US + tag * US);
	carry(c, 1, add_mpi(c, 1, "MPI_Sendrecv", 0, 160 * US, 215 * US), 7, 6);
}

TEST(one_call_for_several_rows)
{
	struct pp_capture c = make();
	struct made m;

	make_calls(&c);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.collectives, 7);
	check_call(&m.d, 0, 0, 1, 100 * US, 0);
	check_call(&m.d, 1, 0, 1, 100 * US, 0);
	for (int tag = 0; tag < 2; tag++) {
		CHECK_INT(row_of(&m.d, tag, 0)->exit_ns, (180 + 20 * tag) * US);
		CHECK_INT(row_of(&m.d, tag, 0)->call_end_ns, 200 * US);
	}
	check_call(&m.d, 6, 0, 2, 210 * US, 0);
	check_call(&m.d, 7, 0, 2, 210 * US, 0);
	check_call(&m.d, 2, 0, 3, 230 * US, 0);
	check_call(&m.d, 3, 0, 4, 310 * US, 0);
	check_call(&m.d, 4, 0, 0, 0, 0); /* no Wait of it was recorded */
	for (int tag = 0; tag < 5; tag++)
		check_call(&m.d, tag, 1, 1 + (uint32_t)tag, 150 * US + tag * US, 0);
	check_call(&m.d, 7, 1, 6, 160 * US, 0);
	check_call(&m.d, 6, 1, 6, 160 * US, 0);
	drop(&m, TWO);
	free_capture(&c);
}

/* Polls before a Test are its first tries, whatever the rank does between; polls before a Wait or another call are not. */
TEST(polls_begin)
{
	struct pp_capture c = make();
	struct made m;

	posts(&c, 0, 0, 0, 10 * US, 200 * US);
	posts(&c, 0, 0, 1, 11 * US, 300 * US);
	posts(&c, 0, 0, 2, 12 * US, 500 * US);
	posts(&c, 0, 0, 3, 13 * US, 700 * US);
	polls(&c, 0, "MPI_Test", 20 * US, 60 * US);
	add_range(&c, 0, 0, "work", 65 * US, 95 * US);
	polls(&c, 0, "MPI_Iprobe", 100 * US, 190 * US);
	add_mpi(&c, 0, "MPI_Test", 0, 195 * US, 200 * US);
	add_mpi(&c, 0, "MPI_Testsome", 0, 290 * US, 300 * US); /* the Test before it was no poll of it */
	polls(&c, 0, "MPI_Test", 310 * US, 320 * US);
	add_mpi(&c, 0, "MPI_Wait", 0, 400 * US, 500 * US);
	polls(&c, 0, "MPI_Test", 510 * US, 520 * US);
	add_mpi(&c, 0, "MPI_Allreduce", 0, 600 * US, 650 * US);
	add_mpi(&c, 0, "MPI_Testany", 0, 690 * US, 700 * US);
	for (int tag = 0; tag < 4; tag++)
		sends(&c, tag, 150 * US + tag * US);
	add_mpi(&c, 1, "MPI_Allreduce", 0, 640 * US, 650 * US);
	build(&m, &c, 0, 0);
	check_call(&m.d, 0, 0, 1, 20 * US, 1);
	check_call(&m.d, 1, 0, 2, 290 * US, 0);
	check_call(&m.d, 2, 0, 3, 400 * US, 0);
	check_call(&m.d, 3, 0, 5, 690 * US, 0);
	drop(&m, TWO);
	free_capture(&c);
}

/* Calls are numbered over all threads of a rank; one that never ended has no number. */
TEST(of_threads)
{
	struct pp_capture c = make();
	struct pp_span *s;
	struct made m;

	posts(&c, 0, 0, 0, 10 * US, 200 * US);
	posts(&c, 0, 0, 1, 11 * US, 400 * US);
	carry(&c, 0, add_mpi(&c, 0, "MPI_Recv", 0, 250 * US, 300 * US), -1, 2);
	s = add_mpi(&c, 0, "MPI_Allreduce", 0, 900 * US, 1000 * US);
	s->flags |= PP_SPAN_CUT_END;
	s = add_span(&c, 0, 1, PP_SPAN_MPI, "MPI_Wait", 100 * US, 200 * US);
	s->mpi.call = call_number("MPI_Wait");
	s = add_span(&c, 0, 1, PP_SPAN_MPI, "MPI_Wait", 350 * US, 400 * US);
	s->mpi.call = call_number("MPI_Wait");
	for (int tag = 0; tag < 3; tag++)
		sends(&c, tag, 150 * US + tag * US);
	add_mpi(&c, 1, "MPI_Allreduce", 0, 900 * US, 990 * US);
	build(&m, &c, 0, 0);
	check_call(&m.d, 0, 0, 1, 100 * US, 0);
	check_call(&m.d, 2, 0, 2, 250 * US, 0);
	check_call(&m.d, 1, 0, 3, 350 * US, 0);
	for (size_t i = 0; i < m.d.collectives; i++)
		if (!m.d.collective[i].message) {
			CHECK_INT(m.d.arrival[m.d.collective[i].row_first].call, 0);
			CHECK_INT(m.d.arrival[m.d.collective[i].row_first + 1].call, 4);
		}
	drop(&m, TWO);
	free_capture(&c);
}

static void check_lone(const struct pp_dataset *d, size_t at, const char *name, int64_t begin, int64_t end, uint32_t calls)
{
	const struct pp_row_lone_call *row = &d->lone_call[at];

	CHECK(at < d->lone_calls);
	if (at >= d->lone_calls)
		return;
	CHECK_STR(pp_mpi_call_info(row->operation)->name, name);
	CHECK_INT(row->begin_ns, begin);
	CHECK_INT(row->end_ns, end);
	CHECK_INT(row->calls, calls);
}

/* Calls that may wait and are in no row: polls of nothing, epochs, a Wait for an unknown request, a message of an unknown end. */
TEST(lone)
{
	struct pp_capture c = make();
	struct pp_span *s;
	struct made m;

	posts(&c, 0, 0, 0, 10 * US, 200 * US);
	add_mpi(&c, 0, "MPI_Probe", 0, 20 * US, 40 * US);
	polls(&c, 0, "MPI_Iprobe", 50 * US, 51 * US);
	polls(&c, 0, "MPI_Iprobe", 51 * US + 1, 52 * US);  /* goes on */
	polls(&c, 0, "MPI_Iprobe", 80 * US, 81 * US);      /* after work */
	polls(&c, 0, "MPI_Iprobe", 85 * US, 86 * US);      /* between them it waits */
	add_mpi(&c, 0, "MPI_Iprobe", 0, 89 * US, 90 * US); /* finds it */
	polls(&c, 0, "MPI_Iprobe", 91 * US, 92 * US);      /* for another one */
	add_mpi(&c, 0, "MPI_Wait", 0, 100 * US, 110 * US);
	polls(&c, 0, "MPI_Test", 120 * US, 190 * US);
	add_mpi(&c, 0, "MPI_Test", 0, 195 * US, 200 * US);
	add_mpi(&c, 0, "MPI_Win_lock", 0, 300 * US, 310 * US);
	add_mpi(&c, 0, "MPI_Put", 0, 310 * US, 311 * US);
	add_mpi(&c, 0, "MPI_Put", 0, 312 * US, 313 * US);
	add_mpi(&c, 0, "MPI_Win_unlock", 0, 320 * US, 330 * US);
	s = add_mpi(&c, 0, "MPI_Send", 0, 400 * US, 410 * US);
	s->mpi.peer = -1; /* MPI_PROC_NULL */
	s = add_mpi(&c, 0, "MPI_Send", 0, 420 * US, 430 * US);
	s->mpi.peer = 1;
	add_mpi(&c, 0, "MPI_Comm_get_name", 0, 440 * US, 441 * US);
	sends(&c, 0, 150 * US);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.lone_calls, 9);
	check_lone(&m.d, 0, "MPI_Probe", 20 * US, 40 * US, 1);
	check_lone(&m.d, 1, "MPI_Iprobe", 50 * US, 52 * US, 200);
	check_lone(&m.d, 2, "MPI_Iprobe", 80 * US, 90 * US, 201);
	check_lone(&m.d, 3, "MPI_Iprobe", 91 * US, 92 * US, 100);
	check_lone(&m.d, 4, "MPI_Wait", 100 * US, 110 * US, 1);
	check_lone(&m.d, 5, "MPI_Win_lock", 300 * US, 310 * US, 1);
	check_lone(&m.d, 6, "MPI_Put", 310 * US, 313 * US, 2);
	check_lone(&m.d, 7, "MPI_Win_unlock", 320 * US, 330 * US, 1);
	check_lone(&m.d, 8, "MPI_Send", 420 * US, 430 * US, 1);
	CHECK(m.d.lone_call[1].polls && !m.d.lone_call[0].polls);
	CHECK_INT(m.d.lone_calls_left_out, 0);
	drop(&m, TWO);
	free_capture(&c);
}

static const char *place_of(const struct pp_dataset *d, const struct pp_row_arrival *row)
{
	for (size_t i = 0; i < d->places; i++)
		if (d->place[i].place == row->place)
			return pp_intern_text(d->names, d->place[i].name, NULL);
	return row->place ? "?" : "";
}

/* The innermost range that is open when the call begins, of its own thread. */
static void make_places(struct pp_capture *c)
{
	add_range(c, 0, 0, "step 1", 0, 800 * US);
	add_range(c, 0, 0, "forward", 10 * US, 100 * US);
	add_range(c, 0, 0, "layer", 20 * US, 50 * US);
	posts(c, 0, 0, 0, 30 * US, 710 * US);
	posts(c, 0, 0, 1, 60 * US, 710 * US);
	add_range(c, 0, 0, "backward", 100 * US, 700 * US);
	posts(c, 0, 0, 2, 100 * US, 710 * US);
	add_mpi(c, 0, "MPI_Waitall", 0, 705 * US, 710 * US);
	posts(c, 0, 0, 3, 720 * US, 910 * US);
	posts(c, 0, 0, 4, 900 * US, 910 * US);
	add_mpi(c, 0, "MPI_Waitall", 0, 905 * US, 910 * US);
	add_range(c, 0, 1, "other thread", 0, 1000 * US);
	add_range(c, 1, 0, "forward", 100 * US, 200 * US);
	for (int tag = 0; tag < 5; tag++)
		sends(c, tag, 150 * US + 20 * tag * US);
}

static void check_places(const struct pp_dataset *d)
{
	static const char *const want[] = {"layer", "forward", "backward", "step 1", ""};

	for (int tag = 0; tag < 5; tag++) {
		CHECK_STR(place_of(d, row_of(d, tag, 0)), want[tag]);
		CHECK_STR(place_of(d, row_of(d, tag, 1)), tag < 3 ? "forward" : "");
	}
	CHECK_INT(d->places, 4);
}

TEST(places_of_one_host)
{
	struct pp_capture c = make();
	struct made m;

	make_places(&c);
	build(&m, &c, 0, 0);
	check_places(&m.d);
	drop(&m, TWO);
	free_capture(&c);
}

/* Hosts intern names in an order of their own; numbers are equal all the same. */
TEST(places_of_two_hosts)
{
	struct pp_capture c = make();
	struct pp_intern *names = pp_intern_new();
	const struct pp_dataset *list[TWO];
	struct pp_dataset d, back[TWO];
	struct made part[TWO];

	make_places(&c);
	pp_intern_put(names, "backward", 8);
	for (size_t p = 0; p < TWO; p++) {
		struct pp_capture one = c;

		one.rank = &c.rank[p];
		one.ranks = 1;
		build(&part[p], &one, 0, 1);
		travel(&part[p].d, names, &back[p]);
		list[TWO - 1 - p] = &back[p];
	}
	CHECK_INT(pp_dataset_merge(list, TWO, &d, NULL), 0);
	CHECK_INT(pp_dataset_finish(&d, NULL), 0);
	check_places(&d);
	pp_dataset_release(&d);
	for (size_t p = 0; p < TWO; p++) {
		pp_dataset_release(&back[p]);
		drop(&part[p], 1);
	}
	pp_intern_free(names);
	free_capture(&c);
}

/* More than a table takes are counted. */
TEST(lone_beyond_the_limit)
{
	enum { CALLS = PP_LONE_CALLS_MOST + 10 };
	struct pp_thread thread = {.span = calloc(CALLS, sizeof(struct pp_span)), .spans = CALLS};
	struct pp_rank rank = {.rank = 3, .thread = &thread, .threads = 1};
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_lone_call)};

	for (size_t i = 0; i < CALLS; i++) {
		thread.span[i] = (struct pp_span){.kind = PP_SPAN_MPI, .begin = (int64_t)i * 10, .end = (int64_t)i * 10 + 5};
		thread.span[i].mpi.call = call_number("MPI_Probe");
	}
	CHECK_INT(pp_lone_calls_add(&rank, NULL, &out), 10);
	CHECK_INT(out.rows, PP_LONE_CALLS_MOST);
	pp_table_release(&out);
	free(thread.span);
}

/* One host per rank; the second one's epoch is an hour later. */
TEST(of_two_hosts)
{
	const int64_t hour = 3600LL * 1000000000;
	struct pp_capture c = make();
	struct pp_dataset d;
	const struct pp_dataset *list[TWO];
	struct made part[TWO];
	struct pp_err err;

	make_calls(&c);
	for (size_t r = 0; r < TWO; r++)
		add_mpi(&c, r, "MPI_Probe", 0, 950 * US, 960 * US);
	for (size_t p = 0; p < TWO; p++) {
		struct pp_capture one = c;

		one.rank = &c.rank[p];
		one.ranks = 1;
		one.epoch_realtime_ns = p ? hour : 0;
		build(&part[p], &one, 0, 1);
		list[p] = &part[p].d;
	}
	CHECK_INT(pp_dataset_merge(list, TWO, &d, &err), 0);
	CHECK_INT(pp_dataset_finish(&d, &err), 0);
	CHECK_INT(d.collectives, 7);
	check_call(&d, 0, 0, 1, 100 * US, 0);
	check_call(&d, 7, 0, 2, 210 * US, 0);
	check_call(&d, 4, 0, 0, 0, 0);
	CHECK_INT(row_of(&d, 0, 0)->call_end_ns, 200 * US);
	CHECK_INT(row_of(&d, 0, 1)->call_end_ns, row_of(&d, 0, 1)->exit_ns);
	check_call(&d, 0, 1, 1, hour + 150 * US, 0);
	check_call(&d, 7, 1, 6, hour + 160 * US, 0);
	CHECK_INT(d.lone_calls, 2);
	check_lone(&d, 0, "MPI_Probe", 950 * US, 960 * US, 1);
	check_lone(&d, 1, "MPI_Probe", hour + 950 * US, hour + 960 * US, 1);
	pp_dataset_release(&d);
	for (size_t p = 0; p < TWO; p++)
		drop(&part[p], 1);
	free_capture(&c);
}

int main(void)
{
	one_call_for_several_rows();
	polls_begin();
	of_threads();
	lone();
	lone_beyond_the_limit();
	places_of_one_host();
	places_of_two_hosts();
	of_two_hosts();
	return test_end();
}
