/* Process groups: the backend objects that calls name, what the shim says of them, and how many calls each has had since it was
 * made, also outside of windows. In: addresses of objects. Out: ids, numbers, COMM records. Any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { PP_C10D_GROUPS = 1024, PP_C10D_NAME = 64 };

struct pp_c10d_group {
	_Atomic uint64_t object;      /* 0: free; 1: was freed */
	_Atomic uint64_t id;          /* equal on all ranks; 0: the shim has not named it. Stored last */
	_Atomic uint32_t collectives; /* so far */
	_Atomic uint32_t reported;    /* the recording that has its COMM records */
	uint32_t serial;              /* differs between all groups of this process */
	uint32_t size, length;
	int32_t *member;          /* world ranks [size] */
	struct pp_ring_comm *row; /* its last calls, for `podprof hang`; NULL: none */
	uint64_t key;
	char name[PP_C10D_NAME];
};

enum pp_c10d_way { PP_C10D_SENDS, PP_C10D_RECEIVES, PP_C10D_WAYS };

/* How many have got a name. Without any, the shim does not know this torch's methods, and nothing of them is recorded. */
extern _Atomic uint32_t pp_c10d_groups_named __attribute__((visibility("hidden")));

/* NULL: there is no room. */
struct pp_c10d_group *pp_c10d_group_of(uint64_t object);
void pp_c10d_group_gone(uint64_t object);
/* `key` names it on all of its ranks, `name` for users; own: this rank's in it. on_host: its operations wait on threads of this
 * process, so the ring file gets a line of its last calls. Returns its id; 0: no room. */
uint64_t pp_c10d_group_name(uint64_t object, const char *key, const char *name, uint32_t size, const int32_t *member, int32_t own,
                            int on_host);
/* Its line: operation `number` is called now. */
void pp_c10d_group_begins(const struct pp_c10d_group *g, uint16_t call, uint32_t number, uint64_t bytes, int32_t root);
void pp_c10d_group_sends(const struct pp_c10d_group *g, uint16_t call);
/* Its last call has returned. */
void pp_c10d_group_returns(const struct pp_c10d_group *g);
/* Writes its COMM records, once in a recording. */
void pp_c10d_group_report(struct pp_c10d_group *g, uint32_t recording);
/* The same of all groups that have a name, also of those that no call uses. Never at once with pp_c10d_group_name(). */
void pp_c10d_groups_report(uint32_t recording);
/* World rank; -1: unknown. */
int32_t pp_c10d_group_member(const struct pp_c10d_group *g, int64_t rank);
/* Number of a message among those of this group, peer, tag and way, from 0. 0: no room, and *ret_number stays. */
int pp_c10d_group_message(const struct pp_c10d_group *g, int32_t peer, int32_t tag, enum pp_c10d_way way, uint32_t *ret_number);
