// A rolling upgrade of two workers under load, with more than fifty open jobs: each job ends with its outcome and its job ID, without duplicate writes. The other
// release has more steps in its plans, so no open run can be replayed by it. Source: docs/guides/upgrade.md "Changing code". `npm run test:long` also rolls back;
// PAWL_FORMER=CHECKOUT upgrades from bridge and workers of a previous release, which run on the present journal next to the present workers.

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
import { isLong } from '../support/matrix/form.ts'
import { bindPods, unschedulableDeployment } from '../support/cluster/unschedulable-pods.ts'
import {
  doubled,
  edit,
  effective,
  effectsOf,
  end,
  held,
  keepCreating,
  letGo,
  PATIENT_MS,
  QUICK,
  STEPS,
  withManifest,
} from '../support/code-changes/rolling-upgrade.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
const stepping = names('steps', 26)
const tracked = names('tracks', 12)
const leaving = names('leaves', 12)
const open = [...stepping, ...tracked, ...leaving]
const edited = names('edited', 4)
/** A process may take many seconds to start on a busy machine. */
const LIMIT_MS = 600_000
/** Longer than any interval of an idle process: the resync runs every 1.5 s. */
const QUIET_MS = 4000

const folder = await mkdtemp(join(tmpdir(), 'pawl-rolling-'))
const next = join(folder, 'workflows.js')
beforeAll(async () => {
  const workflowsPath = fileURLToPath(new URL('../support/code-changes/landscaper-rolled.ts', import.meta.url))
  await writeFile(next, (await bundleEntry(workflowsPath, new DefaultLogger('WARN'))).code)
})
afterAll(() => rm(folder, { recursive: true }))

interface Release {
  readonly checkout?: string
  readonly flags: readonly string[]
}

const PRESENT: Release = { flags: ['--workflow-bundle', servers.workflowBundle] }
const NEXT: Release = { flags: ['--workflow-bundle', next] }
const DIRECTIONS: [title: string, name: string, from: Release, to: Release][] = [
  ['to the next release', 'forth', PRESENT, NEXT],
]
if (isLong) DIRECTIONS.push(['back to the former release', 'back', NEXT, PRESENT])
const former = process.env['PAWL_FORMER']
if (former !== undefined)
  DIRECTIONS.push(['from the checkout of $PAWL_FORMER', 'former', { checkout: former, flags: [] }, PRESENT])

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
    await undisturbed()
    await begin()
  }, LIMIT_MS)
  afterAll(() => closeLane(lane))

  /** The writes of jobs of such items are compared with these. */
  async function undisturbed(): Promise<void> {
    const { cluster } = lane
    await cluster.create(installation('calm', QUICK), 'installations')
    await cluster.create(installation('calm-steps', STEPS), 'installations')
    for (const step of ['one', 'two']) await end(cluster, 'calm-steps', step)
    for (const one of ['calm', 'calm-steps']) await cluster.waitUntilFinished(one)
  }

  async function begin(): Promise<void> {
    const { cluster } = lane
    const { namespace } = cluster
    const create = async (object: ReturnType<typeof installation>) => await cluster.create(object, 'installations')
    await Promise.all([
      ...[...leaving, ...tracked].map((one) =>
        create(
          withManifest(one, leaving.includes(one) ? held(one, namespace) : unschedulableDeployment(one, namespace)),
        ),
      ),
      ...edited.map((one) => create(installation(one, QUICK))),
    ])
    await Promise.all(leaving.map((one) => cluster.waitUntilFinished(one, undefined, 'installations', PATIENT_MS)))
    await Promise.all(leaving.map((one) => cluster.delete('installations', one)))
    await Promise.all(stepping.map((one) => create(installation(one, STEPS))))
    const phase = (wanted: string) => (one?: LsObject) => one?.status?.phase === wanted
    const item = (one: string) => (leaving.includes(one) || tracked.includes(one) ? 'only' : 'one')
    for (const one of open) {
      const waits = phase(leaving.includes(one) ? 'Deleting' : 'Progressing')
      await cluster.waitUntilItems(one, [item(one)], waits, PATIENT_MS)
      await cluster.waitUntil('installations', one, waits, PATIENT_MS)
    }
    for (const one of edited) await cluster.waitUntilFinished(one)
    const found = await cluster.list('installations')
    jobIDs = new Map(found.map(({ metadata, status }) => [metadata.name, status?.jobID]))
  }

  const some = (all: readonly string[], part: number) => all.filter((_, index) => index % 4 === part)
  const letEnd = async (part: number) => {
    await Promise.all([
      ...some(stepping, part).map((one) => end(lane.cluster, one, 'one')),
      bindPods(lane.cluster, some(tracked, part)),
      ...some(leaving, part).map((one) => letGo(lane.cluster, one)),
      ...some(edited, part).map((one) => edit(lane.cluster, one)),
    ])
  }

  it('T9: continue the jobs of the previous workers and finish them', { timeout: LIMIT_MS }, async () => {
    const { cluster, pawl } = lane
    await expect.poll(openJobs, { timeout: 30_000 }).toHaveLength(open.length)
    const stopCreating = keepCreating(cluster, 'load')
    const own = to.flags
    if (from.checkout !== to.checkout) {
      pawl.useCheckout(to.checkout)
      await pawl.kill('bridge', 'SIGTERM')
      await pawl.startBridge()
    }
    await Promise.all([pawl.kill('worker', 'SIGTERM'), letEnd(0)])
    await Promise.all([pawl.startWorker('next', undefined, own), letEnd(1)])
    await Promise.all([pawl.kill('worker-2', 'SIGTERM'), letEnd(2)])
    await Promise.all([pawl.startWorker('next-2', undefined, own), letEnd(3)])
    created = await stopCreating()
    await Promise.all(stepping.map((one) => end(cluster, one, 'two')))

    const ends = async (one: string, after?: string) =>
      (await cluster.waitUntilFinished(one, after, 'installations', PATIENT_MS)).status
    for (const one of [...stepping, ...tracked]) {
      const status = await ends(one)
      const { phase, jobIDFinished, lastError } = status ?? {}
      expect({ one, phase, jobIDFinished, lastError }).toEqual({
        one,
        phase: 'Succeeded',
        jobIDFinished: jobIDs.get(one),
        lastError: undefined,
      })
    }
    for (const one of created) expect(await ends(one), one).toMatchObject({ phase: 'Succeeded' })
    for (const one of edited) expect(await ends(one, jobIDs.get(one)), one).toMatchObject({ phase: 'Succeeded' })
    for (const one of leaving) await cluster.waitUntilGone(one, 'installations', PATIENT_MS)
    expect((await cluster.phases('steps-0'))['three']).toBe('Succeeded')
    expect(created.length).toBeGreaterThan(5)
  })

  it('leave no open run and no wake', { timeout: LIMIT_MS }, async () => {
    await waitUntilJournalIdle(lane)
    const stuck = async () => (await sql`select * from stuck_run`.execute(lane.pawl.db)).rows
    await vi.waitFor(async () => expect(await stuck()).toEqual([]), { timeout: 30_000, interval: 200 })
    const before = lane.proxy.writes.length
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    // The Event about the end of a long job is recorded some seconds later.
    const written = lane.proxy.writes.slice(before).filter(({ path }) => !path.endsWith('/events'))
    expect(written.map(({ label, path }) => `${label} ${path}`)).toEqual([])
  })

  it('close the row of each job once, with its outcome', async () => {
    const { db } = lane.pawl
    const rows = await db.selectFrom('job').select(['name', 'job_id', 'outcome', 'restarts', 'cause']).execute()
    const jobs = rows.filter(({ cause }) => cause !== 'first seen')
    expect(doubled(jobs.map(({ name, job_id }) => `${name} ${job_id}`))).toEqual({})
    expect(new Set(jobs.map(({ outcome }) => outcome))).toEqual(new Set(['Succeeded', 'Deleted']))
    const outcome = (one: string) =>
      jobs.find(({ name, job_id }) => name === one && job_id === jobIDs.get(one))?.outcome
    expect(open.map((one) => [one, outcome(one)])).toEqual(
      open.map((one) => [one, leaving.includes(one) ? 'Deleted' : 'Succeeded']),
    )
    // Otherwise no open run was affected by the upgrade.
    const anew = jobs.filter(({ name, restarts }) => open.includes(name) && restarts > 0)
    if (from.checkout === to.checkout) expect(anew.length).toBeGreaterThan(open.length / 2)
  })

  it('T9: have made no duplicate write', () => {
    const writes = effective(lane.proxy.writes)
    const made = writes.filter(({ label }) => label.startsWith('POST '))
    expect(made.length).toBeGreaterThan(3 * open.length)
    expect(doubled(made.map(({ label, answer }) => `${label} ${answer.metadata.name}`))).toEqual({})
    const ended = writes.filter(({ body }) => statusOf(body)['jobIDFinished'] !== undefined)
    expect(ended.length).toBeGreaterThan(3 * open.length)
    expect(
      doubled(ended.map(({ label, uid, body }) => `${label} ${uid} ${String(statusOf(body)['jobIDFinished'])}`)),
    ).toEqual({})
    const removed = writes.filter(({ label }) => label.startsWith('DELETE '))
    expect(removed.length).toBeGreaterThan(2 * leaving.length)
    expect(doubled(removed.map(({ path }) => path))).toEqual({})
  })

  it('have made the same writes for each job as an undisturbed worker', () => {
    const writes = effective(lane.proxy.writes)
    for (const one of created) expect({ [one]: effectsOf(writes, one) }).toEqual({ [one]: effectsOf(writes, 'calm') })
    for (const one of stepping)
      expect({ [one]: effectsOf(writes, one) }).toEqual({ [one]: effectsOf(writes, 'calm-steps') })
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
