/* The page that is made while pod.h5 is written: the same as the one made of pod.h5, none without pod.h5, and made of pod.h5
 * where its process has ended. */
#include "aggregate/session/page.h"
#include "aggregate/write/output.h"
#include "tests/bench/block.h"
#include "tests/test.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/analyze/finish.h"
#include "core/ring/intern.h"

enum { RANKS = 64, STEPS = 400 };

struct place {
	char logdir[64], directory[128], html[160], pod[160];
};

static void make_dataset(struct pp_dataset *d, const struct pp_intern *names, size_t steps)
{
	const struct block_job job = {.ranks = RANKS, .steps = steps, .calls = 2};
	struct pp_err err = {""};

	block_make(d, names, &job, 0, RANKS);
	CHECK_INT(pp_dataset_finish(d, &err), 0);
	pp_files_tools(d);
}

static void write_pod(const struct place *p, const struct pp_dataset *d)
{
	struct pp_output out = {.logdir = p->logdir, .session = "one", .dataset = d};
	struct pp_message m = {.delivered = 0};
	struct pp_err err = {""};
	int pod = 0;

	CHECK_INT(pp_files_write(&out, PP_WRITER_OF_JOB, &m, &pod, &err), 0);
	CHECK(pod);
}

/* To be freed; NULL: there is none. */
static char *page_of(const struct place *p)
{
	FILE *f = fopen(p->html, "r");
	char *text = NULL;
	size_t size = 0;

	if (f && getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

static int files_in(const struct place *p)
{
	DIR *d = opendir(p->directory);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void make_place(struct place *p)
{
	struct pp_output out = {.logdir = p->logdir, .session = "one"};
	struct pp_err err = {""};

	snprintf(p->logdir, sizeof(p->logdir), "/tmp/pp-page-XXXXXX");
	CHECK(mkdtemp(p->logdir) != NULL);
	CHECK_INT(pp_output_make_dir(&out, &err), 0);
	snprintf(p->directory, sizeof(p->directory), "%s/podprof/one", p->logdir);
	snprintf(p->html, sizeof(p->html), "%s/report.html", p->directory);
	snprintf(p->pod, sizeof(p->pod), "%s/pod.h5", p->directory);
}

TEST(test_small)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_session_page page = {.pid = 0};
	struct pp_err err = {""};
	struct pp_dataset d;
	struct place p;

	make_place(&p);
	make_dataset(&d, names, 2);
	pp_session_page_begin(&page, p.directory, &d);
	CHECK_INT(page.pid, 0);
	CHECK_STR(page.directory, "");
	pp_session_page_go(&page);
	CHECK_INT(pp_session_page_end(&page, &err), 0);
	CHECK_INT(files_in(&p), 0);
	pp_dataset_release(&d);
	pp_intern_free(names);
	nftw(p.logdir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The dataset may go while the page is made. */
TEST(test_beside)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_session_page page = {.pid = 0};
	struct pp_err err = {""};
	char *beside, *after;
	struct pp_dataset d;
	struct place p;

	make_place(&p);
	make_dataset(&d, names, STEPS);
	pp_session_page_begin(&page, p.directory, &d);
	CHECK(page.pid > 0);
	CHECK_STR(page.directory, p.directory);
	write_pod(&p, &d);
	pp_dataset_release(&d);
	CHECK(access(p.html, F_OK) != 0); /* the process has no word yet that pod.h5 stands */
	pp_session_page_go(&page);
	CHECK_INT(pp_session_page_end(&page, &err), 0);
	CHECK_STR(err.text, "");
	beside = page_of(&p);
	CHECK_INT(pp_session_page(p.directory, NULL, NULL, &err), 0);
	after = page_of(&p);
	CHECK(beside && after && strstr(after, "\"pod_bytes\":") && !strstr(after, "\"pod_bytes\":0,"));
	CHECK(beside && after && !strcmp(beside, after));
	free(beside);
	free(after);
	pp_intern_free(names);
	nftw(p.logdir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TEST(test_no_pod)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_session_page page = {.pid = 0};
	struct pp_err err = {""};
	struct pp_dataset d;
	struct place p;
	pid_t pid;

	make_place(&p);
	make_dataset(&d, names, STEPS);
	pp_session_page_begin(&page, p.directory, &d);
	pid = page.pid;
	CHECK(pid > 0);
	pp_session_page_drop(&page);
	CHECK(kill(pid, 0) != 0);
	CHECK_INT(pp_session_page_end(&page, &err), 0);
	CHECK_INT(files_in(&p), 0);
	pp_dataset_release(&d);
	pp_intern_free(names);
	nftw(p.logdir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Its process is killed before pod.h5 stands: nobody is harmed by a word to it, and the page comes from pod.h5. Without that the
 * failure is told. */
TEST(test_killed)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_session_page page = {.pid = 0};
	struct pp_err err = {""};
	struct pp_dataset d;
	struct place p;
	char *text;

	make_place(&p);
	make_dataset(&d, names, STEPS);
	for (int has_pod = 1; has_pod >= 0; has_pod--) {
		pp_session_page_begin(&page, p.directory, &d);
		CHECK(page.pid > 0);
		kill(page.pid, SIGKILL);
		write_pod(&p, &d);
		pp_session_page_go(&page);
		if (!has_pod)
			unlink(p.pod);
		CHECK_INT(pp_session_page_end(&page, &err) == 0, has_pod);
		CHECK_INT(err.text[0] != '\0', !has_pod);
		text = page_of(&p);
		CHECK(text && strstr(text, "</html>"));
		free(text);
	}
	pp_dataset_release(&d);
	pp_intern_free(names);
	nftw(p.logdir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	test_small();
	test_beside();
	test_no_pod();
	test_killed();
	return test_end();
}
