// Creates a temporary folder for one test, and small programs in it.

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A new folder that is removed after the test. */
export async function scratchFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'pawl-unit-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Writes an executable shell script. */
export async function script(path: string, body: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${body}\n`)
  await chmod(path, 0o755)
  return path
}
