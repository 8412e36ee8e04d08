// The stage of tests that deliver wakes to a real Temporal: the connection, rows of wakes, objects in the journal, and a dispatcher with short delays.
// No worker runs.

import { Client, type WorkflowHandle } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { type NewWake, upsertWakes, type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { Dispatcher, type DispatcherDeps, type DispatcherOptions } from '../../worker/reconciler/dispatcher.ts'
import { createLogger } from '../../worker/server/log.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { defineLevel, nop, type WatchedKind } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { seen, type TaskOptions, unrouted } from '../activities/journal/build-events.ts'
import { newWake } from '../activities/journal/build-job.ts'
import type { useJournal } from '../activities/journal/use-journal.ts'

export const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'
export const now = () => new Date()
export const silentLog = createLogger('test', 'silent')

type Journal = Pick<ReturnType<typeof useJournal>, 'db'>

/** @returns a function that makes clients of one connection. */
export function useTemporal(): () => Client {
  let connection: NativeConnection
  beforeAll(async () => {
    connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
  })
  afterAll(async () => {
    await connection.close()
  })
  return () => new Client({ connection })
}

/** @returns the run, which is terminated after the test if the test has started it. */
export function endAfterTest(client: Client, workflowID: string): WorkflowHandle {
  const handle = client.workflow.getHandle(workflowID)
  onTestFinished(async () => {
    await handle.terminate().catch(() => undefined)
  })
  return handle
}

type Start = Client['workflow']['start']

/** A client whose first start calls `instead` with the real start. */
export function onFirstStart(client: Client, instead: (start: () => ReturnType<Start>) => ReturnType<Start>): Client {
  const start = client.workflow.start.bind(client.workflow)
  client.workflow.start = (async (...args: Parameters<Start>) => {
    client.workflow.start = start
    return await instead(async () => await start(...args))
  }) as Start
  return client
}

/** A dispatcher of all controllers on a task queue without a worker. */
export function createDispatcher(
  { db }: Journal,
  client: Client,
  deps: Partial<DispatcherDeps> = {},
  options: Partial<DispatcherOptions> = {},
): Dispatcher {
  const inFlightRuns = new InFlightRuns(now)
  return new Dispatcher(
    { db, asyncCommitDb: db, client, log: silentLog, now, inFlightRuns, report: () => undefined, ...deps },
    {
      owner: 'd',
      cluster: 'c',
      slots: 5,
      leaseMs: 5000,
      idleMs: 50,
      wokenSlotMs: 1000,
      taskQueue: `none-${randomUUID()}`,
      controllers: undefined,
      workflowTaskTimeoutMs: 10_000,
      ...options,
    },
  )
}

/** Objects in the journal without wakes; deploy items have a type that the test's deployer handles. */
export async function journalObjects(
  { db }: Journal,
  objects: readonly TaskOptions[],
  { kind = deployItemKind, cluster = 'c' }: { readonly kind?: WatchedKind; readonly cluster?: string } = {},
): Promise<void> {
  const spec = { type: 'landscaper.gardener.cloud/mock' }
  const events = objects.map((object) => seen('ADDED', { spec, ...object }, kind))
  await journalEvents(db, { cluster, source: 'watch', events }, unrouted)
}

/** A wake of a deploy item's controller that is due now. */
export const wakeRow = (uid: string, overrides: Partial<NewWake> = {}): NewWake =>
  newWake({ controller: 'deploy', uid, name: `task-${uid}`, due: now(), ...overrides })

/** Stores the wake. @returns its row. */
export async function storeWake({ db }: Journal, uid: string, overrides: Partial<NewWake> = {}): Promise<Wake> {
  const wake = wakeRow(uid, overrides)
  await upsertWakes(db, [wake], wake.due)
  return await db.selectFrom('wake').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
}

export interface UnfinishedItem {
  readonly uid: string
  readonly wake: Wake
  readonly workflowID: string
}

/** Stores an unfinished item without an owner, and its wake. Its run is terminated after the test. */
export async function storeUnfinished(journal: Journal, client: Client): Promise<UnfinishedItem> {
  const uid = randomUUID()
  await journalObjects(journal, [{ uid, version: 1, status: { jobID: JOB } }])
  const workflowID = `deploy/ns/task-${uid}/${uid}/${JOB}`
  endAfterTest(client, workflowID)
  return { uid, wake: await storeWake(journal, uid), workflowID }
}

/** A controller `shop` in level mode whose objects are deploy items. */
export const levelRegistry = createRegistry([
  defineLevel({
    name: 'shop',
    target: { apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', plural: 'deployitems' },
    queries: {},
    plan: nop,
  }),
])
