// Tests the budgets of docs/reference/performance.md on real servers: writes from the API server's audit log, events from
// Temporal's histories, statements from PostgreSQL's pg_stat_statements.

import { temporal } from '@temporalio/proto'
import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'

import { type AuditedWrite, auditedWrites, auditMark } from '../support/cluster/audit-log.ts'
import { type Item, installation } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'
import { openJob } from '../activities/journal/one-row.ts'

// Short time-outs would cause more history events on a slow machine: a slow first rendering splits a workflow task in
// two, a slow task moves to another queue, and a slow wake is delivered twice.
const TIMEOUTS = ['--workflow-task-timeout-ms', '60000', '--sticky-timeout-ms', '10000']
const stage = useStage('budgets', () => Promise.resolve({ workerFlags: TIMEOUTS }))

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

const mark = () => auditMark(stage.servers.auditLogPath)
const written = (since: number) => auditedWrites(stage.servers.auditLogPath, since, 'budgets')

// Each shape has another name: exports of a deleted Installation stay until the garbage collector deletes them.
const rootOf = ({ items, exporting }: Shape) => `root-${items.length}-${exporting ? 'exporting' : 'plain'}`

// These tests run one after the other, so that all writes since a mark belong to one shape.
describe.each(SHAPES)('an installation with $title', (shape) => {
  const { items, exporting } = shape
  const count = items.length
  const exportObjects = exporting ? 1 : 0
  const root = rootOf(shape)

  it('T14: keeps within the budget of writes, runs and history events in its first job', async () => {
    const since = mark()
    await stage.cluster.create(
      installation(root, withExports(items, exporting), exportOptions(exporting, items)),
      'installations',
    )
    const done = await stage.cluster.waitUntilFinished(root)
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
    expect(
      excess(written(since), {
        // Includes the creation of the Execution.
        installation: 4 + exportObjects,
        execution: count + 1 + exportObjects,
        deploy: count * (1 + exportObjects),
      }),
    ).toEqual([])
    expect(await historyExcess(done.status?.jobID ?? '', shape)).toEqual([])
  })

  it('T14: keeps within the smaller budget in a further job on an unchanged spec', async () => {
    const before = await stage.cluster.get('installations', root)
    const since = mark()
    await stage.cluster.trigger(root)
    const done = await stage.cluster.waitUntilFinished(root, before?.status?.jobID)
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
    expect(
      excess(written(since), {
        installation: 3 + exportObjects,
        execution: 1 + exportObjects,
        deploy: count * (1 + exportObjects),
      }),
    ).toEqual([])
    expect(await historyExcess(done.status?.jobID ?? '', shape)).toEqual([])
  })
})

describe('an installation of each shape', () => {
  it('T12: causes no writes after it has converged, even after several sweeps', async () => {
    const since = mark()
    await sweeps()
    expect(written(since)).toEqual([])
  })

  it('T14: keeps within the budget of its deletion', async () => {
    for (const shape of SHAPES) {
      const since = mark()
      const count = shape.items.length
      await stage.cluster.delete('installations', rootOf(shape))
      await stage.cluster.waitUntilGone(rootOf(shape))
      const most = { installation: 3, execution: count + 1, deploy: count }
      expect(excess(written(since), most), shape.title).toEqual([])
    }
  })
})

describe('a chain', () => {
  it('has histories that grow with its levels, not with the square of its levels', async () => {
    const [short, long] = [await chainBytes(10), await chainBytes(30)]
    // When each observation contained all items, the quotient was above 6.
    expect(long / short).toBeLessThan(4)
  })
})

const BUDGET = 40
/** On a busy machine, a slow job causes more flushes and polls. So the test repeats the job and takes the fewest. */
const TRIES = 20

interface Counted {
  readonly query: string
  readonly calls: number
}

/** Statements that run at intervals, independently of jobs (leases and sweeps), and the statements of this test. */
const NOT_OF_A_JOB = [
  '%pg_stat_statements%',
  'update watch_checkpoint set lease_until%',
  '%select o.uid from object o where o.cluster%',
  'with "quiet" as%',
  'select exists (select from object%',
  '%row_number() over (partition by j.namespace%',
]

/** The statements of bridge and worker until the job's run is recorded, by query text. */
async function statementsOf(name: string): Promise<readonly Counted[]> {
  const { db } = stage.pawl
  await sql`select pg_stat_statements_reset()`.execute(db)
  await stage.cluster.create(installation(name, flat(5)), 'installations')
  await stage.pawl.waitUntilSettled(await stage.cluster.waitUntilFinished(name))
  const { rows } = await sql<Counted>`
    select query, sum(calls)::int as calls from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database())
      and not ltrim(query) like any(${NOT_OF_A_JOB}::text[])
    group by query order by 2 desc, 1`.execute(db)
  return rows.map(({ query, calls }) => ({ query: query.replaceAll(/\s+/g, ' ').trim().slice(0, 100), calls }))
}

const sum = (counted: readonly Counted[]) => counted.reduce((all, { calls }) => all + calls, 0)

describe('a job of an installation of five items', () => {
  it(`needs no more than ${BUDGET} statements`, async () => {
    await sql`create extension if not exists pg_stat_statements`.execute(stage.pawl.db)
    await statementsOf('warm-up')
    let fewest = await statementsOf('job-0')
    for (let index = 1; index < TRIES && sum(fewest) > BUDGET; index++) {
      const found = await statementsOf(`job-${index}`)
      if (sum(found) < sum(fewest)) fewest = found
    }
    expect(sum(fewest), JSON.stringify(fewest, undefined, 1)).toBeLessThanOrEqual(BUDGET)
    // pg_stat_statements has counted statements of the job.
    expect(sum(fewest)).toBeGreaterThan(15)
  })
})

/** The size of the results of local activities in the history of a chain's job, in bytes. */
async function chainBytes(levels: number): Promise<number> {
  const items = flat(levels).map((item, index) => (index === 0 ? item : { ...item, dependsOn: [`item-${index - 1}`] }))
  await stage.cluster.create(installation(`chain-${levels}`, items), 'installations')
  const runs = await finishedRuns((await stage.cluster.waitUntilFinished(`chain-${levels}`)).status?.jobID ?? '')
  const bytes = runs.map(async ({ workflow_id }) => {
    const { events } = await stage.pawl.client.workflow.getHandle(workflow_id).fetchHistory()
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
      const { events } = await stage.pawl.client.workflow.getHandle(workflow_id).fetchHistory()
      return (events ?? []).map(({ eventType }) => temporal.api.enums.v1.EventType[eventType ?? 0] ?? '')
    }),
  )
  return found.filter((types) => types.length > most)
}

async function finishedRuns(jobID: string) {
  const runs = await stage.pawl.db.selectFrom('job').selectAll().where('job_id', '=', jobID).execute()
  await Promise.all(runs.map(({ workflow_id }) => stage.pawl.client.workflow.getHandle(workflow_id).result()))
  return runs
}

/** Waits for SWEEPS sweeps: each closes a job in the journal that this function added and no server knows. */
async function sweeps(): Promise<void> {
  const { db } = stage.pawl
  for (let sweep = 1; sweep <= SWEEPS; sweep++) {
    const workflow_id = `installation/none/none/nobody/${sweep}`
    const subject = { cluster: 'local', uid: 'nobody', job_id: `${sweep}`, namespace: 'none', name: 'none' }
    const run = { workflow_id, run_id: 'none', controller: 'installation', cause: 'test' }
    await openJob(db, { ...subject, ...run, started_at: new Date(Date.now() - 3_600_000) })
    const row = db.selectFrom('job').select('outcome').where('workflow_id', '=', workflow_id)
    await vi.waitFor(async () => expect(await row.executeTakeFirstOrThrow()).toEqual({ outcome: 'lost' }), {
      timeout: 20_000,
      interval: 50,
    })
  }
}
