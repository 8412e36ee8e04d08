import { beforeEach, describe, expect, it } from 'vitest'
import { FamilyCache } from '../../../../activities/journal/write/family-cache.ts'
import type { KnownFamily, KnownObject } from '../../../../activities/journal/read/known-objects.ts'

const RUN = 'installation/ns/shop/u1/job'
const object = (uid: string): KnownObject => ({
  group: 'g',
  kind: 'Task',
  uid,
  namespace: 'ns',
  name: uid,
  owner: null,
  version: 1,
  deleted: false,
  presumedDeleted: false,
})

let asked: string[]
let families: FamilyCache
beforeEach(() => {
  asked = []
  families = new FamilyCache(({ uid }) => {
    asked.push(uid)
    return Promise.resolve({ self: object(uid), children: [], listedKinds: new Set(['Task.g']) })
  })
})

const by = (pass = 1, workflowID = RUN) => ({ workflowID, runID: 'r', pass })
const family = async (uid: string, { run = by(), isNew = false } = {}) =>
  await families.get(object(uid), run, () => isNew)

describe('a pass', () => {
  it('reads each object once', async () => {
    families.startPass(by())
    for (const uid of ['u1', 'u2', 'u1', 'u2']) expect((await family(uid)).self?.uid).toBe(uid)
    expect(asked).toEqual(['u1', 'u2'])
  })

  it('reads again after each start of a pass, also in the same tick', async () => {
    families.startPass(by())
    await family('u1')
    const asking = family('u1')
    families.startPass(by())
    await asking
    expect(asked).toEqual(['u1', 'u1'])
  })

  it('reads again after its writes were journaled, and before the start of its first pass', async () => {
    await family('u1')
    await family('u1')
    families.startPass(by())
    await family('u1')
    families.forget(RUN)
    await family('u1')
    expect(asked).toEqual(['u1', 'u1', 'u1', 'u1'])
  })

  it('reads every time if it began in another process', async () => {
    families.startPass(by(1))
    await family('u1')
    await family('u1', { run: by(2) })
    await family('u1', { run: by(2) })
    expect(asked).toEqual(['u1', 'u1', 'u1'])
  })

  it('does not use the entries of another run', async () => {
    families.startPass(by())
    families.startPass(by(1, 'other'))
    await family('u1')
    await family('u1', { run: by(1, 'other') })
    expect(asked).toEqual(['u1', 'u1'])
  })

  it('does not read objects that it has created itself', async () => {
    families.startPass(by())
    // Which kinds were listed is not known yet.
    await family('u2', { isNew: true })
    const made: KnownFamily = await family('u3', { isNew: true })
    expect(made).toEqual({ self: undefined, children: [], listedKinds: new Set(['Task.g']) })
    expect(asked).toEqual(['u2'])
  })
})
