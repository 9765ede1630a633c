// SPDX-License-Identifier: GPL-2.0-only
/* The build id among ELF notes: of either byte order's own machine, cut short, hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* src/cmd is no part of the library */
#include "cmd/machine.c"

struct note {
	uint32_t namesz, descsz, type;
	char name[8];
	uint8_t desc[20];
};

static const struct note linux_note = { 6, 4, 0x100, "Linux", { 1, 2, 3, 4 } };
static const struct note gnu = { 4, 20, 3, "GNU", { 0 } };

/* name and description each padded to four bytes */
static size_t add(uint8_t *to, size_t at, const struct note *n)
{
	memcpy(to + at, n, 12);
	at += 12;
	memcpy(to + at, n->name, (n->namesz + 3) / 4 * 4);
	at += (n->namesz + 3) / 4 * 4;
	memcpy(to + at, n->desc, (n->descsz + 3) / 4 * 4);
	return at + (n->descsz + 3) / 4 * 4;
}

static void test_build_id(void **state)
{
	struct note id = gnu;
	uint8_t notes[256];
	char text[80];
	size_t len;

	for (unsigned i = 0; i < 20; i++)
		id.desc[i] = (uint8_t)(0xf0 + i);
	len = add(notes, 0, &linux_note);
	len = add(notes, len, &id);
	kmt_machine_build_id(notes, len, text, sizeof(text));
	assert_string_equal(text, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203");
	/* a short buffer takes whole bytes only */
	kmt_machine_build_id(notes, len, text, 6);
	assert_string_equal(text, "f0f1");
	/* none there; cut anywhere: none, and nothing is read behind the end */
	kmt_machine_build_id(notes, 12 + 8 + 4, text, sizeof(text));
	assert_string_equal(text, "");
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *copy = malloc(cut + 1);

		assert_non_null(copy);
		memcpy(copy, notes, cut);
		kmt_machine_build_id(copy, cut, text, sizeof(text));
		assert_string_equal(text, "");
		free(copy);
	}
}

static void test_hostile(void **state)
{
	uint32_t notes[64];
	char text[80];

	memset(notes, 0xff, sizeof(notes));
	kmt_machine_build_id(notes, sizeof(notes), text, sizeof(text));
	assert_string_equal(text, "");
	memset(notes, 0, sizeof(notes));
	kmt_machine_build_id(notes, sizeof(notes), text, sizeof(text));
	assert_string_equal(text, "");
}

static void test_facts(void **state)
{
	char *argv[] = { (char *)"record", (char *)"-o", (char *)"x", NULL };
	struct kmt_facts facts = { .start_ns = 5 };
	struct utsname u;
	struct kmt_machine m;

	kmt_machine_ask(&m, argv, NULL);
	kmt_machine_facts(&m, &facts);
	assert_int_equal(uname(&u), 0);
	assert_string_equal(facts.kernel, u.release);
	assert_string_equal(facts.machine, u.machine);
	assert_string_equal(facts.command, "kmemtrace record -o x");
	assert_int_equal(facts.page_size, sysconf(_SC_PAGESIZE));
	assert_true(facts.n_cpus >= 1);
	assert_int_equal(facts.start_ns, 5);
	kmt_machine_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
