/* The secrets of a configuration: keeps them from other users, in files and in the process list, and takes those of
 * AWS. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "conf/conf.h"

/* Adds missing keys to the section of each s3 source, from the places that AWS's own tools use: the variables
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_DEFAULT_REGION,
 * AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, and the files ~/.aws/credentials and ~/.aws/config, or those that
 * AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name. With `warn`, logs each source without credentials.
 * Then checks the permissions of files with secrets. 0; -ENOMEM; -EINVAL: other users can read a source's
 * configuration, key or netrc, and `e` names the command that corrects the permissions. */
int secrets_fill(struct conf *c, bool warn, struct err *e);
