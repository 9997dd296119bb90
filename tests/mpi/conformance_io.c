/* Every call of core/call/mpi_io.def, each recorded once with its bytes, the file's communicator and its number on it. 4 ranks
 * write and read a file of blocks, one a rank. */
#include <unistd.h>

#include "tests/mpi/conform.h"

static const char *const rows[] = {
#define PP_MPI(symbol, ...) "MPI_" #symbol,
#include "core/call/mpi_io.def"
#undef PP_MPI
};

enum { N = 100, BYTES = N * 4 };

static char path[300];
static int32_t out[N], in[N];

static int is_output(void)
{
	return (last_call()->flags & PP_MPI_TO_FILE) != 0;
}

/* The record of the call that opens is the first collective of the file, which is told by name. */
static MPI_File open_one(int mode)
{
	const struct fake_record *f;
	MPI_File file;

	CHECK_INT(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), MPI_SUCCESS);
	WANT("MPI_File_open", -1, 0, 0);
	f = made_one(PP_COMM_FILE);
	if (f)
		CHECK_STR(f->text, path);
	CHECK_INT(how_many(PP_RECORD_COMM), 2); /* members, and the file's name */
	did(__FILE__, __LINE__, "MPI_File_open", 1);
	CHECK_INT(is_output(), mode != MPI_MODE_RDONLY);
	CHECK(equal_on(MPI_COMM_WORLD, on_comm));
	return file;
}

static void unused_barrier(void)
{
	fake->record_on(0);
	MPI_Barrier(MPI_COMM_WORLD);
	fake->record_on(1);
}

static int read_back(void)
{
	int same_ = memcmp(in, out, sizeof in) == 0;

	memset(in, 0, sizeof in);
	return same_;
}

TEST(test_without_data)
{
	MPI_File file = open_one(MPI_MODE_CREATE | MPI_MODE_RDWR);
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_File_set_size(file, 16);
	DID_ALL(File_set_size, 0, 0);
	CHECK(is_output());
	MPI_File_preallocate(file, (MPI_Offset)ranks * BYTES);
	DID_ALL(File_preallocate, 0, 0);
	CHECK(is_output());
	MPI_File_set_info(file, info);
	DID_ALL(File_set_info, 0, 0);
	MPI_File_set_view(file, 0, MPI_INT32_T, MPI_INT32_T, "native", MPI_INFO_NULL);
	DID_ALL(File_set_view, 0, 0);
	CHECK(is_output());
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	MPI_File_sync(file);
	DID_ALL(File_sync, 0, 0);
	CHECK(is_output());
	MPI_File_set_atomicity(file, 0);
	DID_ALL(File_set_atomicity, 0, 0);
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
	CHECK(is_output());
	CHECK(file == MPI_FILE_NULL);
	MPI_Info_free(&info);
}

TEST(test_at)
{
	MPI_File file = open_one(MPI_MODE_CREATE | MPI_MODE_RDWR);
	MPI_Offset at = (MPI_Offset)me * BYTES;
	MPI_Request request;
	MPI_Status status;
	int count;

	MPI_File_write_at(file, at, out, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_write_at, -1, BYTES, 0);
	MPI_File_read_at(file, at, in, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_read_at, -1, 0, BYTES);
	CHECK(read_back());
	MPI_File_iwrite_at(file, at, out, N, MPI_INT32_T, &request);
	DID(File_iwrite_at, -1, BYTES, 0);
	ENDS(request, -1, 0);
	MPI_File_iread_at(file, at, in, N, MPI_INT32_T, &request);
	DID(File_iread_at, -1, 0, 0);
	ENDS(request, -1, BYTES);
	CHECK(read_back());
	MPI_File_write_at_all(file, at, out, N, MPI_INT32_T, &status);
	DID_ALL(File_write_at_all, BYTES, 0);
	MPI_File_read_at_all(file, at, in, N, MPI_INT32_T, &status);
	DID_ALL(File_read_at_all, 0, BYTES);
	MPI_Get_count(&status, MPI_INT32_T, &count);
	CHECK_INT(count, N);
	CHECK(read_back());
	MPI_File_iwrite_at_all(file, at, out, N, MPI_INT32_T, &request);
	DID_ALL(File_iwrite_at_all, BYTES, 0);
	ENDS(request, -1, 0);
	MPI_File_iread_at_all(file, at, in, N, MPI_INT32_T, &request);
	DID_ALL(File_iread_at_all, 0, 0);
	ENDS(request, -1, BYTES);
	CHECK(read_back());
	MPI_File_write_at_all_begin(file, at, out, N, MPI_INT32_T);
	DID_ALL(File_write_at_all_begin, BYTES, 0);
	MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE);
	DID_ALL(File_write_at_all_end, 0, 0);
	MPI_File_read_at_all_begin(file, at, in, N, MPI_INT32_T);
	DID_ALL(File_read_at_all_begin, 0, 0);
	MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
	DID_ALL(File_read_at_all_end, 0, BYTES);
	CHECK(read_back());
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
}

/* The position is the rank's own: back to the begin of its view before what follows. */
static void rewind_to_view(MPI_File file)
{
	fake->record_on(0);
	MPI_File_seek(file, 0, MPI_SEEK_SET);
	fake->record_on(1);
}

TEST(test_individual)
{
	MPI_File file = open_one(MPI_MODE_CREATE | MPI_MODE_RDWR);
	MPI_Request request;

	MPI_File_set_view(file, (MPI_Offset)me * BYTES, MPI_INT32_T, MPI_INT32_T, "native", MPI_INFO_NULL);
	DID_ALL(File_set_view, 0, 0);
	MPI_File_write(file, out, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_write, -1, BYTES, 0);
	rewind_to_view(file);
	MPI_File_read(file, in, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_read, -1, 0, BYTES);
	CHECK(read_back());
	rewind_to_view(file);
	MPI_File_iwrite(file, out, N, MPI_INT32_T, &request);
	DID(File_iwrite, -1, BYTES, 0);
	ENDS(request, -1, 0);
	rewind_to_view(file);
	MPI_File_iread(file, in, N, MPI_INT32_T, &request);
	DID(File_iread, -1, 0, 0);
	ENDS(request, -1, BYTES);
	CHECK(read_back());
	rewind_to_view(file);
	MPI_File_write_all(file, out, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID_ALL(File_write_all, BYTES, 0);
	rewind_to_view(file);
	MPI_File_read_all(file, in, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID_ALL(File_read_all, 0, BYTES);
	CHECK(read_back());
	rewind_to_view(file);
	MPI_File_iwrite_all(file, out, N, MPI_INT32_T, &request);
	DID_ALL(File_iwrite_all, BYTES, 0);
	ENDS(request, -1, 0);
	rewind_to_view(file);
	MPI_File_iread_all(file, in, N, MPI_INT32_T, &request);
	DID_ALL(File_iread_all, 0, 0);
	ENDS(request, -1, BYTES);
	CHECK(read_back());
	rewind_to_view(file);
	MPI_File_write_all_begin(file, out, N, MPI_INT32_T);
	DID_ALL(File_write_all_begin, BYTES, 0);
	MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
	DID_ALL(File_write_all_end, 0, 0);
	rewind_to_view(file);
	MPI_File_read_all_begin(file, in, N, MPI_INT32_T);
	DID_ALL(File_read_all_begin, 0, 0);
	MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
	DID_ALL(File_read_all_end, 0, BYTES);
	CHECK(read_back());
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
}

TEST(test_shared)
{
	MPI_File file = open_one(MPI_MODE_CREATE | MPI_MODE_RDWR);
	MPI_Request request;

	MPI_File_write_ordered(file, out, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID_ALL(File_write_ordered, BYTES, 0);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	MPI_File_read_ordered(file, in, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID_ALL(File_read_ordered, 0, BYTES);
	CHECK(read_back());
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	MPI_File_write_ordered_begin(file, out, N, MPI_INT32_T);
	DID_ALL(File_write_ordered_begin, BYTES, 0);
	MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
	DID_ALL(File_write_ordered_end, 0, 0);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	MPI_File_read_ordered_begin(file, in, N, MPI_INT32_T);
	DID_ALL(File_read_ordered_begin, 0, 0);
	MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);
	DID_ALL(File_read_ordered_end, 0, BYTES);
	CHECK(read_back());
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	/* in no order: all blocks are there, whose is not known */
	MPI_File_write_shared(file, out, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_write_shared, -1, BYTES, 0);
	MPI_File_iwrite_shared(file, out, N, MPI_INT32_T, &request);
	DID(File_iwrite_shared, -1, BYTES, 0);
	ENDS(request, -1, 0);
	unused_barrier(); /* a rank may seek while another one still writes */
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	DID_ALL(File_seek_shared, 0, 0);
	MPI_File_read_shared(file, in, N, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID(File_read_shared, -1, 0, BYTES);
	MPI_File_iread_shared(file, in, N, MPI_INT32_T, &request);
	DID(File_iread_shared, -1, 0, 0);
	ENDS(request, -1, BYTES);
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
}

/* Less is left than asked for; opened to be read; made while nothing was recorded. */
TEST(test_end_of_file)
{
	MPI_File file;
	MPI_Status status;
	int count;

	fake->record_on(0);
	CHECK_INT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
	MPI_File_set_size(file, 40);
	fake->record_on(1);
	MPI_File_read_at(file, 8, in, N, MPI_INT32_T, &status);
	take_all();
	CHECK_STR(made_one(PP_COMM_FILE)->text, path);
	on_sequence = 2;
	did(__FILE__, __LINE__, "MPI_File_read_at", 0);
	CHECK_INT(last_call()->received, 32);
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
	file = open_one(MPI_MODE_RDONLY);
	MPI_File_read_at_all(file, 0, in, N, MPI_INT32_T, &status);
	MPI_Get_count(&status, MPI_CHAR, &count); /* Open MPI 4.1 says here what was asked for */
	DID_ALL(File_read_at_all, 0, count);
	MPI_File_close(&file);
	DID_ALL(File_close, 0, 0);
	CHECK(!is_output());
}

/* Two files of one name at once, one of this rank alone: each is one of its own. A file that is not there is opened by nobody. */
TEST(test_two_and_none)
{
	MPI_File both = open_one(MPI_MODE_CREATE | MPI_MODE_RDWR), alone, none;
	uint64_t first = on_comm;
	char missing[320];

	MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &alone);
	WANT("MPI_File_open", -1, 0, 0);
	made_one(PP_COMM_FILE);
	CHECK(on_comm != first);
	on_sequence = 1;
	MPI_File_read_at_all(alone, 0, in, 1, MPI_INT32_T, MPI_STATUS_IGNORE);
	DID_ALL(File_read_at_all, 0, 4);
	MPI_File_close(&alone);
	DID_ALL(File_close, 0, 0);
	on_comm = first;
	on_sequence = 1;
	MPI_File_close(&both);
	DID_ALL(File_close, 0, 0);
	snprintf(missing, sizeof missing, "%s.missing", path);
	CHECK(MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &none) != MPI_SUCCESS);
	one_call(__FILE__, __LINE__, "MPI_File_open");
	CHECK(last_call()->flags & PP_MPI_FAILED);
	CHECK_INT(how_many(PP_RECORD_COMM), 0);
}

TEST(test_delete)
{
	MPI_Barrier(MPI_COMM_WORLD);
	forget();
	if (me == 0) {
		CHECK_INT(MPI_File_delete(path, MPI_INFO_NULL), MPI_SUCCESS);
		on_comm = 0;
		on_sequence = 0;
		DID(File_delete, -1, 0, 0);
		CHECK(access(path, F_OK) != 0);
	}
	for (unsigned call = 0; me && call < pp_mpi_call_count(); call++)
		if (!strcmp(pp_mpi_call_info(call)->name, "MPI_File_delete"))
			did_call[call] = 1;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");

	MPI_Init(&argc, &argv);
	want_begin();
	/* longer than what a record holds inline */
	snprintf(path, sizeof path, "%s/podprof conformance of MPI I/O, the whole name %d.bin", dir ? dir : "/tmp", (int)getpid());
	for (char *c = path + strlen(dir ? dir : "/tmp") + 1; *c; c++)
		if (*c == '/')
			*c = '_';
	MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int i = 0; i < N; i++)
		out[i] = me * 1000 + i;
	forget();
	test_without_data();
	test_at();
	test_individual();
	test_shared();
	test_end_of_file();
	test_two_and_none();
	test_delete();
	did_all_rows(rows, sizeof rows / sizeof rows[0]);
	return want_end();
}
