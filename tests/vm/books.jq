# SPDX-License-Identifier: GPL-2.0-only
# The books of one run, checked without kmemtrace's help: the traced net change of
# each cache of its report, against two readings of /proc/slabinfo.
#
# usage: jq --arg before TEXT --arg after TEXT --argjson least N -f books.jq REPORT
#
# One object per cache with at least N traced allocations:
#	off	traced net - real net
#	allowed	max(2 % of the allocations, the tolerance); for areas of memory at least
#		128: the shell that takes the readings begins and ends in the trace, but
#		not between its own readings
#	balanced	as the test sees it
#	skipped	off by no more than the events that the kernel did not show, and
#		kmemtrace says so: under emulation a program is interrupted by
#		its like ten times as often as on a machine
#	said	kmemtrace's verdict
#	wrong	why the verdict is wrong, null if it is not. Between the
#		tolerance and 2 % either verdict is right; with slub_debug the kernel's
#		count is exact and the tolerance nothing. "Not comparable" is right
#		where events were lost, or where the kernel does not name the cache.

def table:
	[split("\n")[] | [splits(" +")] | select(length > 5 and (.[1] | test("^[0-9]+$"))) |
	 { key: .[0], value: { active: (.[1] | tonumber), per_slab: (.[4] | tonumber) } }] | from_entries;

def abs: if . < 0 then -. else . end;
def names: [.cache | sub(" \\(inferred\\)$"; "")] + ((.aliases // []) | if type == "string" then split(",") else . end);

($before | table) as $b | ($after | table) as $a |
.quality as $q |
[.rows[] | select(.cache != null and .allocs >= $least) |
	. as $row |
	first((names[] | select($a[.] or $b[.])), null) as $name | select($name) |
	($a[$name] // $b[$name]).per_slab as $per_slab |
	(($a[$name].active // 0) - ($b[$name].active // 0)) as $real |
	(.balance.traced_net - $real) as $off |
	(.balance.tolerance // ([32, 2 * $per_slab] | max)) as $tolerance |
	{ cache: $name, allocs, traced: .balance.traced_net, real: $real, off: $off,
	  tolerance: $tolerance,
	  allowed: ([$tolerance, (.allocs / 50 | floor),
		     if any(names[]; test("^(vm_area_struct|vma_lock|anon_vma|anon_vma_chain)$")) then 128
		     else 0 end] | max),
	  said: .balance.verdict, said_real: .balance.real_net } |
	.balanced = (($off | abs) <= .allowed) |
	.skipped = ((.balanced | not) and (.said | test("lost")) and
		    ($off | abs) - .allowed <= $q.lost_total + $q.recursion_misses) |
	.wrong = if .said == "not comparable (cache inferred)" then null
		elif (.said | startswith("not comparable")) then
			if (.said | test("lost")) and ($q.lost_total + $q.recursion_misses > 0) then null
			elif ($off | abs) <= $tolerance then "marked although it balances" else null end
		elif .said == "balanced" and (.balanced | not) then "not marked although it is off"
		elif .said != "balanced" and ($off | abs) <= $tolerance then "marked although it balances"
		else null end]
