// The settings that bridge, worker and other processes share: cluster, journal, content key, wings, and controllers of users. Flags override the environment.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

import type { Config } from './config.ts'
import { type GivenFlags, requireFlag } from './flags.ts'
import { controllerFiles } from './load-controllers.ts'
import { createRegistry, disabledControllers } from './registry.ts'
import { enabledWings } from './wings.ts'

/** The values of the shared flags. Each process has its own table, because the help texts differ. */
export interface SharedFlags {
  readonly kubeconfig: string | undefined
  readonly 'database-url': string | undefined
  readonly cluster: string
  readonly wings: string | undefined
  readonly controllers: string | undefined
  readonly 'content-key': string | undefined
  readonly 'health-host': string
  readonly 'health-port': number
}

export interface SharedSettings {
  /** Undefined: in-cluster. */
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  /** The cluster's name in the journal. */
  readonly cluster: string
  /** Names of the enabled wings. */
  readonly wings: readonly string[]
  /** Names of disabled controllers of these wings. */
  readonly off: ReadonlySet<string>
  /** Absolute paths of modules that export `controllers`. */
  readonly controllerFiles: readonly string[]
  readonly contentKeyPath: string | undefined
  readonly healthHost: string
  readonly healthPort: number
}

/**
 * @param given all flags of the process.
 * @param key the expected value of the flag for the content key's file, for messages.
 * @throws with the name of the flag, the actual value and the expected value.
 */
export function readSharedSettings(flags: SharedFlags, given: GivenFlags, config: Config, key: string): SharedSettings {
  const wings = enabledWings(flags.wings)
  const off = disabledControllers(given)
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

/** The URL of the journal's database. @throws if it is missing. */
export function neededDatabase(given: string | undefined, { databaseUrl }: Config): string {
  return requireFlag(
    'database-url',
    given ?? databaseUrl,
    'the URL of a PostgreSQL database, in the flag or in $PAWL_DATABASE_URL',
  )
}

/** The identity of this start of the process in leases. Each start has another one, so that a hanging process never shares a lease with its successor. */
export function newLeaseOwner(): string {
  return `${hostname()}/${process.pid}/${randomUUID()}`
}

function keyOf(
  flags: SharedFlags,
  config: Config,
  { wings, off, expected }: Pick<SharedSettings, 'wings' | 'off'> & { readonly expected: string },
): string | undefined {
  const path = flags['content-key'] ?? config.contentKeyPath
  // A predicate sees only fields that the journal stores, so a controller with a predicate does not need hashes.
  const hashing = createRegistry([], wings, off).levels.filter(({ predicate }) => predicate === undefined)
  const level = hashing.map(({ name }) => `controller ${name} in level mode`)
  return checkedContentKey(path, flags.controllers === undefined ? level[0] : '--controllers', expected)
}

/**
 * The path of the content key. For kinds of controllers in level mode the journal stores a content hash; without a key no change would be detected.
 *
 * @param asking the part that needs the key; undefined: none.
 * @throws if the key is needed and missing.
 */
export function checkedContentKey(
  path: string | undefined,
  asking: string | undefined,
  expected: string,
): string | undefined {
  if (asking !== undefined && path === undefined)
    throw new Error(`--content-key is missing; ${asking} needs it; expected ${expected}`)
  return path
}
