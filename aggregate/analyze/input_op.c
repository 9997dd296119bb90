/* Input operations: ranges of the input pipeline, file reads of MPI and copies to devices, by name and worker. Called by build.c;
 * docs/tools.md has the rules. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/table/word.h"
#include "core/base/grow.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/attr_flat.h"

enum {                   /* of a name */
       STAGE = 0x0f,     /* enum pp_input_category */
       BY_WORDS = 0x10,  /* the stage is from words: those of the program tell it, no others */
       NEVER = 0x20,     /* no input by its name's words: only where the program says so */
       BY_ITSELF = 0x40, /* input by its own name, whatever its category of time is */
       KNOWN = 0x80,
       MOST_TEXT = 256, /* longer names are read up to here */
};

#define TYPE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct open { /* an open input operation of a thread; each ends before the one below it */
	int64_t end;
	uint32_t row;
};

struct input {
	struct pp_table out;
	struct pp_row_input_op_left_out left_out;
	struct pp_name_cache cache;
	uint8_t *of_name; /* [names]; 0: not seen yet */
	uint32_t *row_of; /* [names]: index + 1 of the row of this rank; rows of earlier ranks remain */
	size_t first;     /* row of this rank */
	int32_t worker;
	struct open *open; /* [room] */
	size_t opens, room;
};

static struct pp_row_input_op *row_at(const struct input *in, size_t i)
{
	return (struct pp_row_input_op *)in->out.row + i;
}

static int has_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return 1;
	return 0;
}

static int ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

/* tf.data's iterators, by xprof's rule: a name that ends in a reader is a file read, on demand unless something above it reads
 * ahead. */
static int stage_of_iterator(const char *name)
{
	static const char *const reader[] = {"::TFRecord", "::TextLine", "::FixedLengthRecord",
	                                     "::SSTable",  "::RecordIO", "::ArrayRecord"};
	static const char *const ahead[] = {"::MemoryReader", "::MemoryWriter", "::Interleave",
	                                    "::Prefetch",     "::ParallelMap",  NULL};

	for (size_t i = 0; i < sizeof(reader) / sizeof(reader[0]); i++)
		if (ends_with(name, reader[i]))
			return has_any(name, ahead) ? PP_INPUT_IN_ADVANCE : PP_INPUT_ON_DEMAND;
	return PP_INPUT_PREPROCESSING;
}

/* Of a range that is input by its category: what its words say. */
static int stage_of_words(const char *lower)
{
	static const char *const enqueue[] = {"htod", "h2d", "h to d", "infeed", "host to device", NULL};
	static const char *const ahead[] = {"prefetch", NULL};
	static const char *const prepare[] = {"preprocess", "augment", "tokeniz", "decode", "transform",
	                                      "collate",    "shuffle", "crop",    NULL};
	static const char *const demand[] = {"read", "load", "fetch", "next_batch", "next batch", "get_batch", "get batch", NULL};

	return has_any(lower, enqueue)   ? PP_INPUT_ENQUEUING
	       : has_any(lower, ahead)   ? PP_INPUT_IN_ADVANCE
	       : has_any(lower, prepare) ? PP_INPUT_PREPROCESSING
	       : has_any(lower, demand)  ? PP_INPUT_ON_DEMAND
	                                 : PP_INPUT_OTHER;
}

/* PyTorch writes the class of a loader's iterator behind "enumerate(DataLoader)#". Two classes are its own; of others the name does
 * not tell who reads. */
static int stage_of_loader(const char *class)
{
	return !strcmp(class, "_MultiProcessingDataLoaderIter.__next__") ? PP_INPUT_IN_ADVANCE
	       : !strcmp(class, "_SingleProcessDataLoaderIter.__next__") ? PP_INPUT_ON_DEMAND
	                                                                 : PP_INPUT_OTHER;
}

/* The type in a TensorFlow operator's name NAME:Type; NULL: it is no such name. */
static const char *operator_type(const char *name)
{
	const char *colon = strrchr(name, ':');

	if (!colon || colon == name || colon[-1] == ':' || !(isupper((unsigned char)colon[1]) || colon[1] == '_'))
		return NULL;
	return strspn(colon + 1, TYPE_LETTERS) == strlen(colon + 1) ? colon + 1 : NULL;
}

/* tf.data's links between threads: what they hold is counted by the iterators inside. */
static int is_link(const char *name)
{
	size_t length = strcspn(name, "#");

	return (length > 7 && !strncmp(name + length - 7, "Produce", 7)) ||
	       (length > 7 && !strncmp(name + length - 7, "Consume", 7));
}

static uint8_t classify(const char *name)
{
	char text[MOST_TEXT], lower[MOST_TEXT];
	size_t length = strcspn(name, "#"); /* tf.data writes arguments behind it; PyTorch the kind of iterator */
	const char *type = operator_type(name);

	if (!strncmp(name, "Iterator::", 10) && length < sizeof(text)) {
		memcpy(text, name, length);
		text[length] = '\0';
		return BY_ITSELF | (uint8_t)stage_of_iterator(text);
	}
	length = strnlen(type ? type : name, sizeof(lower) - 1);
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)(type ? type : name)[i]);
	lower[length] = '\0';
	if (strstr(lower, "iteratorgetnext"))
		return BY_ITSELF | PP_INPUT_OTHER;
	if (strstr(lower, "infeedenqueue") || !strncmp(lower, "memcpyhtod", 10) || !strncmp(lower, "memcpyh2d", 9))
		return BY_ITSELF | PP_INPUT_ENQUEUING;
	if (!strncmp(name, "enumerate(DataLoader)#", 22))
		return BY_ITSELF | (uint8_t)stage_of_loader(name + 22);
	/* words of a path are names of layers */
	return (uint8_t)(BY_WORDS | stage_of_words(lower) | (type || is_link(name) ? NEVER : 0));
}

/* Stage of a span; 0: it is no input operation. */
static int stage_of(struct input *in, const struct pp_span *span)
{
	uint32_t name = span->name < in->cache.count ? span->name : 0;
	uint8_t *of = &in->of_name[name];

	if (!*of)
		*of = KNOWN | classify(pp_intern_text(in->cache.names, name, NULL));
	switch (span->kind) {
	case PP_SPAN_RANGE:
		if (*of & BY_ITSELF || span->category == PP_CATEGORY_INPUT ||
		    (!(*of & NEVER) && pp_flat_category(pp_flat_code(&in->cache, span)) == PP_CATEGORY_INPUT))
			return *of & BY_WORDS && span->range.origin != PP_ORIGIN_PROGRAM ? PP_INPUT_OTHER : *of & STAGE;
		return 0;
	case PP_SPAN_DEVICE:
		if (span->device.activity != PP_DEVICE_HOST_TO_DEVICE)
			return 0;
		/* in an infeed a TPU waits for the host, however long a copy takes */
		*of = KNOWN |
		      (strncmp(pp_intern_text(in->cache.names, name, NULL), "infeed", 6) ? PP_INPUT_ENQUEUING : PP_INPUT_OTHER);
		return *of & STAGE;
	default: { /* of a nonblocking read its request, not the call that begins it */
		const struct pp_mpi_call *call = pp_mpi_call_info(span->mpi.call);

		if ((call->class != PP_MPI_READ && call->class != PP_MPI_READ_ALL) ||
		    call->nonblocking != (span->kind == PP_SPAN_REQUEST))
			return 0;
		return call->nonblocking ? PP_INPUT_IN_ADVANCE : PP_INPUT_ON_DEMAND;
	}
	}
}

/* This rank's row; UINT32_MAX: no memory. Of two stages of one name the first one seen holds for both. */
static uint32_t row_of(struct input *in, const struct pp_span *span, int stage)
{
	uint32_t name = span->name < in->cache.count ? span->name : 0;
	struct pp_row_input_op *row;

	if (in->row_of[name] > in->first)
		return in->row_of[name] - 1;
	row = in->out.rows + 1 < UINT32_MAX ? pp_table_add(&in->out) : NULL;
	if (!row)
		return UINT32_MAX;
	row->name = name;
	row->worker = in->worker;
	row->category = (int8_t)stage;
	in->row_of[name] = (uint32_t)in->out.rows;
	return (uint32_t)in->out.rows - 1;
}

/* Takes the span's time from the operation around it: what overlaps without nesting is taken where it sticks out, too. */
static void take_from_parents(struct input *in, const struct pp_span *span)
{
	int64_t begin = span->begin;

	while (in->opens) {
		const struct open *top = &in->open[in->opens - 1];
		int64_t end = top->end < span->end ? top->end : span->end;

		if (end > begin) {
			row_at(in, top->row)->self_ns = pp_wrap_plus(row_at(in, top->row)->self_ns, begin - end);
			begin = end;
		}
		if (top->end > span->end)
			return;
		in->opens--;
	}
}

static int count(struct input *in, const struct pp_span *span, int stage)
{
	int64_t ns = span->end > span->begin ? span->end - span->begin : 0;
	int nests = span->kind == PP_SPAN_RANGE || span->kind == PP_SPAN_MPI;
	struct pp_row_input_op *row;
	uint32_t at;

	if (span->flags & (PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END)) {
		in->left_out.cut++;
		return 0;
	}
	at = row_of(in, span, stage);
	if (at == UINT32_MAX)
		return -ENOMEM;
	row = row_at(in, at);
	row->count++;
	row->total_ns = pp_wrap_plus(row->total_ns, ns);
	row->self_ns = pp_wrap_plus(row->self_ns, ns);
	if (!nests || !ns)
		return 0;
	while (in->opens && in->open[in->opens - 1].end <= span->begin)
		in->opens--;
	take_from_parents(in, span);
	if (PP_GROW(in->open, in->opens, in->room))
		return -ENOMEM;
	in->open[in->opens++] = (struct open){span->end, at};
	return 0;
}

static int count_thread(struct input *in, const struct pp_thread *thread)
{
	const uint32_t kinds =
	        PP_SPAN_BIT(PP_SPAN_RANGE) | PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST) | PP_SPAN_BIT(PP_SPAN_DEVICE);
	int rc = 0;

	if (!pp_thread_may_have(thread, kinds))
		return 0;
	in->opens = 0;
	for (size_t i = 0; i < thread->spans && rc == 0; i++) {
		const struct pp_span *span = &thread->span[i];
		int stage = kinds & PP_SPAN_BIT(span->kind) ? stage_of(in, span) : 0;

		if (stage)
			rc = count(in, span, stage);
	}
	return rc;
}

static int compare_self(const void *a, const void *b, void *names)
{
	const struct pp_row_input_op *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return strcmp(pp_intern_text(names, x->name, NULL), pp_intern_text(names, y->name, NULL));
}

/* Keeps the names with most time, as /op does. */
static void keep_most(struct input *in)
{
	if (in->out.rows - in->first <= PP_OPS_MOST)
		return;
	qsort_r(row_at(in, in->first), in->out.rows - in->first, sizeof(struct pp_row_input_op), compare_self,
	        (void *)in->cache.names);
	for (size_t i = in->first; i < in->out.rows; i++)
		in->row_of[row_at(in, i)->name] = 0; /* the next rank's rows may take these places */
	for (size_t i = in->first + PP_OPS_MOST; i < in->out.rows; i++) {
		in->left_out.rest++;
		in->left_out.rest_ns = pp_wrap_plus(in->left_out.rest_ns, row_at(in, i)->self_ns);
	}
	in->out.rows = in->first + PP_OPS_MOST;
}

static int count_rank(struct input *in, const struct pp_rank *rank)
{
	int rc = 0;

	in->worker = rank->rank;
	in->first = in->out.rows;
	for (size_t t = 0; t < rank->threads && rc == 0; t++)
		rc = count_thread(in, &rank->thread[t]);
	if (rc == 0)
		keep_most(in);
	return rc;
}

int pp_join_input_ops(struct pp_join *j)
{
	uint32_t names = pp_intern_count(j->d->names);
	struct input in = {.out = {.desc = pp_table_desc(PP_TABLE_input_op)}};
	int rc = pp_name_cache_init(&in.cache, j->d->names);

	in.of_name = calloc((size_t)names + 1, sizeof(*in.of_name));
	in.row_of = calloc((size_t)names + 1, sizeof(*in.row_of));
	j->d->input_op_left_out = calloc(1, sizeof(*j->d->input_op_left_out));
	j->d->input_op_left_outs = j->d->input_op_left_out != NULL;
	if (!in.of_name || !in.row_of || !j->d->input_op_left_out)
		rc = -ENOMEM;
	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = count_rank(&in, &j->in->capture->rank[r]);
	j->d->input_op = in.out.row;
	j->d->input_ops = in.out.rows;
	if (j->d->input_op_left_out)
		*j->d->input_op_left_out = in.left_out;
	pp_name_cache_release(&in.cache);
	free(in.of_name);
	free(in.row_of);
	free(in.open);
	return rc;
}
