/* ITT's domains, and the map of chained collectors' handles. Called by itt_*.c. */
#include "core/source/itt/itt_domains.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring/ring_file.h"
#include "core/source/nvtx/nvtx_names.h"

enum { DOMAINS = PP_RING_DOMAINS, MAPPED = 1024 };

struct own_domain {
	struct pp_itt_domain handle;
	uint32_t index;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of making a domain */
static struct own_domain domains[DOMAINS];
static _Atomic uint32_t domain_count;
/* Not core/base/map.h: threads read and add without a lock, and nothing here allocates. */
static const void *_Atomic map_key[MAPPED];
static void *_Atomic map_value[MAPPED];

static struct own_domain *find_domain(const char *name)
{
	/* Acquire: rows below the count are complete. */
	uint32_t count = atomic_load_explicit(&domain_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(domains[i].handle.name, name))
			return &domains[i];
	return NULL;
}

/* NVTX and ITT share the ring's rows; the last row is for domains without one. */
static void fill_domain(struct own_domain *d, const char *name)
{
	d->handle.flags = 1;
	d->handle.name = name ? name : "(other domains)";
	d->index = pp_nvtx_domain_index(pp_nvtx_domain_create(d->handle.name, NULL));
}

static struct own_domain *make_domain(const char *name)
{
	struct own_domain *d;
	uint32_t count;

	pthread_mutex_lock(&lock);
	d = find_domain(name);
	count = atomic_load_explicit(&domain_count, memory_order_relaxed);
	if (!d && count < DOMAINS - 1) {
		d = &domains[count];
		fill_domain(d, strdup(name));
		atomic_store_explicit(&domain_count, count + 1, memory_order_release);
	} else if (!d) {
		d = &domains[DOMAINS - 1];
		if (!d->handle.name) /* it may be in use */
			fill_domain(d, NULL);
	}
	pthread_mutex_unlock(&lock);
	return d;
}

static struct own_domain *own_domain(const char *name)
{
	struct own_domain *d;
	int saved = errno;

	name = name ? name : "";
	d = find_domain(name);
	if (!d)
		d = make_domain(name);
	errno = saved;
	return d;
}

struct pp_itt_domain *pp_itt_domain_create(const char *name, struct pp_itt_domain *theirs)
{
	struct own_domain *d;

	if (!name) {
		if (!theirs)
			return NULL;
		name = theirs->name;
	}
	d = own_domain(name);
	if (!theirs)
		return &d->handle;
	pp_itt_map_put(theirs, d);
	return theirs;
}

uint16_t pp_itt_domain_index(const struct pp_itt_domain *domain)
{
	const struct own_domain *d = (const struct own_domain *)domain;

	if (!domain)
		return 0;
	if (__builtin_expect((uintptr_t)domain - (uintptr_t)domains < sizeof(domains), 1))
		return (uint16_t)d->index;
	d = pp_itt_map_get(domain);
	if (!d) {
		d = own_domain(domain->name);
		pp_itt_map_put(domain, (void *)d);
	}
	return (uint16_t)d->index;
}

static uint32_t map_row(const void *handle)
{
	return (uint32_t)((uintptr_t)handle * 0x9e3779b97f4a7c15u >> 32);
}

/* A full map stays: handles that are not in it are found by name, or not at all. */
void pp_itt_map_put(const void *handle, void *value)
{
	uint32_t at = map_row(handle);

	for (int i = 0; i < MAPPED; i++, at++) {
		const void *key = NULL;

		if (atomic_compare_exchange_strong(&map_key[at % MAPPED], &key, handle) || key == handle) {
			atomic_store_explicit(&map_value[at % MAPPED], value, memory_order_release);
			return;
		}
	}
}

void *pp_itt_map_get(const void *handle)
{
	uint32_t at = map_row(handle);

	for (int i = 0; i < MAPPED; i++, at++) {
		const void *key = atomic_load_explicit(&map_key[at % MAPPED], memory_order_relaxed);

		if (key == handle)
			return atomic_load_explicit(&map_value[at % MAPPED], memory_order_acquire);
		if (!key)
			return NULL;
	}
	return NULL;
}

void pp_itt_domains_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
