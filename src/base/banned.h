/* SPDX-License-Identifier: GPL-2.0-only */
/* Included on every command line (-include): these do not compile. */
#ifndef KMT_BASE_BANNED_H
#define KMT_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets atoi atol atoll
#pragma GCC poison localtime gmtime ctime asctime strerror_r tmpnam mktemp

#endif
