/* Loads libarchive and opens archives with it; see archive_library.h. Called by container.c. */
#include "aggregate/read/archive_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { BLOCK = 1 << 17 };

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define FUNCTION(name)                                                                                                             \
	{                                                                                                                          \
		"archive_" #name, offsetof(struct pp_archive_library, name)                                                        \
	}
        FUNCTION(read_new),
        FUNCTION(read_free),
        FUNCTION(read_support_filter_gzip),
        FUNCTION(read_support_filter_zstd),
        FUNCTION(read_support_filter_xz),
        FUNCTION(read_support_format_zip),
        FUNCTION(read_support_format_tar),
        FUNCTION(read_support_format_raw),
        FUNCTION(read_open_filename),
        FUNCTION(read_next_header),
        FUNCTION(read_data),
        FUNCTION(read_data_block),
        FUNCTION(format),
        FUNCTION(error_string),
        FUNCTION(entry_pathname),
        FUNCTION(entry_pathname_utf8),
        FUNCTION(entry_filetype),
        FUNCTION(entry_size),
        FUNCTION(entry_size_is_set),
#undef FUNCTION
};

const struct pp_archive_library *pp_archive_library(const char *path, struct pp_err *err)
{
	static struct pp_archive_library library;
	static int is_loaded;
	void *handle = is_loaded ? NULL : dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
	int missing = !handle && !is_loaded;

	for (size_t i = 0; handle && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(handle, functions[i].name);

		memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
		missing |= !function;
	}
	is_loaded |= !missing;
	if (missing)
		pp_err_set(err, -ENOSYS,
		           "cannot unpack '%s': libarchive is not installed, or too old. Install it (Debian: libarchive13, RHEL: "
		           "libarchive), or unpack the file",
		           path);
	return missing ? NULL : &library;
}

locale_t pp_archive_locale_enter(void)
{
	static locale_t utf8;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return uselocale(utf8); /* of none: as it is */
}

void pp_archive_locale_leave(locale_t before)
{
	uselocale(before);
}

/* A filter that is not in the library would be a program that it starts: it is left out. */
static int has(const struct pp_archive_library *l, int (*support)(struct archive *))
{
	struct archive *a = l->read_new();
	int rc = a ? support(a) : -1;

	if (a)
		l->read_free(a);
	return rc == PP_ARCHIVE_OK;
}

struct archive *pp_archive_open(const struct pp_archive_library *l, const char *path, struct pp_err *err)
{
	int (*const filter[])(struct archive *) = {l->read_support_filter_gzip, l->read_support_filter_zstd,
	                                           l->read_support_filter_xz};
	struct archive *a = l->read_new();

	if (!a) {
		pp_err_set(err, -ENOMEM, "cannot unpack '%s': no memory", path);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(filter) / sizeof(filter[0]); i++)
		if (has(l, filter[i]))
			filter[i](a);
	l->read_support_format_zip(a);
	l->read_support_format_tar(a);
	l->read_support_format_raw(a);
	if (l->read_open_filename(a, path, BLOCK) != PP_ARCHIVE_OK) {
		pp_err_set(err, -EBADMSG, "cannot unpack '%s': %s", path,
		           l->error_string(a) ? l->error_string(a) : "it is damaged");
		l->read_free(a);
		return NULL;
	}
	return a;
}
