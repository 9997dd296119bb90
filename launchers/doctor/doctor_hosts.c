/* Checks the transports between hosts for podprof doctor: keepers over TCP, MPI, a shared log directory. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "aggregate/keeper/net/net.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/spool/layout.h"
#include "core/base/opt.h"
#include "launchers/doctor/doctor_command.h"
#include "launchers/doctor/doctor_mpi.h"
#include "launchers/doctor/doctor_row.h"

/* Addresses at which others may reach this host; "" none. */
static size_t list_addresses(char *text, size_t size)
{
	struct pp_net_invite invite = {.addresses = 0};
	size_t n = 0;

	text[0] = '\0';
	if (pp_rendezvous_addresses(&invite, NULL))
		return 0;
	for (size_t i = 0; i < invite.addresses && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", invite.address[i]);
	return invite.addresses;
}

static int open_door(void *context, struct pp_err *err)
{
	struct pp_net_invite invite = {.addresses = 0};
	struct pp_net *net = NULL;
	int rc = pp_net_listen(context, &invite, &net, err);

	explicit_bzero(&invite, sizeof(invite));
	pp_net_free(net);
	return rc;
}

/* Opens a keeper's port for a moment, on this host only; in a child, because libzmq aborts without memory or descriptors. */
static void check_hosts(const struct pp_options *options)
{
	struct pp_net_options o = {
	        .job = "doctor", .host = "doctor", .version = PODPROF_VERSION, .session = "", .bind = "127.0.0.1"};
	const char *range = options->text[PP_OPT_ID_PORT_RANGE];
	char addresses[PP_NET_ADDRESSES * 50];
	struct pp_err err = {""};
	int rc;

	o.port_first = options->job.port.first;
	o.port_last = options->job.port.last;
	rc = pp_forked_work(open_door, &o, &err);
	if (rc == -EADDRINUSE)
		pp_doctor_row("hosts", PP_DOCTOR_LIMITED, "podprof run --port-range A:B, with ports that are free", "%s", err.text);
	else if (rc)
		pp_doctor_row("hosts", PP_DOCTOR_LIMITED, "for jobs of several hosts, install all of podprof again",
		              "keepers of other hosts cannot connect: %s", err.text);
	else if (!list_addresses(addresses, sizeof(addresses)))
		pp_doctor_row("hosts", PP_DOCTOR_LIMITED, "for jobs of several hosts, start a network: sudo ip link set DEV up",
		              "this host has only a loopback address: a session cannot include ranks of other hosts");
	else
		pp_doctor_row("hosts", PP_DOCTOR_OK, "", "keepers of several hosts connect over TCP with CURVE keys; %s%s at %s",
		              *range ? "ports " : "any free port", *range ? range : "", addresses);
}

static void check_channel(void)
{
	char line[256];

	if (pp_doctor_line("timeout 20 mpirun --version 2>/dev/null", line, sizeof(line)) || pp_doctor_mpi_kind(line) < 0)
		pp_doctor_row("channel", PP_DOCTOR_OK, "",
		              "keepers agree on the window; ranks cannot agree on it through MPI, because no mpirun of an MPI that "
		              "podprof records was found");
	else if (pp_doctor_mpi_kind(line) > 0)
		pp_doctor_row(
		        "channel", PP_DOCTOR_OK, "",
		        "ranks of one host agree on the window through the application's MPI if every rank runs podprof; otherwise "
		        "keepers agree on it");
	else
		pp_doctor_row("channel", PP_DOCTOR_OK, "",
		              "ranks agree on the window through the application's MPI if every rank runs podprof; otherwise their "
		              "keepers agree on it");
}

/* Names of file systems that hosts may share. */
static const char *shared_kind(long type)
{
	static const struct {
		unsigned long type;
		const char *name;
	} kinds[] = {{0x6969, "NFS"},        {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x00c36400, "CephFS"},
	             {0x19830326, "BeeGFS"}, {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},  {0x01021997, "9P"},
	             {0x5346414f, "AFS"},    {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"}, {0x65735546, "FUSE"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == ((unsigned long)type & 0xfffffffful))
			return kinds[i].name;
	return NULL;
}

static void check_sharing(const char *given)
{
	char path[PP_SPOOL_PATH];
	struct statfs fs;
	const char *kind;

	if (snprintf(path, sizeof(path), "%s%s", *given == '/' ? "" : "./", given) >= (int)sizeof(path))
		return; /* the row of the log directory says it */
	while (statfs(path, &fs)) {
		char *slash = strrchr(path, '/');

		if (errno != ENOENT || !slash || slash == path)
			return;
		*slash = '\0';
	}
	kind = shared_kind((long)fs.f_type);
	if (kind)
		pp_doctor_row("rendezvous", PP_DOCTOR_OK, "",
		              "'%s' is on %s: hosts that share this directory find each other through a file in it", given, kind);
	else
		pp_doctor_row("rendezvous", PP_DOCTOR_OK, "",
		              "'%s' is on a disk of this host. Hosts of one job find each other through MPI or 'podprof run -- "
		              "mpirun ...'; otherwise name a shared directory with --rendezvous",
		              given);
}

void pp_doctor_hosts(const struct pp_options *options)
{
	const char *shared = options->text[PP_OPT_ID_RENDEZVOUS];

	check_channel();
	check_hosts(options);
	check_sharing(options->text[*shared ? PP_OPT_ID_RENDEZVOUS : PP_OPT_ID_OUTPUT]);
}
