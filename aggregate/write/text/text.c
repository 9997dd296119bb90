/* Writes summary.txt: verdict first, then the evidence, then data quality; at most 40 lines, 6 more where there are several
 * clocks and 15 more where there are operators. Called through writer_list. */
#include "aggregate/write/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/analyze/kept.h"
#include "aggregate/write/writer.h"
#include "core/base/forked.h"
#include "core/base/plain.h"

enum { MOST_PARTS = 4 }; /* parts of a window's steps */

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Median and half IQR: single slow steps do not move them. */
static void median_of(int64_t *v, size_t n, int64_t *ret_median, int64_t *ret_spread)
{
	*ret_median = *ret_spread = 0;
	if (!n)
		return;
	qsort(v, n, sizeof(*v), compare_ns);
	*ret_median = n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
	*ret_spread = (v[(n - 1) * 3 / 4] - v[(n - 1) / 4]) / 2;
}

int pp_text_sum(const struct pp_dataset *d, struct pp_text *ret_text)
{
	struct pp_text t = {.step_ns = calloc(d->steps + 1, sizeof(*t.step_ns)),
	                    .worker_ns = calloc(d->workers + 1, sizeof(*t.worker_ns)),
	                    .worker_wait_ns = calloc(d->workers + 1, sizeof(*t.worker_wait_ns)),
	                    .worker_steps = calloc(d->workers + 1, sizeof(*t.worker_steps))};

	if (!t.step_ns || !t.worker_ns || !t.worker_wait_ns || !t.worker_steps) {
		pp_text_release(&t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_cell *c = &d->cell[i];
		size_t s = i / d->workers, w = i % d->workers;

		if (!c->present)
			continue;
		t.cells++;
		t.all_ns += c->step_ns;
		t.wait_ns += c->wait_ns;
		t.transfer_ns += c->transfer_ns;
		t.worker_ns[w][0] += c->step_ns;
		t.worker_wait_ns[w] += c->wait_ns;
		t.worker_steps[w]++;
		if (c->step_ns > t.step_ns[s])
			t.step_ns[s] = c->step_ns;
		for (int k = 1; k <= PP_CATEGORIES; k++) {
			t.sum_ns[k] += c->exclusive_ns[k];
			t.worker_ns[w][k] += c->exclusive_ns[k];
		}
	}
	for (size_t s = 0; s < d->steps; s++)
		if (t.step_ns[s] > t.longest_ns) {
			t.longest_ns = t.step_ns[s];
			t.longest_step = (int64_t)s;
		}
	median_of(t.step_ns, d->steps, &t.median_ns, &t.spread_ns);
	*ret_text = t;
	return 0;
}

void pp_text_release(struct pp_text *t)
{
	free(t->worker_steps);
	free(t->worker_wait_ns);
	free(t->worker_ns);
	free(t->step_ns);
}

/* The job's name: that of the program, or of an interpreter's script. */
static void program_of(const char *command, char *text, size_t size)
{
	int interpreter = 0;

	text[0] = '\0';
	for (const char *p = command; *p;) {
		size_t n = strcspn(p, " "), from = 0;

		for (size_t i = 0; i < n; i++)
			if (p[i] == '/')
				from = i + 1;
		if (p == command || p[0] != '-') {
			snprintf(text, size, "%.*s", (int)(n - from), p + from);
			if (interpreter || (strncmp(text, "python", 6) && strcmp(text, "bash") && strcmp(text, "sh")))
				return;
			interpreter = 1;
		}
		p += n + (p[n] == ' ');
	}
}

/* Step numbers increase; their difference may overflow. */
static int is_next(const struct pp_dataset *d, size_t i)
{
	return (uint64_t)d->step_number[i] - (uint64_t)d->step_number[i - 1] == 1;
}

void pp_text_steps(const struct pp_dataset *d, char *text, size_t size)
{
	char part[64];
	size_t parts = 0, begin = 0;

	if (!d->steps)
		return;
	snprintf(text, size, "step%s", d->steps == 1 ? "" : "s");
	for (size_t i = 0; i < d->steps; i++) {
		if (i + 1 < d->steps && is_next(d, i + 1))
			continue;
		if (i == begin)
			snprintf(part, sizeof(part), "%s %" PRId64, parts ? "," : "", d->step_number[i]);
		else
			snprintf(part, sizeof(part), "%s %" PRId64 "..%" PRId64, parts ? "," : "", d->step_number[begin],
			         d->step_number[i]);
		if (++parts > MOST_PARTS || strlen(text) + strlen(part) >= size)
			break;
		memcpy(text + strlen(text), part, strlen(part) + 1);
		begin = i + 1;
	}
	if (begin < d->steps)
		snprintf(text, size, "%zu steps of %" PRId64 "..%" PRId64, d->steps, d->step_number[0],
		         d->step_number[d->steps - 1]);
}

static void write_head(const struct pp_dataset *d, FILE *to)
{
	time_t when = (time_t)((d->epoch_realtime_ns + d->window_begin_ns) / 1000000000);
	size_t hosts = pp_dataset_hosts(d);
	char program[64] = "", date[32] = "", steps[128] = "no steps", kept[PP_KEPT_TEXT];
	int cut = pp_kept_text(d, kept, sizeof(kept));
	struct tm tm;

	program_of(d->command, program, sizeof(program));
	pp_plain(program, "");
	pp_text_steps(d, steps, sizeof(steps));
	pp_local_time(when, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(to, "%s  %d of %d rank%s, %zu host%s, CPU", program[0] ? program : "job", d->ranks_delivered, d->ranks_asked,
	        d->ranks_asked == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
	if (d->steps == 1 && !strncmp(d->step_rule, "window", 6))
		fprintf(to, "     the %s%s as one step", cut ? "last " : "", cut ? kept : "window");
	else
		fprintf(to, "     %s", steps);
	if (cut && (d->steps != 1 || strncmp(d->step_rule, "window", 6)))
		fprintf(to, " (%s kept)", kept);
	fprintf(to, "     %s     session %s\n", date, d->session);
}

int pp_text_write(const struct pp_dataset *d, FILE *to)
{
	char verdict[320], a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	struct pp_verdict_what what;
	struct pp_text t;
	int code = pp_text_sum(d, &t);

	if (code)
		return code;
	what = pp_verdict(d, verdict, sizeof(verdict));
	write_head(d, to);
	pp_text_lost(d, to);
	pp_text_memory(d, to);
	pp_text_files(d, to);
	pp_text_window(d, to);
	fputc('\n', to);
	if (d->steps == 1)
		fprintf(to, "  Step time %s  (slowest rank; one step has no spread)\n", pp_text_time(a, t.median_ns));
	else if (d->steps)
		fprintf(to, "  Step time %s  (+- %s; slowest rank of each step: median and half the middle half of %zu steps)\n",
		        pp_text_time(a, t.median_ns), pp_text_time(b, t.spread_ns), d->steps);
	fprintf(to, "  %c%s\n", verdict[0] >= 'a' && verdict[0] <= 'z' ? verdict[0] - 'a' + 'A' : verdict[0],
	        verdict[0] ? verdict + 1 : "");
	pp_text_longest(d, &t, to);
	pp_text_breakdown(d, &t, to);
	pp_text_input(d, &t, to);
	if (what.kind != PP_VERDICT_UNSPLIT) /* the little that is known would name the wrong rank */
		pp_text_late(d, &t, to);
	pp_text_next(&what, to);
	code = pp_text_ops(d, &t, to);
	if (!code)
		code = pp_text_workers(d, &t, to);
	fputc('\n', to);
	pp_text_clock(d, to);
	pp_text_quality(d, &t, to);
	pp_text_release(&t);
	return code;
}

/* Removes control bytes: names are the application's, and users read the file on terminals. */
static int write_plain(const struct pp_dataset *d, int fd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int code = to ? pp_text_write(d, to) : -ENOMEM, lost = to && ferror(to);

	if (to && (fclose(to) || lost) && !code)
		code = -ENOMEM;
	if (!code)
		pp_plain(text, "\n\t");
	for (size_t at = 0; at < size && !code;) {
		ssize_t n = write(fd, text + at, size - at);

		if (n < 0 && errno != EINTR)
			code = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	free(text);
	return code;
}

static int write_text(const struct pp_output *out, struct pp_err *err)
{
	char *path;
	int fd, code = pp_output_make_dirs(out, err);

	if (code)
		return code;
	if (asprintf(&path, "%s/podprof/%s/summary.txt", out->logdir, out->session) < 0)
		return pp_err_set(err, -ENOMEM, "no memory for the name of a file");
	fd = pp_output_create(path, err);
	if (fd < 0) {
		code = fd;
		goto free_path;
	}
	code = write_plain(out->dataset, fd);
	if (code) {
		pp_output_abandon(fd, path);
		pp_err_set(err, code, "cannot write '%s': %s", path, strerror(-code));
	} else {
		code = pp_output_commit(fd, path, err);
	}
free_path:
	free(path);
	return code;
}

const struct pp_writer_ops pp_writer_text = {
        .name = "text",
        .file = "summary.txt",
        .flags = PP_WRITER_OF_JOB,
        .write = write_text,
};
