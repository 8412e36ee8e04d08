// What every process of the engine has to be told of its surroundings: the cluster, the journal, the key, the wings, the user's controllers,
// and where it tells its health. Flags beat the environment.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

import type { Config } from './config.ts'
import { type GivenFlags, needed } from './flags.ts'
import { controllerFiles } from './load-controllers.ts'
import { createRegistry, switchedOff } from './registry.ts'
import { wingsOn } from './wings.ts'

/** The values of the flags that are read here; the tables are each process's own, for they say what a flag means to it. */
export interface SurroundingFlags {
  readonly kubeconfig: string | undefined
  readonly 'database-url': string | undefined
  readonly cluster: string
  readonly wings: string | undefined
  readonly controllers: string | undefined
  readonly 'content-key': string | undefined
  readonly 'health-host': string
  readonly 'health-port': number
}

export interface Surroundings {
  /** Undefined: in the cluster. */
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  /** Its name in the journal. */
  readonly cluster: string
  /** Names of those that are on. */
  readonly wings: readonly string[]
  /** Names of their controllers that are off. */
  readonly off: ReadonlySet<string>
  /** Absolute paths of modules that export `controllers`. */
  readonly controllerFiles: readonly string[]
  readonly contentKeyPath: string | undefined
  readonly healthHost: string
  readonly healthPort: number
}

/**
 * @param given all that the process was given.
 * @param key what is expected of the file of the content key.
 * @throws with the name of the flag, what was found and what was expected.
 */
export function readSurroundings(
  flags: SurroundingFlags,
  given: GivenFlags,
  config: Config,
  key: string,
): Surroundings {
  const wings = wingsOn(flags.wings)
  const off = switchedOff(given)
  return {
    kubeconfigPath: flags.kubeconfig ?? config.kubeconfig,
    databaseUrl: neededDatabase(flags['database-url'], config),
    cluster: flags.cluster,
    wings,
    off,
    controllerFiles: controllerFiles(flags.controllers),
    contentKeyPath: keyOf(flags, config, { wings, off, expected: key }),
    healthHost: flags['health-host'],
    healthPort: flags['health-port'],
  }
}

/** The URL of the journal's database. @throws when there is none. */
export function neededDatabase(given: string | undefined, { databaseUrl }: Config): string {
  return needed(
    'database-url',
    given ?? databaseUrl,
    'the URL of a PostgreSQL database, in the flag or in $PAWL_DATABASE_URL',
  )
}

/** The name of this start of this process; another one at each: a process that hangs must not share a lease with its successor. */
export function newOwner(): string {
  return `${hostname()}/${process.pid}/${randomUUID()}`
}

function keyOf(
  flags: SurroundingFlags,
  config: Config,
  { wings, off, expected }: Pick<Surroundings, 'wings' | 'off'> & { readonly expected: string },
): string | undefined {
  const path = flags['content-key'] ?? config.contentKeyPath
  // A predicate sees only fields that the journal stores, so a controller with a predicate needs no hash to see its changes.
  const hashing = createRegistry([], wings, off).levels.filter(({ predicate }) => predicate === undefined)
  const level = hashing.map(({ name }) => `controller ${name} in level mode`)
  return checkedKey(path, flags.controllers === undefined ? level[0] : '--controllers', expected)
}

/**
 * The path of the content key. Of the kinds of controllers in level mode the journal remembers a hash; without a key no change would be seen.
 *
 * @param asking what needs the key; undefined: nothing does.
 * @throws when the key is needed and missing.
 */
export function checkedKey(path: string | undefined, asking: string | undefined, expected: string): string | undefined {
  if (asking !== undefined && path === undefined)
    throw new Error(`--content-key is missing beside ${asking}; expected ${expected}`)
  return path
}
