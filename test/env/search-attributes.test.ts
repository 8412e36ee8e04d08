// A worker whose Temporal namespace lacks a search attribute: an upgrade without `pawl migrate up`.

import { Client, Connection } from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { addAttributes } from '../../worker/migrate.ts'
import { SEARCH_ATTRIBUTES } from '../../worker/server/config.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { deps, seen } from '../activities/journal/build-events.ts'
import type { DispatcherDeps } from '../../worker/reconciler/dispatcher.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { JOB, createDispatcher } from './dispatch-stage.ts'

const KEYWORD = 2

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
  // Temporal propagates a new namespace with a delay.
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

it('a dispatcher starts no run and loses no wake until the missing search attribute is added', async () => {
  const client = new Client({ connection: native, namespace })
  const uid = randomUUID()
  const failures: string[] = []
  const route = () => ({
    routes: [{ controller: 'execution', uid, namespace: 'ns', name: 'e', mode: 'start', cause: 'test' } as const],
  })
  const object = seen('ADDED', { uid, version: 1, status: { jobID: JOB } }, executionKind)
  await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [object] }, { ...deps, route })
  const report: DispatcherDeps['report'] = (part, error) => {
    if (part === 'temporal' && error instanceof Error) failures.push(`${error.message} ${String(error.cause)}`)
  }
  const dispatcher = createDispatcher(test, client, { report }, { taskQueue: namespace })
  const work = dispatcher.run()
  await vi.waitFor(() => expect(failures.join('\n')).toContain('PawlGroup'), { timeout: 30_000 })
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
