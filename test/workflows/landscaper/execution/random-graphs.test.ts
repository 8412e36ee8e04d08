// Properties of the order of DeployItems over random graphs of dependencies, forward and in deletions: each item is in
// one class, runs once and in order, and each run ends. Source: seeds/landscaper-execution-controller.txt.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { done, type Outcome } from '../../../../workflows/kit/index.ts'
import {
  classifyDeployItems,
  classifyForDeletion,
} from '../../../../workflows/landscaper/execution/classify-deploy-items.ts'
import { triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { executionPass, failed, JOB, leaving, pending, running, served, slow, succeeded } from './execution-pass.ts'

const NAMES = Array.from({ length: 8 }, (_, index) => `n${index}`)

const itemsOf = (objects: readonly DeployItemView[]) =>
  objects.map(({ item: name, type, dependsOn }) => ({ name, type, dependsOn }))

/** DeployItems in any state with any dependencies, also on themselves, in cycles, and on missing items. */
const anyObjects: fc.Arbitrary<DeployItemView[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...NAMES),
      state: fc.constantFrom(pending, running, succeeded, failed),
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

describe('the classes of items', () => {
  it('count as running while a background activity works on them, before they have the job', () => {
    const objects = [pending('first'), pending('then', ['first'])]
    const isAtWork = (uid: string) => uid === 'uid-first'
    const classes = { running: [objects[0]], ready: [] }
    expect(classifyDeployItems(itemsOf(objects), objects, JOB, isAtWork)).toMatchObject(classes)
    const back = [pending('then'), pending('first', ['then'])]
    const deleted = { running: [back[1]], ready: [], blocked: [back[0]] }
    expect(classifyForDeletion(back, JOB, isAtWork)).toMatchObject(deleted)
  })

  it('contain each item once', () => {
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

  it('contain each item of a deletion once', () => {
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

/** Handed the job ID, deployed at once, or on a track. */
const ofType = fc.constantFrom((item: DeployItemView) => item, served, slow)

/** Items with dependencies on items that pass the filter. */
const graph = (mayDependOn: (on: number, item: number, count: number) => boolean) =>
  fc
    .array(fc.tuple(fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 }), ofType), {
      minLength: 1,
      maxLength: NAMES.length,
    })
    .map((rows) =>
      rows.map(([dependsOn, typed], index) => {
        const names = dependsOn.filter((one) => mayDependOn(NAMES.indexOf(one), index, rows.length))
        return typed(pending(NAMES[index] ?? '', names))
      }),
    )

const acyclic = graph((on, item) => on < item)
const anyGraph = graph((on, _, count) => on < count)

interface Run {
  /** Items in the order in which they began. */
  readonly triggered: readonly string[]
  readonly end: Outcome
  /** `trigger x` and `finish x`, as they came. */
  readonly events: readonly string[]
}

/** Runs passes until one does not stop; after each, `choose` picks the running item that finishes. Bounded, so that waiting for ever shows. */
async function simulate(
  given: readonly DeployItemView[],
  step: typeof triggerDeletion,
  choose: (count: number) => number,
  isDeletion: boolean,
): Promise<Run> {
  const events: string[] = []
  const triggered: string[] = []
  const items = isDeletion ? given.map(leaving) : given
  const { type: quick } = served(pending(''))
  const begins = (begun: readonly DeployItemView[]) => {
    triggered.push(...begun.map(({ item }) => item))
    events.push(...begun.map(({ item }) => `trigger ${item}`))
    events.push(...begun.filter(({ type }) => type === quick).map(({ item }) => `finish ${item}`))
  }
  const { pass, tracks } = executionPass(items, { begins })
  for (let look = 0; look <= 2 * items.length; look++) {
    const end = await step(pass)
    if (end.stopped === undefined) return { triggered, end, events }
    const active = pass.state.deployItems.filter(
      ({ uid, jobID, jobIDFinished }) => tracks.has(uid) || (jobID === JOB && jobIDFinished !== JOB),
    )
    const finished = active[choose(active.length)]
    if (finished === undefined) throw new Error(`waits for nothing: ${end.stopped}`)
    tracks.held.delete(finished.uid)
    events.push(`finish ${finished.item}`)
    const others = pass.state.deployItems.filter((one) => one !== finished)
    const after = { ...finished, jobID: JOB, jobIDFinished: JOB, phase: 'Succeeded' }
    pass.state = { ...pass.state, deployItems: isDeletion ? others : [...others, after] }
  }
  throw new Error('does not come to an end')
}

const choices = fc.infiniteStream(fc.nat()).map((stream) => (count: number) => {
  const [choice] = stream.take(1)
  return (choice ?? 0) % Math.max(1, count)
})

describe('a run over any graph', () => {
  it('triggers every item exactly once, and never before its predecessors have finished', async () => {
    await fc.assert(
      fc.asyncProperty(acyclic, choices, async (items, choose) => {
        const { triggered, end, events } = await simulate(items, triggerDeployItems, choose, false)
        expect(end).toEqual(done)
        expect(triggered.toSorted()).toEqual(items.map(({ item }) => item).toSorted())
        for (const { item, dependsOn } of items)
          for (const name of dependsOn)
            expect(events.indexOf(`finish ${name}`)).toBeLessThan(events.indexOf(`trigger ${item}`))
      }),
    )
  })

  it('deletes every item exactly once, and never before its successors are deleted', async () => {
    await fc.assert(
      fc.asyncProperty(acyclic, choices, async (items, choose) => {
        const { triggered, end, events } = await simulate(items, triggerDeletion, choose, true)
        expect(end).toEqual(done)
        expect(triggered.toSorted()).toEqual(items.map(({ item }) => item).toSorted())
        for (const { item, dependsOn } of items)
          for (const name of dependsOn)
            expect(events.indexOf(`trigger ${name}`)).toBeGreaterThan(events.indexOf(`finish ${item}`))
      }),
    )
  })

  it.each([
    ['forward', triggerDeployItems, false],
    ['back', triggerDeletion, true],
  ] as const)('comes to an end with cycles too, %s: done, or the fault that names one', async (_, step, isDeletion) => {
    await fc.assert(
      fc.asyncProperty(anyGraph, choices, async (items, choose) => {
        const { triggered, end } = await simulate(items, step, choose, isDeletion)
        const codes = end.faults.map(({ code, retryable }) => [code, retryable])
        if (triggered.length === items.length) expect(codes).toEqual([])
        else expect(codes).toEqual([['CyclicDependencies', false]])
        expect(new Set(triggered).size).toBe(triggered.length)
      }),
    )
  })
})
