// The activities by which the wing's passes use a database. Source: spec/foundationdb.md 4.1, 4.2.
//
//   A1. A failed command is part of the result, because the pass decides what to do: an unavailable database is a usual state, not a fault.
//   A2. Each call ends with its pass: an abort kills the tool.
//   A3. An effect on the whole database extends the lock first. After the pass has taken the lock, its worker can end, and the lock can end before the next
//       worker continues the pass.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import type { Database, DatabaseAddress, DatabaseProvider } from './database.ts'
import { CommandFailure, type ExclusionReport, type FailureKind } from './fdbcli-output.ts'
import * as locks from './lock.ts'
import type { LockOptions } from './lock.ts'
import type { DatabaseStatus } from './status.ts'

export { syncPods } from '../pod-client/sync-pods.ts'

/** Opened by the wing when the worker starts. */
export interface DatabaseParts {
  readonly databases: DatabaseProvider
  readonly now: () => Date
}

type LockCall<Input = object> = DatabaseAddress & { readonly lock: LockOptions } & Input
/** Without `lock` where the cluster uses no lock. */
type EffectCall<Input> = DatabaseAddress & { readonly lock?: LockOptions } & Input

/** The result of a command. */
export type Attempt<Value> = { readonly value: Value } | { readonly failure: CallFailure }

export interface CallFailure {
  readonly kind: FailureKind
  readonly message: string
}

export async function readStatus(input: DatabaseAddress, context: ActivityContext): Promise<Attempt<DatabaseStatus>> {
  return await attempt(input, context, (database) => database.status())
}

export async function configure(
  input: EffectCall<{ readonly configuration: string; readonly isNew: boolean }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(
    input,
    context,
    locked(input, context, (database) => database.configure(input.configuration, input)),
  )
}

export async function exclude(
  input: EffectCall<{ readonly targets: readonly string[]; readonly waits: boolean }>,
  context: ActivityContext,
): Promise<Attempt<readonly ExclusionReport[]>> {
  return await attempt(
    input,
    context,
    locked(input, context, (database) => database.exclude(input.targets, input)),
  )
}

export async function include(
  input: EffectCall<{ readonly targets: readonly string[] }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(
    input,
    context,
    locked(input, context, (database) => database.include(input.targets)),
  )
}

export async function kill(
  input: EffectCall<{ readonly addresses: readonly string[]; readonly isUpgrade: boolean }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(
    input,
    context,
    locked(input, context, (database) => database.kill(input.addresses, input)),
  )
}

/** @returns the new connection string. */
export async function changeCoordinators(
  input: EffectCall<{ readonly addresses: readonly string[] }>,
  context: ActivityContext,
): Promise<Attempt<string>> {
  return await attempt(
    input,
    context,
    locked(input, context, (database) => database.changeCoordinators(input.addresses)),
  )
}

/** `refused`: another controller has the lock, or this one may not take it. */
export async function takeLock(input: LockCall, context: ActivityContext): Promise<Attempt<null>> {
  return await command(input, context, (database) => locks.takeLock(database, input.lock, unixSeconds(context)))
}

export async function releaseLock(input: LockCall, context: ActivityContext): Promise<Attempt<null>> {
  return await command(input, context, (database) => locks.releaseLock(database, input.lock, unixSeconds(context)))
}

export async function readDenyList(input: LockCall, context: ActivityContext): Promise<Attempt<readonly string[]>> {
  return await attempt(input, context, (database) => locks.denyList(database, input.lock))
}

export async function updateDenyList(
  input: LockCall<{ readonly entries: readonly { readonly id: string; readonly isAllowed: boolean }[] }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (database) => locks.updateDenyList(database, input.lock, input.entries))
}

export async function addPendingUpgrades(
  input: LockCall<{ readonly target: string; readonly processGroups: readonly string[] }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  const { target: version, processGroups } = input
  return await command(input, context, (database) =>
    locks.addPendingUpgrades(database, input.lock, { version, processGroups }),
  )
}

export async function readPendingUpgrades(
  input: LockCall<{ readonly target: string }>,
  context: ActivityContext,
): Promise<Attempt<readonly string[]>> {
  return await attempt(input, context, (database) => locks.pendingUpgrades(database, input.lock, input.target))
}

export async function clearPendingUpgrades(input: LockCall, context: ActivityContext): Promise<Attempt<null>> {
  return await command(input, context, (database) => locks.clearPendingUpgrades(database, input.lock))
}

export async function isVersionSupported(
  { version }: { readonly version: string },
  { parts }: ActivityContext,
): Promise<boolean> {
  return await databasesIn(parts).isSupported(version)
}

export async function protocolOfVersion(
  { version }: { readonly version: string },
  { parts }: ActivityContext,
): Promise<string> {
  return await databasesIn(parts).protocolOf(version)
}

/** A1. */
async function attempt<Value>(
  { connectionString, version }: DatabaseAddress,
  { parts, signal }: ActivityContext,
  run: (database: Database) => Promise<Value>,
): Promise<Attempt<Value>> {
  try {
    return { value: await run(databasesIn(parts).open({ connectionString, version }, signal)) }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { failure: { kind: error.kind, message: error.message } }
  }
}

/** A3. */
function locked<Value>(
  { lock }: EffectCall<object>,
  context: ActivityContext,
  run: (database: Database) => Promise<Value>,
): (database: Database) => Promise<Value> {
  return async (database) => {
    if (lock !== undefined) await locks.takeLock(database, lock, unixSeconds(context))
    return await run(database)
  }
}

async function command(
  address: DatabaseAddress,
  context: ActivityContext,
  run: (database: Database) => Promise<void>,
): Promise<Attempt<null>> {
  return await attempt(address, context, async (database) => {
    await run(database)
    return null
  })
}

function unixSeconds({ parts }: ActivityContext): number {
  return Math.floor((parts as DatabaseParts).now().getTime() / 1000)
}

function databasesIn(parts: unknown): DatabaseProvider {
  return (parts as DatabaseParts).databases
}
