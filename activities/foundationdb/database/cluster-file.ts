// A cluster file for one call of a tool. The tools rewrite their cluster file when the coordinators change, so each call has its own, in a folder that only
// this user can read.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Source: spec/foundationdb.md 1.4. Comment lines begin with `#`, so a string that begins so would be no connection string. */
const CONNECTION_STRING = /^[A-Za-z0-9_]+:[A-Za-z0-9]+@[^\s,]+(?:,[^\s,]+)*$/

/**
 * Writes the file, calls `use` and removes the folder.
 *
 * @throws a plain Error if the connection string has another form; it would be other content for the tool.
 */
export async function withClusterFile<Result>(
  connectionString: string,
  use: (place: { readonly file: string; readonly folder: string }) => Promise<Result>,
): Promise<Result> {
  if (!CONNECTION_STRING.test(connectionString))
    throw new Error('connection string: the form is wrong; expected description:id@address,address')
  return await withPrivateFolder(async (folder) => {
    const file = join(folder, 'fdb.cluster')
    await writeFile(file, `${connectionString}\n`, { mode: 0o600 })
    return await use({ file, folder })
  })
}

/** Creates a folder that only this user can read, calls `use` and removes the folder. */
export async function withPrivateFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-fdb-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
