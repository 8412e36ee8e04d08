import { describe, expect, it } from 'vitest'

import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { planText, exitCodeOf, createPlan, jobKey } from '../../../../worker/cli/plan/plan-text.ts'
import { median } from '../../../../worker/cli/plan/plan-files.ts'

const subject = { group: 'example.org', kind: 'Root', uid: 'u', namespace: 'n', name: 'shop' }
const object = (name: string, spec: object = {}, metadata: object = {}) => ({
  kind: 'Item',
  spec,
  metadata: { name, namespace: 'n', ...metadata },
})
const item = (name: string, level: number, uninstalls = false) => ({
  name: `shop-${name}`,
  item: name,
  type: 'mock',
  level,
  uninstalls,
})
const NOTHING = { applied: [], writes: [], jobs: [], works: [], secrets: [], incidental: [], concealed: {} }

describe('a plan', () => {
  it('shows the order and state of items, and the expected duration', () => {
    const items = [item('db', 1), item('web', 2), item('old', 1, true)]
    const writes = [{ before: undefined, after: object('shop-db', { size: 1 }) }]
    const works = [{ name: 'shop-web', namespace: 'n', problem: 'no such image', writes: [] }]
    const plan = createPlan(
      { ...NOTHING, writes, works, jobs: [{ subject, end: 'succeeds', items, jobs: [] }] },
      [],
      new Map([
        [jobKey(subject), 61_000],
        [jobKey({ ...subject, kind: 'Part' }), 5000],
      ]),
    )
    expect(planText(plan, { paint: plainPaint, hasJournal: true })).toBe(
      [
        'Root n/shop (about 1m1s)',
        '  1 + db mock',
        '    - old mock',
        '  2 = web mock fails: no such image',
        '',
        '+ Item n/shop-db',
        '    + kind: "Item"',
        '    + spec.size: 1',
        '    + metadata.name: "shop-db"',
        '    + metadata.namespace: "n"',
        '',
        'Objects: 1 new, 0 changed, 0 unchanged, 0 deleted',
        '',
      ].join('\n'),
    )
    expect(exitCodeOf(plan)).toBe(1)
  })

  it('sets the exit code by whether something would change', () => {
    const same = { before: object('a'), after: object('a') }
    const leaving = { before: object('a'), after: object('a', {}, { deletionTimestamp: 'now' }) }
    const codeOf = (
      writes: readonly { readonly before: ReturnType<typeof object>; readonly after: ReturnType<typeof object> }[],
    ) => exitCodeOf(createPlan({ ...NOTHING, writes }, [], new Map()))
    expect([codeOf([]), codeOf([same]), codeOf([leaving])]).toEqual([0, 0, 3])
  })
})

describe('the expected duration of a job', () => {
  it('is the median of the latest successful jobs', () => {
    expect([median([5, 1, 9]), median([4, 2]), median([])]).toEqual([5, 2, undefined])
  })
})
