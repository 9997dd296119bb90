/* Prints the keeper's sentences while the job runs; see notice.h. */
#include "core/ring/notice.h"

#include <errno.h>
#include <string.h>

static const _Atomic uint32_t none;
static const struct pp_control *page;
static void (*print)(const char *text);

const _Atomic uint32_t *pp_notice_count = &none;
_Atomic uint32_t pp_notice_printed;

void pp_notice_start(const struct pp_control *control, void (*say)(const char *text))
{
	if (!control)
		return;
	page = control;
	print = say;
	pp_notice_count = &control->notices;
}

void pp_notice_print(void)
{
	/* Acquire: the sentence is whole before it is counted. */
	uint32_t count = atomic_load_explicit(pp_notice_count, memory_order_acquire);
	char text[sizeof(page->notice)];
	int saved = errno;

	if (atomic_exchange(&pp_notice_printed, count) == count || !page)
		return; /* another thread prints it */
	memcpy(text, page->notice, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	print(text);
	errno = saved;
}
