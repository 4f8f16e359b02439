/* Reads credentials of S3 stores from the places that AWS's own tools use. These are the variables
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION,
 * AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, and the files ~/.aws/credentials and
 * ~/.aws/config. AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE can name other files. Only app.c includes
 * this header. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "conf/conf.h"

/* Adds missing keys to the section of each s3 source. With `warn`, logs each source without credentials.
 * 0, -ENOMEM. */
int aws_fill(struct conf *c, bool warn, struct err *e);
