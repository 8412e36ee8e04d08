// Tests the classification of DeployItems, with examples and properties. Source:
// seeds/landscaper-execution-controller.txt "Progressing", "Deleting".

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import {
  classifyDeployItems,
  classifyForDeletion,
} from '../../../../workflows/landscaper/execution/classify-deploy-items.ts'
import { failed, JOB, leaving, pending, running, succeeded, THEIRS } from './execution-pass.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const states = { pending, running, succeeded, failed }

/** DeployItems in any state with any dependencies, also on themselves, in cycles, and on missing items. */
const anyObjects: fc.Arbitrary<DeployItemView[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...NAMES),
      state: fc.constantFrom(...Object.values(states)),
      dependsOn: fc.uniqueArray(fc.constantFrom(...NAMES, 'unknown'), { maxLength: 3 }),
      isLeaving: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  )
  .map((all) =>
    all.map(({ name, state, dependsOn, isLeaving }) => {
      const object = state(name, dependsOn)
      return isLeaving ? leaving(object) : object
    }),
  )

/** No background activity works on an item. */
const isIdle = () => false

const itemsOf = (objects: readonly DeployItemView[]) =>
  objects.map(({ item: name, type, dependsOn }) => ({ name, type, dependsOn }))

describe('the items of an execution that deploys', () => {
  it('are classified by their state in this job and the state of their predecessors', () => {
    const objects = [succeeded('a'), failed('b'), running('c', ['a']), pending('d', ['a', 'b']), pending('e', ['c'])]
    expect(
      classifyDeployItems(
        [...itemsOf(objects), { name: 'missing', type: THEIRS, dependsOn: [] }],
        objects,
        JOB,
        isIdle,
      ),
    ).toEqual({
      succeeded: [objects[0]],
      failed: ['b', 'missing'],
      running: [objects[2]],
      ready: [objects[3]],
      blocked: [{ name: 'e', type: THEIRS, dependsOn: ['c'] }],
      orphans: [],
    })
  })

  it('count as running while a background activity works on them, before they have the job', () => {
    const objects = [pending('first'), pending('then', ['first'])]
    const isAtWork = (uid: string) => uid === 'uid-first'
    const classes = { running: [objects[0]], ready: [] }
    expect(classifyDeployItems(itemsOf(objects), objects, JOB, isAtWork)).toMatchObject(classes)
    const back = [pending('then'), pending('first', ['then'])]
    const deleted = { running: [back[1]], ready: [], blocked: [back[0]] }
    expect(classifyForDeletion(back, JOB, isAtWork)).toMatchObject(deleted)
  })

  it('do not include deleted items, even if the spec names them', () => {
    const old = leaving(succeeded('a'))
    expect(classifyDeployItems(itemsOf([old]), [old], JOB, isIdle)).toMatchObject({
      failed: ['a'],
      succeeded: [],
      orphans: [old],
    })
  })

  it('are each in exactly one class', () => {
    fc.assert(
      fc.property(anyObjects, fc.subarray(NAMES), fc.subarray(NAMES), (objects, wanted, inFlightRuns) => {
        const isAtWork = (uid: string) => inFlightRuns.some((name) => uid === `uid-${name}`)
        const items = itemsOf(objects).filter(({ name }) => wanted.includes(name))
        const classes = classifyDeployItems(items, objects, JOB, isAtWork)
        const { succeeded, failed, running, ready, blocked, orphans } = classes
        const classed = [
          ...[...succeeded, ...running, ...ready].map(({ item }) => item),
          ...failed,
          ...blocked.map(({ name }) => name),
        ]
        expect(classed.toSorted()).toEqual(items.map(({ name }) => name).toSorted())
        expect(orphans).toEqual(objects.filter((one) => one.deleting || !items.some(({ name }) => name === one.item)))
      }),
    )
  })
})

describe('the items of an execution that is deleted', () => {
  it('are classified by their state in this job and the state of their successors', () => {
    const objects = [
      pending('base'),
      pending('app', ['base']),
      running('top', ['app']),
      failed('side', ['base']),
      pending('free'),
    ]
    const [base, app, top, side, free] = objects
    expect(classifyForDeletion(objects, JOB, isIdle)).toEqual({
      failed: [side],
      running: [top],
      ready: [free],
      blocked: [base, app],
    })
  })

  it('are each in exactly one class', () => {
    fc.assert(
      fc.property(anyObjects, fc.subarray(NAMES), (objects, inFlightRuns) => {
        const isAtWork = (uid: string) => inFlightRuns.some((name) => uid === `uid-${name}`)
        const { failed, running, ready, blocked } = classifyForDeletion(objects, JOB, isAtWork)
        const all = [...failed, ...running, ...ready, ...blocked].map(({ item }) => item)
        expect(all.toSorted()).toEqual(objects.map(({ item }) => item).toSorted())
      }),
    )
  })
})
