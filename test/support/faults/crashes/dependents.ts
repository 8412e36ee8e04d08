// Crashes around the write that triggers a dependent, before the end of the job of a root. The next worker continues the
// job and triggers the dependent again. Source: docs/adr/0043-roots-in-the-order-of-their-data.md.

import { expect } from 'vitest'
import { root } from '../../landscaper/roots.ts'
import { type CrashCase, withCrash } from '../crash.ts'
import { waitUntilJournalIdle, RESTART_MS } from '../lane.ts'

// The first write of this kind removes the request from the root itself.
const TRIGGER = { label: 'PATCH installations', nth: 2 }

export const DEPENDENTS_CASES = (['before', 'after'] as const).map((when): CrashCase => ({
  title: `at the end of a root leaves its dependents triggered: ${when} the write that triggers the dependent`,
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
