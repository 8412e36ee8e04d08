// A worker is killed around the write that asks a dependent for a job, which comes before the end of the job that asks. The next worker goes on with that
// job, and asks again. Source: docs/adr/0043-roots-in-the-order-of-their-data.md.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { atRest, closeLane, type Crash, crashed, type Lane, openLane, RESTART_MS } from '../support/crash.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { root } from '../support/roots.ts'

const servers = inject('servers')
// On a busy machine a process takes many seconds to start.
const LIMIT_MS = 240_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('dependents', servers)
}, LIMIT_MS)
afterAll(() => closeLane(lane))

// The first of these writes takes the request off the root itself.
const ASKING = { label: 'PATCH installations', nth: 2 }
const AROUND: readonly (Crash & { readonly name: string; readonly title: string })[] = [
  { title: 'before it has asked', name: 'before', part: 'worker', when: 'before', at: ASKING },
  { title: 'after it has asked', name: 'after', part: 'worker', when: 'after', at: ASKING },
]

describe('the end of a root whose worker is killed', () => {
  it.each(sampleOf('a crash around the request to dependents', AROUND, 1))(
    'starts those that import from it ($title)',
    async ({ name, ...crash }) => {
      const { cluster } = lane
      const [db, app] = [`${name}-db`, `${name}-app`]
      await cluster.create(root(db, { gives: db, triggered: false }), 'installations')
      await cluster.create(root(app, { takes: [db], gives: app, triggered: false }), 'installations')
      const finished = await crashed(lane, crash, async () => {
        await cluster.trigger(db)
        return await cluster.finished(app, undefined, 'installations', RESTART_MS)
      })
      expect(finished.status).toMatchObject({ phase: 'Succeeded' })
      expect((await cluster.get('dataobjects', app))?.['data']).toBe(`${app} ${db}`)
      await atRest(lane)
      expect((await cluster.get('installations', db))?.status).toMatchObject({ phase: 'Succeeded' })
      const jobs = await lane.pawl.jobs(await cluster.finished(db))
      expect(jobs.map(({ outcome }) => outcome)).toEqual(['Succeeded'])
    },
    LIMIT_MS,
  )
})
