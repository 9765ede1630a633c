// SPDX-License-Identifier: GPL-2.0-only
/* .kmt recordings: what is written comes back. */
#include "store.h"

#include "symbol/symbols.h"

static void round_trip(size_t n, bool few, uint64_t seed)
{
	struct full_event *all = calloc(n, sizeof(*all));
	struct result res = { .expect = all };
	uint64_t state = seed;
	struct recording r;

	assert_non_null(all);
	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	for (size_t i = 0; i < n; i++) {
		random_event(&state, few, &all[i]);
		/* one buffer for all names, as sources have it */
		static struct full_event reused;

		reused = all[i];
		reused.ev.comm = reused.ev.comm ? reused.comm : NULL;
		reused.ev.cache = reused.ev.cache ? reused.cache : NULL;
		reused.ev.call_site_name = reused.ev.call_site_name ? reused.site : NULL;
		reused.ev.ips = reused.ev.ips ? reused.ips : NULL;
		assert_int_equal(r.sink.event(r.sink.ctx, &reused.ev), 0);
	}
	recording_end(&r, NULL, NULL);
	assert_int_equal(read_recording(r.path, NULL, &res), -ENODATA);
	assert_int_equal(res.events, n);
	assert_int_equal(res.losts, 0);
	assert_int_equal(res.quality.events, n);
	assert_string_equal(res.quality.source, "kmt (bpf)");
	recording_done(&r);
	free(all);
}

static void test_round_trip(void **state)
{
	round_trip(0, false, 1);
	round_trip(1, false, 2);
	round_trip(257, false, 3);
	round_trip(20000, false, 4);
	round_trip(140000, true, 5);	/* more than two blocks */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
