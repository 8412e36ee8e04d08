// Tests a job with very many waiting items, some of them in background activities, whose run continues as new
// repeatedly because its history grows. No background activity is lost, no item is deployed twice, the job ends with
// its items, and `pawl replay` shows one job. Temporal suggests continue-as-new early here; `npm run test:long` has as
// many items as the design names.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { ReplayedJob } from '../../worker/cli/replay/replayed-job.ts'
import { choosePorts } from '../../worker/dev/ports.ts'
import type { Part } from '../../worker/dev/part.ts'
import { startTemporal } from '../../worker/dev/temporal.ts'
import { blueprintOf, installation, item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { createTarget, manifestItem } from '../support/landscaper/manifests.ts'
import { byForm } from '../support/matrix/form.ts'
import { bindPods, unschedulableDeployment } from '../support/cluster/unschedulable-pods.ts'
import { runCommand } from '../support/pawl/run-command.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')
const QUICK = byForm(100, 1000)
/** Items in background activities. */
const LONG = 10
const CONTINUED = 3
/** `pawl replay` reads at most this many runs of a job, the newest ones. */
const MOST_RUNS = 20
const LIMIT_MS = 600_000
const PATIENT_MS = 120_000
const quick = Array.from({ length: QUICK }, (_, index) => `quick-${index}`)
const long = Array.from({ length: LONG }, (_, index) => `long-${index}`)

let dir: string
let temporal: Part
let lane: Lane
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-many-'))
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  // The history length at which Temporal suggests continue-as-new.
  const flags = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=40']
  temporal = await startTemporal({ binary: servers.temporalBinary, dir, logDir: dir, ports, ephemeral: true, flags })
  const own = { ...servers, temporalAddress: temporal.spec.address ?? '' }
  lane = await openLane('many', own, { workerFlags: PRODUCTION_TIMEOUTS })
  await createTarget(lane.cluster)
}, LIMIT_MS)
afterAll(async () => {
  await closeLane(lane)
  await temporal.stop()
  await rm(dir, { recursive: true })
})

/** Describes the open work in the message of a failure. */
async function stateOf(root: LsObject): Promise<string> {
  const phases = Object.values(await lane.cluster.phases('many'))
  const ended = phases.filter((phase) => phase === 'Succeeded').length
  const log = lane.pawl.log('worker').slice(-5000)
  const under = JSON.stringify([await course(root), await firstDeployment()])
  return `${ended} of ${phases.length} items have ended; ${under}; ${await lane.pawl.openState()}; the worker's log ends with:\n${log}`
}

/** The current run of the job, and its pending background activities. */
async function course(root: LsObject) {
  const { db, client } = lane.pawl
  const { workflow_id: id } = await db
    .selectFrom('job')
    .select('workflow_id')
    .where('uid', '=', root.metadata.uid ?? '')
    .executeTakeFirstOrThrow()
  const { raw, runId } = await client.workflow.getHandle(id).describe()
  const tracks = (raw.pendingActivities ?? []).filter(({ activityType }) => activityType?.name === 'awaitItem')
  return { runId, tracks: tracks.length, first: tracks[0] }
}

async function firstDeployment(): Promise<unknown> {
  const path = `/apis/apps/v1/namespaces/${lane.cluster.namespace}/deployments/${long[0] ?? ''}`
  return await lane.cluster.kube.request('GET', path)
}

/** Wakes the run until it has continued as new. @returns the ID of the new run. */
async function continued(root: LsObject, from: string): Promise<string> {
  let touches = 0
  const next = async () => {
    const annotations = { 'landscaper.gardener.cloud/reconcile-if-changed': touches++ % 2 === 0 ? 'true' : null }
    await lane.cluster.patch('installations', root.metadata.name, { metadata: { annotations } })
    return (await course(root)).runId
  }
  await expect.poll(next, { timeout: PATIENT_MS, interval: 150 }).not.toBe(from)
  return (await course(root)).runId
}

/** An Installation with waiting items: mock items wait in phase Progressing, manifest items for a Deployment. */
function manyItems() {
  const deployItems = [
    ...quick.map((name) => item(waitingItem(name))),
    ...long.map((name) => ({
      ...manifestItem({ name, manifests: [unschedulableDeployment(name, lane.cluster.namespace)] }),
      target: { import: 'here' },
    })),
  ]
  const template = JSON.stringify({ deployItems })
  const imports = [{ name: 'here', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' }]
  const blueprint = {
    ...blueprintOf([]),
    imports,
    deployExecutions: [{ name: 'default', type: 'GoTemplate', template }],
  }
  const inline = { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } }
  const spec = { blueprint: { inline }, imports: { targets: [{ name: 'here', target: 'here' }] } }
  return { ...installation('many', []), spec }
}

/** The output of `pawl replay`. Polls, because Temporal and the journal record the end of a job with a delay. */
async function replayOf(object: string): Promise<ReplayedJob> {
  const places = ['--database-url', lane.pawl.databaseUrl, '--temporal-address', temporal.spec.address ?? '']
  const words = ['replay', object, '-o', 'json', '-n', lane.cluster.namespace, ...places]
  const told = async () => JSON.parse((await runCommand(...words)).stdout) as ReplayedJob
  await expect.poll(async () => (await told()).state, { timeout: PATIENT_MS, interval: 500 }).toBe('Succeeded')
  return await told()
}

describe('a job with very many items that wait', () => {
  it(
    'continues as new without losing a track, and ends when its items have',
    async () => {
      const { cluster, proxy } = lane
      proxy.arm()
      await cluster.create(manyItems(), 'installations')
      const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing'
      await cluster.waitUntilItems('many', [...quick, ...long], isWaiting, PATIENT_MS)
      const root = await cluster.waitUntil('installations', 'many', isWaiting, PATIENT_MS)
      const tracks = async () => (await course(root)).tracks
      await expect.poll(tracks, { timeout: PATIENT_MS }).toBe(LONG)

      let { runId } = await course(root)
      for (let count = 0; count < CONTINUED; count++) {
        runId = await continued(root, runId)
        await expect.poll(tracks, { timeout: PATIENT_MS }).toBe(LONG)
      }

      await bindPods(cluster, long)
      const items = await cluster.items('many')
      for (const name of quick) await cluster.finishItem(items.get(name)!, 'Succeeded')
      const finished = await cluster
        .waitUntilFinished('many', undefined, 'installations', PATIENT_MS)
        .catch(async (error: unknown) => {
          throw new Error(await stateOf(root), { cause: error })
        })
      expect(finished.status).toMatchObject({ phase: 'Succeeded', jobID: root.status?.jobID })
      const ends = [...(await cluster.items('many')).values()].map(({ status }) => status)
      expect(ends).toHaveLength(QUICK + LONG)
      expect(ends.filter((one) => one?.phase !== 'Succeeded' || one.jobIDFinished !== root.status?.jobID)).toEqual([])
      // Each item was created, picked up and sent once.
      const done = proxy.writes.filter(({ status }) => status < 300)
      const of = (label: string) => done.filter((write) => write.label === label)
      expect(of('POST deployitems')).toHaveLength(QUICK + LONG)
      const ofQuick = of('PATCH deployitems/status').filter(({ answer }) => answer.metadata.name.includes('-quick-'))
      expect(ofQuick).toHaveLength(QUICK)
      expect(done.filter(({ label }) => label.includes(' deployments'))).toHaveLength(LONG)
      expect(await lane.pawl.jobs(finished)).toMatchObject([{ outcome: 'Succeeded' }])

      const replayed = await replayOf('inst/many')
      expect(replayed).toMatchObject({
        state: 'Succeeded',
        jobID: root.status?.jobID,
        runID: (await course(root)).runId,
      })
      const { passes, notes } = replayed
      expect(passes.map(({ pass }) => pass)).toEqual(passes.map((_, index) => index + 1))
      const runs = passes.filter(({ passOfRun }) => passOfRun === 1).length
      expect(runs).toBeGreaterThan(CONTINUED)
      expect(passes.filter(({ ended }) => ended === 'continues as a new run')).toHaveLength(runs - 1)
      // On a slow machine the job may have more runs than `pawl replay` shows.
      if (runs < MOST_RUNS) expect(passes[0]?.wokenBy[0]).toMatch(/^the start of the job: /)
      expect(notes.map((note) => note.split(':')[0])).toEqual(
        runs < MOST_RUNS ? [] : ['the first passes of the job are missing'],
      )
    },
    LIMIT_MS,
  )
})
