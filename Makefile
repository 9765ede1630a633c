# SPDX-License-Identifier: GPL-2.0-only
# A new file needs no edit here: every folder is a wildcard.
#
#   make            build/kmemtrace
#   make run        set up, build, trace this kernel for ten seconds
#   make check      set up, build, run every test that can run here
#   make install    PREFIX and DESTDIR are honoured
#   make fuzz       every reader against damaged input, FUZZ_SECONDS each
#   make check-vm   the tests on other kernels, in virtual machines; KERNEL=6.1
#                   and FLAVOUR=slab_nomerge choose, check-vm-all takes all
#   make bench      what tracing costs (root, minutes, quiet machine)

VERSION := $(shell cat VERSION)
PREFIX  ?= /usr/local
B       ?= build
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool /usr/bin/bpftool) bpftool)
ARCH    := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/')

# SAN=1 builds everything with AddressSanitizer and UBSan into build/san.
ifeq ($(SAN),1)
B       := build/san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

# FUZZ=1 builds the library with clang for libFuzzer into build/fuzz.
ifeq ($(FUZZ),1)
B       := build/fuzz
CC      := $(CLANG)
SANFLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
	   -fno-omit-frame-pointer
endif
FUZZ_SECONDS ?= 60

PKGS    := libbpf libtracefs libtraceevent smartcols jansson libzstd libxxhash zlib libdw ncursesw fuse3
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS   = $(shell pkg-config --libs $(PKGS))
# libfuse cancels its threads, for which glibc loads libgcc_s then, and aborts where it is
# not: linked, it is missed at the start and named by ldd, where systems are put together
CANCEL_LIBS = -Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state

WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wpointer-arith -Wno-unused-parameter -Wformat=2 -Wno-format-nonliteral
CFLAGS  ?= -O2 -g
KCFLAGS  = -std=gnu11 $(CFLAGS) $(WARN) $(SANFLAGS) -D_GNU_SOURCE -DKMT_VERSION='"$(VERSION)"' \
	   -Isrc -Iinclude -I$(B) -include base/banned.h $(PKG_CFLAGS)
BPFFLAGS := -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Isrc -Iinclude \
	   -isystem /usr/include/$(shell $(CC) -print-multiarch)

LIB_DIRS := base core report symbol tracers store source analysis render eventfmt tui control
LIB_SRC  := $(filter-out %.bpf.c,$(foreach d,$(LIB_DIRS),$(wildcard src/$(d)/*.c)))
CMD_SRC  := $(wildcard src/cmd/*.c) src/main.c
LIB_OBJ  := $(LIB_SRC:src/%.c=$(B)/%.o)
CMD_OBJ  := $(CMD_SRC:src/%.c=$(B)/%.o)
BPF_SRC  := $(wildcard src/bpf/*.bpf.c) $(wildcard src/tracers/*.bpf.c)
BPF_OBJ  := $(BPF_SRC:src/%.bpf.c=$(B)/%.bpf.o)
# The same programs once more, for kernels whose BPF has no compare-and-swap.
HASH_OBJ := $(BPF_SRC:src/%.bpf.c=$(B)/%.hash.bpf.o)
SKEL     := $(B)/kmemtrace.skel.h $(B)/kmemtrace_hash.skel.h
SKEL_OBJ := $(patsubst src/%.c,$(B)/%.o,$(shell grep -l 'skel\.h"' src/source/*.c))

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/unit/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/tests/fuzz/%)
TOOL_SRC := $(wildcard tests/live/*.c tests/bench/*.c tests/bpf/*.c)
TOOL_BIN := $(filter-out %.bpf,$(TOOL_SRC:tests/%.c=$(B)/tests/%))

all: $(B)/kmemtrace

$(B)/kmemtrace: $(CMD_OBJ) $(B)/libkmt.a
	$(CC) $(SANFLAGS) -o $@ $^ $(PKG_LIBS) $(CANCEL_LIBS)

$(B)/libkmt.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/%.bpf.o: src/%.bpf.c $(wildcard src/bpf/*.h include/kmt/*.h)
	@mkdir -p $(@D)
	$(CLANG) $(BPFFLAGS) -c $< -o $@

$(B)/%.hash.bpf.o: src/%.bpf.c $(wildcard src/bpf/*.h include/kmt/*.h)
	@mkdir -p $(@D)
	$(CLANG) $(BPFFLAGS) -DKMT_HASHED -c $< -o $@

$(B)/kmemtrace.bpf.o: $(BPF_OBJ)
$(B)/kmemtrace_hash.bpf.o: $(HASH_OBJ)
$(B)/kmemtrace.bpf.o $(B)/kmemtrace_hash.bpf.o:
	$(BPFTOOL) gen object $@ $^

$(B)/%.skel.h: $(B)/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

# only the BPF source needs the skeletons
$(SKEL_OBJ): $(SKEL)

$(B)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(KCFLAGS) -MMD -MP -c $< -o $@

$(B)/tests/unit/%: tests/unit/%.c $(B)/libkmt.a
	@mkdir -p $(@D)
	$(CC) $(KCFLAGS) -MMD -MP -Itests -o $@ $< $(B)/libkmt.a -lcmocka $(PKG_LIBS)

$(B)/tests/fuzz/%: tests/fuzz/%.c $(B)/libkmt.a
	@mkdir -p $(@D)
	$(CC) $(KCFLAGS) -Wno-error -fsanitize=fuzzer -MMD -MP -o $@ $< $(B)/libkmt.a $(PKG_LIBS)

$(B)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -Iinclude -o $@ $< -pthread $(TOOL_LIBS)

$(B)/tests/bench/emptybpf: TOOL_LIBS := -lbpf

unit: $(UNIT_BIN)
tools: $(TOOL_BIN)
fuzzers: $(FUZZ_BIN)

setup:
	@scripts/setup

run: setup
	@$(MAKE) --no-print-directory all
	@scripts/run $(B)/kmemtrace

check:
	@scripts/setup check
	@$(MAKE) --no-print-directory all unit tools
	@$(MAKE) --no-print-directory SAN=1 all unit
	@$(MAKE) --no-print-directory FUZZ=1 fuzzers
	@scripts/check $(B)

KERNEL  ?= all
FLAVOUR ?= default load

check-vm:
	@scripts/setup vm
	@$(MAKE) --no-print-directory all tools
	@tests/vm/matrix $(KERNEL) "$(FLAVOUR)"

check-vm-all:
	@$(MAKE) --no-print-directory check-vm FLAVOUR=all

fuzz:
	@scripts/setup fuzz
	@$(MAKE) --no-print-directory FUZZ=1 fuzzers
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

bench:
	@scripts/setup bench
	@$(MAKE) --no-print-directory all tools
	@tests/bench/run $(B)
	@tests/bench/recordings $(B)
	@tests/bench/functions $(B)
	@tests/bench/mount $(B)
	@tests/bench/top $(B)

install: all
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 0755 $(B)/kmemtrace $(DESTDIR)$(PREFIX)/sbin/kmemtrace
	install -m 0644 $(wildcard docs/man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 0644 $(wildcard docs/man/*.5) $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 0644 completions/kmemtrace $(DESTDIR)$(PREFIX)/share/bash-completion/completions/kmemtrace

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/sbin/kmemtrace \
		$(patsubst docs/man/%,$(DESTDIR)$(PREFIX)/share/man/man1/%,$(wildcard docs/man/*.1)) \
		$(patsubst docs/man/%,$(DESTDIR)$(PREFIX)/share/man/man5/%,$(wildcard docs/man/*.5)) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/kmemtrace

clean:
	rm -rf build

.PHONY: all unit tools fuzzers setup run check check-vm check-vm-all fuzz bench install uninstall clean
.DELETE_ON_ERROR:

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(UNIT_BIN:=.d) $(FUZZ_BIN:=.d)
