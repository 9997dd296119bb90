/* The rules of waiting on devices; see device_wait.h. */
#include "aggregate/graph/device_wait.h"

#include "core/base/wrap.h"

struct two { /* the first two in an order; -1: there are not so many */
	int32_t at[2];
};

static int64_t plus(int64_t x, int64_t y)
{
	int64_t sum;

	return __builtin_add_overflow(x, y, &sum) ? INT64_MAX : sum;
}

static int64_t length_of(const struct pp_device_rank *r)
{
	return pp_wrap_minus(r->end_ns, r->ready_ns);
}

static int is_recorded(const struct pp_device_rank *r)
{
	return r->end_ns > r->ready_ns;
}

/* |error| of the difference of a time of one and a time of the other. */
static int64_t errors_of(const struct pp_device_operation *o, int32_t one, int32_t other)
{
	return plus(o->rank[one].error_ns, o->rank[other].error_ns);
}

/* The last comes first. */
static int64_t later(const struct pp_device_rank *r)
{
	return is_recorded(r) ? pp_wrap_minus(0, r->ready_ns) : INT64_MAX;
}

/* The two ranks with the least value, of equal ones the first. */
static struct two least(const struct pp_device_operation *o, int64_t (*value)(const struct pp_device_rank *r))
{
	struct two two = {{-1, -1}};

	for (int32_t i = 0; i < (int32_t)o->ranks; i++) {
		if (two.at[0] < 0 || value(&o->rank[i]) < value(&o->rank[two.at[0]]))
			two = (struct two){{i, two.at[0]}};
		else if (two.at[1] < 0 || value(&o->rank[i]) < value(&o->rank[two.at[1]]))
			two.at[1] = i;
	}
	return two;
}

static void set(struct pp_device_rank *r, enum pp_device_wait_how how, int64_t wait_ns, int64_t bound_ns, int32_t late)
{
	r->how = how;
	r->wait_ns = wait_ns;
	r->transfer_ns = pp_wrap_minus(length_of(r), wait_ns);
	r->bound_ns = bound_ns;
	r->late = wait_ns > 0 ? late : -1;
}

/* From `r` ready to `until`, while its kernel ran. */
static int64_t wait_until(const struct pp_device_rank *r, int64_t until)
{
	if (until <= r->ready_ns)
		return 0;
	return pp_wrap_minus(until < r->end_ns ? until : r->end_ns, r->ready_ns);
}

/* By clocks: it needs `late`; -1: nobody. */
static void wait_for(struct pp_device_operation *o, int32_t rank, int32_t late)
{
	struct pp_device_rank *r = &o->rank[rank];

	if (late >= 0 && late != rank)
		set(r, PP_DEVICE_WAIT_CLOCKS, wait_until(r, o->rank[late].ready_ns), errors_of(o, rank, late), late);
	else
		set(r, PP_DEVICE_WAIT_CLOCKS, 0, 0, -1);
}

/* The last to be ready, by clocks, and the time from then to the last end. */
static void find_last(struct pp_device_operation *o)
{
	struct two latest = least(o, later);
	int64_t end = INT64_MIN;

	for (size_t i = 0; i < o->ranks; i++)
		end = o->rank[i].end_ns > end ? o->rank[i].end_ns : end;
	o->last = latest.at[0];
	o->transfer_ns = pp_wrap_minus(end, o->rank[o->last].ready_ns);
	o->is_sure = latest.at[1] < 0 || pp_wrap_minus(o->rank[o->last].ready_ns, o->rank[latest.at[1]].ready_ns) >
	                                         errors_of(o, latest.at[0], latest.at[1]);
}

/* A rank's wait by lengths, where the begins do not contradict it. */
static void wait_in_all(struct pp_device_operation *o, int32_t rank, int32_t shortest, int32_t latest)
{
	struct pp_device_rank *r = &o->rank[rank];
	int64_t least_ns = length_of(&o->rank[shortest]), tenth = least_ns / 10;
	int64_t wait = rank == o->last ? 0 : pp_wrap_minus(length_of(r), least_ns), off, error;

	if (!o->has_clock) {
		set(r, PP_DEVICE_WAIT_DURATIONS, wait, tenth, o->last);
		return;
	}
	off = pp_wrap_minus(pp_wrap_minus(length_of(r), least_ns), wait_until(r, o->rank[latest].ready_ns));
	off = off < 0 ? pp_wrap_minus(0, off) : off;
	error = errors_of(o, rank, o->last);
	if (off <= plus(error, tenth))
		set(r, PP_DEVICE_WAIT_BOTH, wait, plus(off, error), o->last);
	else
		r->how = PP_DEVICE_WAIT_DISAGREE;
}

/* The last to be ready has the shortest kernel, and begins last. What is clearer of the two names it. */
static void solve_all(struct pp_device_operation *o)
{
	struct two shortest = least(o, length_of), latest = least(o, later);
	int32_t by_length = shortest.at[0], by_clock = latest.at[0];
	int64_t least_ns = length_of(&o->rank[by_length]), margin = least_ns / 10;
	int is_shorter, is_later = 0;

	if (o->has_clock && shortest.at[1] >= 0) {
		margin = plus(margin, errors_of(o, by_length, shortest.at[1]));
		is_later = pp_wrap_minus(o->rank[by_clock].ready_ns, o->rank[latest.at[1]].ready_ns) >
		           errors_of(o, by_clock, latest.at[1]);
	}
	is_shorter = shortest.at[1] < 0 || pp_wrap_minus(length_of(&o->rank[shortest.at[1]]), least_ns) > margin;
	o->is_sure = is_shorter || is_later;
	o->last = is_later && !is_shorter ? by_clock : by_length;
	o->transfer_ns = least_ns;
	for (int32_t i = 0; i < (int32_t)o->ranks; i++) {
		if (is_shorter && is_later && by_length != by_clock)
			o->rank[i].how = PP_DEVICE_WAIT_DISAGREE;
		else
			wait_in_all(o, i, by_length, by_clock);
		if (o->rank[i].how == PP_DEVICE_WAIT_DISAGREE)
			o->transfer_ns = 0;
	}
	if (is_shorter && is_later && by_length != by_clock)
		o->last = -1;
	o->is_sure &= o->last >= 0;
}

static void solve_exchange(struct pp_device_operation *o)
{
	struct two latest = least(o, later);

	for (int32_t i = 0; i < (int32_t)o->ranks; i++)
		wait_for(o, i, latest.at[i == latest.at[0]]);
	find_last(o);
}

/* Whether a sender needs the receiver depends on buffers and links: it did where its kernel still ran when the receiver's began.
 * No receiver is through before the sender begins: such two are not of one message. */
static void solve_message(struct pp_device_operation *o)
{
	const int32_t sender = o->ranks == 2 && o->rank[1].is_root, receiver = 1 - sender;

	if (o->ranks != 2 || o->rank[0].is_root == o->rank[1].is_root)
		return;
	if (plus(o->rank[receiver].end_ns, errors_of(o, sender, receiver)) < o->rank[sender].ready_ns) {
		o->rank[0].how = o->rank[1].how = PP_DEVICE_WAIT_DISAGREE;
		return;
	}
	wait_for(o, receiver, sender);
	wait_for(o, sender, o->rank[receiver].ready_ns < o->rank[sender].end_ns ? receiver : -1);
	find_last(o);
}

static void solve_rooted(struct pp_device_operation *o)
{
	struct two latest = least(o, later);
	int32_t root = -1;
	int is_whole = o->is_whole;

	for (int32_t i = 0; i < (int32_t)o->ranks; i++) {
		root = o->rank[i].is_root ? i : root;
		is_whole &= is_recorded(&o->rank[i]);
	}
	if (root < 0)
		return;
	for (int32_t i = 0; i < (int32_t)o->ranks; i++) {
		if (!is_recorded(&o->rank[i]))
			continue;
		if (o->kind == PP_DEVICE_WAIT_FROM_ROOT) {
			if (is_recorded(&o->rank[root]))
				wait_for(o, i, root);
		} else if (i != root) {
			wait_for(o, i, -1);
		} else if (is_whole) {
			wait_for(o, i, latest.at[root == latest.at[0]]);
		}
	}
	if (is_whole)
		find_last(o);
}

void pp_device_wait(struct pp_device_operation *o)
{
	int is_whole = o->is_whole;

	o->transfer_ns = 0;
	o->last = -1;
	o->is_sure = 0;
	for (size_t i = 0; i < o->ranks; i++) {
		struct pp_device_rank *r = &o->rank[i];

		r->how = PP_DEVICE_WAIT_UNKNOWN;
		r->wait_ns = r->transfer_ns = r->bound_ns = 0;
		r->late = -1;
		is_whole &= is_recorded(r);
	}
	if (!o->ranks)
		return;
	if (o->kind == PP_DEVICE_WAIT_ALL && is_whole)
		solve_all(o);
	else if (o->kind == PP_DEVICE_WAIT_EXCHANGE && is_whole && o->has_clock)
		solve_exchange(o);
	else if (o->kind == PP_DEVICE_WAIT_MESSAGE && is_whole && o->has_clock)
		solve_message(o);
	else if ((o->kind == PP_DEVICE_WAIT_FROM_ROOT || o->kind == PP_DEVICE_WAIT_TO_ROOT) && o->has_clock)
		solve_rooted(o);
}
