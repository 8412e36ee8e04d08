// The changes since the last job of an object, for `pawl why`.

import { describe, expect, it } from 'vitest'

import { lastChange, specText } from '../../../worker/cli/changed-sources.ts'
import { inputsOf } from '../../../worker/cli/query/explain-status.ts'
import { nextStep } from '../../../worker/cli/query/next-step.ts'
import { after, BEGIN, event, job, node, object } from './query/build-node.ts'

describe('the last change of a source', () => {
  const wrote = (manager: string, second: number, field = 'f:data') => ({
    manager,
    time: `2026-02-03T04:05:0${second}Z`,
    fieldsV1: { [field]: {} },
  })

  it.each([
    ['the newest write after the job', [wrote('kubectl-patch', 7), wrote('kubectl-edit', 8)], 'kubectl-edit'],
    ['no write before the job', [wrote('kubectl-edit', 6)], undefined],
    ['no write of Pawl', [wrote('pawl-installation', 8)], undefined],
    ['no write of metadata or status only', [wrote('x', 8, 'f:metadata'), wrote('y', 8, 'f:status')], undefined],
  ])('is %s', (_, managedFields, manager) => {
    expect(lastChange({ managedFields }, BEGIN)?.manager).toBe(manager)
  })

  it('needs a new job', () => {
    const ended = { phase: 'Succeeded', outcome: 'Succeeded', finishedAt: BEGIN }
    const shop = node(object('Installation', 'shop'), { job: job('shop', ended) })
    const input = { path: [shop], status: undefined, words: ['inst/shop'], flags: { cluster: 'local' } }
    expect(nextStep({ ...input, isOutdated: true })).toBe('next: pawl reconcile inst/shop')
    expect(nextStep(input)).toBe('next: pawl history inst/shop')
  })
})

describe('an edit of the spec', () => {
  const versionAt = (second: number, generation: number) =>
    event(second, { at: after(second * 1000), projection: { metadata: { generation } } })
  const shop = (finishedAt: Date | null) =>
    node(object('Installation', 'shop', { metadata: { generation: 3 }, status: { observedGeneration: 2 } }), {
      job: job('shop', { phase: 'Failed', outcome: 'Failed', finishedAt }),
    })

  it.each([
    ['during', [versionAt(1, 2), versionAt(5, 3)], 'during its last job'],
    ['after', [versionAt(1, 2), versionAt(11, 3)], 'after its last job'],
    ['at an unknown time of', [versionAt(11, 3)], 'after the start of its last job'],
  ])('%s the last job is reported with its time', (_, events, period) => {
    expect(specText(shop(after(10_000)), events)).toBe(
      `the spec was edited ${period} (generation 3, the job had generation 2)`,
    )
  })
})

describe('the sources of the inputs of an Installation', () => {
  it('are the objects of its imports', () => {
    const data = [
      { name: 'size', dataRef: 'sizes' },
      { name: 'mail', configMapRef: { name: 'settings', key: 'mail' } },
      { name: 'token', secretRef: { name: 'tokens' } },
    ]
    const targets = [
      { name: 'one', target: 'a' },
      { name: 'list', targets: ['b', 'c'] },
      { name: 'map', targetMap: { x: 'd' } },
    ]
    const of = (spec: object) => inputsOf(object('Installation', 'shop'))?.sourcesOf({ spec }) ?? []
    expect(
      of({ imports: { data, targets } }).map(({ name, plural, object: of }) => `${name}: ${plural}/${of}`),
    ).toEqual([
      ...['size: dataobjects/sizes', 'mail: configmaps/settings', 'token: secrets/tokens'],
      ...['one: targets/a', 'list: targets/b', 'list: targets/c', 'map: targets/d'],
    ])
    expect(of({})).toEqual([])
  })
})
