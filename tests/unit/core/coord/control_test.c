/* The keeper's control page as the collector maps it: missing, short, of another podprof, whole; whether its keeper lives. */
#include "core/coord/control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static char spool[] = "/tmp/podprof-control-XXXXXX";
static struct pp_control page = {.magic = PP_CONTROL_MAGIC, .version = PP_RING_VERSION, .byte_order = PP_RING_BYTE_ORDER};

static int write_page(size_t bytes)
{
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	rc = fd < 0 || write(fd, (const void *)&page, bytes) != (ssize_t)bytes;
	close(fd);
	return rc;
}

TEST(pages)
{
	const struct pp_control *c;
	int foreign = 0;

	CHECK(!pp_control_map(spool, &foreign) && !foreign);
	CHECK(!write_page(sizeof(page) - 1) && !pp_control_map(spool, &foreign) && !foreign);
	page.version = PP_RING_VERSION + 1;
	CHECK(!write_page(sizeof(page)) && !pp_control_map(spool, &foreign) && foreign);
	page.version = PP_RING_VERSION;
	CHECK(!write_page(sizeof(page)));
	c = pp_control_map(spool, &foreign);
	CHECK(c && !foreign);
	CHECK(c && !pp_control_is_final(c) && pp_control_keeper_lives(c));
}

TEST(states)
{
	for (uint32_t state = PP_KEEPER_NONE; state <= PP_KEEPER_FAILED; state++) {
		pp_control_set_keeper_state(&page, state);
		CHECK_INT(pp_control_is_final(&page), state == PP_KEEPER_DONE || state == PP_KEEPER_FAILED);
	}
	atomic_store(&page.keeper_life, 4711);
	CHECK(pp_control_keeper_lives(&page));
	atomic_store(&page.keeper_life, FUTEX_OWNER_DIED);
	CHECK(!pp_control_keeper_lives(&page));
	atomic_store(&page.guard_life, 4710); /* it replaces the keeper */
	CHECK(pp_control_keeper_lives(&page));
	atomic_store(&page.guard_life, 4710 | FUTEX_OWNER_DIED);
	CHECK(!pp_control_keeper_lives(&page));
}

int main(void)
{
	char path[64];

	CHECK(mkdtemp(spool) != NULL);
	pages();
	states();
	snprintf(path, sizeof(path), "%s/control", spool);
	unlink(path);
	rmdir(spool);
	return test_end();
}
