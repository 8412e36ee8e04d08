// Crashes at the start and at the end of a root's job that the reference course does not contain:
//
//   - between the two first writes of a job on a changed spec. The status has the job, the metadata still has the request. The next worker continues
//     the job and makes the second write. Source: docs/architecture.md "A root's new job".
//   - around the write that triggers a dependent, before the end of the job. The next worker continues the job and triggers the dependent again.
//     Source: docs/adr/0043-roots-in-the-order-of-their-data.md.

import { expect } from 'vitest'
import { FINALIZER, installation } from '../../cluster/cluster.ts'
import { root } from '../../landscaper/roots.ts'
import { type Crash, type CrashCase, titleOf, withCrash } from '../crash.ts'
import { waitUntilJournalIdle, type Lane, RESTART_MS } from '../lane.ts'

const BETWEEN: readonly Crash[] = [
  { part: 'worker', when: 'after', at: { label: 'PATCH installations/status', nth: 1 } },
  { part: 'worker', when: 'before', at: { label: 'PATCH installations', nth: 1 } },
]

export const FIRST_WRITES_CASES = BETWEEN.map((crash): CrashCase => ({
  title: titleOf(crash),
  async run(lane) {
    const name = `first-writes-${crash.when}`
    // An interrupt annotation at this moment ends the job: test/env/installation-start.test.ts.
    const annotations = { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' }
    const finished = await withCrash(lane, crash, async () => {
      const object = installation(name, [{ name: 'only' }], { triggered: false, annotations })
      await lane.cluster.create(object, 'installations')
      return await lane.cluster.waitUntilFinished(name, undefined, 'installations', RESTART_MS)
    })
    expect(finished.status).toMatchObject({ phase: 'Succeeded', observedGeneration: finished.metadata.generation })
    expect(finished.status?.lastError).toBeUndefined()
    expect(finished.metadata.finalizers).toEqual([FINALIZER])
    expect(finished.spec).toMatchObject({ context: 'default' })
    await waitUntilJournalIdle(lane)
    const jobID = finished.status?.jobID
    expect(await lane.pawl.jobs(finished)).toEqual([{ jobID, cause: 'changed spec', outcome: 'Succeeded' }])
    expect(countOf(lane, 'PATCH installations'), 'writes of the metadata').toBe(1)
    expect(countOf(lane, 'PATCH installations/status'), 'the start and the end of the job').toBe(2)
  },
}))

function countOf({ proxy }: Lane, label: string): number {
  return proxy.writes.filter((write) => write.status < 300 && write.label === label).length
}

// The first write of this kind removes the request from the root itself.
const TRIGGER = { label: 'PATCH installations', nth: 2 }

export const DEPENDENTS_CASES = (['before', 'after'] as const).map((when): CrashCase => ({
  title: `${when} the write that triggers the dependent`,
  async run(lane) {
    const { cluster } = lane
    const [db, app] = [`${when}-db`, `${when}-app`]
    await cluster.create(root(db, { gives: db, triggered: false }), 'installations')
    await cluster.create(root(app, { takes: [db], gives: app, triggered: false }), 'installations')
    // The job that sets the finalizer of each must not be among the counted writes.
    await waitUntilJournalIdle(lane)
    const finished = await withCrash(lane, { part: 'worker', when, at: TRIGGER }, async () => {
      await cluster.trigger(db)
      return await cluster.waitUntilFinished(app, undefined, 'installations', RESTART_MS)
    })
    expect(finished.status).toMatchObject({ phase: 'Succeeded' })
    expect((await cluster.get('dataobjects', app))?.['data']).toBe(`${app} ${db}`)
    await waitUntilJournalIdle(lane)
    const exporter = await cluster.waitUntilFinished(db)
    expect(exporter.status).toMatchObject({ phase: 'Succeeded' })
    expect((await lane.pawl.jobs(exporter)).map(({ outcome }) => outcome)).toEqual(['Succeeded'])
  },
}))
