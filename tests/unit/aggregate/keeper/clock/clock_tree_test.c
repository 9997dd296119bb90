/* Places in the tree of clocks: stars, two levels, hubs that go, hosts of one clock; nobody moves who need not. */
#include "aggregate/keeper/clock/clock_tree.h"

#include "core/clock/tree.h"
#include "tests/test.h"

enum { MOST = 512 };

static struct pp_tree_row row[MOST];
static size_t rows;

static void begin(size_t n)
{
	rows = n;
	for (size_t i = 0; i < n; i++)
		row[i] = (struct pp_tree_row){.live = 1, .like = PP_TREE_NONE, .parent = PP_TREE_NONE};
}

/* Every live domain has the root or a live hub of the root as its parent. Returns the hubs, and the most children of one. */
static size_t check_places(size_t *ret_most)
{
	size_t hubs = 0;

	*ret_most = 0;
	for (size_t i = 0; i < rows; i++) {
		const struct pp_tree_row *r = &row[i];
		size_t children = 0;

		if (!r->live)
			continue;
		CHECK(r->parent != PP_TREE_NONE);
		if (r->like == PP_TREE_NONE && r->parent >= 0)
			CHECK(row[r->parent].live && row[r->parent].hub && !row[r->parent].shy &&
			      row[r->parent].parent == PP_TREE_ROOT);
		CHECK(pp_tree_hops(row, i) <= 2);
		hubs += r->hub != 0;
		for (size_t k = 0; k < rows; k++)
			children += row[k].live && row[k].like == PP_TREE_NONE && row[k].parent == (int)i;
		*ret_most = children > *ret_most ? children : *ret_most;
	}
	return hubs;
}

static size_t moved(const struct pp_tree_row *before)
{
	size_t n = 0;

	for (size_t i = 0; i < rows; i++)
		n += row[i].live && before[i].live && row[i].parent != before[i].parent;
	return n;
}

TEST(grows_one_by_one)
{
	struct pp_tree_row before[MOST];
	size_t most;

	for (size_t n = 1; n <= 300; n++) {
		memcpy(before, row, sizeof(before));
		rows = n;
		row[n - 1] = (struct pp_tree_row){.live = 1, .like = PP_TREE_NONE, .parent = PP_TREE_NONE};
		pp_tree_place(row, rows, PP_TREE_STAR);
		CHECK_INT(check_places(&most), pp_tree_hubs(n));
		if (n <= PP_TREE_STAR)
			CHECK_INT(most, 0);
		if (n != PP_TREE_STAR + 1) { /* where two levels begin, all but the hubs move once */
			before[n - 1] = row[n - 1];
			CHECK(moved(before) <= 1);
		}
	}
	CHECK(most <= 2 * pp_tree_hubs(300));
}

TEST(hubs_that_go)
{
	struct pp_tree_row before[MOST];
	size_t most, orphans = 0;
	int gone = -1;

	begin(200);
	pp_tree_place(row, rows, PP_TREE_STAR);
	CHECK_INT(check_places(&most), pp_tree_hubs(200));
	for (size_t i = 0; i < rows && gone < 0; i++)
		gone = row[i].hub ? (int)i : -1;
	for (size_t i = 0; i < rows; i++)
		orphans += row[i].parent == gone;
	memcpy(before, row, sizeof(before));
	row[gone].live = 0;
	pp_tree_place(row, rows, PP_TREE_STAR);
	CHECK_INT(check_places(&most), pp_tree_hubs(199));
	CHECK(moved(before) >= orphans && moved(before) <= orphans + 1);
	for (size_t i = 0; i < rows; i++) /* one that lost its turns serves nobody */
		row[i].shy = row[i].hub && !row[i].shy;
	pp_tree_place(row, rows, PP_TREE_STAR);
	CHECK(check_places(&most) >= 1);
	row[7].rooted = 1;
	pp_tree_place(row, rows, PP_TREE_STAR);
	CHECK_INT(row[7].parent, PP_TREE_ROOT);
	for (size_t i = 0; i < rows; i++)
		row[i].shy = 1;
	pp_tree_place(row, rows, PP_TREE_STAR); /* nobody can serve: the root does */
	for (size_t i = 0; i < rows; i++)
		CHECK(!row[i].live || row[i].parent == PP_TREE_ROOT);
}

TEST(hosts_of_one_clock)
{
	begin(6);
	row[1].like = row[2].like = 0;
	row[3].like = PP_TREE_ROOT;
	row[0].shy = 1; /* it has not said yet where its stamps go */
	pp_tree_place(row, rows, 1);
	CHECK_INT(row[1].parent, PP_TREE_NONE);
	row[0].shy = 0;
	pp_tree_place(row, rows, 1);
	CHECK(row[1].parent == 0 && row[2].parent == 0 && row[3].parent == PP_TREE_ROOT);
	CHECK_INT(pp_tree_hops(row, 3), 0);
	CHECK_INT(pp_tree_hops(row, 1), pp_tree_hops(row, 0));
	for (size_t i = 0; i < rows; i++)
		CHECK(pp_tree_hops(row, i) <= 2);
	row[1].rooted = 1; /* it does not reach the one whose clock it says it has: nobody has verified that */
	pp_tree_place(row, rows, 1);
	CHECK(row[1].like == PP_TREE_NONE && row[1].parent == PP_TREE_ROOT && pp_tree_hops(row, 1) == 1);
	CHECK(row[2].like == 0 && row[2].parent == 0);
}

int main(void)
{
	grows_one_by_one();
	hubs_that_go();
	hosts_of_one_clock();
	return test_end();
}
