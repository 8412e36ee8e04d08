// Tests a worker of the previous build next to a worker of this build, with an open job in three runs, one for each
// object. The new worker terminates these runs and continues the job; the previous dispatcher claims no wake.
// Source: migrations/0006, docs/adr/0023.
//
// The test simulates the previous build: its rows, its task queue with a poller, its claims, and its journal.

import { DefaultLogger, NativeConnection, Worker } from '@temporalio/worker'
import { sql } from 'kysely'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateUp } from '../../activities/journal/migrate.ts'
import { bundleEntry } from '../../worker/reconciler/temporal/bundle.ts'
import { undoMigrations } from '../activities/journal/undo-migrations.ts'
import { type Item, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('former')
const ITEMS: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }]

let connection: NativeConnection
let former: Worker
let polling: Promise<void>
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: stage.servers.temporalAddress })
  const workflowsPath = fileURLToPath(new URL('../support/code-changes/former-workflows.ts', import.meta.url))
  // The task queue of the previous build has no version in its name.
  former = await Worker.create({ connection, taskQueue: stage.pawl.taskQueue, workflowsPath })
  polling = former.run()
})
afterAll(async () => {
  former.shutdown()
  await polling
  await connection.close()
})

/** Starts a job, kills its worker, and deletes all traces of its run. @returns the objects of the job. */
async function abandoned(name: string) {
  const { cluster, pawl } = stage
  await cluster.create(installation(name, ITEMS), 'installations')
  const root = await cluster.waitUntil('installations', name, (one) => one?.status?.phase === 'Progressing')
  await pawl.kill('worker')
  const { workflow_id } = await pawl.db.selectFrom('job').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
  await pawl.client.workflow.getHandle(workflow_id).terminate('its worker was never there')
  await pawl.db.deleteFrom('job').where('name', '=', name).execute()
  await sql`delete from hosted_job`.execute(pawl.db)
  const slow = (await cluster.items(name)).get('slow')!
  return { root, execution: (await cluster.get('executions', name))!, slow }
}

/** Starts a run like the previous build, and inserts its row. @returns the workflow ID. */
async function formerRun(controller: string, object: LsObject, jobID: string): Promise<string> {
  const { pawl, cluster } = stage
  const { uid = '', name } = object.metadata
  const workflowId = `${controller}/${cluster.namespace}/${name}/${uid}/${jobID}`
  const handle = await pawl.client.workflow.start(controller, { workflowId, taskQueue: pawl.taskQueue, args: [] })
  const job = { workflow_id: workflowId, run_id: handle.firstExecutionRunId, controller, cluster: 'local', uid }
  const at = { job_id: jobID, namespace: cluster.namespace, name, cause: 'former', started_at: new Date() }
  await pawl.db
    .insertInto('job')
    .values({ ...job, ...at, last_pass_at: new Date() } as never)
    .execute()
  return workflowId
}

/** Claims wakes with the SQL statement of the previous build. @returns their number. */
async function formerClaim(): Promise<number> {
  const { rows } = await sql`
    with taken as (
      select controller, uid, job_id from wake where cluster = 'local' and due <= now()
        and (lease_until is null or lease_until <= now()) order by due limit 20 for update skip locked)
    update wake set lease_owner = 'host/1/former', lease_until = now() + interval '10 s' from taken
    where wake.controller = taken.controller and wake.uid = taken.uid and wake.job_id = taken.job_id
    returning wake.uid`.execute(stage.pawl.db)
  return rows.length
}

async function endOf(workflowID: string): Promise<string> {
  return (await stage.pawl.client.workflow.getHandle(workflowID).describe()).status.name
}

describe('a job with three runs of a previous build whose worker is still running', () => {
  it('continues in one run of the new worker, which terminates the previous runs; the previous dispatcher claims nothing', async () => {
    const { cluster, pawl } = stage
    const { root, execution, slow } = await abandoned('three')
    const jobID = root.status?.jobID ?? ''
    // A wake for the previous worker to claim.
    await cluster.patch('installations', 'three', {
      metadata: { annotations: { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' } },
    })
    const due = async () =>
      (await sql`select from wake where cluster = 'local' and name = 'three' and due <= now()`.execute(pawl.db)).rows
    await expect.poll(due).not.toEqual([])
    // The bridge of this build cannot write to a journal before the migrations.
    await pawl.kill('bridge')
    const later = await undoMigrations(pawl.db, '0006_fence_former_runs')
    const ids = [
      await formerRun('installation', root, jobID),
      await formerRun('execution', execution, jobID),
      await formerRun('deploy', execution, jobID),
    ]
    // Before the migration the previous dispatcher can claim the wake.
    await expect.poll(formerClaim).toBeGreaterThan(0)

    expect(await migrateUp(pawl.databaseUrl)).toEqual(later)
    await pawl.startBridge()
    const refused: unknown[] = []
    let claimed = 0
    const over = new AbortController()
    const claims = (async () => {
      while (!over.signal.aborted) {
        await formerClaim().then(
          (count) => (claimed += count),
          (error: unknown) => refused.push(error),
        )
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })()
    await pawl.startWorker()
    for (const id of ids.slice(1)) await expect.poll(() => endOf(id), { timeout: 60_000 }).toBe('TERMINATED')
    await cluster.finishItem(slow, 'Succeeded')
    const finished = await cluster.waitUntilFinished('three')
    over.abort()
    await claims

    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect(await cluster.phases('three')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(claimed).toBe(0)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.map(String).filter((text) => !text.includes('wake_of_present_runs'))).toEqual([])
    await pawl.waitUntilSettled(finished)
    const rows = await pawl.db.selectFrom('job').select(['workflow_id', 'outcome']).orderBy('controller').execute()
    expect(Object.fromEntries(rows.map(({ workflow_id, outcome }) => [workflow_id, outcome]))).toEqual({
      [ids[0] ?? '']: 'Succeeded',
      [ids[1] ?? '']: 'lost',
      [ids[2] ?? '']: 'lost',
    })
    const { taskQueue } = await pawl.client.workflow.getHandle(ids[0] ?? '').describe()
    expect(taskQueue).toBe(`${pawl.taskQueue}-2`)
    expect(former.getState()).toBe('RUNNING')
    // The journal lists no previous run that is still to be terminated.
    const noted = async () => (await sql`select * from former_run`.execute(pawl.db)).rows
    await expect.poll(noted).toEqual([])
  })
})

/** Replaces the running worker by a worker of this build with one more step in the plan of Installations. */
async function changeCode(): Promise<void> {
  const { pawl } = stage
  const folder = await mkdtemp(join(tmpdir(), 'pawl-changed-'))
  try {
    const workflowsPath = fileURLToPath(new URL('../support/code-changes/installation-more.ts', import.meta.url))
    const path = join(folder, 'workflows.js')
    await writeFile(path, (await bundleEntry(workflowsPath, new DefaultLogger('WARN'))).code)
    await pawl.kill('worker', 'SIGTERM')
    await pawl.startWorker('changed', undefined, ['--workflow-bundle', path])
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function uidsOf(name: string): Promise<readonly (string | undefined)[]> {
  return [...(await stage.cluster.items(name)).values()].map(({ metadata }) => metadata.uid)
}

describe('a waiting job whose worker is replaced by a build with another step in the plan', () => {
  it('continues within a minute as the same job on the same items, and has an Event', async () => {
    const { cluster, pawl } = stage
    const items: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }]
    await cluster.create(installation('changed', items), 'installations')
    const begun = await cluster.waitUntilItems('changed', ['slow'], (item) => item?.status?.phase === 'Progressing')
    const before = await uidsOf('changed')
    const { status } = (await cluster.get('installations', 'changed'))!
    await changeCode()
    const changedAt = Date.now()
    await cluster.finishItem(begun.get('slow')!, 'Succeeded')
    const finished = await cluster.waitUntilFinished('changed')
    expect(Date.now() - changedAt).toBeLessThan(60_000)

    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: status?.jobID })
    expect(await cluster.phases('changed')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(await uidsOf('changed')).toEqual(expect.arrayContaining([...before]))
    await pawl.waitUntilSettled(finished)
    const rows = pawl.db.selectFrom('job').select(['controller', 'outcome', 'restarts']).where('name', '=', 'changed')
    expect(await rows.execute()).toEqual([{ controller: 'installation', outcome: 'Succeeded', restarts: 1 }])
    const events = `/api/v1/namespaces/${cluster.namespace}/events`
    const query = { fieldSelector: 'involvedObject.name=changed,reason=RunStartedAnew' }
    const told = async () => {
      const { items } = await cluster.kube.request<{ items: { message: string }[] }>('GET', events, { query })
      return items.map(({ message }) => message)
    }
    // The Event may come later than the row.
    await expect.poll(told).toEqual([expect.stringContaining('was made by other code')])
  })
})
