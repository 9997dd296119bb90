/* The list of sources, and calls of their ops; see source.h. */
#include "core/source/source_list.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#define PP_SOURCE(symbol) extern const struct pp_source_ops pp_source_##symbol __attribute__((visibility("hidden")));
#include "core/source/source_list.def"
#undef PP_SOURCE

static const struct pp_source_ops *const own[] = {
#define PP_SOURCE(symbol) &pp_source_##symbol,
#include "core/source/source_list.def"
#undef PP_SOURCE
};

enum { OWN = sizeof(own) / sizeof(own[0]), ADDED = 4 };

static _Atomic(const struct pp_source_ops *) added[ADDED]; /* filled from the first on, never emptied */

static const struct pp_source_ops *source(size_t i)
{
	if (i < OWN)
		return own[i];
	return i < OWN + ADDED ? atomic_load_explicit(&added[i - OWN], memory_order_acquire) : NULL;
}

int pp_source_add(const struct pp_source_ops *s)
{
	for (size_t i = 0; i < ADDED; i++) {
		const struct pp_source_ops *had = NULL;

		if (atomic_compare_exchange_strong(&added[i], &had, s) || had == s)
			return 0;
	}
	return -ENOSPC;
}

void pp_sources_start(void)
{
	for (size_t i = 0; i < OWN; i++)
		if (own[i]->start)
			own[i]->start();
}

void pp_sources_window(int on)
{
	const struct pp_source_ops *s;

	for (size_t i = 0; (s = source(i)); i++)
		if (s->window)
			s->window(on);
}

int64_t pp_sources_warm_ms(void)
{
	const struct pp_source_ops *s;
	int64_t most = 0;

	for (size_t i = 0; (s = source(i)); i++) {
		int64_t ms = s->warm_ms ? s->warm_ms() : 0;

		most = ms > most ? ms : most;
	}
	return most;
}

void pp_sources_flush(int64_t deadline_ms)
{
	const struct pp_source_ops *s;

	for (size_t i = 0; (s = source(i)); i++)
		if (s->flush)
			s->flush(deadline_ms);
}

void pp_sources_window_over(int64_t deadline_ms)
{
	const struct pp_source_ops *s;

	for (size_t i = 0; (s = source(i)); i++)
		if (s->window_over)
			s->window_over(deadline_ms);
}

void pp_sources_thread_end(void)
{
	const struct pp_source_ops *s;

	for (size_t i = 0; (s = source(i)); i++)
		if (s->thread_end)
			s->thread_end();
}

void pp_sources_stop(int64_t deadline_ms)
{
	const struct pp_source_ops *s;

	for (size_t i = 0; (s = source(i)); i++)
		if (s->stop)
			s->stop(deadline_ms);
}
