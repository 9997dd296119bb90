/* Eight threads make ITT's handles at once, the same and their own, until the tables are full: under ThreadSanitizer. */
#include <stdint.h>

#include "core/source/itt/itt_domains.h"
#include "core/source/itt/itt_names.h"
#include "tests/unit/core/ring/ring_kit.h"

enum { THREADS = 8, DIFFERENT = 6000, MAPPED = 2000 };

static _Atomic size_t wrong;

static void check(const struct pp_itt_string *s, const char *want)
{
	size_t length;
	const char *text = pp_itt_text(s, &length);

	if (length != strlen(want) || strcmp(text, want) != 0)
		atomic_fetch_add(&wrong, 1);
}

static void *hammer(void *arg)
{
	size_t t = (size_t)(uintptr_t)arg;
	char text[64];

	for (size_t i = 0; i < DIFFERENT; i++) {
		const void *foreign = (const void *)(uintptr_t)((1 + i % MAPPED) * 64);
		struct pp_itt_name *counter;

		snprintf(text, sizeof(text), "same %zu", i % 32);
		check(pp_itt_string_create(text), text);
		snprintf(text, sizeof(text), "different %zu", (t & 1 ? DIFFERENT - i : i) + t / 2 * DIFFERENT);
		check(pp_itt_string_create(text), text);
		snprintf(text, sizeof(text), "aten::mm, seq = %zu", i);
		check(pp_itt_string_create(text), text);
		snprintf(text, sizeof(text), "domain %zu", i % 100);
		if (pp_itt_domain_index(pp_itt_domain_create(text, NULL)) >= PP_RING_DOMAINS)
			atomic_fetch_add(&wrong, 1);
		counter = pp_itt_counter_create("tsan", i & 1 ? "odd" : "even", PP_ITT_U64);
		if (counter)
			atomic_fetch_add(&counter->value, 1);
		pp_itt_map_put(foreign, &wrong);
		if (pp_itt_map_get(foreign) && pp_itt_map_get(foreign) != &wrong)
			atomic_fetch_add(&wrong, 1);
		kit_mark(text, strlen(text), i);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	const struct pp_itt_name *odd;

	if (!kit_open(1 << 26))
		return 1;
	odd = pp_itt_counter_create("tsan", "odd", PP_ITT_U64);
	for (size_t t = 0; t < THREADS; t++)
		pthread_create(&thread[t], NULL, hammer, (void *)(uintptr_t)t);
	for (int t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	CHECK_INT(atomic_load(&wrong), 0);
	CHECK_INT(atomic_load(&odd->value), THREADS * DIFFERENT / 2);
	CHECK(pp_itt_counter_create("tsan", "one too many", PP_ITT_U64) == NULL);
	kit_close();
	return test_end();
}
