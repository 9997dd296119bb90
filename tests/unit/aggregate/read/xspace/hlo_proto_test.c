/* Programs of XLA as HloProto, whole and damaged. */
#include "aggregate/read/xspace/hlo_proto.h"

#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

static struct bytes proto, module, computation, instruction, shape, list, group;
static struct pp_hlo found[8];
static char name[8][16];
static size_t founds;

static int take(void *context, const uint8_t *text, size_t length, struct pp_hlo *h)
{
	(void)context;
	CHECK(founds < 8);
	snprintf(name[founds], sizeof(name[0]), "%.*s", (int)length, (const char *)text);
	found[founds++] = *h;
	return 0;
}

static void forget(void)
{
	while (founds)
		pp_hlo_release(&found[--founds]);
}

static void put_shape(int64_t type, int64_t dimension)
{
	put_int(&shape, 2, type);
	put_int(&shape, 3, dimension);
}

static void begin_instruction(const char *of, const char *opcode)
{
	put_text(&instruction, 1, of);
	put_text(&instruction, 2, opcode);
	put_shape(11, 8);
	put_message(&instruction, 3, &shape);
	put_int(&instruction, 26, 1);
	put_int(&instruction, 71, 1);
}

static void put_devices(void)
{
	put_int(&list, 1, 2);
	put_int(&list, 2, 2);
	for (int64_t p = 0; p < 2; p++) {
		put_int(&group, 1, 10 + p);
		put_int(&group, 1, 20 + p);
		put_message(&list, 3, &group);
	}
	put_message(&module, 15, &list);
}

static void make(void)
{
	proto.n = module.n = 0;
	put_text(&module, 1, "jit_f");
	begin_instruction("dot.1", "dot");
	put_message(&computation, 2, &instruction);
	begin_instruction("psum.2", "all-reduce");
	put_bytes(&group, 1, "\0\1", 2); /* packed */
	put_message(&list, 1, &group);
	put_message(&instruction, 87, &list);
	put_message(&computation, 2, &instruction);
	put_int(&computation, 5, 7);
	put_message(&module, 3, &computation);
	begin_instruction("psum.3", "all-gather");
	put_int(&group, 1, 2);
	put_int(&group, 2, 4);
	put_bytes(&group, 3, "\4\2", 2);
	put_bytes(&group, 4, "\1\0", 2);
	put_message(&list, 2, &group);
	put_message(&instruction, 87, &list);
	put_message(&computation, 2, &instruction);
	begin_instruction("p.4", "collective-permute");
	put_int(&group, 2, 1);
	put_message(&instruction, 52, &group);
	put_message(&computation, 2, &instruction);
	begin_instruction("a.5", "async-start");
	put_bytes(&instruction, 38, "\11", 1);
	put_message(&computation, 2, &instruction);
	put_int(&computation, 5, 8);
	put_message(&module, 3, &computation);
	begin_instruction("rs.6", "reduce-scatter");
	put_message(&computation, 2, &instruction);
	put_int(&computation, 5, 9);
	put_message(&module, 3, &computation);
	put_int(&module, 6, 7);
	put_devices();
	put_message(&proto, 1, &module);
}

static int read_first(size_t n, struct pp_hlo_module *m)
{
	uint8_t *part = malloc(n + !n);
	struct pp_field f = {.type = PP_WIRE_BYTES, .data = part, .size = n};
	int rc;

	memcpy(part, proto.b, n);
	rc = pp_hlo_of_proto(&f, m, take, NULL);
	free(m->devices.id);
	free(part);
	return rc;
}

TEST(a_program)
{
	struct pp_field f;
	struct pp_hlo_module m;

	make();
	f = (struct pp_field){.type = PP_WIRE_BYTES, .data = proto.b, .size = proto.n};
	CHECK_INT(pp_hlo_of_proto(&f, &m, take, NULL), 0);
	CHECK_INT(m.length, 5);
	CHECK_INT(m.devices.replicas, 2);
	CHECK_INT(m.devices.id[1], 11); /* replica 0, partition 1 */
	CHECK_INT(m.devices.id[2], 20);
	free(m.devices.id);
	CHECK_INT(founds, 5);
	CHECK_STR(name[3], "a.5");
	CHECK_INT(found[3].kind, PP_HLO_REDUCE_SCATTER);
	CHECK_STR(name[4], "rs.6");
	CHECK_STR(name[0], "psum.2");
	CHECK_INT(found[0].result, 32);
	CHECK(found[0].is_once && found[0].is_global && found[0].has_channel);
	CHECK_INT(found[0].groups, 1);
	CHECK_INT(found[0].member[1], 1);
	CHECK(!found[1].is_once);
	CHECK_INT(found[1].groups, 2);
	CHECK_INT(found[1].member[1], 2);
	CHECK_INT(found[2].groups, 1);
	CHECK_INT(found[2].member[1], 1);
	forget();
}

/* Each beginning of the bytes, in memory of just its length; and each byte wrong. */
TEST(damage)
{
	struct pp_hlo_module m;

	make();
	for (size_t n = 0; n < proto.n; n++) {
		CHECK_INT(read_first(n, &m), 0);
		forget();
	}
	for (size_t i = 0; i < proto.n; i++)
		for (int bit = 0; bit < 8; bit += 3) {
			proto.b[i] ^= (uint8_t)(1 << bit);
			CHECK_INT(read_first(proto.n, &m), 0);
			proto.b[i] ^= (uint8_t)(1 << bit);
			forget();
		}
}

int main(void)
{
	a_program();
	damage();
	return 0;
}
