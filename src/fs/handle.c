/* Handles: a struct file for each open file or directory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

#include <string.h>

struct file *file_new(struct fs *fs)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	LOCK_SCOPE(&fs->files_lock);
	file->next = fs->files;
	if (file->next)
		file->next->at = &file->next;
	file->at = &fs->files;
	fs->files = file;
	return file;
}

void file_free(struct fs *fs, struct file *file)
{
	if (!file)
		return;
	pthread_mutex_lock(&fs->files_lock);
	*file->at = file->next;
	if (file->next)
		file->next->at = file->at;
	pthread_mutex_unlock(&fs->files_lock);
	pass_close(fs, file);
	if (file->part)
		part_close(file->part);
	part_unref(file->part);
	blob_unref(file->blob);
	listing_free(file->listing);
	free(file->text);
	free(file);
}
