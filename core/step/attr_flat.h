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
	uint8_t by;     /* enum pp_grounds */
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
	uint8_t category, by, may_be_step, weight;
	uint8_t gives;     /* as pp_flat_code(): what ranges inside may inherit; of a frame that of what is around it */
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

struct pp_name_cache { /* category of every name by every origin, looked up once */
	const struct pp_intern *names;
	uint8_t *code; /* [count * PP_ORIGINS] as pp_flat_code() has it; 0: not looked up */
	uint32_t count;
};

struct pp_flat_window {
	int64_t begin, end;           /* to attribute now */
	int64_t step_begin, step_end; /* the step around it */
};

/* A category and what it rests on in one byte, as an array of all names has them. */
static inline uint8_t pp_flat_pack(int category, int by)
{
	return (uint8_t)(category | by << 4);
}

static inline int pp_flat_category(uint8_t code)
{
	return code & 15;
}

static inline int pp_flat_by(uint8_t code) /* enum pp_grounds */
{
	return code >> 4;
}

/* 0, or -ENOMEM. pp_name_cache_release() frees it; `names` outlives it. */
int pp_name_cache_init(struct pp_name_cache *c, const struct pp_intern *names);
void pp_name_cache_release(struct pp_name_cache *c);

/* Category of a range or call: as the program set it, else by its kind, else by its origin and name. */
uint8_t pp_flat_code(struct pp_name_cache *cache, const struct pp_span *span);

/* The same for a nested range: computing of a loader, a checkpoint or a compiler is input, output or compilation, unless the
 * program set another category. `around`: what the innermost range around it that is not silent gives; 0: none. */
uint8_t pp_flat_inside(const struct pp_span *span, uint8_t code, uint8_t around);
/* What a range with this code gives to ranges inside; `outer`: what it was given itself. */
uint8_t pp_flat_gives(const struct pp_span *span, uint8_t code, uint8_t outer);
/* Its name stands for no work. */
int pp_flat_is_silent(const struct pp_span *span, int category);

/* Append the time that the thread's innermost ranges win inside the window. Windows are in order of time. -ENOMEM. */
int pp_flat_window(struct pp_flat_cursor *c, struct pp_name_cache *cache, const struct pp_flat_window *w, struct pp_flats *list);

/* Merge both lists: where both have time the heavier wins, `a` at equal weight. Appends to `out`. -ENOMEM. */
int pp_flat_merge(const struct pp_flat *a, size_t as, const struct pp_flat *b, size_t bs, struct pp_flats *out);
