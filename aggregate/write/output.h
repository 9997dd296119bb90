/* Directories and files of a session: each is x.part until it is whole. Called by writers. */
#pragma once

#include "aggregate/write/writer.h"

/* <logdir>/<under>, made if missing; refused where a part of `under` is a link of another user. */
int pp_output_make(const char *logdir, const char *under, struct pp_err *err);
/* <logdir>/podprof/<session> and <logdir>/plugins/profile/<session>, made if missing. */
int pp_output_make_dirs(const struct pp_output *out, struct pp_err *err);
int pp_output_make_dir(const struct pp_output *out, struct pp_err *err);        /* the first of them only */
int pp_output_make_xspace_dir(const struct pp_output *out, struct pp_err *err); /* the second of them only */
/* `name.part` in dir, then pp_output_commit() syncs and renames, pp_output_abandon() unlinks. Return: descriptor or -errno. */
int pp_output_create(const char *path, struct pp_err *err);
int pp_output_commit(int fd, const char *path, struct pp_err *err);
void pp_output_abandon(int fd, const char *path);
