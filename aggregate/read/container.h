/* Files in archives: .zip, .tar and such, plain or packed, and single packed files (.zst). In: paths. Out: members, by paths as if
 * the archive was a directory of its name, and their bytes, in files without a name. Nothing is written under a member's name.
 * Called by trace.c and launchers/analyze/inputs.c; archives are not trusted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum pp_container_kind {
	PP_CONTAINER_NONE,    /* a file as it is, or .gz, which readers unpack themselves */
	PP_CONTAINER_PACKED,  /* one file */
	PP_CONTAINER_ARCHIVE, /* any number of files */
};

enum {
	PP_CONTAINER_RATIO = 1032
}; /* so many times its archive's size is a member at most: more than any packed trace, and deflate */

struct pp_container_member { /* of an archive, while it is listed */
	const char *path;  /* of the archive, '/', and its name there, repaired; of several with one name the second is "2#name" */
	const char *bytes; /* its first ones, at most 4 MiB; valid during the call */
	size_t length;
	uint64_t size;   /* unpacked, as the archive says; 0: it does not */
	const char *why; /* nothing of it can be unpacked; else NULL */
};

struct pp_container_file { /* bytes of a member or of a packed file */
	int fd;
	char path[32]; /* by which this process can open it */
	uint64_t size;
	char damage[96]; /* why bytes behind `size` are missing; "": none are */
};

/* What a file is by its first bytes. Also of a path that cannot be read: NONE. */
enum pp_container_kind pp_container_kind(const char *path);
/* Length of the archive's path in that of a member; 0: it is no path of a member. */
size_t pp_container_archive(const char *path);
/* Calls `take` for each file in the archive, in its order, until one returns non-zero, which is returned. `damage` (size > 0) says
 * why what follows could not be read; "": all was. */
int pp_container_list(const char *path, int (*take)(void *context, const struct pp_container_member *member), void *context,
                      char *damage, size_t size, struct pp_err *err);
/* Unpacks a member, or a packed file, or somewhat more than `most` bytes of it, to a file in $TMPDIR that has no name. It fails
 * where nothing can be unpacked. Released by pp_container_close(). */
int pp_container_open(const char *path, uint64_t most, struct pp_container_file *ret_file, struct pp_err *err);
/* Its bytes are gone. */
void pp_container_close(struct pp_container_file *file);
