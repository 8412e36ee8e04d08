// The kind diskFailure. Wire format: spec/chaos.md 1.6.

import { list, oneOf, record, required, text, type ValueOf } from '../../../kit/index.ts'

/** What openat(2) may answer. */
export const EXIT_CODES = [
  ...(['EACCES', 'EDQUOT', 'EEXIST', 'EFAULT', 'EFBIG', 'EINTR', 'EISDIR', 'ELOOP', 'EMFILE', 'ENAMETOOLONG'] as const),
  ...(['ENFILE', 'ENODEV', 'ENOENT', 'ENOMEM', 'ENOSPC', 'ENOTDIR', 'ENXIO', 'EOVERFLOW', 'EPERM', 'EROFS'] as const),
  ...(['ETXTBSY', 'EWOULDBLOCK'] as const),
]

/** The longest path that the filter in the kernel compares. */
export const LONGEST_FAILING_PATH = 62

export const diskFailureField = record('Makes the opening of files fail.', {
  paths: required(
    list('How the paths of the files begin.', text('A path such as /mnt/data.'), { minItems: 1, maxItems: 64 }),
  ),
  openat: record('What the call openat answers.', {
    exitCode: oneOf('The error, such as ENOENT.', [...EXIT_CODES, '']),
  }),
  probability: text('How many of the calls fail; default 100%.', { pattern: '^((100|[1-9][0-9]?)%)?$' }),
})

export type DiskFailure = ValueOf<typeof diskFailureField>
