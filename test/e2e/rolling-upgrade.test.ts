// A rolling upgrade of two workers under load, with many open jobs: each job ends with its outcome and its job ID, without duplicate writes. The plans of the next
// release have more steps, so its workers cannot replay an open run of the current release. Source: docs/guides/operate.md "Changing code". `npm run test:long` has
// 50 open jobs, and also upgrades in the other direction (a rollback). With PAWL_FORMER=CHECKOUT, the test also upgrades from the bridge and the workers of that checkout, a previous
// release; until the upgrade ends, its workers and the current ones use the same journal.
//
// The jobs that are open during the upgrade wait for different events:
//   steps-*   for the test, which finishes two of their deploy items
//   tracks-*  for a background activity, which waits for an unschedulable Deployment
//   leaves-*  in their deletion, for a finalizer of a ConfigMap

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DefaultLogger } from '@temporalio/worker'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import type { RecordedWrite } from '../support/faults/http-proxy.ts'
import { bundleEntry } from '../../worker/reconciler/temporal/bundle.ts'
import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { createTarget } from '../support/landscaper/manifests.ts'
import { byForm, isLong } from '../support/matrix/form.ts'
import { bindPods, unschedulableDeployment } from '../support/cluster/unschedulable-pods.ts'
import {
  duplicatesIn,
  addItem,
  effectiveWrites,
  countWrites,
  finishItemOf,
  configMapWithFinalizer,
  keepCreating,
  removeFinalizers,
  PATIENT_MS,
  QUICK,
  STEPS,
  withManifest,
} from '../support/code-changes/rolling-upgrade.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
const steps = names('steps', byForm(12, 26))
const tracks = names('tracks', byForm(8, 12))
const leaves = names('leaves', byForm(8, 12))
const open = [...steps, ...tracks, ...leaves]
/** Installations that have finished before the upgrade, and get one more item during it. */
const edited = names('edited', 4)
/** Only a failure reaches it: on a busy machine, each process takes many seconds to start. */
const LIMIT_MS = 600_000
/** A process without work writes nothing during this time, which is longer than the interval of its resync (1.5 s). */
const QUIET_MS = 4000

const folder = await mkdtemp(join(tmpdir(), 'pawl-rolling-'))
const nextBundle = join(folder, 'workflows.js')
beforeAll(async () => {
  const workflowsPath = fileURLToPath(new URL('../support/code-changes/landscaper-rolled.ts', import.meta.url))
  await writeFile(nextBundle, (await bundleEntry(workflowsPath, new DefaultLogger('WARN'))).code)
})
afterAll(() => rm(folder, { recursive: true }))

interface Release {
  /** The checkout with the programs; default: this one. */
  readonly checkout?: string
  readonly flags: readonly string[]
}

const CURRENT: Release = { flags: ['--workflow-bundle', servers.workflowBundle] }
const NEXT: Release = { flags: ['--workflow-bundle', nextBundle] }
const DIRECTIONS: [title: string, name: string, from: Release, to: Release][] = [
  ['to the next release', 'forth', CURRENT, NEXT],
]
if (isLong) DIRECTIONS.push(['back to the current release', 'back', NEXT, CURRENT])
const formerCheckout = process.env['PAWL_FORMER']
if (formerCheckout !== undefined)
  DIRECTIONS.push(['from the checkout of $PAWL_FORMER', 'former', { checkout: formerCheckout, flags: [] }, CURRENT])

describe.each(DIRECTIONS)('workers that are rolled %s under load', (_, name, from, to) => {
  let lane: Lane
  /** Job IDs by name, of the jobs that were open when the upgrade began. */
  let jobIDs: ReadonlyMap<string, string | undefined>
  let created: readonly string[]

  beforeAll(async () => {
    const { checkout, flags } = from
    lane = await openLane(`rolling-${name}`, servers, { workerFlags: [...PRODUCTION_TIMEOUTS, ...flags], checkout })
    await createTarget(lane.cluster)
    await lane.pawl.startWorker('worker-2')
    lane.proxy.arm()
    await runUndisturbed()
    await openJobsOfUpgrade()
  }, LIMIT_MS)
  afterAll(() => closeLane(lane))

  /** Runs jobs with the items `QUICK` and `STEPS` before the upgrade. A test compares the writes of later jobs with the writes of these jobs. */
  async function runUndisturbed(): Promise<void> {
    const { cluster } = lane
    await cluster.create(installation('calm', QUICK), 'installations')
    await cluster.create(installation('calm-steps', STEPS), 'installations')
    for (const step of ['one', 'two']) await finishItemOf(cluster, 'calm-steps', step)
    for (const one of ['calm', 'calm-steps']) await cluster.waitUntilFinished(one)
  }

  /** Opens the jobs, waits until each is in its waiting state, and stores the job IDs. */
  async function openJobsOfUpgrade(): Promise<void> {
    const { cluster } = lane
    const { namespace } = cluster
    const create = async (object: ReturnType<typeof installation>) => await cluster.create(object, 'installations')
    await Promise.all([
      ...[...leaves, ...tracks].map((one) =>
        create(
          withManifest(
            one,
            leaves.includes(one) ? configMapWithFinalizer(one, namespace) : unschedulableDeployment(one, namespace),
          ),
        ),
      ),
      ...edited.map((one) => create(installation(one, QUICK))),
    ])
    await Promise.all(leaves.map((one) => cluster.waitUntilFinished(one, undefined, 'installations', PATIENT_MS)))
    await Promise.all(leaves.map((one) => cluster.delete('installations', one)))
    await Promise.all(steps.map((one) => create(installation(one, STEPS))))
    const hasPhase = (phase: string) => (one?: LsObject) => one?.status?.phase === phase
    const item = (one: string) => (leaves.includes(one) || tracks.includes(one) ? 'only' : 'one')
    for (const one of open) {
      const isWaiting = hasPhase(leaves.includes(one) ? 'Deleting' : 'Progressing')
      await cluster.waitUntilItems(one, [item(one)], isWaiting, PATIENT_MS)
      await cluster.waitUntil('installations', one, isWaiting, PATIENT_MS)
    }
    for (const one of edited) await cluster.waitUntilFinished(one)
    const installations = await cluster.list('installations')
    jobIDs = new Map(installations.map(({ metadata, status }) => [metadata.name, status?.jobID]))
  }

  const quarterOf = (all: readonly string[], part: number) => all.filter((_, index) => index % 4 === part)
  /** Lets a quarter of the open jobs continue, and edits a quarter of the finished Installations. */
  const continueQuarter = async (part: number) => {
    await Promise.all([
      ...quarterOf(steps, part).map((one) => finishItemOf(lane.cluster, one, 'one')),
      bindPods(lane.cluster, quarterOf(tracks, part)),
      ...quarterOf(leaves, part).map((one) => removeFinalizers(lane.cluster, one)),
      ...quarterOf(edited, part).map((one) => addItem(lane.cluster, one)),
    ])
  }

  it('T9: continue the jobs of the previous workers and finish them', { timeout: LIMIT_MS }, async () => {
    const { cluster, pawl } = lane
    await expect.poll(openJobs, { timeout: 30_000 }).toHaveLength(open.length)
    const stopCreating = keepCreating(cluster, 'load')
    if (from.checkout !== to.checkout) {
      pawl.useCheckout(to.checkout)
      await pawl.kill('bridge', 'SIGTERM')
      await pawl.startBridge()
    }
    await Promise.all([pawl.kill('worker', 'SIGTERM'), continueQuarter(0)])
    await Promise.all([pawl.startWorker('next', undefined, to.flags), continueQuarter(1)])
    await Promise.all([pawl.kill('worker-2', 'SIGTERM'), continueQuarter(2)])
    await Promise.all([pawl.startWorker('next-2', undefined, to.flags), continueQuarter(3)])
    created = await stopCreating()
    await Promise.all(steps.map((one) => finishItemOf(cluster, one, 'two')))

    const finalStatus = async (one: string, after?: string) =>
      (await cluster.waitUntilFinished(one, after, 'installations', PATIENT_MS)).status
    for (const one of [...steps, ...tracks]) {
      const status = await finalStatus(one)
      const { phase, jobIDFinished, lastError } = status ?? {}
      expect({ one, phase, jobIDFinished, lastError }).toEqual({
        one,
        phase: 'Succeeded',
        jobIDFinished: jobIDs.get(one),
        lastError: undefined,
      })
    }
    for (const one of created) expect(await finalStatus(one), one).toMatchObject({ phase: 'Succeeded' })
    for (const one of edited) expect(await finalStatus(one, jobIDs.get(one)), one).toMatchObject({ phase: 'Succeeded' })
    for (const one of leaves) await cluster.waitUntilGone(one, 'installations', PATIENT_MS)
    expect((await cluster.phases('steps-0'))['three']).toBe('Succeeded')
    expect(created.length).toBeGreaterThan(5)
  })

  it('leave no open run and no wake', { timeout: LIMIT_MS }, async () => {
    await waitUntilJournalIdle(lane)
    const stuckRuns = async () => (await sql`select * from stuck_run`.execute(lane.pawl.db)).rows
    await vi.waitFor(async () => expect(await stuckRuns()).toEqual([]), { timeout: 30_000, interval: 200 })
    const countBefore = lane.proxy.writes.length
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    // The Event about the end of a long job is recorded some seconds later.
    const lateWrites = lane.proxy.writes.slice(countBefore).filter(({ path }) => !path.endsWith('/events'))
    expect(lateWrites.map(({ label, path }) => `${label} ${path}`)).toEqual([])
  })

  it('close the row of each job once, with its outcome', async () => {
    const { db } = lane.pawl
    const rows = await db.selectFrom('job').select(['name', 'job_id', 'outcome', 'restarts', 'cause']).execute()
    const jobs = rows.filter(({ cause }) => cause !== 'first seen')
    expect(duplicatesIn(jobs.map(({ name, job_id }) => `${name} ${job_id}`))).toEqual({})
    expect(new Set(jobs.map(({ outcome }) => outcome))).toEqual(new Set(['Succeeded', 'Deleted']))
    const outcome = (one: string) =>
      jobs.find(({ name, job_id }) => name === one && job_id === jobIDs.get(one))?.outcome
    expect(open.map((one) => [one, outcome(one)])).toEqual(
      open.map((one) => [one, leaves.includes(one) ? 'Deleted' : 'Succeeded']),
    )
    // The upgrade restarts open runs that the next release cannot replay. If it restarted few, this test would not test the restart.
    const restarted = jobs.filter(({ name, restarts }) => open.includes(name) && restarts > 0)
    if (from.checkout === to.checkout) expect(restarted.length).toBeGreaterThan(open.length / 2)
  })

  it('T9: have made no duplicate write', () => {
    const writes = effectiveWrites(lane.proxy.writes)
    const creations = writes.filter(({ label }) => label.startsWith('POST '))
    expect(creations.length).toBeGreaterThan(3 * open.length)
    expect(duplicatesIn(creations.map(({ label, answer }) => `${label} ${answer.metadata.name}`))).toEqual({})
    const jobEnds = writes.filter(({ body }) => statusOf(body)['jobIDFinished'] !== undefined)
    expect(jobEnds.length).toBeGreaterThan(3 * open.length)
    expect(
      duplicatesIn(jobEnds.map(({ label, uid, body }) => `${label} ${uid} ${String(statusOf(body)['jobIDFinished'])}`)),
    ).toEqual({})
    const deletions = writes.filter(({ label }) => label.startsWith('DELETE '))
    expect(deletions.length).toBeGreaterThan(2 * leaves.length)
    expect(duplicatesIn(deletions.map(({ path }) => path))).toEqual({})
  })

  it('have made the same writes for each job as an undisturbed worker', () => {
    const writes = effectiveWrites(lane.proxy.writes)
    for (const one of created)
      expect({ [one]: countWrites(writes, one) }).toEqual({ [one]: countWrites(writes, 'calm') })
    for (const one of steps)
      expect({ [one]: countWrites(writes, one) }).toEqual({ [one]: countWrites(writes, 'calm-steps') })
  })

  async function openJobs(): Promise<readonly string[]> {
    const { db } = lane.pawl
    const rows = await db.selectFrom('job').select('name').where('outcome', 'is', null).execute()
    return rows.map(({ name }) => name)
  }
})

function statusOf(body: RecordedWrite['body']): Readonly<Record<string, unknown>> {
  return (body['status'] ?? {}) as Readonly<Record<string, unknown>>
}
