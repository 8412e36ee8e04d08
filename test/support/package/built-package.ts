// The npm package of this checkout, built once per run: a build takes 15 s of CPU time.

import { execFile } from 'node:child_process'
import { readdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

import { inject } from 'vitest'

import { withLock } from '../../../worker/dev/lock.ts'

const SCRIPT = join(import.meta.dirname, '../../../deploy/package/build.ts')

/** @returns the path of the package. The first caller of the run builds it, later callers wait. */
export async function builtPackage(): Promise<string> {
  const folder = inject('packageFolder')
  return await withLock(join(folder, 'lock'), async () => {
    const known = (await readdir(folder)).find((name) => name.endsWith('.tgz'))
    if (known !== undefined) return join(folder, known)
    // A build that fails must not leave an incomplete package for the next caller.
    const partial = join(folder, 'partial')
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, partial])
    const name = basename(stdout.trim())
    await rename(join(partial, name), join(folder, name))
    return join(folder, name)
  })
}
