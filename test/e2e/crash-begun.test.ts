// A worker is killed between the two first writes of an Installation's job: the status says that the job has begun, the metadata are still those of
// the request. The next worker goes on with that job and makes the second write. Source: docs/architecture.md "A root's new job".

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { FINALIZER, installation } from '../support/cluster.ts'
import { atRest, closeLane, type Crash, crashed, type Lane, openLane, RESTART_MS } from '../support/crash.ts'
import { sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')
// On a busy machine a process takes many seconds to start.
const LIMIT_MS = 240_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('begun', servers)
}, LIMIT_MS)
afterAll(() => closeLane(lane))

const BETWEEN: readonly (Crash & { readonly name: string; readonly title: string })[] = [
  {
    ...{ title: 'after the first', name: 'after-first' },
    ...{ part: 'worker', when: 'after', at: { label: 'PATCH installations/status', nth: 1 } },
  },
  {
    ...{ title: 'before the second', name: 'before-second' },
    ...{ part: 'worker', when: 'before', at: { label: 'PATCH installations', nth: 1 } },
  },
]

describe('a job whose worker is killed between its first two writes', () => {
  it.each(sampleOf('a crash between the first two writes', BETWEEN, 1))(
    'is the only one of its request ($title)',
    async ({ name, ...crash }) => {
      // An interrupt that is found then ends the job: test/env/installation-start.test.ts.
      const annotations = { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' }
      const wanted = installation(name, [{ name: 'only' }], { triggered: false, annotations })
      const finished = await crashed(lane, crash, async () => {
        await lane.cluster.create(wanted, 'installations')
        return await lane.cluster.finished(name, undefined, 'installations', RESTART_MS)
      })
      expect(finished.status).toMatchObject({
        phase: 'Succeeded',
        observedGeneration: finished.metadata.generation,
      })
      expect(finished.status?.lastError).toBeUndefined()
      expect(finished.metadata.finalizers).toEqual([FINALIZER])
      expect(finished.spec).toMatchObject({ context: 'default' })
      await atRest(lane)
      expect(await lane.pawl.jobs(finished)).toEqual([
        { jobID: finished.status?.jobID, cause: 'changed spec', outcome: 'Succeeded' },
      ])
      // One claim, and one write that puts the metadata right.
      const labels = lane.proxy.writes.filter(({ status }) => status < 300).map(({ label }) => label)
      expect(labels.filter((label) => label === 'PATCH installations')).toHaveLength(1)
      expect(labels.filter((label) => label === 'PATCH installations/status')).toHaveLength(2)
    },
    LIMIT_MS,
  )
})
