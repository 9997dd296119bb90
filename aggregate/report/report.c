/* Makes report.html from pod.h5: the page's parts around one JSON object. See report.h; called by the keeper and `podprof
 * report`. */
#include "aggregate/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/report/data/page.h"
#include "aggregate/report/data/plain.h"
#include "aggregate/report/page/embed.h"
#include "aggregate/timeline/event_files.h"
#include "aggregate/tools/pod_lines.h"
#include "aggregate/tools/recommend.h"
#include "aggregate/write/h5/hdf5.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/why.h"

enum { QUICK_BYTES = 4 << 20, QUICK_EVENT_BYTES = 1 << 20 };

static void put_notes(struct pp_page *p)
{
	pp_page_key(p, "left_out", 0);
	for (size_t i = 0; i < p->notes; i++) {
		fputc(i ? ',' : '[', p->to);
		pp_json_text(p->to, p->note[i]);
	}
	fputs(p->notes ? "]" : "[]", p->to);
}

static void put_losses(struct pp_page *p)
{
	static const struct {
		const char *name, *what;
	} loss[] = {
#define PP_LOSS(symbol, column, what) {#column, what},
#include "core/ring/loss.def"
#undef PP_LOSS
	};

	pp_page_key(p, "loss", 0);
	for (size_t i = 0; i < sizeof(loss) / sizeof(loss[0]); i++) {
		fputc(i ? ',' : '{', p->to);
		pp_page_key(p, loss[i].name, 1);
		pp_json_text(p->to, loss[i].what);
	}
	fputc('}', p->to);
}

/* Late, as pod.h5 may not stand before; event files, which other hosts write meanwhile, are read later still. */
static void put_size(struct pp_page *p)
{
	struct stat st;
	int rc = p->code || !p->wait ? 0 : p->wait->pod_stands(p->wait->context);

	if (rc)
		p->code = pp_err_set(p->err, rc, "there is no '%s'", pp_h5_file_path(p->h5));
	pp_page_key(p, "pod_bytes", 0);
	pp_json_int(p->to, stat(pp_h5_file_path(p->h5), &st) ? 0 : (int64_t)st.st_size);
}

static void put_data(struct pp_page *p)
{
	fputc('{', p->to);
	pp_page_run(p);
	pp_page_first(p);
	pp_page_workers(p);
	pp_page_steps(p);
	pp_page_read(p);
	pp_page_bands(p);
	pp_page_cells(p);
	pp_page_tables(p);
	pp_page_ops(p);
	pp_page_arrivals(p);
	pp_page_messages(p);
	pp_page_skyline(p);
	put_size(p);
	pp_page_timeline(p);
	put_losses(p);
	put_notes(p);
	fputc('}', p->to);
}

static void put_style(struct pp_page *p)
{
	fputs(pp_embed_style, p->to);
}

static void put_app(struct pp_page *p)
{
	pp_json_base64(p->to, pp_embed_app, pp_embed_app_size);
}

static void put_boot(struct pp_page *p)
{
	fputs(pp_embed_boot, p->to);
}

/* The page is page.html with its markers, <!--NAME-->, replaced. */
static void put_page(struct pp_page *p)
{
	static const struct {
		const char *name;
		void (*put)(struct pp_page *p);
	} part[] = {{"style", put_style},
	            {"data", put_data},
	            {"app", put_app},
	            {"boot", put_boot},
#define PART(marker, function) {#marker, function},
	            PP_PLAIN_PARTS(PART)
#undef PART
	};
	const char *at = pp_embed_page, *marker;

	while ((marker = strstr(at, "<!--")) && !p->code) {
		const char *name = marker + 4, *end = strstr(name, "-->");

		fwrite(at, 1, (size_t)(marker - at), p->to);
		if (!end)
			break;
		for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
			if (strlen(part[i].name) == (size_t)(end - name) && !strncmp(name, part[i].name, (size_t)(end - name)))
				part[i].put(p);
		at = end + 3;
	}
	fputs(at, p->to);
}

/* The same for a file that is not there, in a directory that is. */
static char *in_directory(const char *pod_path)
{
	const char *slash = strrchr(pod_path, '/');
	char *given = slash ? strndup(pod_path, (size_t)(slash - pod_path)) : NULL, *real = given ? realpath(given, NULL) : NULL,
	     *path = NULL;

	if (real && asprintf(&path, "%s%s", real, slash) < 0)
		path = NULL;
	free(given);
	free(real);
	return path;
}

char *pp_report_logdir(const char *pod_path)
{
	char *path = realpath(pod_path, NULL), *end;

	if (!path) /* not yet written */
		path = in_directory(pod_path);
	end = path;
	for (int up = 0; end && up < 3; up++) {
		end = strrchr(path, '/');
		if (!end || end == path || (up == 2 && strcmp(end, "/podprof") != 0))
			break;
		*end = '\0';
		if (up == 2)
			return path;
	}
	free(path);
	return NULL;
}

/* The page of `h5`, which is closed. at_timeline, wait, capture: see struct pp_page. */
static int make(struct pp_h5_file *h5, volatile int *at_timeline, const struct pp_report_wait *wait, struct pp_capture *capture,
                FILE *to, struct pp_err *err)
{
	struct pp_page *p = calloc(1, sizeof(*p));
	/* The page's groups are read one by one. */
	const uint64_t tables = UINT64_C(1) << PP_TABLE_window | UINT64_C(1) << PP_TABLE_clock_sample |
	                        UINT64_C(1) << PP_TABLE_clock_stretch | UINT64_C(1) << PP_TABLE_clock_wall |
	                        UINT64_C(1) << PP_TABLE_clock_change | UINT64_C(1) << PP_TABLE_memory |
	                        UINT64_C(1) << PP_TABLE_torch_memory | UINT64_C(1) << PP_TABLE_allocator |
	                        UINT64_C(1) << PP_TABLE_memory_timeline | PP_RECOMMEND_TABLES | PP_POD_TABLES;
	const char *path = pp_h5_file_path(h5);
	int code, borrows;

	if (!p) {
		code = pp_err_set(err, -ENOMEM, "no memory for the report of '%s'", path);
		goto close_pod;
	}
	p->to = to;
	p->err = err;
	p->h5 = h5;
	p->at_timeline = at_timeline;
	p->wait = wait;
	p->capture = capture;
	borrows = pp_h5_file_view(p->h5, tables, &p->d);
	code = borrows ? 0 : pp_h5_file_dataset(p->h5, tables, &p->d, err);
	if (code)
		goto free_page;
	code = pp_sums_of(&p->d, &p->sum);
	if (code) {
		pp_err_set(err, code, "no memory for the report of '%s'", path);
	} else {
		p->logdir = pp_report_logdir(path);
		if (pp_answer_of(&p->d, &p->sum, p->logdir, &p->answer))
			p->answer = (struct pp_answer){.gain_rank = -1, .bottleneck = "unknown: no memory"};
		p->code = pp_first_of(&p->d, &p->answer, &p->first);
		if (p->code)
			pp_err_set(err, p->code, "no memory for the report of '%s'", path);
		else
			put_page(p);
		code = p->code;
		pp_first_release(&p->first);
		free(p->blame);
		free(p->reason);
		free(p->peers);
		free(p->logdir);
		pp_sums_release(&p->sum);
	}
	if (!borrows)
		pp_dataset_release(&p->d);
free_page:
	free(p);
close_pod:
	pp_h5_file_close(h5);
	return code;
}

struct part {
	const char *pod_path;
	int fd;
	volatile int *at_timeline; /* shared with the child; NULL without memory */
	struct pp_capture *capture;
};

/* Runs in a child: HDF5 can crash or hang on a damaged file. */
static int make_part(void *context, struct pp_err *err)
{
	const struct part *part = context;
	int copy = dup(part->fd), lost, code;
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");
	struct pp_h5_file *h5;

	if (!to) {
		code = -errno;
		if (copy >= 0)
			close(copy);
		return pp_err_set(err, code, "%s", pp_why(-code));
	}
	code = pp_h5_file_open(part->pod_path, &h5, err);
	if (!code)
		code = make(h5, part->at_timeline, NULL, part->capture, to, err);
	lost = ferror(to);
	if ((fclose(to) || lost) && !code) {
		code = errno ? -errno : -EIO;
		pp_err_set(err, code, "%s", pp_why(-code));
	}
	return code;
}

static int copy_page(int from, int to)
{
	char bytes[65536];
	ssize_t n, done;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		for (ssize_t at = 0; at < n; at += done) {
			done = write(to, bytes + at, (size_t)(n - at));
			if (done <= 0)
				return done ? -errno : -EIO;
		}
	return n ? -errno : 0;
}

/* Where reading event files ends the child, the page is made without a timeline. */
static int write_to(const char *pod_path, struct pp_capture *capture, int fd, struct pp_err *err)
{
	struct part part = {.pod_path = pod_path, .fd = fd, .capture = capture};
	struct pp_event_files events;
	void *shared = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int code;

	part.at_timeline = shared == MAP_FAILED ? NULL : shared;
	pp_event_files_find(part.pod_path, &events);
	code = pp_forked_read_more(part.pod_path, events.bytes, make_part, &part, err);
	if ((code == -EINVAL || code == -ETIMEDOUT) && part.at_timeline && *part.at_timeline == PP_PAGE_TIMELINE_BEGUN) {
		*part.at_timeline = PP_PAGE_TIMELINE_NOT;
		if (ftruncate(part.fd, 0) || lseek(part.fd, 0, SEEK_SET))
			code = pp_err_set(err, -errno, "cannot make the page again: %s", pp_why(errno));
		else
			code = pp_forked_read(part.pod_path, make_part, &part, err);
	}
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(int));
	return code;
}

int pp_report_write_to(const char *pod_path, int fd, struct pp_err *err)
{
	return write_to(pod_path, NULL, fd, err);
}

/* The page is made in memory: there is no .part before it is whole, as the caller may kill this process at any time. */
static int make_memory(const char *html_path, int *ret_memory, struct pp_err *err)
{
	*ret_memory = memfd_create("podprof-report", MFD_CLOEXEC);
	return *ret_memory < 0 ? pp_err_set(err, -errno, "cannot write '%s': %s", html_path, pp_why(errno)) : 0;
}

static int write_file(int memory, const char *html_path, struct pp_err *err)
{
	int fd = pp_output_create(html_path, err), code;

	if (fd < 0)
		return fd;
	code = lseek(memory, 0, SEEK_SET) ? -errno : copy_page(memory, fd);
	if (!code)
		return pp_output_commit(fd, html_path, err);
	pp_output_abandon(fd, html_path);
	return pp_err_set(err, code, "cannot write '%s': %s", html_path, pp_why(-code));
}

static int write_part(const char *pod_path, const char *html_path, struct pp_capture *capture, struct pp_err *err)
{
	int memory, code = make_memory(html_path, &memory, err);

	if (code)
		return code;
	code = write_to(pod_path, capture, memory, err);
	if (!code)
		code = write_file(memory, html_path, err);
	else if (code != -EINVAL && code != -ETIMEDOUT && code != -ENOENT) /* the error of an unreadable file names it already */
		pp_err_wrap(err, code, "cannot write '%s'", html_path);
	close(memory);
	return code;
}

static int is_older(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

int pp_report_is_fresh(const char *pod_path, const char *html_path)
{
	struct pp_event_files events;
	struct stat h5, html;

	if (stat(pod_path, &h5) || stat(html_path, &html))
		return 0;
	pp_event_files_find(pod_path, &events);
	return !is_older(html.st_mtim, h5.st_mtim) && !is_older(html.st_mtim, events.newest);
}

int pp_report_is_quick(const char *pod_path)
{
	struct pp_event_files events;
	struct stat st;

	if (stat(pod_path, &st))
		return 1;
	pp_event_files_find(pod_path, &events);
	return st.st_size <= QUICK_BYTES && events.bytes <= QUICK_EVENT_BYTES;
}

int pp_report_is_quick_of(const struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];
	size_t bytes = 0;

	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		bytes += table[id].rows * table[id].desc->row_size;
	return bytes <= QUICK_BYTES;
}

/* Opens the directory of a file for a lock; -1 where that fails. */
static int open_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(dir);
	return fd;
}

/* Two writers would share one .part: they lock its directory (HDF5 locks the dataset itself). Without locks the page is written
 * too. */
static int lock_directory(const char *html_path)
{
	int lock = open_directory(html_path);

	if (lock >= 0)
		(void)flock(lock, LOCK_EX);
	return lock;
}

int pp_report_write(const char *pod_path, const char *html_path, struct pp_capture *capture, struct pp_err *err)
{
	int lock = lock_directory(html_path), code = write_part(pod_path, html_path, capture, err);

	if (lock >= 0)
		close(lock);
	return code;
}

/* Makes the page of `h5`, which is closed, into an open file. */
static int make_into(int fd, struct pp_h5_file *h5, const struct pp_report_wait *wait, struct pp_err *err)
{
	int copy = dup(fd), code, lost;
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

	if (!to) {
		code = pp_err_set(err, -errno, "%s", pp_why(errno));
		if (copy >= 0)
			close(copy);
		pp_h5_file_close(h5);
		return code;
	}
	code = make(h5, NULL, wait, NULL, to, err);
	lost = ferror(to);
	if ((fclose(to) || lost) && !code)
		code = pp_err_set(err, errno ? -errno : -EIO, "%s", pp_why(errno ? errno : EIO));
	return code;
}

static int write_of(const struct pp_h5_memory *in, const char *pod_path, const char *html_path, const struct pp_report_wait *wait,
                    struct pp_err *err)
{
	struct pp_h5_file *h5;
	int memory, lock, code = make_memory(html_path, &memory, err);

	if (code)
		return code;
	code = pp_h5_file_over(in, pod_path, &h5, err);
	if (!code)
		code = make_into(memory, h5, wait, err);
	if (code) {
		pp_err_wrap(err, code, "cannot write '%s'", html_path);
	} else {
		lock = lock_directory(html_path);
		code = write_file(memory, html_path, err);
		if (lock >= 0)
			close(lock);
	}
	close(memory);
	return code;
}

int pp_report_write_of(const struct pp_dataset *d, const char *pod_path, const char *html_path, const struct pp_report_wait *wait,
                       struct pp_err *err)
{
	char *logdir = pp_report_logdir(pod_path);
	struct pp_h5_memory *memory;
	int code = pp_hdf5_in_memory(d, logdir ? logdir : "", &memory, err);

	free(logdir);
	if (code)
		return code;
	code = write_of(memory, pod_path, html_path, wait, err);
	pp_h5_memory_free(memory);
	return code;
}
