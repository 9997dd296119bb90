/* The rendezvous by file: the keepers of other hosts find rank 0's by an owner-only file in a log directory that they share.
 * Called by the keeper. In: a net's invitation. Out: the same in another keeper of this user. The file lets its reader connect:
 * it is made 0600, trusted only where it is a plain file of this user that nobody else can read, and removed at the end. No
 * symbolic link is followed. */
#pragma once

#include "aggregate/keeper/net/net.h"
#include "core/base/err.h"

/* All addresses of this host that others may reach, IPv4 before IPv6; no loopback, no link-local address. -ENETUNREACH: there is
 * none. */
int pp_rendezvous_addresses(struct pp_net_invite *invite, struct pp_err *err);
enum { PP_RENDEZVOUS_TEXT = 4096 };
/* The invitation as text, terminated; secret. */
void pp_rendezvous_print(const struct pp_net_invite *invite, char text[PP_RENDEZVOUS_TEXT]);
/* And back: 0, or -EBADMSG. `text` is destroyed. */
int pp_rendezvous_parse(char *text, struct pp_net_invite *ret_invite);
/* The invitation as the file `name` of a directory, made and trusted as above. -ENOENT: no such file. */
int pp_rendezvous_put(const char *dir, const char *name, const struct pp_net_invite *invite, struct pp_err *err);
int pp_rendezvous_get(const char *dir, const char *name, struct pp_net_invite *ret_invite, struct pp_err *err);

/* `<log_dir>/.podprof-<job>.rendezvous`, replaced at once. */
int pp_rendezvous_write(const char *log_dir, const struct pp_net_invite *invite, struct pp_err *err);
/* -ETIMEDOUT: it is not there yet; -EPERM: the file cannot be trusted; -EBADMSG: it cannot be read. */
int pp_rendezvous_read(const char *log_dir, const char *job, struct pp_net_invite *ret_invite, struct pp_err *err);
/* Removes it, if it is still this one. */
void pp_rendezvous_remove(const char *log_dir, const struct pp_net_invite *invite);
