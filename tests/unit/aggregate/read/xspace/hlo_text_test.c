/* Texts of XLA's instructions, whole and damaged. */
#include "aggregate/read/xspace/hlo_text.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/hlo_shape.h"
#include "tests/test.h"

static struct pp_hlo h;

static int read_text(const char *text)
{
	pp_hlo_release(&h);
	return pp_hlo_of_text(text, strlen(text), &h);
}

TEST(shapes)
{
	CHECK_INT(read_text("%a = bf16[8,<=128]{1,0:T(8,128)(2,1)} all-reduce(bf16[8,128] %p), replica_groups={}"), 1);
	CHECK_INT(h.result, 2048);
	CHECK_INT(h.groups, 0);
	CHECK_INT(
	        read_text("%a = (f32[2]{0}, /*index=1*/s4[3]{0}, token[]) all-reduce(f32[2] %p, s4[3] %q), replica_groups={{0,1}}"),
	        1);
	CHECK_INT(h.result, 10);
	CHECK_INT(read_text("%a = f32[] all-reduce(f32[] %p)"), 1);
	CHECK_INT(h.result, 4);
	CHECK_INT(read_text("%a = f8e9m9[8] all-reduce(f8e9m9[8] %p)"), 1);
	CHECK_INT(h.result, 0);
	CHECK_INT(read_text("%a = f32[4294967296,4294967296] all-reduce(f32[1] %p)"), 1);
	CHECK_INT(h.result, 0);
	CHECK_INT(pp_hlo_type_bits("c128", 4), 128);
	CHECK_INT(pp_hlo_type_bits_of(16), 16);
}

/* What a start gives is its operand, its result and contexts. */
TEST(starts)
{
	CHECK_INT(read_text("%a = (bf16[16]{0}, bf16[128]{0}) all-gather-start(bf16[16] %p), replica_groups=[1,8]<=[8]"), 1);
	CHECK_INT(h.operand, 32);
	CHECK_INT(h.result, 256);
	CHECK_INT(h.part, PP_HLO_START);
	CHECK_INT(read_text("%a = (f32[4], f32[4]) all-reduce-start(f32[4] %p, f32[4] %q), replica_groups={{0,1}}"), 1);
	CHECK_INT(h.result, 32);
	CHECK_INT(read_text("%a = f32[4] all-reduce-done(f32[4] %b)"), 1);
	CHECK_INT(h.part, PP_HLO_DONE);
}

TEST(groups)
{
	CHECK_INT(read_text("%a = f32[1] all-reduce(f32[1] %p), channel_id=1, replica_groups={{0,1},{2,3}}, "
	                    "use_global_device_ids=true, to_apply=%add, metadata={op_name=\"x, replica_groups={{9}}\"}"),
	          1);
	CHECK_INT(h.groups, 2);
	CHECK_INT(h.member[3], 3);
	CHECK(h.has_channel && h.is_global && !h.is_odd);
	CHECK_INT(read_text("%a = f32[1] all-gather(f32[1] %p), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}"), 1);
	CHECK_INT(h.groups, 2);
	CHECK_INT(h.member[1], 2);
	CHECK_INT(h.member[4], 1);
	CHECK_INT(read_text("%a = f32[1] collective-permute(f32[1] %p), source_target_pairs={{0,1},{1,0},{2,3},{3,2}}"), 1);
	CHECK_INT(h.groups, 2);
	CHECK_INT(read_text("%a = f32[1] all-reduce(f32[1] %p), replica_groups=@mesh{'x'}"), 1);
	CHECK(h.is_odd);
	CHECK_INT(read_text("%a = f32[1] all-reduce(f32[1] %p), replica_groups=[2,4]<=[9]"), 1);
	CHECK(h.is_odd);
}

TEST(others)
{
	CHECK_INT(read_text("%fusion.1 = f32[1] fusion(f32[1] %all-reduce.3), calls=%c, replica_groups={{0,1}}"), 0);
	CHECK_INT(read_text("all-reduce.3"), 0);
	CHECK_INT(read_text("%a = "), 0);
	CHECK_INT(read_text(""), 0);
}

/* Each beginning of a text, in memory of just its length. */
TEST(cut_texts)
{
	static const char text[] = "%a = (f32[8,<=4]{1,0}, /*index=1*/f32[2]) all-gather-start(f32[8] %p, (f32[1], f32[2]) %q), "
	                           "channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), source_target_pairs={{0,1},{2,3}}";

	for (size_t n = 0; n < sizeof(text); n++) {
		char *part = malloc(n + !n);

		memcpy(part, text, n);
		pp_hlo_release(&h);
		CHECK(pp_hlo_of_text(part, n, &h) >= 0);
		free(part);
	}
}

int main(void)
{
	shapes();
	starts();
	groups();
	others();
	cut_texts();
	pp_hlo_release(&h);
	return 0;
}
