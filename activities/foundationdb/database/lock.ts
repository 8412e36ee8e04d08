// The lock with which the controllers of a database's Kubernetes clusters take turns, under the keys of the Go operator, so that both can share a
// database. Source: seeds/foundationdb-operator-technical-design.txt "Locking Operations"; spec/foundationdb.md 3.
//
//   L1. A controller on the deny list cannot take the lock, also when no controller holds it. The transaction that takes the lock reads the deny list, so a
//       new entry has effect at once.
//   L2. The lock of another controller ends after its end time, or when the other controller is on the deny list. `end` itself still belongs to it.
//   L3. An extension keeps the start time; a takeover starts now.
//   L4. A value that cannot be read is an error and is never overwritten.
//   L5. Of two controllers that take the lock at the same time, one succeeds: the transaction of the other one conflicts.

import { LOCK_KEY_PREFIX } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import { packTuple, unpackTuple } from '../../../workflows/foundationdb/database/tuple.ts'
import type { Database, KeyChange } from './database.ts'
import { CommandFailure } from './fdbcli-output.ts'

export interface LockOptions {
  /** The ID of this controller. */
  readonly lockID: string
  readonly keyPrefix: string
  readonly durationSeconds: number
}

interface Holder {
  readonly id: string
  /** Unix seconds. */
  readonly start: number
  readonly end: number
}

/** Takes or extends the lock. @param now Unix seconds. @throws CommandFailure `refused` that names the holder. */
export async function takeLock(database: Database, options: LockOptions, now: number): Promise<void> {
  const { lockID, durationSeconds } = options
  const key = lockKey(options, 'global')
  await database.transact(async (read) => {
    const isDenied = async (id: string) => (await read(denyKey(options, id))) !== undefined
    if (await isDenied(lockID)) throw new CommandFailure('refused', `lock: controller "${lockID}" is on the deny list`) // L1
    const value = await read(key)
    const holder = value === undefined ? undefined : holderIn(value)
    const isOwn = holder?.id === lockID
    const isFree = holder === undefined || isOwn || holder.end < now || (await isDenied(holder.id)) // L2
    if (!isFree)
      throw new CommandFailure('refused', `lock: controller "${holder.id}" has the lock until ${timeText(holder.end)}`)
    const start = isOwn ? holder.start : now // L3
    return [{ key, value: packTuple([lockID, start, now + durationSeconds]) }]
  })
}

/** Releases the lock if this controller holds it. */
export async function releaseLock(database: Database, options: LockOptions, now: number): Promise<void> {
  const key = lockKey(options, 'global')
  await database.transact(async (read) => {
    const value = await read(key)
    const holder = value === undefined ? undefined : holderIn(value)
    const isOwn = holder?.id === options.lockID && holder.start <= now && holder.end >= now
    return isOwn ? [{ key, value: undefined }] : []
  })
}

/** The IDs of controllers that cannot take the lock. */
export async function denyList(database: Database, options: LockOptions): Promise<readonly string[]> {
  const pairs = await database.readPrefix(lockKey(options, 'denyList/'))
  return pairs.map(({ value }) => text(value)).sort()
}

/** Adds and removes entries; others stay. */
export async function updateDenyList(
  database: Database,
  options: LockOptions,
  entries: readonly { readonly id: string; readonly isAllowed: boolean }[],
): Promise<void> {
  const changes = entries.map(({ id, isAllowed }): KeyChange => ({
    key: denyKey(options, id),
    value: isAllowed ? undefined : Buffer.from(id),
  }))
  await database.write(changes)
}

/** Registers process groups that are ready to run the version. */
export async function addPendingUpgrades(
  database: Database,
  options: LockOptions,
  { version, processGroups }: { readonly version: string; readonly processGroups: readonly string[] },
): Promise<void> {
  await database.write(
    processGroups.map((id) => ({ key: lockKey(options, `upgrades/${version}/${id}`), value: Buffer.from(id) })),
  )
}

/** The process groups of all controllers that are ready to run the version. */
export async function pendingUpgrades(
  database: Database,
  options: LockOptions,
  version: string,
): Promise<readonly string[]> {
  const pairs = await database.readPrefix(lockKey(options, `upgrades/${version}/`))
  return pairs.map(({ value }) => text(value)).sort()
}

/** Removes the registered process groups of all versions. */
export async function clearPendingUpgrades(database: Database, options: LockOptions): Promise<void> {
  const pairs = await database.readPrefix(lockKey(options, 'upgrades/'))
  await database.write(pairs.map(({ key }) => ({ key, value: undefined })))
}

function denyKey(options: LockOptions, id: string): Uint8Array {
  return lockKey(options, `denyList/${id}`)
}

/** The default prefix begins with the byte 0xff, which is no UTF-8; a user's prefix is text. */
function lockKey({ keyPrefix }: LockOptions, rest: string): Uint8Array {
  const prefix = Buffer.from(keyPrefix, keyPrefix === LOCK_KEY_PREFIX ? 'latin1' : 'utf8')
  return Buffer.concat([prefix, Buffer.from(`/${rest}`)])
}

/** L4 */
function holderIn(value: Uint8Array): Holder {
  const [id, start, end] = elementsIn(value)
  if (typeof id === 'string' && typeof start === 'number' && typeof end === 'number') return { id, start, end }
  throw new CommandFailure('refused', 'lock: the value is unreadable; expected a text and two numbers')
}

function elementsIn(value: Uint8Array): readonly unknown[] {
  try {
    return unpackTuple(value)
  } catch (error) {
    throw new CommandFailure('refused', `lock: the value is unreadable: ${(error as Error).message}`)
  }
}

function text(value: Uint8Array): string {
  return new TextDecoder().decode(value)
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
