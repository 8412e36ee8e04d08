// A worker beside a Temporal namespace that lacks a search attribute of its version: an upgrade without `pawl migrate up`, until it is made up for.

import { Client, Connection } from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'

import { Dispatcher } from '../../worker/reconciler/dispatcher.ts'
import { addAttributes } from '../../worker/migrate.ts'
import { createLogger } from '../../worker/server/log.ts'
import { SEARCH_ATTRIBUTES } from '../../worker/server/config.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { deps, seen } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const KEYWORD = 2
const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'

const test = useJournal(inject('servers').databaseUrl)
const namespace = `attributes-${randomUUID()}`
let connection: Connection
let native: NativeConnection
beforeAll(async () => {
  const address = inject('servers').temporalAddress
  connection = await Connection.connect({ address })
  native = await NativeConnection.connect({ address })
  const workflowExecutionRetentionPeriod = { seconds: 86_400 as never }
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
  const former = Object.entries(SEARCH_ATTRIBUTES)
    .filter(([name, type]) => name !== 'PawlGroup' && type === 'Keyword')
    .map(([name]) => [name, KEYWORD] as const)
  // Temporal takes a moment to know a namespace everywhere.
  await vi.waitFor(
    async () =>
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(former) }),
    { timeout: 30_000, interval: 500 },
  )
})
afterAll(async () => {
  await native.close()
  await connection.close()
})

it('starts nothing and loses nothing until the attribute is there', async () => {
  const client = new Client({ connection: native, namespace })
  const uid = randomUUID()
  const troubles: string[] = []
  const route = () => ({
    routes: [{ controller: 'execution', uid, namespace: 'ns', name: 'e', mode: 'start', cause: 'test' } as const],
  })
  const object = seen('ADDED', { uid, version: 1, status: { jobID: JOB } }, executionKind)
  await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [object] }, { ...deps, route })
  const dispatcher = new Dispatcher(
    {
      db: test.db,
      asyncCommitDb: test.db,
      client,
      log: createLogger('test', 'silent'),
      now: () => new Date(),
      inFlightRuns: new InFlightRuns(() => new Date()),
      report: (part, error) => {
        if (part === 'temporal' && error instanceof Error) troubles.push(`${error.message} ${String(error.cause)}`)
      },
    },
    {
      owner: 'd',
      cluster: 'c',
      slots: 5,
      leaseMs: 5000,
      idleMs: 50,
      wokenSlotMs: 1000,
      taskQueue: namespace,
      controllers: undefined,
      workflowTaskTimeoutMs: 10_000,
    },
  )
  const work = dispatcher.run()
  await vi.waitFor(() => expect(troubles.join('\n')).toContain('PawlGroup'), { timeout: 30_000 })
  expect((await test.wakes()).map((wake) => wake.uid)).toEqual([uid])

  expect(await addAttributes(connection, namespace)).toEqual(['PawlGroup', 'PawlTree'])
  await vi.waitFor(async () => expect(await test.wakes()).toEqual([]), { timeout: 50_000, interval: 200 })
  dispatcher.stop()
  await work
  const run = client.workflow.getHandle(`execution/ns/task-${uid}/${uid}/${JOB}`)
  const { typedSearchAttributes } = await run.describe()
  const keys = ['PawlGroup', 'PawlKind'].map((name) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD))
  expect(keys.map((key) => typedSearchAttributes.get(key))).toEqual([executionKind.group, 'Execution'])
  await run.terminate()
})
