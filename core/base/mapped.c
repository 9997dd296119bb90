/* SIGBUS handler for a page that its file no longer has: maps anonymous memory in its place. See mapped.h; called by drain.c
 * and control.c. */
#include "core/base/mapped.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pp_mapped *list;
static size_t page;

static struct pp_mapped *find(const char *at)
{
	struct pp_mapped *m = list;

	while (m && (at < m->at || at >= m->at + m->bytes))
		m = m->next;
	return m;
}

/* The instruction that failed runs again. A SIGBUS outside these files ends the process, as it would without us. */
static void on_bus(int number, siginfo_t *info, void *context)
{
	struct pp_mapped *m = find(info->si_addr);
	int saved = errno;
	size_t offset, n;

	(void)context;
	offset = m ? (size_t)((char *)info->si_addr - m->at) / page * page : 0;
	if (!m || info->si_code != BUS_ADRERR ||
	    /* cppcheck-suppress leakReturnValNotUsed ; MAP_FIXED: the address is known */
	    mmap(m->at + offset, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
		return;
	}
	n = offset < m->known_bytes ? m->known_bytes - offset : 0;
	if (n)
		memcpy(m->at + offset, m->known + offset, n < page ? n : page);
	m->cut = 1;
	errno = saved;
}

void pp_mapped_watch(struct pp_mapped *m)
{
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	if (!page) {
		page = (size_t)sysconf(_SC_PAGESIZE);
		sigaction(SIGBUS, &action, NULL);
	}
	m->cut = 0;
	m->next = list;
	list = m;
}

void pp_mapped_forget(struct pp_mapped *m)
{
	struct pp_mapped **at = &list;

	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
}
