/* SPDX-License-Identifier: GPL-2.0-only */
/* 'kmemtrace mount --session': one kept session behind the tracing directory, read only. */
#ifndef KMT_CMD_MOUNT_SESSION_H
#define KMT_CMD_MOUNT_SESSION_H

struct kmt_control_ops;
struct kmt_mount_session;

/* Returns 0 or an exit status after having told the user. The name is borrowed. */
int kmt_mount_session_new(const char *name, struct kmt_mount_session **ret);
void kmt_mount_session_free(struct kmt_mount_session *s);
/* What would change something answers -EROFS; a session keeps no events. */
void kmt_mount_session_control(struct kmt_mount_session *s, struct kmt_control_ops *ret_ops);

#endif
