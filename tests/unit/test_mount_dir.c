// SPDX-License-Identifier: GPL-2.0-only
/* What lies on a directory, by the text of /proc/self/mountinfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/mount_dir.c"

static const char text[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"36 22 0:45 / /mnt rw,relatime - fuse.kmemtrace kmemtrace rw,user_id=0\n"
	"37 22 0:46 / /a\\040b\\134c rw shared:2 master:3 - fuse.kmemtrace kmemtrace rw\n"
	"38 22 0:47 / /twice rw - fuse.kmemtrace kmemtrace rw\n"
	"39 38 0:48 / /twice rw - tmpfs tmpfs rw\n"
	"40 22 0:49 / /empty\n"
	"\n"
	"41 22 0:50 / /cut rw -";

static bool type_of(const char *path, char type[static 64])
{
	FILE *f = fmemopen((void *)text, sizeof(text) - 1, "r");
	bool found = kmt_mountinfo_type(f, path, type, 64);

	fclose(f);
	return found;
}

static void test_types(void **state)
{
	char type[64];

	assert_true(type_of("/", type));
	assert_string_equal(type, "ext4");
	assert_true(type_of("/mnt", type));
	assert_string_equal(type, "fuse.kmemtrace");
	assert_true(type_of("/a b\\c", type));
	assert_string_equal(type, "fuse.kmemtrace");
	assert_true(type_of("/twice", type));
	assert_string_equal(type, "tmpfs");	/* it lies on top */
	assert_false(type_of("/mnt/", type));
	assert_false(type_of("/nothing", type));
	assert_false(type_of("/empty", type));
	assert_false(type_of("/cut", type));
}

static void test_directories(void **state)
{
	char dir[] = "/tmp/kmt-test-dir.XXXXXX", file[100];
	char *path = NULL;
	bool stale = true;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(kmt_mount_dir(dir, &path, &stale), 0);
	assert_string_equal(path, dir);
	assert_false(stale);
	free(path);
	snprintf(file, sizeof(file), "%s/file", dir);
	fclose(fopen(file, "w"));
	assert_int_equal(kmt_mount_dir(dir, &path, &stale), -ENOTEMPTY);
	assert_int_equal(kmt_mount_dir(file, &path, &stale), -ENOTDIR);
	unlink(file);
	assert_int_equal(kmt_mount_dir(file, &path, &stale), -ENOENT);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
