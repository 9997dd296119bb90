/* Internal to the sweep: turns one thread's spans into time that each wins. Used by step_attr.c; analyze/op.c reads categories. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/intern.h"

struct pp_span;
struct pp_thread;

struct pp_flat { /* time won on one thread; a list is ordered by begin and does not overlap */
	int64_t begin, end;
	uint32_t thread, span;
	uint8_t category;
	uint8_t by_default;
	uint8_t weight; /* over threads the larger one wins, at equal weight the lower thread */
};

struct pp_flats {
	struct pp_flat *flat;
	size_t flats, room;
};

struct pp_open { /* an open range of a thread's stack */
	int64_t begin, end;
	uint32_t span;
	uint32_t around; /* index + 1 of the innermost one below that is not silent and, if this is not, covers its end; 0: none */
	uint8_t category, by_default, may_be_step, weight;
	uint8_t waits;     /* PP_SPAN_WAITS_INPUT, of it or of what is around it */
	uint8_t is_silent; /* its name stands for no work: ranges around or beside it get the time */
};

struct pp_flat_cursor { /* one thread */
	const struct pp_thread *thread;
	uint32_t index;
	int is_step_thread;
	size_t at;   /* next span */
	int64_t now; /* time is attributed up to here */
	struct pp_open *open;
	size_t opens, room;
	uint64_t crossed;
};

struct pp_name_cache { /* category of every name, looked up once */
	const struct pp_intern *names;
	uint8_t *code; /* 0 unknown; category, + 128 for the default rule */
	uint32_t count;
};

struct pp_flat_window {
	int64_t begin, end;           /* to attribute now */
	int64_t step_begin, step_end; /* the step around it */
};

enum { PP_FLAT_BY_DEFAULT = 128 };

/* Category of a range or call, + PP_FLAT_BY_DEFAULT where it is the default rule's: as the program set it, else by its kind, else
 * by its name. */
uint8_t pp_flat_code(struct pp_name_cache *cache, const struct pp_span *span);

/* The same for a nested range: computing of a loader, a checkpoint or a compiler is input, output or compilation, unless the
 * program set another category. `around`: category of the innermost range around it that is not silent; 0: none. */
uint8_t pp_flat_inside(const struct pp_span *span, uint8_t code, int around);
/* Its name stands for no work. */
int pp_flat_is_silent(const struct pp_span *span, int category);

/* Append the time that the thread's innermost ranges win inside the window. Windows are in order of time. -ENOMEM. */
int pp_flat_window(struct pp_flat_cursor *c, struct pp_name_cache *cache, const struct pp_flat_window *w, struct pp_flats *list);

/* Merge both lists: where both have time the heavier wins, `a` at equal weight. Appends to `out`. -ENOMEM. */
int pp_flat_merge(const struct pp_flat *a, size_t as, const struct pp_flat *b, size_t bs, struct pp_flats *out);
