/* Messages in the ledger: late senders and receivers, of blocking and nonblocking calls, what of it is exposed, what rows say of
 * their rank's time, and shares of hosts that make the ledger of one keeper. */
#include "aggregate/analyze/finish.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

enum { RANKS = 4, HALF = 2, STEPS = 8, MESSAGES = 4096, US = 1000 };

static struct pp_span_message message[RANKS][MESSAGES];

static struct pp_capture make(size_t ranks)
{
	struct pp_capture c = make_capture(ranks);

	for (size_t r = 0; r < ranks; r++) {
		c.rank[r].message = message[r];
		c.rank[r].records = 1;
		c.rank[r].clock[0] = 'c';
	}
	return c;
}

static struct pp_record_message_half half_of(size_t peer, int tag, uint32_t order)
{
	return (struct pp_record_message_half){
	        .peer = (int32_t)peer, .tag = tag, .order = order, .flags = PP_MESSAGE_TAGGED | PP_MESSAGE_CERTAIN};
}

static const struct pp_record_message_half none;

static struct pp_span *carry(struct pp_capture *c, size_t r, struct pp_span *s, struct pp_record_message_half sent,
                             struct pp_record_message_half received)
{
	struct pp_rank *rank = &c->rank[r];

	rank->message[rank->messages++] = (struct pp_span_message){.sent = sent, .received = received};
	s->mpi.comm = 77;
	s->mpi.flags |= PP_MPI_HAS_MESSAGE;
	s->mpi.sequence = (uint32_t)rank->messages;
	s->mpi.sent = sent.flags ? 1000 : 0;
	s->mpi.received = received.flags ? 1000 : 0;
	s->mpi.peer = sent.flags ? sent.peer : received.peer;
	return s;
}

static void sends(struct pp_capture *c, size_t r, size_t to, uint32_t order, int64_t begin, int64_t end)
{
	carry(c, r, add_mpi(c, r, "MPI_Send", 0, begin, end), half_of(to, 5, order), none);
}

static void receives(struct pp_capture *c, size_t r, size_t from, uint32_t order, int64_t begin, int64_t end)
{
	carry(c, r, add_mpi(c, r, "MPI_Recv", 0, begin, end), none, half_of(from, 5, order));
}

/* A nonblocking call that is seen complete at `done`; the Wait that sees it is the caller's. */
static void posts(struct pp_capture *c, size_t r, int is_send, size_t peer, uint32_t order, uint32_t request, int64_t begin,
                  int64_t done)
{
	const char *name = is_send ? "MPI_Isend" : "MPI_Irecv";
	struct pp_span *s = add_span(c, r, 0, PP_SPAN_REQUEST, name, begin, done);

	s->mpi.call = call_number(name);
	s->mpi.request = request;
	s->mpi.comm = 77;
	if (!is_send)
		carry(c, r, s, none, half_of(peer, 5, order));
	s = add_mpi(c, r, name, 0, begin, begin + 10);
	s->mpi.request = request;
	if (is_send)
		carry(c, r, s, half_of(peer, 5, order), none);
}

static const struct pp_row_arrival *row_of(const struct pp_dataset *d, size_t operation, int32_t rank)
{
	const struct pp_row_collective *c = &d->collective[operation];

	for (uint32_t i = 0; i < c->row_count; i++)
		if (d->arrival[c->row_first + i].worker == rank)
			return &d->arrival[c->row_first + i];
	abort();
}

/* Every ns of communication is waiting, transfer or neither; rows and cells agree. */
static void check_sums(const struct pp_dataset *d)
{
	int64_t rows = 0, wait = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *cell = &d->cell[i];

		wait += cell->wait_ns;
		CHECK_INT(cell->wait_ns + cell->transfer_ns + cell->point_to_point_ns,
		          cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION]);
	}
	for (size_t i = 0; i < d->arrivals; i++)
		rows += d->arrival[i].exposed_wait_ns;
	CHECK_INT(rows, wait);
	check_budget(d);
}

/* Rank 1 receives from 0 us until the message comes at 300 us; then rank 0 sends at 400 us what rank 1 only takes at 700 us. */
TEST(late_ends)
{
	struct pp_capture c = make(2);
	const struct pp_row_arrival *row;
	struct made m;

	for (size_t r = 0; r < 2; r++)
		add_step(&c, r, 0, 0, 1000 * US);
	sends(&c, 0, 1, 0, 300 * US, 310 * US);
	sends(&c, 0, 1, 1, 400 * US, 720 * US);
	receives(&c, 1, 0, 0, 0, 320 * US);
	receives(&c, 1, 0, 1, 700 * US, 730 * US);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.collectives, 2);
	CHECK(m.d.collective[0].message && m.d.collective[0].source == 0 && m.d.collective[0].destination == 1);
	CHECK_INT(m.d.collective[0].tag, 5);
	CHECK_INT(m.d.collective[1].sequence, 1);
	row = row_of(&m.d, 0, 1);
	CHECK_INT(row->exposed_wait_ns, 300 * US); /* a late sender */
	CHECK_INT(row->late_rank, 0);
	CHECK_INT(row_of(&m.d, 0, 0)->exposed_wait_ns, 0); /* the receiver was there */
	row = row_of(&m.d, 1, 0);
	CHECK_INT(row->exposed_wait_ns, 300 * US); /* a late receiver */
	CHECK_INT(row->late_rank, 1);
	CHECK_INT(m.d.cell[0].wait_ns, 300 * US);
	CHECK_INT(m.d.cell[0].transfer_ns, 30 * US);
	CHECK_INT(m.d.cell[0].late_ns, 300 * US);
	CHECK_INT(m.d.cell[1].point_to_point_ns, 0);
	CHECK_INT(row_of(&m.d, 0, 0)->local_us[PP_CATEGORY_OTHER], 300);
	CHECK_INT(row_of(&m.d, 1, 0)->local_us[PP_CATEGORY_OTHER], 90);
	CHECK_INT(row_of(&m.d, 1, 0)->local_us[PP_CATEGORY_HOST_COMMUNICATION], 10);
	CHECK_INT(row_of(&m.d, 1, 1)->local_us[PP_CATEGORY_HOST_COMMUNICATION], 320);
	CHECK_INT(row_of(&m.d, 1, 1)->local_us[PP_CATEGORY_OTHER], 380);
	check_sums(&m.d);
	drop(&m, 2);
	free_capture(&c);
}

/* A send that returned before its receiver came waited for nobody. */
TEST(eager)
{
	struct pp_capture c = make(2);
	struct made m;

	for (size_t r = 0; r < 2; r++)
		add_step(&c, r, 0, 0, 1000 * US);
	sends(&c, 0, 1, 0, 100 * US, 105 * US);
	receives(&c, 1, 0, 0, 500 * US, 510 * US);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK_INT(m.d.cell[0].transfer_ns, 5 * US);
	CHECK_INT(m.d.cell[1].transfer_ns, 10 * US);
	CHECK_INT(row_of(&m.d, 0, 0)->late_rank, -1);
	check_sums(&m.d);
	drop(&m, 2);
	free_capture(&c);
}

/* Rank 1 posts receives from ranks 0 and 2 and computes; only its Wait for the later sender counts, from the begin of the Wait. */
TEST(only_the_exposed_part)
{
	struct pp_capture c = make(3);
	struct made m;

	for (size_t r = 0; r < 3; r++)
		add_step(&c, r, 0, 0, 1000 * US);
	sends(&c, 0, 1, 0, 500 * US, 501 * US);
	posts(&c, 1, 0, 0, 0, 1, 100 * US, 650 * US);
	posts(&c, 1, 0, 2, 0, 2, 110 * US, 650 * US);
	add_range(&c, 1, 0, "forward", 120 * US, 400 * US);
	add_mpi(&c, 1, "MPI_Waitall", 0, 400 * US, 650 * US)->mpi.comm = 0;
	sends(&c, 2, 1, 0, 600 * US, 601 * US);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.collectives, 2);
	CHECK_INT(m.d.cell[1].wait_ns, 200 * US);
	CHECK_INT(m.d.cell[2].late_ns, 200 * US);
	CHECK_INT(m.d.cell[0].late_ns, 0);
	CHECK_INT(m.d.cell[1].transfer_ns, 50 * US + 20);
	for (size_t i = 0; i < 2; i++) {
		const struct pp_row_arrival *row = row_of(&m.d, i, 1);

		CHECK_INT(row->exposed_wait_ns, m.d.collective[i].source == 2 ? 200 * US : 0);
		CHECK_INT(row->late_rank, m.d.collective[i].source);
	}
	check_sums(&m.d);
	drop(&m, 3);
	free_capture(&c);
}

/* What has no other end, or another one's size, is neither waiting nor transfer, and is counted. */
TEST(odd_messages)
{
	struct pp_capture c = make(2);
	struct made m;

	for (size_t r = 0; r < 2; r++)
		add_step(&c, r, 0, 0, 1000 * US);
	sends(&c, 0, 1, 0, 300 * US, 310 * US);
	sends(&c, 0, 1, 1, 400 * US, 410 * US);
	c.rank[0].thread[0].span[1 + 1].mpi.sent = 7;
	carry(&c, 0, add_mpi(&c, 0, "MPI_Send", 0, 500 * US, 510 * US), (struct pp_record_message_half){.peer = 1, .flags = 1},
	      none);
	receives(&c, 1, 0, 1, 200 * US, 420 * US);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.collectives, 2);
	CHECK_INT(m.d.messages_lone, 1);
	CHECK_INT(m.d.messages_uncertain, 1);
	CHECK_INT(m.d.collective[1].mismatch + m.d.collective[0].mismatch, PP_MISMATCH_BYTES);
	CHECK_INT(m.d.cell[0].point_to_point_ns, 30 * US);
	CHECK_INT(m.d.cell[1].point_to_point_ns, 220 * US);
	CHECK_INT(m.d.doubled + m.d.unsplit + m.d.mixed + m.d.violations, 0);
	check_sums(&m.d);
	drop(&m, 2);
	free_capture(&c);
}

/* Ranks talk at random: in each step a message along each of some pairs, and a sum of all. */
static struct pp_capture throw(void)
{
	static int32_t everybody[RANKS] = {0, 1, 2, 3};
	struct pp_capture c = make(RANKS);
	int64_t now[RANKS] = {0}, begin[RANKS];
	uint32_t request = 0, order[RANKS][RANKS] = {{0}};

	for (size_t r = 0; r < RANKS; r++) {
		c.rank[r].comms = 1;
		c.rank[r].comm = calloc(1, sizeof(*c.rank[r].comm));
		c.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = RANKS, .member = everybody};
		snprintf(c.rank[r].host, sizeof(c.rank[r].host), "h%zu", r / HALF);
		c.rank[r].domain = 0;
	}
	for (int64_t s = 0; s < STEPS; s++) {
		size_t step[RANKS];
		int64_t last = 0;

		for (size_t r = 0; r < RANKS; r++) {
			begin[r] = now[r];
			step[r] = c.rank[r].thread[0].spans;
			add_step(&c, r, s, now[r], now[r]);
		}
		for (uint64_t n = kit_random(5); n; n--) {
			size_t a = kit_random(RANKS), b = (a + 1 + kit_random(RANKS - 1)) % RANKS;
			int64_t at = (now[a] += (int64_t)kit_random(50) * US), to = (now[b] += (int64_t)kit_random(50) * US);
			int64_t late = at > to ? at : to;
			uint32_t o = order[a][b]++;

			if (kit_random(2)) {
				now[a] = kit_random(2) ? at + 500 : late + 700;
				now[b] = late + 900;
				sends(&c, a, b, o, at, now[a]);
				receives(&c, b, a, o, to, now[b]);
				continue;
			}
			request += 2;
			now[a] = at + 2 * US > to ? late + 3 * US : to + 3 * US;
			now[b] = to + 2 * US > at ? late + 4 * US : at + 4 * US;
			posts(&c, a, 1, b, o, request, at, now[a]);
			posts(&c, b, 0, a, o, request + 1, to, now[b]);
			add_mpi(&c, a, "MPI_Wait", 0, at + 2 * US, now[a])->mpi.comm = 0;
			add_mpi(&c, b, "MPI_Wait", 0, to + 2 * US, now[b])->mpi.comm = 0;
		}
		for (size_t r = 0; r < RANKS; r++)
			last = now[r] > last ? now[r] : last;
		for (size_t r = 0; r < RANKS; r++) {
			add_mpi(&c, r, "MPI_Allreduce", (uint32_t)s, now[r], last + 1 * US);
			now[r] = c.rank[r].thread[0].span[step[r]].end = last + 2 * US;
			CHECK(now[r] > begin[r]);
		}
	}
	return c;
}

TEST(hosts_like_one_keeper)
{
	uint64_t messages = 0, waiting = 0;

	for (int round = 0; round < 50 && !test_failures; round++) {
		struct pp_capture all = throw(), part[2] = {all, all};
		struct made whole, share[2];
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset back[2], d;
		const struct pp_dataset *const parts[] = {&back[0], &back[1]};

		build(&whole, &all, STEPS - 1, 0);
		check_sums(&whole.d);
		part[0].ranks = part[1].ranks = HALF;
		part[1].rank += HALF;
		for (int p = 0; p < 2; p++) {
			build(&share[p], &part[p], STEPS - 1, 1);
			travel(&share[p].d, names, &back[p]);
		}
		CHECK_INT(pp_dataset_merge(parts, 2, &d, NULL), 0);
		CHECK_INT(pp_dataset_finish(&d, NULL), 0);
		compare_cells(&whole.d, &d);
		compare_collectives(&whole.d, &d);
		check_sums(&d);
		for (size_t i = 0; i < d.collectives; i++) {
			messages += d.collective[i].message && d.collective[i].row_count == 2;
			waiting += d.collective[i].message && d.collective[i].wait_ns;
		}
		pp_dataset_release(&d);
		for (int p = 0; p < 2; p++) {
			pp_dataset_release(&back[p]);
			drop(&share[p], HALF);
		}
		drop(&whole, RANKS);
		free_capture(&all);
		pp_intern_free(names);
	}
	CHECK(messages > 200 && waiting > 100);
}

int main(void)
{
	late_ends();
	eager();
	only_the_exposed_part();
	odd_messages();
	hosts_like_one_keeper();
	return test_end();
}
