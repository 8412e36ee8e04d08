// Pawl replaces Landscaper: it starts with objects as Landscaper left them (support/takeover/landscaper.yaml): idle, during a job and during a
// deletion. Source: spec/landscaper.md 1.13-1.15, 2, appendix C; docs/coming-from-landscaper.md "Replacing a running Landscaper".

import { describe, expect, it } from 'vitest'
import { FINALIZER, type LsObject } from '../support/cluster/cluster.ts'
import { createPreviousObjects } from '../support/takeover/previous-objects.ts'
import { PRODUCTION_TIMEOUTS, useStage } from '../support/pawl/stage.ts'
import { subsOf } from '../support/landscaper/sub-installations.ts'

const LEFT = new URL('../support/takeover/landscaper.yaml', import.meta.url)
const EXPORT = 'settled-out'

interface Before {
  readonly settled: LsObject
  readonly execution: LsObject
  readonly items: ReadonlyMap<string, LsObject>
  readonly sub: LsObject | undefined
  readonly exported: LsObject
  readonly running: LsObject
}
let before: Before

const stage = useStage('takeover', async () => {
  await createPreviousObjects(stage.cluster, LEFT)
  before = {
    settled: await there('installations', 'settled'),
    execution: await there('executions', 'settled'),
    items: await stage.cluster.items('settled'),
    sub: (await subsOf(stage.cluster, 'settled')).get('inner'),
    exported: await there('dataobjects', EXPORT),
    running: await there('installations', 'running'),
  }
  return { workerFlags: PRODUCTION_TIMEOUTS }
})

async function there(plural: string, name: string): Promise<LsObject> {
  const found = await stage.cluster.get(plural, name)
  if (found === undefined) throw new Error(`${plural}/${name} is not there`)
  return found
}
const uidOf = (object: LsObject | undefined) => object?.metadata.uid
const uidsOf = (objects: ReadonlyMap<string, LsObject>) =>
  new Map([...objects].map(([name, one]) => [name, uidOf(one)]))

describe('an idle installation of Landscaper', () => {
  it('is unchanged, except for its field dependentsToTrigger: these dependents get their job', async () => {
    const follower = await stage.cluster.waitUntilFinished('follower')
    expect(follower.status).toMatchObject({ phase: 'Succeeded' })
    const settled = await stage.cluster.waitUntil(
      'installations',
      'settled',
      (one) => one?.status?.['dependentsToTrigger'] === undefined,
    )
    expect(await stage.pawl.jobs(settled)).toMatchObject([{ cause: 'dependents left to start', outcome: 'Guarded' }])
    expect(settled.status).toEqual({ ...before.settled.status, dependentsToTrigger: undefined })
    expect(settled.metadata.finalizers).toEqual([FINALIZER])
    for (const [name, item] of await stage.cluster.items('settled'))
      expect(item.metadata.resourceVersion).toBe(before.items.get(name)?.metadata.resourceVersion)
  })

  it('runs its next job with the same objects', async () => {
    await stage.cluster.trigger('settled')
    const settled = await stage.cluster.waitUntilFinished('settled', before.settled.status?.jobID)
    expect(settled.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: settled.status?.jobID })
    expect(uidOf(await stage.cluster.get('executions', 'settled'))).toBe(uidOf(before.execution))
    const items = await stage.cluster.items('settled')
    expect(uidsOf(items)).toEqual(uidsOf(before.items))
    for (const item of items.values()) expect(item.status).toMatchObject({ jobIDFinished: settled.status?.jobID })
    const sub = (await subsOf(stage.cluster, 'settled')).get('inner')
    expect(uidOf(sub)).toBe(uidOf(before.sub))
    expect(sub?.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: settled.status?.jobID })
    const exported = await there('dataobjects', EXPORT)
    expect([uidOf(exported), exported['data']]).toEqual([uidOf(before.exported), 3])
    expect(exported.metadata.ownerReferences).toMatchObject([{ uid: uidOf(settled) }])
  })

  it('is deleted with all its objects', async () => {
    await stage.cluster.delete('installations', 'follower')
    await stage.cluster.delete('installations', 'settled')
    await stage.cluster.waitUntil('installations', 'settled', (one) => one === undefined)
    expect([...(await stage.cluster.items('settled')).keys()]).toEqual([])
    expect(await stage.cluster.get('executions', 'settled')).toBeUndefined()
    expect([...(await subsOf(stage.cluster, 'settled')).keys()]).toEqual([])
  })
})

describe('an installation that Landscaper left unfinished', () => {
  it('during a job continues the same job, in which an external deployer finishes its item', async () => {
    const { jobID = '' } = before.running.status ?? {}
    const items = await stage.cluster.waitUntilItems('running', ['foreign'], (one) => one?.status?.jobID === jobID)
    const foreign = items.get('foreign')
    if (foreign === undefined) throw new Error('running has no item foreign')
    await stage.cluster.finishItem(foreign, 'Succeeded')
    const running = await stage.cluster.waitUntil(
      'installations',
      'running',
      (one) => one?.status?.jobIDFinished === jobID,
    )
    expect(running.status).toMatchObject({ phase: 'Succeeded', jobID })
    expect(await stage.pawl.jobs(running)).toMatchObject([{ jobID, outcome: 'Succeeded' }])
    expect((await there('dataobjects', 'running-out'))['data']).toBe(3)
    for (const item of (await stage.cluster.items('running')).values())
      expect(item.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
  })

  it('during its deletion is removed', async () => {
    await stage.cluster.waitUntil('installations', 'going', (one) => one === undefined)
    expect([...(await stage.cluster.items('going')).keys()]).toEqual([])
    expect(await stage.cluster.get('executions', 'going')).toBeUndefined()
  })
})
