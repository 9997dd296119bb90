/* libarchive, which reads .zip, .tar and .zst, found at run time: podprof is not linked to it. Called by container.c. */
#pragma once

#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

struct archive;
struct archive_entry;

enum { PP_ARCHIVE_OK = 0, PP_ARCHIVE_END = 1, PP_ARCHIVE_WARN = -20 };                       /* its results */
enum { PP_ARCHIVE_FORMATS = 0xff0000, PP_ARCHIVE_RAW = 0x90000, PP_ARCHIVE_FILE = 0100000 }; /* of a format, of a member */

struct pp_archive_library { /* its functions, by their names without archive_ */
	struct archive *(*read_new)(void);
	int (*read_free)(struct archive *);
	int (*read_support_filter_gzip)(struct archive *);
	int (*read_support_filter_zstd)(struct archive *);
	int (*read_support_filter_xz)(struct archive *);
	int (*read_support_format_zip)(struct archive *);
	int (*read_support_format_tar)(struct archive *);
	int (*read_support_format_raw)(struct archive *);
	int (*read_open_filename)(struct archive *, const char *path, size_t block);
	int (*read_next_header)(struct archive *, struct archive_entry **ret_entry);
	ssize_t (*read_data)(struct archive *, void *to, size_t size);
	int (*read_data_block)(struct archive *, const void **ret_bytes, size_t *ret_size, int64_t *ret_offset);
	int (*format)(struct archive *);
	const char *(*error_string)(struct archive *);
	const char *(*entry_pathname)(struct archive_entry *);
	const char *(*entry_pathname_utf8)(struct archive_entry *);
	mode_t (*entry_filetype)(struct archive_entry *);
	int64_t (*entry_size)(struct archive_entry *);
	int (*entry_size_is_set)(struct archive_entry *);
};

/* The library; NULL: it is not there, or too old, and *err says what to install for `path`. It stays loaded. */
const struct pp_archive_library *pp_archive_library(const char *path, struct pp_err *err);
/* Names of members are UTF-8 from now on, in this thread; returns what pp_archive_locale_leave() brings back. */
locale_t pp_archive_locale_enter(void);
/* As before pp_archive_locale_enter(), which returned `before`. */
void pp_archive_locale_leave(locale_t before);
/* An archive that is open; NULL with its sentence. The caller frees it by read_free(). */
struct archive *pp_archive_open(const struct pp_archive_library *library, const char *path, struct pp_err *err);
