/* The page of a session, beside its pod.h5 or after it; see page.h. Called by session.c, the keeper and analyze. */
#include "aggregate/session/page.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/report/report.h"
#include "core/base/forked.h"

enum { LIMIT_S = 600 /* for storage that does not answer; then the page is made from pod.h5 */ };

struct paths {
	char pod[PP_SESSION_PATH + 16], html[PP_SESSION_PATH + 16];
};

static void name_paths(const char *directory, struct paths *p)
{
	snprintf(p->pod, sizeof(p->pod), "%s/pod.h5", directory);
	snprintf(p->html, sizeof(p->html), "%s/report.html", directory);
}

/* 0: pod.h5 stands. */
static int wait_for_pod(void *context)
{
	char byte;
	ssize_t n;

	do
		n = recv(*(int *)context, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -ECANCELED;
}

static void be_maker(const char *directory, const struct pp_dataset *d, pid_t parent, int fd)
{
	struct sigaction start = {.sa_handler = SIG_DFL};
	struct pp_report_wait wait = {wait_for_pod, &fd};
	struct pp_err err = {""};
	struct paths p = {.pod = ""};
	sigset_t limit;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigaction(SIGTERM, &start, NULL);
	sigaction(SIGALRM, &start, NULL);
	sigemptyset(&limit);
	sigaddset(&limit, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &limit, NULL);
	alarm(LIMIT_S);
	name_paths(directory, &p);
	_exit(pp_report_write_of(d, p.pod, p.html, &wait, &err) ? 1 : 0);
}

void pp_session_page_begin(struct pp_session_page *page, const char *directory, const struct pp_dataset *d)
{
	const pid_t parent = getpid();
	int fd[2];

	page->pid = 0;
	if (pp_report_is_quick_of(d) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return;
	page->pid = pp_forked();
	if (!page->pid) {
		close(fd[1]);
		be_maker(directory, d, parent, fd[0]);
	}
	close(fd[0]);
	if (page->pid < 0) {
		close(fd[1]);
		page->pid = 0;
		return;
	}
	page->go = fd[1];
	snprintf(page->directory, sizeof(page->directory), "%s", directory);
}

void pp_session_page_go(struct pp_session_page *page)
{
	if (!page->pid)
		return;
	while (send(page->go, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		; /* where it has ended, pp_session_page_end() sees that */
	close(page->go);
}

/* 0: the page stands. */
static int wait_for_maker(struct pp_session_page *page)
{
	int status = 1;

	while (waitpid(page->pid, &status, 0) < 0 && errno == EINTR)
		;
	page->pid = 0;
	return status;
}

void pp_session_page_drop(struct pp_session_page *page)
{
	page->directory[0] = '\0';
	if (!page->pid)
		return;
	kill(page->pid, SIGKILL); /* before pod.h5 stands it has only memory */
	close(page->go);
	wait_for_maker(page);
}

int pp_session_page_end(struct pp_session_page *page, struct pp_err *err)
{
	if (!page->directory[0] || (page->pid && !wait_for_maker(page)))
		return 0;
	return pp_session_page(page->directory, NULL, NULL, err);
}

int pp_session_page(const char *directory, const struct pp_dataset *d, struct pp_capture *capture, struct pp_err *err)
{
	struct paths p = {.pod = ""};

	name_paths(directory, &p);
	return d && pp_report_is_quick(p.pod) ? pp_report_write_of(d, p.pod, p.html, NULL, err)
	                                      : pp_report_write(p.pod, p.html, capture, err);
}
