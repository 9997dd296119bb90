/* NVTX's domains, categories and registered strings; used by nvtx_inject.c. */
#include "core/source/nvtx/nvtx_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/ring/thread_ring.h"
#include "core/source/nvtx/nvtx_abi.h"
#include "core/source/nvtx/nvtx_definitions.h"

enum { ROWS = 256, NARROW_BYTES = 512 };

struct domain {
	const void *foreign, *whole; /* complete: its name as a registered string, one per text */
	struct pp_ring_name name;
};

_Atomic uint64_t pp_nvtx_ranges_elsewhere;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct domain domains[PP_RING_DOMAINS];
static _Atomic uint32_t domain_count = 1; /* 0 is the default domain */
static struct pp_ring_name categories[PP_RING_CATEGORIES];
static uint32_t category_count;
static struct pp_nvtx_string *_Atomic rows[ROWS]; /* entries are never removed: readers take no lock */
static _Atomic int has_foreign;
static struct pp_ring_header *published;

static size_t encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

size_t pp_nvtx_narrow(const wchar_t *wide, char *small, size_t size, char **ret_text)
{
	size_t n = wide ? wcslen(wide) : 0, used = 0;
	char *text = small;

	if (n * 4 + 1 > size) {
		text = malloc(n * 4 + 1);
		if (!text) { /* the beginning is better than nothing */
			text = small;
			n = (size - 1) / 4;
		}
	}
	for (size_t i = 0; i < n; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): n is 0 where wide is NULL */
		used += encode((uint32_t)wide[i], text + used);
	text[used] = '\0';
	*ret_text = text;
	return used;
}

/* A name longer than its row is complete in a note; `what` is the NVTX function that gave it. */
static void set_name(struct pp_ring_name *n, enum pp_nvtx_core2 what, uint32_t owner, uint32_t id, const char *text)
{
	n->owner = owner;
	n->id = id;
	memset(n->text, 0, sizeof(n->text));
	if (strlen(text) >= sizeof(n->text))
		pp_nvtx_handle_name((uint16_t)owner, (uint32_t)PP_NVTX_CORE2 << 16 | what, id, text);
	memcpy(n->text, text, strnlen(text, sizeof(n->text) - 1));
}

/* Lock held: rows first, then how many there are. */
static void copy_domain(uint32_t i)
{
	if (!published || pp_rings_are_copied())
		return;
	published->domain[i] = domains[i].name;
	pp_ring_set_domains(published, i + 1);
}

static void copy_category(uint32_t i)
{
	if (!published || pp_rings_are_copied())
		return;
	published->category[i] = categories[i];
	if (i >= pp_ring_categories(published))
		pp_ring_set_categories(published, i + 1);
}

void *pp_nvtx_domain_create(const char *name, void *foreign)
{
	const void *whole;
	uint32_t count, i;

	name = name ? name : "";
	whole = pp_nvtx_string_create(name, strlen(name), NULL);
	pthread_mutex_lock(&lock);
	count = atomic_load_explicit(&domain_count, memory_order_relaxed);
	for (i = 1; i < count; i++)
		/* without memory all names share one string */
		if (domains[i].foreign == foreign && domains[i].whole == whole &&
		    !strncmp(domains[i].name.text, name, sizeof(domains[i].name.text) - 1))
			break;
	if (i >= PP_RING_DOMAINS) {
		i = PP_RING_DOMAINS - 1; /* more than rows: the last row is for the rest */
		set_name(&domains[i].name, PP_NVTX_D_CREATE_A, 0, i, "(other domains)");
		copy_domain(i);
	} else if (i == count) {
		domains[i].foreign = foreign;
		domains[i].whole = whole;
		set_name(&domains[i].name, PP_NVTX_D_CREATE_A, 0, i, name);
		copy_domain(i);
		atomic_store_explicit(&domain_count, count + 1, memory_order_release);
	}
	if (foreign)
		atomic_store(&has_foreign, 1);
	pthread_mutex_unlock(&lock);
	return foreign ? foreign : &domains[i];
}

uint16_t pp_nvtx_domain_index(const void *handle)
{
	const struct domain *d = handle;

	if (!handle)
		return 0;
	if (d >= domains && d < domains + PP_RING_DOMAINS)
		return (uint16_t)(d - domains);
	for (uint32_t i = 1; i < atomic_load_explicit(&domain_count, memory_order_acquire); i++)
		if (domains[i].foreign == handle)
			return (uint16_t)i;
	return atomic_load(&has_foreign) ? PP_RING_DOMAINS - 1 : 0;
}

void pp_nvtx_category_name(uint16_t domain, uint32_t category, const char *name)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < category_count; i++)
		if (categories[i].owner == domain && categories[i].id == category)
			break;
	if (i < PP_RING_CATEGORIES) {
		set_name(&categories[i], PP_NVTX_D_CATEGORY_A, domain, category, name ? name : "");
		if (i == category_count)
			category_count++;
		copy_category(i);
	}
	pthread_mutex_unlock(&lock);
}

void pp_nvtx_category_wide(uint16_t domain, uint32_t category, const wchar_t *wide)
{
	char small[NARROW_BYTES], *text;

	pp_nvtx_narrow(wide, small, sizeof(small), &text);
	pp_nvtx_category_name(domain, category, text);
	if (text != small)
		free(text);
}

/* Not core/base/map.h: threads look strings up without the lock, and handles are addresses that must not move. */
static uint32_t row_of(const void *foreign, const char *text, size_t length)
{
	uint64_t hash = pp_hash(PP_HASH_BEGIN ^ (uintptr_t)foreign, text, foreign ? 0 : length);

	return (uint32_t)((hash ^ hash >> 8 ^ hash >> 17) % ROWS);
}

void *pp_nvtx_string_create(const char *text, size_t length, void *foreign)
{
	static struct pp_nvtx_string empty;
	uint32_t row = row_of(foreign, text, length);
	struct pp_nvtx_string *s;

	pthread_mutex_lock(&lock);
	for (s = atomic_load_explicit(&rows[row], memory_order_relaxed); s; s = s->next)
		if (s->foreign == foreign && s->length == length && !memcmp(s->text, text, length))
			break;
	if (!s && (s = malloc(sizeof(*s) + length + 1))) {
		s->foreign = foreign;
		s->length = length;
		memcpy(s->text, text, length);
		s->text[length] = '\0';
		s->next = atomic_load_explicit(&rows[row], memory_order_relaxed);
		atomic_store_explicit(&rows[row], s, memory_order_release);
	}
	if (foreign)
		atomic_store(&has_foreign, 1);
	pthread_mutex_unlock(&lock);
	if (foreign)
		return foreign;
	return s ? s : &empty;
}

const char *pp_nvtx_string_text(const void *handle, size_t *ret_length)
{
	const struct pp_nvtx_string *s = handle;

	*ret_length = 0;
	if (handle && atomic_load_explicit(&has_foreign, memory_order_relaxed)) {
		s = atomic_load_explicit(&rows[row_of(handle, "", 0)], memory_order_acquire);
		while (s && s->foreign != handle)
			s = s->next;
	}
	if (!s)
		return "";
	*ret_length = s->length;
	return s->text;
}

void pp_nvtx_names_publish(void)
{
	pthread_mutex_lock(&lock);
	published = pp_ring_pool.header;
	set_name(&domains[0].name, PP_NVTX_D_CREATE_A, 0, 0, "");
	for (uint32_t i = 0; i < atomic_load_explicit(&domain_count, memory_order_relaxed); i++)
		copy_domain(i);
	for (uint32_t i = 0; i < category_count; i++)
		copy_category(i);
	pthread_mutex_unlock(&lock);
}

void pp_nvtx_names_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
