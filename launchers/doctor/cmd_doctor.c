/* podprof doctor: calls the checks, lists spools of dead jobs, and prints the options. Exit 0 where no row is "no". */
#include "launchers/doctor/cmd_doctor.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/spool/list.h"
#include "aggregate/spool/processes.h"
#include "core/base/shell_word.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock.h"
#include "launchers/doctor/doctor_gpu.h"
#include "launchers/doctor/doctor_hosts.h"
#include "launchers/doctor/doctor_mpi.h"
#include "launchers/doctor/doctor_node.h"
#include "launchers/doctor/doctor_probe.h"
#include "launchers/doctor/doctor_row.h"
#include "launchers/doctor/doctor_tools.h"
#include "launchers/options/say.h"

const struct pp_options_verb pp_verb_doctor = {
        .name = "podprof doctor",
        .arguments = "",
        .doc = "Check what works on this node, and print the command that fixes what does not. The last line says whether podprof "
               "is ready.",
        .groups = PP_OPT_DOCTOR,
};

enum { LEFT_ROWS = 5 };

struct left { /* spools without a keeper */
	int listed, more, empty;
};

static int list_spool(const struct pp_spool_state *state, void *data)
{
	char cure[4 * PP_SPOOL_PATH + 64], spool[PP_SPOOL_PATH + 32], output[PP_SPOOL_PATH + 32];
	struct left *left = data;
	int is_alive;

	if (state->life == PP_SPOOL_RECORDING || state->life == PP_SPOOL_WRITING || state->life == PP_SPOOL_DONE)
		return 0;
	if (!state->rings) {
		left->empty += !state->elsewhere;
		return 0;
	}
	if (left->listed == LEFT_ROWS) {
		left->more++;
		return 0;
	}
	left->listed++;
	pp_shell_word(state->path, spool, sizeof(spool));
	pp_shell_word(*state->output ? state->output : "DIR", output, sizeof(output));
	snprintf(cure, sizeof(cure), "podprof salvage %s -o %s", spool, output);
	if (pp_spool_is_one(state->path) == 1)
		snprintf(cure + strlen(cure), sizeof(cure) - strlen(cure), " && rm -r %s", spool);
	is_alive = (pp_spool_processes(state->path) == PP_PROCESSES_LIVE);
	if (is_alive)
		snprintf(cure + strlen(cure), sizeof(cure) - strlen(cure), ", once its ranks have ended");
	pp_doctor_row("left over", PP_DOCTOR_LIMITED, cure, "%s: %d ring%s of a job whose keeper is gone%s%s%s", state->path,
	              state->rings, state->rings == 1 ? "" : "s", is_alive ? " and whose ranks still run" : "",
	              state->life == PP_SPOOL_FAILED ? ": " : "", state->life == PP_SPOOL_FAILED ? state->message : "");
	return 0;
}

static void list_spools(void)
{
	struct left left = {0};

	pp_spool_each(list_spool, &left);
	if (left.more)
		pp_doctor_row("left over", PP_DOCTOR_LIMITED, "podprof doctor, once these are gone", "%d more such spool%s",
		              left.more, left.more == 1 ? "" : "s");
	if (left.empty)
		pp_doctor_row("left over", PP_DOCTOR_OK, "",
		              "%d spool%s without rings; podprof run removes them when they are an hour old", left.empty,
		              left.empty == 1 ? "" : "s");
	if (!left.listed && !left.empty)
		pp_doctor_row("left over", PP_DOCTOR_OK, "", "no spool of a dead job");
}

/* `json` NULL: as text. */
static void print_options(const struct pp_options *options, struct pp_json *json)
{
	if (json) {
		pp_json_line(json);
		pp_json_close(json);
		pp_json_open_list(json, "options");
	} else {
		puts("\nOptions of a job that is started here:");
	}
	for (int i = 0; i < PP_OPTS; i++) {
		const char *source = options->source[i] == PP_FROM_ENVIRONMENT ? "environment" : "default";

		if (!(pp_opt_table[i].groups & PP_OPT_RUN))
			continue;
		if (!json) {
			printf("  %-24s %-20s %s\n", pp_opt_table[i].env, *options->text[i] ? options->text[i] : "-", source);
			continue;
		}
		pp_json_line(json);
		pp_json_open(json, NULL);
		pp_json_add_text(json, "variable", pp_opt_table[i].env);
		pp_json_add_text(json, "value", options->text[i]);
		pp_json_add_text(json, "from", source);
		pp_json_close(json);
	}
	if (json)
		pp_doctor_json_end(pp_doctor_is_ready());
}

static void warn_environment(const char *sentence)
{
	pp_doctor_row("options", PP_DOCTOR_LIMITED, "unset that variable, or correct it", "%s", sentence);
}

int pp_doctor_of_node(void)
{
	pp_doctor_self();
	pp_doctor_node(NULL);
	list_spools();
	pp_doctor_gpu(NULL); /* last: the driver may take long */
	return pp_doctor_is_ready();
}

int pp_cmd_doctor(int argc, char **argv)
{
	struct pp_options options;
	struct pp_json *json = NULL;
	int first, rc = pp_options_parse(&pp_verb_doctor, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (first < argc) {
		pp_say("too many arguments: '%s': doctor takes none. Type 'podprof doctor'.", argv[first]);
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_DOCTOR, NULL);
	if (!options.verb.clock && (options.source[PP_OPT_ID_DURATION] == PP_FROM_COMMAND_LINE ||
	                            options.source[PP_OPT_ID_RENDEZVOUS] == PP_FROM_COMMAND_LINE)) {
		pp_say("--duration and --rendezvous need --clock. Add --clock, or leave them out.");
		return PP_EXIT_USAGE;
	}
	if (options.verb.clock)
		return pp_doctor_clock(&options, options.verb.json);
	if (options.verb.json)
		json = pp_doctor_json_begin();
	pp_options_environment(&options, PP_OPT_RUN, warn_environment);
	pp_doctor_self();
	pp_doctor_mpi();
	pp_doctor_tools();
	pp_doctor_gpu(&options);
	pp_doctor_node(&options);
	pp_doctor_hosts(&options);
	list_spools();
	if (json || options.verb.options)
		print_options(&options, json);
	if (!json)
		pp_doctor_print_result();
	return !pp_is_printed("the checks") || !pp_doctor_is_ready() ? PP_EXIT_FAILED : PP_EXIT_OK;
}
