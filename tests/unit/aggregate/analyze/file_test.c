/* Files and one-sided calls of hand-made captures: /file, /channel, how they join and wait. */
#include "aggregate/analyze/build.h"
#include "aggregate/dataset/dataset.h"

#include "core/capture/side.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 3, FILE_A = 1001, FILE_A_AGAIN = 1002, FILE_B = 1003, WINDOW = 1004 };

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[RANKS];
	struct pp_dataset d;
};

static void begin(struct made *m)
{
	static const struct {
		uint64_t id;
		const char *name;
		uint32_t kind;
	} comm[] = {{FILE_A, "a", PP_COMM_FILE},
	            {FILE_A_AGAIN, "a", PP_COMM_FILE},
	            {FILE_B, "b", PP_COMM_FILE},
	            {WINDOW, "w", PP_COMM_WINDOW}};

	*m = (struct made){.capture = make_capture(RANKS)};
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_rank *rank = &m->capture.rank[r];

		add_step(&m->capture, r, 0, 0, 1000);
		rank->comm = calloc(4, sizeof(*rank->comm));
		for (rank->comms = 0; rank->comms < 4; rank->comms++)
			rank->comm[rank->comms] =
			        (struct pp_comm){.id = comm[rank->comms].id,
			                         .name = pp_intern_put(m->capture.names, comm[rank->comms].name, 1),
			                         .size = RANKS,
			                         .kind = comm[rank->comms].kind};
	}
}

static void end(struct made *m)
{
	struct pp_dataset_input in = {.capture = &m->capture, .steps = &m->steps, .attr = m->attr, .asked_last = 1, .bound_ns = 2};
	struct pp_err err = {""};

	CHECK_INT(pp_steps_find(&m->capture, 0, 1, &m->steps, &err), 0);
	for (size_t r = 0; r < RANKS; r++)
		CHECK_INT(pp_attr_rank(&m->capture.rank[r], r, &m->steps, RANKS, m->capture.names, PP_ATTR_KEEP_ALL, &m->attr[r],
		                       &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, &err), 0);
}

static void drop(struct made *m)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < RANKS; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
	free_capture(&m->capture);
}

static struct pp_span *call(struct made *m, size_t r, const char *name, uint64_t comm, uint32_t sequence, int64_t at, int64_t until)
{
	struct pp_span *s = add_mpi(&m->capture, r, name, sequence, at, until);

	s->mpi.comm = comm;
	s->mpi.sent = s->mpi.received = 0;
	return s;
}

static const struct pp_row_file *use_of(const struct made *m, const char *name, int32_t worker)
{
	static const struct pp_row_file none;

	for (size_t i = 0; i < m->d.files; i++)
		if (m->d.file[i].worker == worker && !strcmp(pp_intern_text(m->d.names, m->d.file[i].name, NULL), name))
			return &m->d.file[i];
	return &none;
}

TEST(test_files)
{
	struct made m;
	struct pp_span *s;

	begin(&m);
	call(&m, 0, "MPI_File_open", FILE_A, 0, 100, 110);
	call(&m, 0, "MPI_File_write_at", FILE_A, 1, 120, 150)->mpi.sent = 70;
	call(&m, 0, "MPI_File_close", FILE_A, 1, 160, 163);
	call(&m, 0, "MPI_File_open", FILE_A_AGAIN, 0, 200, 205);
	call(&m, 0, "MPI_File_write_all_begin", FILE_A_AGAIN, 1, 210, 212)->mpi.sent = 30;
	call(&m, 0, "MPI_File_write_all_end", FILE_A_AGAIN, 2, 220, 230);
	/* one that waits for its request: its bytes and its end are told there */
	s = add_span(&m.capture, 0, 0, PP_SPAN_REQUEST, "MPI_File_iread", 300, 400);
	s->mpi.call = call_number("MPI_File_iread");
	s->mpi.request = 7;
	s->mpi.received = 55;
	s = call(&m, 0, "MPI_File_iread", FILE_B, 0, 300, 304);
	s->mpi.request = 7;
	/* an open that failed stands on a communicator */
	s = call(&m, 1, "MPI_File_open", 77, 5, 100, 140);
	s->flags = PP_SPAN_FAILED;
	call(&m, 2, "MPI_File_read", FILE_B, 0, 100, 108)->mpi.received = 9;
	end(&m);
	CHECK_INT(m.d.files, 3);
	CHECK_INT(use_of(&m, "a", 0)->opens, 2);
	CHECK_INT(use_of(&m, "a", 0)->writes, 2);
	CHECK_INT(use_of(&m, "a", 0)->bytes_written, 100);
	CHECK_INT(use_of(&m, "a", 0)->write_ns, 30 + 2 + 10);
	CHECK_INT(use_of(&m, "a", 0)->other_ns, 10 + 3 + 5);
	CHECK_INT(use_of(&m, "a", 0)->reads, 0);
	CHECK_INT(use_of(&m, "b", 0)->reads, 1);
	CHECK_INT(use_of(&m, "b", 0)->bytes_read, 55);
	CHECK_INT(use_of(&m, "b", 0)->read_ns, 100);
	CHECK_INT(use_of(&m, "b", 2)->bytes_read, 9);
	CHECK_INT(use_of(&m, "b", 2)->opens, 0);
	for (size_t i = 0; i < m.d.communicators; i++)
		CHECK_STR(m.d.communicator[i].role, m.d.communicator[i].id == WINDOW ? "window" : "file");
	drop(&m);
}

static const struct pp_row_channel *channel(const struct made *m, int32_t source, int32_t destination)
{
	static const struct pp_row_channel none;

	for (size_t i = 0; i < m->d.channels; i++)
		if (m->d.channel[i].source == source && m->d.channel[i].destination == destination)
			return &m->d.channel[i];
	return &none;
}

TEST(test_one_sided)
{
	struct made m;
	struct pp_span *s;

	begin(&m);
	s = call(&m, 0, "MPI_Put", WINDOW, 0, 100, 110);
	s->mpi.peer = 1;
	s->mpi.sent = 80;
	s = call(&m, 0, "MPI_Get", WINDOW, 0, 120, 125);
	s->mpi.peer = 1;
	s->mpi.received = 40;
	s = call(&m, 0, "MPI_Fetch_and_op", WINDOW, 0, 130, 133);
	s->mpi.peer = 2;
	s->mpi.sent = s->mpi.received = 8;
	s = add_span(&m.capture, 2, 0, PP_SPAN_REQUEST, "MPI_Rput", 200, 290);
	s->mpi.call = call_number("MPI_Rput");
	s->mpi.request = 3;
	s = call(&m, 2, "MPI_Rput", WINDOW, 0, 200, 205);
	s->mpi.request = 3;
	s->mpi.peer = 0;
	s->mpi.sent = 16;
	s = call(&m, 2, "MPI_Put", WINDOW, 0, 300, 310); /* to MPI_PROC_NULL */
	end(&m);
	CHECK_INT(m.d.channels, 4);
	CHECK_INT(channel(&m, 0, 1)->bytes, 80);
	CHECK_INT(channel(&m, 0, 1)->time_ns, 10);
	CHECK_INT(channel(&m, 1, 0)->bytes, 40);
	CHECK_INT(channel(&m, 0, 2)->bytes, 8);
	CHECK_INT(channel(&m, 2, 0)->bytes, 8 + 16);
	CHECK_INT(channel(&m, 2, 0)->count, 2);
	CHECK_INT(channel(&m, 2, 0)->time_ns, 3 + 90);
	drop(&m);
}

/* Rank r comes at 100 + 100 r and leaves at `leave`, rank 0 possibly before the others come. */
static void joined(struct made *m, const char *name, int64_t leave_first)
{
	begin(m);
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *s = call(m, r, name, WINDOW, 0, 100 + 100 * (int64_t)r, r ? 400 : leave_first);

		if (strstr(name, "File"))
			s->category = PP_CATEGORY_OUTPUT;
	}
	end(m);
}

TEST(test_joined)
{
	static const char *const all[] = {"MPI_Win_fence", "MPI_Win_free", "MPI_File_open", "MPI_File_write_all",
	                                  "MPI_File_read_at_all"};
	struct made m;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int is_file = strstr(all[i], "File") != NULL;

		joined(&m, all[i], 400);
		CHECK_INT(m.d.collectives, 1);
		CHECK_INT(m.d.collective[0].ranks, RANKS);
		CHECK_INT(m.d.collective[0].wait_ns, 200 + 100);
		CHECK_INT(m.d.collective[0].transfer_ns, 3 * 100);
		/* waiting for others in a file's call is the file's time, not communication */
		CHECK_INT(m.d.cell[0].wait_ns, is_file ? 0 : 200);
		CHECK_INT(m.d.cell[0].exclusive_ns[is_file ? PP_CATEGORY_OUTPUT : PP_CATEGORY_HOST_COMMUNICATION], 300);
		drop(&m);
		/* one that need not wait for the others lets its rank go: no fault of the clock */
		joined(&m, all[i], 150);
		CHECK_INT(m.d.violations, 0);
		CHECK_INT(m.d.collective[0].wait_ns, 100); /* of rank 1; what rank 0 did, it did not wait for */
		drop(&m);
	}
	joined(&m, "MPI_Barrier", 150);
	CHECK_INT(m.d.violations, 1);
	drop(&m);
}

int main(void)
{
	test_files();
	test_one_sided();
	test_joined();
	return test_end();
}
