/* What an XSpace file says of tf.data's iterators: numbers of both kinds, parameters, elements. */
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

enum { ID = 1, PARENT, ELEMENT, NAME, BUFFER, RATIO, DATASET };
enum { ROOT = 1, PREFETCH, CONSUME, OTHER };

static struct bytes file, plane, line, event, stat;

static void add_stat(int64_t id, uint32_t field, int64_t value)
{
	stat.n = 0;
	put_int(&stat, 1, id);
	put_int(&stat, field, value);
	put_message(&event, 4, &stat);
}

static void add_events(void)
{
	begin_event(&event, ROOT, 10, 100);
	put_stat(&event, 4, ID, 7);
	put_message(&line, 4, &event);
	for (int i = 0; i < 2; i++) {
		begin_event(&event, PREFETCH, 20 + 20 * i, 10);
		add_stat(ID, 3, -5); /* as a uint64 */
		put_stat(&event, 4, PARENT, 7);
		add_stat(NAME, 7, DATASET); /* a reference */
		put_stat(&event, 4, BUFFER, 2 + i);
		stat.n = 0;
		put_int(&stat, 1, RATIO);
		put_double(&stat, 2, 0.5);
		put_message(&event, 4, &stat);
		put_message(&line, 4, &event);
	}
	begin_event(&event, CONSUME, 60, 10);
	put_stat(&event, 4, ELEMENT, 9);
	put_message(&line, 4, &event);
	begin_event(&event, OTHER, 80, 10);
	put_stat(&event, 4, ID, 9);
	put_message(&line, 4, &event);
}

TEST(iterators)
{
	const struct pp_span *s;
	const struct pp_rank *r;
	struct pp_capture c = {0};
	struct pp_err err = {""};

	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "python");
	add_events();
	put_message(&plane, 3, &line);
	put_name(&plane, 4, ROOT, "Iterator::Root");
	put_name(&plane, 4, PREFETCH, "Iterator::Root::Prefetch");
	put_name(&plane, 4, CONSUME, "PrefetchConsume");
	put_name(&plane, 4, OTHER, "InstantiatedCapturedFunction::Run");
	put_name(&plane, 5, ID, "id");
	put_name(&plane, 5, PARENT, "parent_id");
	put_name(&plane, 5, ELEMENT, "element_id");
	put_name(&plane, 5, NAME, "name");
	put_name(&plane, 5, BUFFER, "buffer_limit");
	put_name(&plane, 5, RATIO, "ratio");
	put_name(&plane, 5, DATASET, "fused(A:1,B:2)");
	put_message(&file, 1, &plane);
	CHECK_INT(read_bytes(file.b, file.n, &c, &err), 0);
	r = &c.rank[0];
	CHECK_INT(r->iterators, 2);
	CHECK_INT(r->iterator[0].id, 7);
	CHECK_INT(r->iterator[0].parent, 0);
	CHECK_INT(r->iterator[0].parameters, 0);
	CHECK_INT(r->iterator[1].id == UINT64_MAX - 4, 1);
	CHECK_INT(r->iterator[1].parent, 7);
	CHECK_STR(name_of(&c, r->iterator[1].name), "Iterator::Root::Prefetch");
	CHECK_STR(name_of(&c, r->iterator[1].dataset), "fused(A:1,B:2)");
	CHECK_STR(name_of(&c, r->iterator[1].parameters), "buffer_limit=2 ratio=0.5");
	CHECK_INT(r->thread[0].spans, 5);
	s = r->thread[0].span;
	CHECK_INT(s[0].range.payload, 7);
	CHECK_INT(s[2].range.payload == UINT64_MAX - 4, 1);
	CHECK_INT(s[3].range.payload, 9);
	CHECK_INT(s[3].range.payload_type, PP_PAYLOAD_UINT64);
	CHECK_INT(s[4].range.payload_type, PP_PAYLOAD_NONE);
	pp_capture_release(&c);
}

int main(void)
{
	iterators();
	return test_end();
}
