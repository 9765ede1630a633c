// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that says what it allocates and what it does not free, so that
 * kmemtrace can be compared with the truth. Its last line when it goes:
 *
 *   kmt_test: left kmalloc=2 cache=3
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define MAX_OBJECTS 100000

static unsigned int objects = 10, size = 100, leak;
static unsigned int cache_objects, cache_size = 200, cache_leak;
static unsigned int rcu_objects, bulk_calls;
static bool in_work, in_exit, destroy = true, fail;

module_param(objects, uint, 0444);
MODULE_PARM_DESC(objects, "how many objects come from kmalloc");
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of each");
module_param(leak, uint, 0444);
MODULE_PARM_DESC(leak, "how many of them are not freed");
module_param(cache_objects, uint, 0444);
MODULE_PARM_DESC(cache_objects, "how many objects come from the module's own cache");
module_param(cache_size, uint, 0444);
MODULE_PARM_DESC(cache_size, "bytes of each");
module_param(cache_leak, uint, 0444);
MODULE_PARM_DESC(cache_leak, "how many of them are not freed");
module_param(rcu_objects, uint, 0444);
MODULE_PARM_DESC(rcu_objects, "how many objects are given to kfree_rcu() at the end");
module_param(bulk_calls, uint, 0444);
MODULE_PARM_DESC(bulk_calls, "how many threads are in kmem_cache_alloc_bulk() at the same time");
module_param(in_work, bool, 0444);
MODULE_PARM_DESC(in_work, "allocate in a work item, not in the init function");
module_param(in_exit, bool, 0444);
MODULE_PARM_DESC(in_exit, "one object more, allocated by the exit function and left");
module_param(destroy, bool, 0444);
MODULE_PARM_DESC(destroy, "destroy the cache at the end, also with objects in it");
module_param(fail, bool, 0444);
MODULE_PARM_DESC(fail, "refuse to load when all is allocated");

struct given {
	struct rcu_head head;
	char bytes[80];
};

static void **taken, **cached;
static struct given **given;
static struct kmem_cache *cache;
static DECLARE_COMPLETION(done);

/* Never inlined: each has call sites of its own, that a report can name. */
static noinline void take_objects(void)
{
	for (unsigned int i = 0; i < objects; i++)
		taken[i] = kmalloc(size, GFP_KERNEL);
}

static noinline void take_cached(void)
{
	for (unsigned int i = 0; i < cache_objects; i++)
		cached[i] = kmem_cache_alloc(cache, GFP_KERNEL);
}

static noinline void take_given(void)
{
	for (unsigned int i = 0; i < rcu_objects; i++)
		given[i] = kmalloc(sizeof(*given[i]), GFP_KERNEL);
}

/* The same as take_objects(), in memory that is given back when init is done. */
static noinline void __init take_objects_in_init(void)
{
	for (unsigned int i = 0; i < objects; i++)
		taken[i] = kmalloc(size, GFP_KERNEL);
}

/* ---- many calls of kmem_cache_alloc_bulk() at once, of BULK objects each ---- */

#define BULK 4

static struct kmem_cache *bulk_cache;
static atomic_t bulk_inside = ATOMIC_INIT(0);
static bool bulk_hold = true;
static DECLARE_WAIT_QUEUE_HEAD(bulk_wait);
static DECLARE_COMPLETION(bulk_done);

/* The constructor of the cache: nobody gets out before all are in. */
static void hold_caller(void *object)
{
	if (!READ_ONCE(bulk_hold))
		return;
	wait_event_timeout(bulk_wait, atomic_read(&bulk_inside) >= bulk_calls, 30 * HZ);
	msleep(500);
	WRITE_ONCE(bulk_hold, false);
}

static int bulk_call(void *unused)
{
	void *got[BULK];

	if (atomic_inc_return(&bulk_inside) == bulk_calls)
		wake_up_all(&bulk_wait);
	if (kmem_cache_alloc_bulk(bulk_cache, GFP_KERNEL, BULK, got))
		kmem_cache_free_bulk(bulk_cache, BULK, got);
	complete(&bulk_done);
	return 0;
}

static int call_in_bulk(void)
{
	if (!bulk_calls)
		return 0;
	bulk_cache = kmem_cache_create("kmt_test_bulk", 512, 0, 0, hold_caller);
	if (!bulk_cache)
		return -ENOMEM;
	for (unsigned int i = 0; i < bulk_calls; i++)
		if (IS_ERR(kthread_run(bulk_call, NULL, "kmt_test/%u", i)))
			complete(&bulk_done);
	for (unsigned int i = 0; i < bulk_calls; i++)
		wait_for_completion(&bulk_done);
	kmem_cache_destroy(bulk_cache);
	return 0;
}

static void work_fn(struct work_struct *work)
{
	take_objects();
	complete(&done);
}

static DECLARE_WORK(work, work_fn);

static void free_all(void)
{
	for (unsigned int i = leak; i < objects; i++)
		kfree(taken[i]);
	for (unsigned int i = cache_leak; i < cache_objects; i++)
		kmem_cache_free(cache, cached[i]);
	for (unsigned int i = 0; i < rcu_objects; i++)
		if (given[i])
			kfree_rcu(given[i], head);
	if (destroy)
		kmem_cache_destroy(cache);
	kfree(taken);
	kfree(cached);
	kfree(given);
	pr_info("left kmalloc=%u cache=%u\n", leak + in_exit, cache_leak);
}

/* A cache with a constructor is never merged with others. */
static void no_merge(void *object)
{
}

static int __init kmt_test_init(void)
{
	if (objects > MAX_OBJECTS || cache_objects > MAX_OBJECTS || rcu_objects > MAX_OBJECTS ||
	    leak > objects || cache_leak > cache_objects)
		return -EINVAL;
	cache = kmem_cache_create("kmt_test_cache", cache_size, 0, 0, no_merge);
	taken = kcalloc(objects + 1, sizeof(*taken), GFP_KERNEL);
	cached = kcalloc(cache_objects + 1, sizeof(*cached), GFP_KERNEL);
	given = kcalloc(rcu_objects + 1, sizeof(*given), GFP_KERNEL);
	if (!cache || !taken || !cached || !given)
		return -ENOMEM;	/* a test that runs out of memory is void anyway */
	if (in_work) {
		schedule_work(&work);
		wait_for_completion(&done);
	} else {
		take_objects_in_init();
	}
	take_cached();
	take_given();
	if (call_in_bulk() || fail) {
		free_all();
		return -ENODEV;
	}
	return 0;
}

static void __exit kmt_test_exit(void)
{
	void *more = in_exit ? kmalloc(size, GFP_KERNEL) : NULL;

	barrier_data(more);
	free_all();
}

module_init(kmt_test_init);
module_exit(kmt_test_exit);
MODULE_DESCRIPTION("allocations with known answers for kmemtrace's tests");
MODULE_LICENSE("GPL");
