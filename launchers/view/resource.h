/* What `podprof view` serves: the files of a session, and what is made of it on demand. In: a session's directory. Out: open
 * files. */
#pragma once

#include "core/base/err.h"
#include "launchers/export/export.h"

struct pp_resource {
	const char *name, *type;
	const char *file;             /* of the session, by its name there; NULL: made by an export */
	enum pp_export_format format; /* where it is made */
	int is_for_viewer;            /* the page of Perfetto may read it */
};

/* By the name in a request; NULL: there is none. */
const struct pp_resource *pp_resource_find(const char *name);

/* 1: *ret_fd is the file. 0: *ret_fd is an empty file without a name, for pp_resource_make(). -errno with a sentence. */
int pp_resource_open(const struct pp_resource *r, const char *session, int *ret_fd, struct pp_err *err);

/* Fills `fd`; takes seconds. 0 or -errno with a sentence. */
int pp_resource_make(const struct pp_resource *r, const char *session, int fd, struct pp_err *err);
