/* The set of events that the keeper waits for; see wake.h. */
#include "aggregate/spool/wake.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/base/now.h"

enum { AT_ONCE = 32 };

int pp_wake_add(struct pp_wake *w, int fd, enum pp_wake_kind kind)
{
	/* Edge-triggered: an event that is not handled at once must not make the waits short. */
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = kind};

	return w && w->fd >= 0 && fd >= 0 && !epoll_ctl(w->fd, EPOLL_CTL_ADD, fd, &event);
}

void pp_wake_forget(struct pp_wake *w, int fd)
{
	if (w && w->fd >= 0 && fd >= 0)
		epoll_ctl(w->fd, EPOLL_CTL_DEL, fd, NULL);
}

static void end_spool(struct pp_wake *w)
{
	if (w->spool_fd < 0)
		return;
	pp_wake_forget(w, w->spool_fd);
	close(w->spool_fd);
	w->spool_fd = -1;
}

void pp_wake_open(struct pp_wake *w, const char *spool)
{
	*w = (struct pp_wake){.fd = epoll_create1(EPOLL_CLOEXEC), .spool_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
	if (w->spool_fd < 0)
		return;
	if (inotify_add_watch(w->spool_fd, spool, IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) <
	            0 ||
	    !pp_wake_add(w, w->spool_fd, PP_WAKE_SPOOL))
		end_spool(w);
}

void pp_wake_close(struct pp_wake *w)
{
	end_spool(w);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* Reads the directory's events; their names do not matter. Once it was moved or removed there are no further ones. */
static void read_spool(struct pp_wake *w)
{
	_Alignas(struct inotify_event) char text[4096];
	int is_over = 0;
	ssize_t n;

	w->changes++;
	while (w->spool_fd >= 0 && (n = read(w->spool_fd, text, sizeof(text))) > 0)
		for (const char *p = text; p < text + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

			is_over |= (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0;
			p += sizeof(*e) + e->len;
		}
	if (is_over)
		end_spool(w);
}

int pp_wake_take(struct pp_wake *w, enum pp_wake_kind kind)
{
	int is_due = !w || w->fd < 0 || (kind == PP_WAKE_SPOOL && w->spool_fd < 0) || (w->seen & kind);

	if (w)
		w->seen &= ~(unsigned)kind;
	return is_due;
}

void pp_wake_wait(struct pp_wake *w, int ms)
{
	struct epoll_event event[AT_ONCE];
	int n;

	w->changes += w->spool_fd < 0;
	if (w->fd < 0) {
		pp_nap_ms(ms);
		return;
	}
	n = epoll_wait(w->fd, event, AT_ONCE, ms);
	for (int i = 0; i < n; i++)
		w->seen |= event[i].data.u32;
	if (w->seen & PP_WAKE_SPOOL)
		read_spool(w);
}
