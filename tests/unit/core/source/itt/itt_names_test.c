/* ITT beyond what its tables hold: names that differ at every call, long ones, more of them than are kept, from many threads. */
#include "tests/unit/core/source/itt/itt_kit.h"

enum { THREADS = 8, DIFFERENT = 20000, SAME = 32, AFTER = 100, SUFFIXES = 1500 };

/* Names that differ at every call are recorded whole, and need no room without end. */
TEST(suffixes)
{
	struct pp_itt_string *handle[SUFFIXES];
	char text[128];
	int distinct = 0;

	for (int i = 0; i < SUFFIXES; i++) {
		snprintf(text, sizeof(text), "aten::mm, seq = %d, sizes = [[2, %d], [3, 4]]", i, i);
		handle[i] = torch.string_handle_create(text);
		CHECK_STR(handle[i]->text, text);
		torch.task_begin(domain, none, none, handle[i]);
		torch.task_end(domain);
	}
	for (int i = SUFFIXES - 100; i < SUFFIXES; i++) {
		int known = 0;

		for (int k = SUFFIXES - 100; k < i; k++)
			known |= handle[k] == handle[i];
		distinct += !known;
	}
	CHECK_INT(distinct, 4);
	look();
	CHECK_INT(seen_count, 2 * SUFFIXES);
	for (int i = 0; i < SUFFIXES; i++) {
		snprintf(text, sizeof(text), "aten::mm, seq = %d, sizes = [[2, %d], [3, 4]]", i, i);
		CHECK_STR(seen[2 * i].text, text);
	}
}

TEST(long_names)
{
	static char text[60001];

	memset(text, 'x', sizeof(text) - 1);
	text[5000] = '\0';
	task(&torch, domain, text);
	look();
	CHECK(find(PP_RECORD_PUSH, text) != NULL);
	CHECK_INT(lost(PP_LOSS_NAME_CUT), 0);
	text[5000] = 'x';
	task(&torch, domain, text);
	CHECK_INT(lost(PP_LOSS_NAME_CUT), 1);
	look();
	CHECK(seen_count == 2 && strlen(seen[0].text) > 48000);
}

static struct pp_itt_string *same[THREADS][SAME];

static void *hammer(void *arg)
{
	size_t t = (size_t)(uintptr_t)arg, wrong = 0;
	char text[64];

	for (int i = 0; i < DIFFERENT; i++) {
		struct pp_itt_string *s;

		snprintf(text, sizeof(text), "same %d", i % SAME);
		s = torch.string_handle_create(text);
		wrong += strcmp(s->text, text) != 0 || (i >= SAME && s != same[t][i % SAME]);
		same[t][i % SAME] = s;
		/* in another order on every second thread */
		snprintf(text, sizeof(text), "different %d", t & 1 ? DIFFERENT - i : i);
		s = torch.string_handle_create(text);
		wrong += strcmp(s->text, text) != 0;
	}
	for (int i = 0; i < AFTER; i++) {
		snprintf(text, sizeof(text), "thread %zu after %d", t, i);
		task(&torch, domain, text);
	}
	return (void *)(uintptr_t)wrong;
}

TEST(eight_threads)
{
	pthread_t thread[THREADS];
	char text[64];
	void *wrong;

	for (size_t t = 0; t < THREADS; t++)
		CHECK_INT(pthread_create(&thread[t], NULL, hammer, (void *)(uintptr_t)t), 0);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(thread[t], &wrong);
		CHECK(!wrong);
	}
	for (int t = 1; t < THREADS; t++)
		CHECK(!memcmp(same[0], same[t], sizeof(same[0])));
	look();
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < AFTER; i++) {
			snprintf(text, sizeof(text), "thread %d after %d", t, i);
			CHECK(find(PP_RECORD_PUSH, text) != NULL);
		}
	/* No more names are kept: that is said, once of each sort. */
	CHECK_INT(seen_count, THREADS * AFTER * 2 + 1);
	CHECK(!torch.counter_create("one too many", NULL) && !torch.counter_create("two too many", NULL));
	look();
	CHECK_INT(seen_count, 1);
	CHECK(seen[0].kind == PP_RECORD_REMARK && strstr(seen[0].text, "16384"));
}

TEST(more_domains_than_rows)
{
	struct pp_itt_domain *d = NULL;
	char text[64];

	for (int i = 0; i < 2 * PP_RING_DOMAINS; i++) {
		snprintf(text, sizeof(text), "domain %d", i);
		d = torch.domain_create(text);
		CHECK(d && d->flags == 1);
	}
	task(&torch, d, "in a late domain");
	look();
	CHECK(seen_count == 2 && seen[0].domain == PP_RING_DOMAINS - 1);
	CHECK_STR(pp_drain_header(drain)->domain[PP_RING_DOMAINS - 1].text, "(other domains)");
}

static void all(void)
{
	itt_copy_make(&torch);
	init(&torch.global, -1);
	domain = torch.domain_create("PyTorch");
	task(&torch, domain, "first");
	if (!itt_open())
		return;
	suffixes();
	long_names();
	eight_threads();
	more_domains_than_rows();
}

int main(int argc, char **argv)
{
	return itt_run(argc, argv, NULL, all);
}
