/* podprof view: serves a session to browsers of this machine until ^C, and prints the links. In: a log directory or a session's.
 * Out: links on stdout, HTTP on 127.0.0.1. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/shell_word.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/report_list.h"
#include "launchers/view/http.h"
#include "launchers/view/serve.h"

enum { VIEWER_PORT = 9001 /* Perfetto's page reads from no other port of this machine */, PORT_LEAST = 1024, PORT_MOST = 65535 };

const struct pp_options_verb pp_verb_view = {
        .name = "podprof view",
        .arguments = "[LOGDIR|SESSION]",
        .doc = "Show the newest session of LOGDIR (default podprof_logs), or SESSION, in a browser: its report, and its trace in "
               "Perfetto. Prints one link for each. Serves them on 127.0.0.1 only, to whoever knows the link, until ^C. "
               "Nothing is written into the session.",
        .groups = PP_OPT_VIEW,
};

/* -1, or the exit code. */
static int read_port(const struct pp_options *options, int *ret_port)
{
	const int64_t port = options->verb.port;

	if (port && (port < PORT_LEAST || port > PORT_MOST)) {
		pp_say("option --port: %s is not a port for users. Give %d to %d, or 0 for any free port.",
		       options->text[PP_OPT_ID_PORT], PORT_LEAST, PORT_MOST);
		return PP_EXIT_USAGE;
	}
	*ret_port = (int)port;
	return -1;
}

/* Only the default port may be replaced. */
static int open_port(const struct pp_options *options, int port, int *ret_port)
{
	struct pp_err err = {""};
	int fd = pp_view_listen(port, ret_port, &err);

	if (fd == -EADDRINUSE && options->source[PP_OPT_ID_PORT] == PP_FROM_DEFAULT)
		fd = pp_view_listen(0, ret_port, &err);
	if (fd < 0)
		pp_say("%s. Give another --port, or --port 0 for any free one.", err.text);
	return fd;
}

/* Whoever has logged in from another machine has the browser there. */
static void print_tunnel(int port)
{
	const char *connection = getenv("SSH_CONNECTION"), *user = getenv("LOGNAME");
	char host[64], ssh_port[8], other[16] = "";

	if (!connection || sscanf(connection, "%*s %*s %63[0-9a-fA-F:.] %7[0-9]", host, ssh_port) != 2)
		return;
	if (strcmp(ssh_port, "22") != 0)
		snprintf(other, sizeof(other), " -p %s", ssh_port);
	printf("From the machine with the browser, type first:\n  ssh -N -L %d:127.0.0.1:%d%s %s%s%s\n", port, port, other,
	       user ? user : "", user ? "@" : "", host);
}

static int print_links(const char *session, const struct pp_http_gate *gate, int is_given)
{
	char word[PATH_MAX];

	printf("Report:   http://127.0.0.1:%d/%s/\n", gate->port, gate->token);
	if (gate->port == VIEWER_PORT)
		printf("Perfetto: https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d/%s/trace.perfetto-trace\n", gate->port,
		       gate->token);
	print_tunnel(gate->port);
	if (fflush(stdout) || ferror(stdout)) {
		pp_say("cannot print the links: %s.", pp_why(errno));
		return PP_EXIT_FAILED;
	}
	if (gate->port != VIEWER_PORT)
		pp_say("no link for Perfetto: its page reads from port %d only, and this is port %d. %s port %d, or type "
		       "'podprof export --format perfetto -o trace.perfetto-trace %s' and open that file there.",
		       VIEWER_PORT, gate->port, is_given ? "Take" : "Free", VIEWER_PORT,
		       pp_shell_word(session, word, sizeof(word)));
	pp_say("serving '%s' until ^C. Do not share the links: they are the key to it.", session);
	return PP_EXIT_OK;
}

static int serve(const char *session, const struct pp_options *options, int port)
{
	struct pp_http_gate gate;
	struct pp_err err = {""};
	int rc = pp_http_token(gate.token), fd;

	if (rc) {
		pp_say("cannot make a token: %s.", pp_why(-rc));
		return PP_EXIT_FAILED;
	}
	fd = open_port(options, port, &gate.port);
	if (fd < 0)
		return PP_EXIT_FAILED;
	rc = print_links(session, &gate, options->source[PP_OPT_ID_PORT] != PP_FROM_DEFAULT);
	if (rc) {
		close(fd);
		return rc;
	}
	if (!pp_view_serve(session, fd, &gate, &err))
		return PP_EXIT_OK;
	pp_say("%s.", err.text);
	return PP_EXIT_FAILED;
}

int pp_cmd_view(int argc, char **argv)
{
	struct pp_options options;
	const char *given;
	char session[PATH_MAX];
	int first, port, rc = pp_options_parse(&pp_verb_view, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	given = pp_given_directory(&pp_verb_view, argc, argv, first);
	if (!given)
		return PP_EXIT_USAGE;
	pp_options_environment(&options, PP_OPT_VIEW, NULL);
	rc = read_port(&options, &port);
	if (rc >= 0)
		return rc;
	rc = pp_report_find(given, session);
	return rc ? rc : serve(session, &options, port);
}
