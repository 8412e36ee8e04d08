// Tests the budgets of docs/performance.md on real servers: writes from the API server's audit log, events from
// Temporal's histories.

import { temporal } from '@temporalio/proto'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import { type AuditedWrite, auditedWrites, auditMark } from '../support/cluster/audit-log.ts'
import { Cluster, type Item, installation } from '../support/cluster/cluster.ts'
import { Pawl } from '../support/pawl/pawl.ts'
import { openJob } from '../activities/journal/one-row.ts'

const servers = inject('servers')

interface Shape {
  readonly title: string
  readonly items: readonly Item[]
  readonly levels: number
  readonly exporting: boolean
}

const flat = (count: number): Item[] => Array.from({ length: count }, (_, index) => ({ name: `item-${index}` }))
const CHAIN_OF_LEVELS: readonly Item[] = [
  { name: 'a' },
  { name: 'b', dependsOn: ['a'] },
  { name: 'c', dependsOn: ['b'] },
  { name: 'd', dependsOn: ['b'] },
]

const SHAPES: readonly Shape[] = [
  { title: 'five items in one level', items: flat(5), levels: 1, exporting: false },
  { title: 'one item that exports', items: flat(1), levels: 1, exporting: true },
  { title: 'four items in three levels', items: CHAIN_OF_LEVELS, levels: 3, exporting: false },
  { title: 'four exporting items in three levels', items: CHAIN_OF_LEVELS, levels: 3, exporting: true },
]

const namespace = 'budgets'
const cluster = new Cluster(servers.kubeconfigPath, namespace)
let pawl: Pawl
// On a busy machine a process takes many seconds to start.
const START_LIMIT_MS = 240_000

beforeAll(async () => {
  await cluster.createNamespace()
  // The short time-outs of other tests would cause more history events on a slow machine: a slow first rendering splits
  // a workflow task in two, a slow task moves to another queue, and a slow wake is delivered twice.
  const timeouts = ['--workflow-task-timeout-ms', '60000', '--sticky-timeout-ms', '10000', '--wake-lease-ms', '10000']
  pawl = await Pawl.start({ name: namespace, servers, namespace, workerFlags: ['--sweep-ms', '200', ...timeouts] })
}, START_LIMIT_MS)
afterAll(async () => {
  await pawl.stop()
  await cluster.kube.close()
})

const written = (mark: number) => auditedWrites(servers.auditLogPath, mark, namespace)

// These tests run one after the other, so that all writes since a mark belong to one shape.
describe.each(SHAPES)('an installation with $title', ({ items, levels, exporting }) => {
  const count = items.length
  const exportObjects = exporting ? 1 : 0
  // Each shape has another name: exports of a deleted Installation stay until the garbage collector deletes them.
  const root = `root-${count}-${exporting ? 'exporting' : 'plain'}`

  it('T14: keeps within the budget of writes, runs and history events in its first job', async () => {
    const mark = auditMark(servers.auditLogPath)
    await cluster.create(
      installation(root, withExports(items, exporting), exportOptions(exporting, items)),
      'installations',
    )
    const done = await cluster.waitUntilFinished(root)
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
    expect(
      excess(written(mark), {
        // Includes the creation of the Execution.
        installation: 4 + exportObjects,
        execution: count + 1 + exportObjects,
        deploy: count * (1 + exportObjects),
      }),
    ).toEqual([])
    expect(await historyExcess(done.status?.jobID ?? '', { levels, exporting })).toEqual([])
  })

  it('T14: keeps within the smaller budget in a further job on an unchanged spec', async () => {
    const before = await cluster.get('installations', root)
    const mark = auditMark(servers.auditLogPath)
    await cluster.trigger(root)
    const done = await cluster.waitUntilFinished(root, before?.status?.jobID)
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
    expect(
      excess(written(mark), {
        installation: 3 + exportObjects,
        execution: 1 + exportObjects,
        deploy: count * (1 + exportObjects),
      }),
    ).toEqual([])
    expect(await historyExcess(done.status?.jobID ?? '', { levels, exporting })).toEqual([])
  })

  it('T12: causes no writes after it has converged, even after several sweeps', async () => {
    const { uid = '' } = (await cluster.get('installations', root))?.metadata ?? {}
    const mark = auditMark(servers.auditLogPath)
    await sweeps(uid)
    expect(written(mark)).toEqual([])
  })

  it('T14: keeps within the budget of its deletion', async () => {
    const mark = auditMark(servers.auditLogPath)
    await cluster.delete('installations', root)
    await cluster.waitUntilGone(root)
    expect(excess(written(mark), { installation: 3, execution: count + 1, deploy: count })).toEqual([])
  })
})

describe('a chain', () => {
  it('has histories that grow with its levels, not with the square of its levels', async () => {
    const [short, long] = [await chainBytes(10), await chainBytes(30)]
    // When each observation contained all items, the quotient was above 6.
    expect(long / short).toBeLessThan(4)
  })
})

/** The size of the results of local activities in the history of a chain's job, in bytes. */
async function chainBytes(levels: number): Promise<number> {
  const items = flat(levels).map((item, index) => (index === 0 ? item : { ...item, dependsOn: [`item-${index - 1}`] }))
  await cluster.create(installation(`chain-${levels}`, items), 'installations')
  const runs = await finishedRuns((await cluster.waitUntilFinished(`chain-${levels}`)).status?.jobID ?? '')
  const bytes = runs.map(async ({ workflow_id }) => {
    const { events } = await pawl.client.workflow.getHandle(workflow_id).fetchHistory()
    const results = (events ?? []).flatMap(
      ({ markerRecordedEventAttributes: marker }) => marker?.details?.['result'] ?? [],
    )
    const payloads = results.flatMap((result) => result.payloads ?? [])
    return payloads.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
  })
  const [found = NaN] = await Promise.all(bytes)
  return found
}

const SWEEPS = 3

function withExports(items: readonly Item[], exporting: boolean): readonly Item[] {
  return exporting ? items.map((one) => ({ ...one, config: { export: { url: `http://${one.name}` } } })) : items
}

function exportOptions(exporting: boolean, [first, ...others]: readonly Item[]) {
  if (!exporting) return {}
  const template = `exports: { url: '{{ index .values.deployitems "${first?.name ?? ''}" "url" }}' }`
  return {
    blueprint: {
      exports: [{ name: 'url', type: 'data', schema: { type: 'string' } }],
      exportExecutions: [{ name: 'default', type: 'GoTemplate', template }],
    },
    spec: { exports: { data: [{ name: 'url', dataRef: `published-${others.length}` }] } },
  }
}

/** The writers that exceed their budgets, with all their writes. */
function excess(writes: readonly AuditedWrite[], budgets: Readonly<Record<string, number>>) {
  const writers = [...new Set(writes.map(({ writer }) => writer))]
  expect(writers.toSorted()).toEqual(Object.keys(budgets).toSorted())
  return writers.flatMap((writer) => {
    const own = writes.filter((write) => write.writer === writer)
    const budget = budgets[writer] ?? 0
    return own.length > budget ? [{ writer, budget, found: own.length, writes: own }] : []
  })
}

/**
 * Returns the event types of each history that exceeds the budget of a job: one run with one workflow task. The start,
 * the task, the outcome and the end are six events. The first observation, the rendering, the items and the settle are
 * markers, as are one for each level, and two for exports.
 */
async function historyExcess(jobID: string, { levels, exporting }: Pick<Shape, 'levels' | 'exporting'>) {
  const most = 10 + levels + (exporting ? 2 : 0)
  const runs = await finishedRuns(jobID)
  expect(runs.map(({ controller }) => controller)).toEqual(['installation'])
  const found = await Promise.all(
    runs.map(async ({ workflow_id }) => {
      const { events } = await pawl.client.workflow.getHandle(workflow_id).fetchHistory()
      return (events ?? []).map(({ eventType }) => temporal.api.enums.v1.EventType[eventType ?? 0] ?? '')
    }),
  )
  return found.filter((types) => types.length > most)
}

async function finishedRuns(jobID: string) {
  const runs = await pawl.db.selectFrom('job').selectAll().where('job_id', '=', jobID).execute()
  await Promise.all(runs.map(({ workflow_id }) => pawl.client.workflow.getHandle(workflow_id).result()))
  return runs
}

/**
 * Waits for SWEEPS sweeps: each closes a job in the journal that this function added and no server knows. `shape` keeps
 * the workflow IDs of several calls apart.
 */
async function sweeps(shape: string): Promise<void> {
  const longAgo = new Date(Date.now() - 3_600_000)
  for (let sweep = 1; sweep <= SWEEPS; sweep++) {
    const workflow_id = `installation/none/none/nobody/${shape}-${sweep}`
    const job = { workflow_id, run_id: 'none', controller: 'installation', cluster: 'local', uid: 'nobody' }
    await openJob(pawl.db, {
      ...job,
      job_id: `${sweep}`,
      namespace: 'none',
      name: 'none',
      cause: 'test',
      started_at: longAgo,
    })
    await vi.waitFor(
      async () => {
        const row = await pawl.db
          .selectFrom('job')
          .select('outcome')
          .where('workflow_id', '=', workflow_id)
          .executeTakeFirstOrThrow()
        expect(row.outcome).toBe('lost')
      },
      { timeout: 20_000, interval: 50 },
    )
  }
}
