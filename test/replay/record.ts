// Records the histories that replay.test.ts replays, from a fresh `pawl dev`:
//
//   node worker/cli.ts dev --detach --data-dir D && node test/replay/record.ts D && node worker/cli.ts dev stop --data-dir D
//
// A second argument is the namespace to do it in, `replay` unless given. Record anew only when a change to a plan or to the loop shall not be replayable on old runs; add a file for a new outcome.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, Connection, WorkflowFailedError } from '@temporalio/client'
import proto from '@temporalio/proto'

import { readState } from '../../worker/dev/state.ts'
import { CHAIN, Cluster, failing, installation, type Item, type LsObject, waiting } from '../support/cluster.ts'

const { History } = proto.temporal.api.history.v1
const DIR = join(import.meta.dirname, 'histories')

interface Recorder {
  readonly cluster: Cluster
  readonly client: Client
}

type Scenario = (recorder: Recorder, name: string) => Promise<LsObject>

// What one job of each kind can come to. Each returns the Installation of the job to record.
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  success: async ({ cluster }, name) => {
    await create(cluster, name, exportingChain)
    return await cluster.finished(name)
  },
  failure: async ({ cluster }, name) => {
    await create(cluster, name, [failing('broken'), { name: 'blocked', dependsOn: ['broken'] }, waiting('slow')])
    await cluster.finishItem(await startedItem(cluster, name, 'slow'), 'Succeeded')
    return await cluster.finished(name)
  },
  cycle: async ({ cluster }, name) => {
    await create(cluster, name, [{ name: 'free' }, { name: 'a', dependsOn: ['b'] }, { name: 'b', dependsOn: ['a'] }])
    return await cluster.finished(name)
  },
  'second-job': async ({ cluster }, name) => {
    await create(cluster, name, CHAIN)
    const first = await cluster.finished(name)
    await cluster.trigger(name)
    return await cluster.finished(name, first.status?.jobID)
  },
  deletion: async ({ cluster }, name) => {
    await create(cluster, name, CHAIN)
    const first = await cluster.finished(name)
    await cluster.delete('installations', name)
    const isStarted = (object: LsObject | undefined) =>
      object?.status?.jobID !== undefined && object.status.jobID !== first.status?.jobID
    const leaving = await cluster.until('installations', name, isStarted)
    await cluster.gone(name)
    return leaving
  },
  // Somebody takes the job away while an item runs.
  superseded: async ({ cluster }, name) => {
    await create(cluster, name, [waiting('slow')])
    const slow = await startedItem(cluster, name, 'slow')
    const running = (await cluster.get('installations', name)) as LsObject
    await cluster.patch('installations', name, { status: { jobID: 'other' } }, 'status')
    await cluster.patch('executions', name, { status: { jobID: 'other' } }, 'status')
    await cluster.finishItem(slow, 'Succeeded')
    return running
  },
  // Runs that somebody terminated go on in new ones, from the phase that they observe.
  resumed: async ({ cluster, client }, name) => {
    await create(cluster, name, [waiting('slow')])
    const slow = await startedItem(cluster, name, 'slow')
    const running = (await cluster.get('installations', name)) as LsObject
    for (const workflowID of await workflowIDs(client, running)) await client.workflow.getHandle(workflowID).terminate()
    await cluster.finishItem(slow, 'Succeeded')
    return await cluster.finished(name)
  },
}

const exportingChain: readonly Item[] = CHAIN.map((one) => ({ ...one, config: { export: { from: one.name } } }))

async function create(cluster: Cluster, name: string, items: readonly Item[]): Promise<void> {
  await cluster.create(installation(name, items), 'installations')
}

async function startedItem(cluster: Cluster, execution: string, name: string): Promise<LsObject> {
  const items = await cluster.untilItems(execution, [name], (item) => item?.status?.phase === 'Progressing')
  return items.get(name) as LsObject
}

async function workflowIDs(client: Client, { status }: LsObject): Promise<string[]> {
  const found = new Set<string>()
  for await (const { workflowId } of client.workflow.list({ query: `PawlJobId = '${status?.jobID ?? ''}'` }))
    found.add(workflowId)
  return [...found]
}

async function record({ client, cluster }: Recorder, outcome: string): Promise<void> {
  const scenario = SCENARIOS[outcome]
  if (scenario === undefined) throw new Error(`no scenario is called ${outcome}`)
  const job = await scenario({ client, cluster }, outcome)
  const ids = await listed(client, job)
  for (const workflowId of ids) {
    const handle = client.workflow.getHandle(workflowId)
    // A terminated run whose work was done meanwhile is not started again.
    await handle.result().catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error
    })
    const { events = [] } = History.toObject(History.fromObject(await handle.fetchHistory()), {
      ...{ longs: String, enums: String, bytes: String },
    }) as { events?: unknown[] }
    const file = `${workflowId.split('/')[0] ?? ''}-${outcome}.json`
    // One event a line, so that differences can be read.
    const lines = events.map((event) => JSON.stringify(scrubbed(event))).join(',\n')
    writeFileSync(join(DIR, file), `{"workflowId":"${workflowId}","history":{"events":[\n${lines}\n]}}\n`)
    process.stdout.write(`${file}\n`)
  }
}

/** Temporal's list lags behind its runs; a job has three of them. */
async function listed(client: Client, job: LsObject): Promise<string[]> {
  for (let look = 1; ; look++) {
    const ids = await workflowIDs(client, job)
    if (ids.length === 3 || look === 100) return ids
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Without the names of the machine and its files. */
function scrubbed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(scrubbed)
  if (typeof value !== 'object' || value === null) return value
  const hidden: Readonly<Record<string, string>> = {
    identity: 'worker',
    stackTrace: '',
    binaryChecksum: '',
    buildId: '',
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, typeof one === 'string' ? (hidden[key] ?? one) : scrubbed(one)]),
  )
}

async function main(dataDir = '', namespace = 'replay'): Promise<void> {
  const state = await readState(dataDir)
  if (state === undefined) throw new Error(`no pawl dev runs for "${dataDir}"; expected its --data-dir as argument`)
  const address = state.parts.find(({ name }) => name === 'temporal')?.address ?? ''
  const connection = await Connection.connect({ address })
  const cluster = new Cluster(state.kubeconfig, namespace)
  await cluster.createNamespace()
  rmSync(DIR, { recursive: true, force: true })
  mkdirSync(DIR)
  const recorder = { cluster, client: new Client({ connection }) }
  await Promise.all(Object.keys(SCENARIOS).map((outcome) => record(recorder, outcome)))
  await cluster.kube.close()
  await connection.close()
}

await main(...process.argv.slice(2))
