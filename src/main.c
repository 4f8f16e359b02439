/* symfs: one mount that looks like every symbol server at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
int main(void)
{
	return 2;
}
