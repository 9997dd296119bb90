/* Writes the job's options and its rules once, and reads single lines of them; settings.c reads all. See options.h. */
#include "aggregate/spool/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/spool/layout.h"
#include "core/base/opt.h"
#include "core/base/why.h"

enum { RULES_MOST = 1 << 20 };

int pp_spool_read_option(const char *spool, const char *name, char *ret_value, size_t size)
{
	char path[PP_SPOOL_PATH + 32], line[PATH_MAX + 64];
	size_t length = strlen(name);
	int rc = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/options", spool);
	f = pp_spool_open_text(path);
	if (!f)
		return -errno;
	while (rc && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, length) != 0 || line[length] != '=')
			continue;
		line[strcspn(line, "\n")] = '\0';
		rc = snprintf(ret_value, size, "%s", line + length + 1) < (int)size ? 0 : -ENAMETOOLONG;
	}
	fclose(f);
	return rc;
}

static char *options_text(const struct pp_job *job, const char *const *value, const char *logdir, char *const *command,
                          size_t *ret_length)
{
	const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"); /* for Slurm's hooks (launchers/slurm) */
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_length);

	if (!f)
		return NULL;
	for (int i = 0; i < PP_OPTS; i++)
		if (pp_opt_table[i].groups & PP_OPT_RUN && i != PP_OPT_ID_SPOOL)
			fprintf(f, "%s=%s\n", pp_opt_table[i].env + 8, i == PP_OPT_ID_OUTPUT ? logdir : value[i]);
	if (slurm)
		fprintf(f, "SLURM_JOB=%.32s\nSLURM_STEP=%.32s\n", slurm, step ? step : "");
	fprintf(f, "JOB=%s\nVERSION=%s\n", job->name, PODPROF_VERSION);
	for (size_t i = 0; *command[0] && command[i]; i++) { /* else the keeper adds it: pp_settings_learn_command() */
		fputs(i ? " " : "COMMAND=", f);
		for (const char *p = command[i]; *p; p++)
			fputc((unsigned char)*p < ' ' ? ' ' : *p, f);
	}
	if (*command[0])
		fputc('\n', f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The keeper reads the rules here: the user's file may change while the job runs. */
static int copy_rules(const char *spool, const char *from, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 32], path[PP_SPOOL_PATH + 32], *text = malloc(RULES_MOST);
	FILE *f = text ? fopen(from, "re") : NULL;
	size_t length = f ? fread(text, 1, RULES_MOST, f) : 0;
	int rc = !text ? -ENOMEM : !f ? -errno : ferror(f) ? -EIO : length == RULES_MOST ? -EFBIG : 0;

	if (f)
		fclose(f);
	snprintf(part, sizeof(part), "%s/.rules-XXXXXX", spool);
	snprintf(path, sizeof(path), "%s/" PP_SPOOL_RULES, spool);
	if (rc) {
		pp_err_set(err, rc, "cannot read the rules '%s': %s", from, pp_why(-rc));
		goto free_text;
	}
	rc = pp_spool_write_part(part, text, length);
	if (!rc && link(part, path) && errno != EEXIST)
		rc = -errno;
	unlink(part);
	if (rc)
		pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc));
free_text:
	free(text);
	return rc;
}

int pp_spool_write_options(const char *spool, const struct pp_job *job, const char *const *value, const char *logdir,
                           char *const *command, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 32], path[PP_SPOOL_PATH + 32];
	size_t length = 0;
	char *text;
	int rc;

	snprintf(path, sizeof(path), "%s/options", spool);
	if (!access(path, F_OK))
		return 0;
	if (*value[PP_OPT_ID_RULES]) {
		rc = copy_rules(spool, value[PP_OPT_ID_RULES], err);
		if (rc)
			return rc;
	}
	text = options_text(job, value, logdir, command, &length);
	if (!text)
		return pp_err_set(err, -ENOMEM, "no memory for the options of the job");
	snprintf(part, sizeof(part), "%s/.options-XXXXXX", spool);
	rc = pp_spool_write_part(part, text, length);
	free(text);
	/* link() instead of rename(): of ranks that start together exactly one decides, and no keeper reads half a file. */
	if (!rc && link(part, path) && errno != EEXIST)
		rc = -errno;
	unlink(part);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc)) : 0;
}
