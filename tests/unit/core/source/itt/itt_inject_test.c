/* ITT as frameworks use it: static copies of ittnotify, their handles, tasks, frames and counters. With PODPROF_ITT_CHAIN another
 * collector is behind podprof. */
#include "core/call/mpi_call.h"
#include "tests/unit/core/source/itt/itt_kit.h"

static struct itt_copy onednn;

/* Without podprof run around it, or of a layout that is not known, nothing is touched but to say that nobody listens. */
TEST(inert_and_foreign_copies)
{
	itt_copy_make(&torch);
	init(&torch.global, -1);
	for (int i = 0; i < ITT_COPY_COUNT; i++)
		CHECK(*torch.api[i].function == itt_copy_null);
	itt_copy_make(&torch);
	torch.global.magic[0]++;
	init(&torch.global, -1);
	itt_copy_make(&onednn);
	onednn.global.version_build = 20101001;
	init(&onednn.global, -1);
	init(NULL, -1);
	for (int i = 0; i < ITT_COPY_COUNT; i++)
		CHECK(*torch.api[i].function == itt_copy_init && *onednn.api[i].function == itt_copy_init);
}

TEST(each_copy_gets_the_same_functions)
{
	static struct itt_copy other;

	itt_copy_make(&torch);
	itt_copy_make(&onednn);
	itt_copy_make(&other);
	torch.api[ITT_COPY_marker].group = 1;
	init(&torch.global, ~1);
	init(&onednn.global, -1);
	init(&other.global, 1);
	CHECK(*torch.api[ITT_COPY_marker].function == itt_copy_null);
	CHECK(*torch.api[ITT_COPY_sync_prepare].function == itt_copy_null);
	for (int i = 0; i < ITT_COPY_COUNT; i++) {
		CHECK(*other.api[i].function == itt_copy_null);
		if (i < ITT_COPY_sync_prepare && i != ITT_COPY_marker)
			CHECK(*torch.api[i].function != itt_copy_null && *torch.api[i].function != itt_copy_init);
		if (i < ITT_COPY_sync_prepare && i != ITT_COPY_marker)
			CHECK(*torch.api[i].function == *onednn.api[i].function);
	}
	init(&torch.global, -1); /* once more: nothing is called twice by it */
	CHECK(*torch.api[ITT_COPY_marker].function == *onednn.api[ITT_COPY_marker].function);
}

TEST(handles_are_one_a_text_and_claim_nothing)
{
	struct pp_itt_string *mm = torch.string_handle_create("aten::mm"), *empty = torch.string_handle_create("");

	domain = torch.domain_create("PyTorch");
	CHECK(mm && empty && mm != empty && mm == onednn.string_handle_create("aten::mm"));
	CHECK_STR(mm->text, "aten::mm");
	CHECK(torch.string_handle_create("aten::mm_") != mm && torch.string_handle_create("aten::m") != mm);
	CHECK(!torch.string_handle_create(NULL));
	CHECK(domain && domain->flags == 1 && domain == onednn.domain_create("PyTorch"));
	CHECK_STR(domain->name, "PyTorch");
	CHECK(!find_ring(getenv("PODPROF_SPOOL")));
	task(&torch, domain, "first"); /* a task does */
	CHECK(find_ring(getenv("PODPROF_SPOOL")));
}

TEST(tasks_of_two_domains)
{
	struct pp_itt_domain *other = onednn.domain_create("dnnl::primitive");
	const struct pp_ring_header *h = pp_drain_header(drain);
	const struct seen *s;

	torch.task_begin(domain, none, none, torch.string_handle_create("outer"));
	task(&onednn, other, "inner, whose name is longer than the record's own room");
	torch.task_end(domain);
	torch.task_begin_fn(domain, none, none, (void *)(uintptr_t)0x1f00);
	torch.task_end(domain);
	torch.task_begin(domain, none, none, NULL);
	torch.task_end(domain);
	torch.marker(domain, none, torch.string_handle_create("here"), 1);
	look();
	CHECK_INT(seen_count, 9);
	s = find(PP_RECORD_PUSH, "outer");
	CHECK(s && !strcmp(h->domain[s->domain].text, "PyTorch") && seen[3].kind == PP_RECORD_POP && seen[3].domain == s->domain);
	s = find(PP_RECORD_PUSH, "inner, whose name is longer than the record's own room");
	CHECK(s && !strcmp(h->domain[s->domain].text, "dnnl::primitive"));
	CHECK(find(PP_RECORD_PUSH, "0x1f00") && find(PP_RECORD_MARK, "here") && find(PP_RECORD_PUSH, ""));
}

/* Made while there was no collector yet: the copy's own memory. */
TEST(handles_from_before)
{
	static struct pp_itt_domain early = {.flags = 1, .name = "early"}, late = {.flags = 1, .name = "late"};
	static struct pp_itt_string string = {.text = "before init"};
	static struct pp_itt_counter_info counter = {.name = "queue", .domain = "early", .type = PP_ITT_S32};
	static struct itt_copy tbb;
	const struct pp_ring_header *h = pp_drain_header(drain);
	int32_t value = -5;
	const struct seen *s;

	itt_copy_make(&tbb);
	tbb.global.domains = &early;
	tbb.global.strings = &string;
	tbb.global.counters = &counter;
	init(&tbb.global, -1);
	tbb.task_begin(&early, none, none, &string);
	tbb.task_end(&early);
	task(&tbb, &late, "late"); /* one that the list did not show */
	tbb.counter_set_value(&counter, &value);
	look();
	s = find(PP_RECORD_PUSH, "before init");
	CHECK(s && !strcmp(h->domain[s->domain].text, "early"));
	s = find(PP_RECORD_PUSH, "late");
	CHECK(s && !strcmp(h->domain[s->domain].text, "late"));
	s = find(PP_RECORD_COUNTER, "early/queue");
	CHECK(s && s->value == -5);
}

TEST(overlapped_tasks_and_frames)
{
	struct pp_itt_domain *other = torch.domain_create("other");
	struct pp_itt_id a = {1, 2, 0}, b = {2, 1, 0};
	struct pp_itt_string *name = torch.string_handle_create("overlapped");
	uint64_t begin = torch.get_timestamp(), end;

	torch.task_begin_overlapped(domain, a, none, name);
	torch.task_begin_overlapped(domain, b, none, name);
	torch.task_begin_overlapped(other, a, none, name);
	torch.task_end_overlapped(domain, a);
	torch.task_end_overlapped(other, a);
	torch.task_end_overlapped(domain, b);
	look();
	CHECK_INT(seen_count, 6);
	CHECK(seen[0].id == seen[3].id && seen[1].id == seen[5].id && seen[2].id == seen[4].id);
	CHECK(seen[0].id != seen[1].id && seen[0].id != seen[2].id && seen[1].id != seen[2].id && seen[0].id >> 63);
	torch.frame_begin_v3(domain, &a);
	torch.frame_begin_v3(domain, NULL);
	torch.frame_end_v3(domain, NULL);
	torch.frame_end_v3(domain, &a);
	end = torch.get_timestamp();
	torch.frame_submit_v3(other, NULL, begin, end);
	torch.frame_submit_v3(other, NULL, end, UINT64_MAX);
	torch.frame_submit_v3(other, NULL, 1, 2);       /* before there was a clock */
	torch.frame_submit_v3(other, NULL, end, begin); /* the wrong way round */
	look();
	CHECK_INT(seen_count, 8);
	CHECK_STR(seen[0].text, "PyTorch");
	CHECK_STR(seen[4].text, "other");
	CHECK(seen[0].id == seen[3].id && seen[1].id == seen[2].id && seen[0].id != seen[1].id);
	CHECK(seen[4].tick == begin && seen[5].tick == end && seen[6].tick == end && seen[7].tick > end);
}

/* A call of torch.distributed is on the thread's where-am-I line from its begin to its end, whatever is nested in it. */
TEST(places_of_torch_distributed)
{
	struct pp_itt_domain *other = onednn.domain_create("dnnl::primitive");
	const struct pp_ring_header *h = pp_drain_header(drain);
	const struct pp_where *w = &h->thread[0].where;
	unsigned calls = w->c10d_calls;

	task(&torch, domain, "aten::mm");
	CHECK(w->c10d == 0 && w->c10d_calls == calls);
	torch.task_begin(domain, none, none, torch.string_handle_create("c10d::allreduce_"));
	CHECK_INT(w->c10d, 1 + pp_c10d_call_of("c10d::allreduce_", 16));
	task(&torch, domain, "aten::mm");
	task(&torch, domain, "c10d::wait");
	torch.task_begin(domain, none, none, torch.string_handle_create("nccl:all_reduce")); /* ends on another thread */
	torch.task_begin(other, none, none, torch.string_handle_create("open"));
	CHECK_INT(w->c10d, 1 + pp_c10d_call_of("c10d::allreduce_", 16));
	torch.task_end(domain);
	CHECK(w->c10d == 0 && w->c10d_calls == calls + 1);
	torch.task_end(other);
	torch.task_end(domain); /* one that nothing began */
	torch.task_begin_ex(domain, NULL, 0, none, none, torch.string_handle_create("gloo:broadcast"));
	torch.task_begin_fn(domain, none, none, (void *)(uintptr_t)0x1f00);
	torch.pause();
	torch.task_end(domain);
	CHECK_INT(w->c10d, 1 + pp_c10d_call_of("c10d::broadcast_", 16));
	torch.task_end_ex(domain, NULL, 0); /* of a range that began while recording went on */
	torch.resume();
	CHECK(w->c10d == 0 && w->c10d_calls == calls + 2);
	task(&torch, domain, "after the pause");
	look();
}

/* Times that the caller gives: by our clock as given, by a clock of its own not recorded. */
TEST(tasks_with_a_time)
{
	struct pp_itt_string *name = torch.string_handle_create("timed");
	uint64_t begin = torch.get_timestamp(), end = torch.get_timestamp();

	torch.task_begin_ex(domain, NULL, begin, none, none, name);
	torch.task_end_ex(domain, NULL, end);
	torch.task_begin_ex(domain, NULL, 0, none, none, name);
	torch.task_end_ex(domain, NULL, 0);
	torch.task_begin_ex(domain, &begin, 7, none, none, name);
	torch.task_end_ex(domain, &begin, 8);
	look();
	CHECK_INT(seen_count, 4);
	CHECK(seen[0].tick == begin && seen[1].tick == end && seen[2].tick > end && seen[3].tick >= seen[2].tick);
}

TEST(counters_of_every_kind)
{
	void *plain = torch.counter_create("batches", "input"), *alone = torch.counter_create("alone", NULL);
	void *loss = torch.counter_create_typed("loss", "train", PP_ITT_DOUBLE);
	double value = 0.5;
	uint64_t large = 1ull << 40;

	CHECK(plain && plain == onednn.counter_create("batches", "input"));
	torch.counter_inc(plain);
	torch.counter_inc(plain);
	torch.counter_dec_delta(plain, 3);
	torch.counter_set_value(plain, &large);
	torch.counter_inc(plain);
	torch.counter_set_value(loss, &value);
	torch.counter_inc(loss);
	torch.counter_inc(alone);
	torch.counter_inc(NULL);
	torch.counter_inc_delta_v3(domain, torch.string_handle_create("tokens"), 512);
	torch.counter_inc_delta_v3(domain, torch.string_handle_create("tokens"), 512);
	look();
	CHECK_INT(seen_count, 10);
	for (size_t i = 0; i < seen_count; i++)
		CHECK(seen[i].kind == PP_RECORD_COUNTER);
	CHECK_STR(seen[0].text, "input/batches");
	CHECK(seen[0].value == 1 && seen[1].value == 2 && seen[2].value == -1 && seen[3].value == (double)large);
	CHECK(seen[4].value == (double)large + 1 && seen[5].value == 0.5 && seen[6].value == 1.5 && seen[7].value == 1);
	CHECK_STR(seen[6].text, "train/loss");
	CHECK_STR(seen[7].text, "alone");
	CHECK_STR(seen[9].text, "PyTorch/tokens");
	CHECK(seen[9].value == 1024);
}

static void *named(void *arg)
{
	torch.thread_set_name("autograd 0");
	task(&torch, domain, "of the thread");
	return arg;
}

TEST(thread_names_and_pauses)
{
	const struct seen *s;
	pthread_t t;

	pthread_create(&t, NULL, named, NULL);
	pthread_join(t, NULL);
	torch.pause();
	task(&torch, domain, "unseen");
	torch.resume();
	task(&torch, domain, "seen again");
	look();
	s = find(PP_RECORD_PUSH, "of the thread");
	CHECK(s && !strcmp(pp_drain_header(drain)->thread[s->slot].name, "autograd 0"));
	CHECK(!find(PP_RECORD_PUSH, "unseen") && find(PP_RECORD_PUSH, "seen again"));
}

/* The child's handles work, and nothing of it is recorded. */
TEST(a_forked_child_is_silent)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		struct pp_itt_domain *d = torch.domain_create("of the child");
		struct pp_itt_string *s = torch.string_handle_create("made by the child");
		int good = d && s && !strcmp(s->text, "made by the child") && !strcmp(d->name, "of the child");

		task(&torch, d, "by the child");
		task(&torch, domain, "by the child, sizes = [[1]]");
		torch.counter_inc(torch.counter_create("child", NULL));
		torch.thread_set_name("child");
		_exit(!good);
	}
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
	task(&torch, domain, "by the parent");
	look();
	CHECK_INT(seen_count, 2);
	CHECK(find(PP_RECORD_PUSH, "by the parent") != NULL);
}

/* The other collector's handles are given out, its functions are called after ours; what it alone answers stays its own. */
TEST(another_collector_behind)
{
	void *tool = dlopen(getenv("PODPROF_ITT_CHAIN"), RTLD_LAZY | RTLD_NOLOAD), *counter;
	int *tasks = tool ? dlsym(tool, "itt_tool_tasks") : NULL, *counts = tool ? dlsym(tool, "itt_tool_counts") : NULL;
	const struct pp_ring_header *h;
	struct pp_itt_string *name;
	const struct seen *s;

	CHECK(tasks && counts);
	if (!tasks || !counts)
		return;
	CHECK(*torch.api[ITT_COPY_id_create].function != itt_copy_null);
	CHECK(*torch.api[ITT_COPY_sync_prepare].function == itt_copy_null);
	domain = torch.domain_create("chained");
	name = onednn.string_handle_create("both see it");
	CHECK(domain->extra1 && name->extra1);
	torch.task_begin(domain, (struct pp_itt_id){1, 2, 3}, (struct pp_itt_id){4, 5, 6}, name);
	torch.task_end(domain);
	counter = torch.counter_create("count", "chained");
	torch.counter_inc(counter);
	CHECK(*tasks == 1 && *counts == 1);
	CHECK(find_ring(getenv("PODPROF_SPOOL")) && !pp_drain_open(ring_path, 0, &drain, NULL));
	if (!drain)
		return;
	look();
	h = pp_drain_header(drain);
	s = find(PP_RECORD_PUSH, "both see it");
	CHECK(s && !strcmp(h->domain[s->domain].text, "chained"));
	s = find(PP_RECORD_COUNTER, "chained/count");
	CHECK(s && s->value == 1);
}

static void all(void)
{
	if (getenv("PODPROF_ITT_CHAIN")) {
		itt_copy_make(&torch);
		itt_copy_make(&onednn);
		init(&torch.global, -1);
		init(&onednn.global, -1);
		another_collector_behind();
		return;
	}
	each_copy_gets_the_same_functions();
	handles_are_one_a_text_and_claim_nothing();
	if (!itt_open())
		return;
	tasks_of_two_domains();
	handles_from_before();
	overlapped_tasks_and_frames();
	places_of_torch_distributed();
	tasks_with_a_time();
	counters_of_every_kind();
	thread_names_and_pauses();
	a_forked_child_is_silent();
}

int main(int argc, char **argv)
{
	return itt_run(argc, argv, getenv("PODPROF_ITT_CHAIN") ? NULL : inert_and_foreign_copies, all);
}
