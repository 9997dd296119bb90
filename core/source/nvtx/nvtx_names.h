/* NVTX's domains, categories, registered strings. In: NVTX calls, any thread. Out: indexes, texts, header rows.
 * Kept from the first call of a process on, put into the ring file when it becomes the rank. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Ranges that threads without a ring have begun. */
extern _Atomic uint64_t pp_nvtx_ranges_elsewhere __attribute__((visibility("hidden")));

struct pp_nvtx_string {
	struct pp_nvtx_string *next; /* in its hash row */
	const void *foreign;         /* handle of a chained tool; NULL: the address of this is the handle */
	size_t length;
	char text[];
};

/* UTF-8 of a wide string; `small` is used where it fits, else memory that the caller frees if *ret_text != small. */
size_t pp_nvtx_narrow(const wchar_t *wide, char *small, size_t size, char **ret_text);

/* Handle for the application: ours, or `foreign` where another tool made one. */
void *pp_nvtx_domain_create(const char *name, void *foreign);
/* Index of a domain handle; NULL is the default domain, 0. */
uint16_t pp_nvtx_domain_index(const void *handle);
/* Gives a domain's category its name; the last one counts. The wide text is converted first. Under a lock. */
void pp_nvtx_category_name(uint16_t domain, uint32_t category, const char *name);
void pp_nvtx_category_wide(uint16_t domain, uint32_t category, const wchar_t *wide);
/* Handle of a registered string, one per text, never freed; `foreign`: a chained tool's, which stays the handle. Without memory the
 * handle of "". Under a lock. */
void *pp_nvtx_string_create(const char *text, size_t length, void *foreign);
/* Text of such a handle, valid for life; "" of an unknown one. No lock. */
const char *pp_nvtx_string_text(const void *handle, size_t *ret_length);
/* This process has become the rank. */
void pp_nvtx_names_publish(void);
/* Resets the lock in a forked child: its holder is gone. */
void pp_nvtx_names_child(void);
