/* Windows of ranks, and sessions of several directories; see windows.h. Called by cmd_analyze.c. */
#include "launchers/analyze/windows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"

struct timed { /* a file in the order of times, files without a date in that of paths */
	int64_t begin;
	size_t file;
};

PP_COMPARE_BY_2(compare_timed, struct timed, begin, file)

static int is_dated(const struct pp_analyze_file *file)
{
	return file->whose.end > file->whose.begin && file->whose.begin > 0;
}

static int overlaps(const struct pp_analyze_file *a, const struct pp_analyze_file *b)
{
	return is_dated(a) && is_dated(b) && a->whose.begin < b->whose.end && b->whose.begin < a->whose.end;
}

/* torch.profiler names the files of a process WORKER.TIME.pt.trace.json: length of its path up to the worker's end, else 0. */
static size_t worker_of(const struct pp_analyze_file *file)
{
	const char *name = strrchr(file->path, '/'), *end = strstr(name ? name : file->path, ".pt.trace.json"), *at = end;

	while (at && at > file->path && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at && at < end && at - 1 > file->path && at[-1] == '.' ? (size_t)(at - 1 - file->path) : 0;
}

/* By host and pid, where both say them alike. */
static int has_process(const struct pp_analyze_file *file)
{
	return is_dated(file) && file->whose.pid > 0;
}

static int is_same_process(const struct pp_analyze_file *a, const struct pp_analyze_file *b)
{
	if (a->whose.pid != b->whose.pid || a->whose.says_host != b->whose.says_host)
		return 0;
	return !a->whose.says_host || !strcmp(a->whose.host, b->whose.host);
}

static int is_same_rank(const struct pp_analyze_file *a, const struct pp_analyze_file *b, int by_process)
{
	size_t length = worker_of(a);

	if (a->glance.rank >= 0 || b->glance.rank >= 0)
		return a->glance.rank == b->glance.rank;
	if (by_process && has_process(a) && has_process(b))
		return is_same_process(a, b);
	return length && length == worker_of(b) && !strncmp(a->path, b->path, length);
}

static int says_whose(const struct pp_analyze_file *file)
{
	return has_process(file) || worker_of(file);
}

/* Are ranks the same in all windows? By their own numbers, or where each process has a file of each of `windows`. */
static int have_ranks(const struct pp_inputs *in, size_t windows)
{
	size_t read = 0, numbered = 0, complete = 0;

	for (size_t i = 0; i < in->files; i++) {
		const struct pp_analyze_file *file = &in->file[i];

		if (file->why[0])
			continue;
		read++;
		numbered += file->glance.rank >= 0;
		complete += file->window + 1 == windows && says_whose(file);
	}
	return numbered == read || (!numbered && complete * windows == read);
}

static void reset(struct pp_inputs *in)
{
	for (size_t i = 0; i < in->files; i++) {
		in->file[i].window = 0;
		in->file[i].process = (uint32_t)i;
	}
}

/* Where ranks lack a window, the k-th file of each is not of the same one: files that overlap are. Nothing changes where a rank has
 * two of these, or a file has no date. */
static size_t by_overlap(struct pp_inputs *in, const struct timed *order, size_t files, size_t windows)
{
	uint32_t *window = calloc(files + 1, sizeof(*window)), found = 0;
	int64_t end = INT64_MIN;
	size_t first = 0, last = 0, i;
	int is_clear = window != NULL;

	for (i = 0; i < files; i++) {
		first += in->file[order[i].file].window == 0;
		last += in->file[order[i].file].window + 1 == windows;
	}
	for (i = 0; i < files && is_clear && first != last; i++) {
		const struct pp_analyze_file *file = &in->file[order[i].file];

		is_clear = is_dated(file);
		found += i && file->whose.begin >= end;
		end = !i || file->whose.begin >= end || file->whose.end > end ? file->whose.end : end;
		window[i] = found;
		for (size_t k = i; k-- > 0 && window[k] == found && is_clear;)
			is_clear = in->file[order[k].file].process != file->process;
	}
	for (i = 0; i < files && is_clear && first != last; i++)
		in->file[order[i].file].window = window[i];
	free(window);
	return is_clear && first != last ? (size_t)found + 1 : windows;
}

/* Sets windows and processes by time; returns how many windows there are. 0: files of one rank overlap, and are none of its
 * windows, or not all files say whose they are. */
static size_t number(struct pp_inputs *in, const struct timed *order, size_t files, int by_process)
{
	size_t most = 0;

	for (size_t i = 0; i < files; i++) {
		struct pp_analyze_file *file = &in->file[order[i].file];
		int found = 0;

		for (size_t k = i; k-- > 0;) {
			const struct pp_analyze_file *other = &in->file[order[k].file];

			if (!is_same_rank(file, other, by_process))
				continue;
			if (overlaps(file, other))
				return 0;
			if (found)
				continue;
			found = 1;
			file->window = other->window + 1;
			file->process = other->process;
		}
		most = file->window > most ? file->window : most;
	}
	return have_ranks(in, most + 1) ? by_overlap(in, order, files, most + 1) : 0;
}

/* In containers, processes of several hosts may have one pid: then names tell. */
size_t pp_windows_find(struct pp_inputs *in)
{
	struct timed *order = calloc(in->files + 1, sizeof(*order));
	size_t files = 0, windows = 0;

	for (size_t i = 0; order && i < in->files; i++)
		if (!in->file[i].why[0])
			order[files++] = (struct timed){is_dated(&in->file[i]) ? in->file[i].whose.begin : 0, i};
	if (order)
		qsort(order, files, sizeof(*order), compare_timed);
	for (int by_process = 1; order && !windows && by_process >= 0; by_process--) {
		reset(in);
		windows = number(in, order, files, by_process);
	}
	free(order);
	if (windows)
		return windows;
	reset(in);
	return 1;
}

struct place { /* of a file: DIR/plugins/profile/SESSION/ */
	const char *path;
	size_t directory, session; /* lengths up to `plugins`, and up to the file */
};

static struct place place_of(const char *path)
{
	const char *at = strstr(path, "plugins/profile/"), *end;
	struct place p = {.path = path};

	for (const char *next = at; next; next = strstr(next + 1, "plugins/profile/"))
		at = next;
	end = at ? strchr(at + strlen("plugins/profile/"), '/') : NULL;
	if (end) {
		p.directory = (size_t)(at - path);
		p.session = (size_t)(end - path);
	}
	return p;
}

int pp_windows_are_two_answers(const struct pp_inputs *in)
{
	for (size_t i = 1; i < in->files && in->session_count > 1; i++) {
		const struct place a = place_of(in->file[i].path);

		for (size_t k = 0; k < i && a.session; k++) {
			const struct place b = place_of(in->file[k].path);

			if (b.session && a.directory == b.directory && !strncmp(a.path, b.path, a.directory) &&
			    (a.session != b.session || strncmp(a.path, b.path, a.session) != 0))
				return 1;
		}
	}
	return 0;
}

int pp_windows_are_at_once(const struct pp_inputs *in)
{
	int64_t begin = INT64_MIN, end = INT64_MAX;

	for (size_t i = 0; i < in->files; i++) {
		const struct pp_analyze_file *file = &in->file[i];

		if (file->why[0])
			continue;
		if (!is_dated(file))
			return 0;
		begin = file->whose.begin > begin ? file->whose.begin : begin;
		end = file->whose.end < end ? file->whose.end : end;
	}
	return begin < end;
}
