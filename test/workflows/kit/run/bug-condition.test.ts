import { describe, expect, it } from 'vitest'

import { bugCondition, bugReportIn, setCondition } from '../../../../workflows/kit/index.ts'
import { statusBesideBug } from '../../../../workflows/kit/run/bug-condition.ts'
import { applyStatusPatch, statusPatch } from '../../../../workflows/kit/run/level/status-patch.ts'

const NOW = '2026-03-01T10:00:00Z'
const other = { type: 'Other', status: 'True', reason: 'Fine', message: 'x', lastTransitionTime: NOW } as const
const report = bugCondition('controller "shop": TypeError: no; fix the code', 3)
const found = { conditions: setCondition([other], report, NOW) }
const ready = { type: 'Ready', status: 'True', reason: 'Reconciled', message: 'x', lastTransitionTime: NOW } as const
const changed = { ...other, status: 'False' } as const

/** The types and statuses of the conditions after a pass that wants these conditions. */
function after(conditions: readonly object[] | undefined, controller: string, isEnd: boolean) {
  const wanted = conditions === undefined ? {} : { conditions: conditions as never }
  const patch = statusPatch(statusBesideBug(wanted, found, { controller, isEnd }), found)
  const status = patch === undefined ? found : applyStatusPatch(found, patch)
  return (status['conditions'] as readonly { type: string; status: string }[]).map((one) => `${one.type}=${one.status}`)
}

describe('the report of a bug in a status', () => {
  it('is found by type and reason', () => {
    expect(bugReportIn(found)).toMatchObject(report)
    for (const status of [undefined, {}, { conditions: null }, { conditions: 'x' }, { conditions: [null, ready] }])
      expect(bugReportIn(status)).toBeUndefined()
  })

  it.each([
    ['replaced at the end of a pass that sets Ready', [ready], 'shop', true, ['Other=True', 'Ready=True']],
    ['removed at the end of a pass that sets no condition', undefined, 'shop', true, ['Other=True']],
    ['removed next to another changed condition', [changed], 'shop', true, ['Other=False']],
    ['kept when the pass saves Ready before its end', [ready, changed], 'shop', false, ['Other=False', 'Ready=False']],
    ['kept by a pass of another controller', [ready], 'shopping', true, ['Other=True', 'Ready=False']],
  ] as const)('is %s', (...row) => {
    const [, conditions, controller, isEnd, expected] = row
    expect(after(conditions, controller, isEnd)).toEqual(expected)
  })

  it('leaves conditions that are no list of types to the controller', () => {
    const wanted = { conditions: ['free text'] }
    expect(statusBesideBug(wanted, found, { controller: 'shop', isEnd: true })).toBe(wanted)
  })
})
