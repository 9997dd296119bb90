/* Sums the own time of stacks in a tree of frames; see folded.h. */
#include "aggregate/write/folded/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/map.h"
#include "core/base/utf8.h"
#include "core/base/why.h"

enum { NONE = UINT32_MAX, WAITING = UINT32_MAX - 1 };

struct frame { /* of one stack, the frames below are its parents */
	uint32_t parent, name;
	const char *text; /* of the first frames, instead of a name */
	uint64_t self_ns;
};

struct tree {
	const struct pp_timeline *t;
	struct frame *frame;
	size_t frames, room;
	struct pp_map map; /* of frames, by parent and name */
	uint32_t *stack;   /* frame at each depth */
	size_t stack_room;
	uint32_t *line; /* frames of the stack that is printed */
	size_t line_room;
	FILE *to;
	uint64_t stacks;
};

static uint64_t hash(const void *row)
{
	const struct frame *f = row;

	return ((uint64_t)f->parent << 32 | f->name) * PP_MAP_MIX;
}

static int is_same(const void *row, const void *key)
{
	const struct frame *a = row, *b = key;

	return a->parent == b->parent && a->name == b->name;
}

/* NONE: no memory. */
static uint32_t frame_of(struct tree *k, uint32_t parent, uint32_t name, const char *text)
{
	const struct frame key = {parent, name, text, 0};
	uint32_t *place = pp_map_place(&k->map, k->frame, k->frames, sizeof(key), &key, hash, is_same);
	struct frame *more;

	if (!place || *place)
		return place ? *place - 1 : NONE;
	more = k->frames < WAITING ? pp_grow(k->frame, k->frames, &k->room, sizeof(*more)) : NULL;
	if (!more)
		return NONE;
	k->frame = more;
	more[k->frames++] = key;
	*place = (uint32_t)k->frames;
	return *place - 1;
}

/* Own time that a call waited in: all of it lies in the call, which nothing is nested in. */
static uint64_t waited(const struct pp_timeline *t, const struct pp_timeline_event *e)
{
	const struct pp_timeline_detail *d = e->detail ? &t->detail[e->detail - 1] : NULL;
	int64_t ns = d && (d->has & PP_TIMELINE_HAS_WAIT) && d->last >= 0 ? d->until_ns - e->begin_ns : 0;

	return (uint64_t)(ns > e->self_ns ? e->self_ns : ns > 0 ? ns : 0);
}

static int make_room(struct tree *k, size_t depth)
{
	const size_t room = 2 * depth + 64;

	if (depth < k->stack_room)
		return 0;
	if (PP_RESIZE(k->stack, room))
		return -ENOMEM;
	k->stack_room = room;
	return 0;
}

static int add_event(struct tree *k, const struct pp_timeline_event *e, uint32_t root, int is_flat)
{
	const size_t depth = is_flat ? 0 : e->depth;
	uint64_t wait = waited(k->t, e);
	uint32_t frame, waiting;

	if (make_room(k, depth))
		return -ENOMEM;
	frame = frame_of(k, depth ? k->stack[depth - 1] : root, e->name, NULL);
	if (frame == NONE)
		return -ENOMEM;
	k->stack[depth] = frame;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): make_room() made it */
	k->frame[frame].self_ns += (uint64_t)e->self_ns - wait;
	if (!wait)
		return 0;
	waiting = frame_of(k, frame, WAITING, "(waiting)");
	if (waiting == NONE)
		return -ENOMEM;
	k->frame[waiting].self_ns += wait;
	return 0;
}

/* A semicolon ends a frame, a line break a stack; readers take UTF-8, and a frame without text for the end of the file. */
static void put_text(const char *text, FILE *to)
{
	size_t length = strlen(text);

	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		n = pp_utf8_shown(text + i, length - i);
		if (text[i] == ';')
			fputc(':', to);
		else if (n)
			fwrite(text + i, 1, n, to);
		else
			fputc((unsigned char)text[i] <= ' ' ? ' ' : '?', to);
	}
	if (!length)
		fputs("(no name)", to);
}

/* Ranges may be nested as deep as a file says: no recursion. */
static int put_frames(struct tree *k, uint32_t frame)
{
	size_t n = 0;

	for (uint32_t at = frame; at != NONE; at = k->frame[at].parent) {
		uint32_t *more = pp_grow(k->line, n, &k->line_room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		k->line = more;
		more[n++] = at;
	}
	while (n--) {
		const struct frame *f = &k->frame[k->line[n]];

		put_text(f->text ? f->text : pp_intern_text(k->t->names, f->name, NULL), k->to);
		if (n)
			fputc(';', k->to);
	}
	return 0;
}

static int put_stacks(struct tree *k)
{
	for (size_t i = 0; i < k->frames && !ferror(k->to); i++) {
		if (!k->frame[i].self_ns)
			continue;
		if (put_frames(k, (uint32_t)i))
			return -ENOMEM;
		fprintf(k->to, " %" PRIu64 "\n", k->frame[i].self_ns);
		k->stacks++;
	}
	k->frames = 0;
	pp_map_clear(&k->map);
	return 0;
}

/* "rank 3;main" below what the track has. */
static int add_track(struct tree *k, const struct pp_timeline_track *track, int is_joined)
{
	char rank[32], name[256];
	const char *thread = name;
	uint32_t root = NONE;
	int rc = 0;

	if (!is_joined) {
		snprintf(rank, sizeof(rank), "rank %" PRId32, k->t->rank[track->rank].rank);
		pp_timeline_track_name(k->t, track, name, sizeof(name));
		thread += strlen(rank) < strlen(name) ? strlen(rank) + 1 : 0;
		root = frame_of(k, NONE, 0, rank);
		if (root != NONE)
			root = frame_of(k, root, 0, thread);
		if (root == NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < track->events && !rc; i++)
		rc = add_event(k, &k->t->event[track->event + i], root, track->of == PP_TIMELINE_STREAM);
	if (!is_joined && !rc)
		rc = put_stacks(k); /* texts of the first frames are here only */
	return rc;
}

int pp_folded_write(const struct pp_timeline *t, int is_joined, FILE *to, uint64_t *ret_stacks, struct pp_err *err)
{
	struct tree k = {.t = t, .to = to};
	int rc = 0;

	for (size_t i = 0; i < t->tracks && !rc; i++)
		if (t->track[i].of == PP_TIMELINE_THREAD || t->track[i].of == PP_TIMELINE_STREAM)
			rc = add_track(&k, &t->track[i], is_joined);
	if (is_joined && !rc)
		rc = put_stacks(&k);
	if (rc)
		pp_err_set(err, rc, "no memory for the stacks of %zu events", t->events);
	if (!rc && (fflush(to) || ferror(to)))
		rc = pp_err_set(err, errno ? -errno : -EIO, "cannot write the export: %s", pp_why(errno ? errno : EIO));
	*ret_stacks = k.stacks;
	free(k.frame);
	free(k.map.place);
	free(k.stack);
	free(k.line);
	return rc;
}
