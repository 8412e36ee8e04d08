import { describe, expect, it } from 'vitest'

import { exitCodeOf, type Trial, verdictOf, verdictText } from '../../../../worker/cli/replay/compare-builds.ts'
import type { Comparison, Difference } from '../../../../worker/cli/replay/compare-runs.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'

const SETTLE: Difference = {
  pass: 1,
  kind: 'write',
  name: 'settle',
  object: 'Widget default/one',
  how: 'other',
  changes: [{ field: 'children[0].phase', from: 'Done', to: 'Failed' }],
  made: ['patchStatus Widget/default/one'],
}
const LOOK: Difference = { ...SETTLE, kind: 'look', name: 'observeWidget', how: 'more', changes: [], made: [] }

describe('the verdict about another build', () => {
  it.each([
    [0, [trial('same')]],
    [3, [trial('same'), trial('differs', SETTLE)]],
    [3, [trial('parts', LOOK)]],
    [4, [trial('same'), trial('unknown')]],
    [4, []],
  ])('has exit code %d for %j', (code, trials) => {
    expect(exitCodeOf(verdictOf(trials))).toBe(code)
  })

  it('counts the runs in which a field of a call differs', () => {
    const trials = [trial('differs', SETTLE, SETTLE), trial('differs', SETTLE), trial('parts', LOOK)]
    expect(verdictOf(trials).kinds).toEqual([
      { what: 'write settle: another children[].phase', jobs: 2 },
      { what: 'look observeWidget: only the other build does it', jobs: 1 },
    ])
  })

  it('shows objects, fields and recorded writes', () => {
    const text = verdictText(
      verdictOf([trial('same'), trial('differs', SETTLE), trial('parts', LOOK)]),
      ['a note'],
      plainPaint,
    )
    expect(text).toBe(`3 runs replayed with both builds
     1 the same
     1 other decisions or calls
     1 the other build cannot go on with
note a note

in how many runs what differs
     1 write settle: another children[].phase
     1 look observeWidget: only the other build does it

widget default/one: differs
  w
  pass 1  write     settle of Widget default/one
    children[0].phase: Done -> Failed
    wrote then: patchStatus Widget/default/one

widget default/one: parts
  w
  pass 1  look      observeWidget of Widget default/one: only the other build does it
  there the other build stops: another marker
`)
  })
})

function trial(verdict: Comparison['verdict'], ...differences: readonly Difference[]): Trial {
  const error = verdict === 'parts' || verdict === 'unknown' ? { error: 'another marker' } : {}
  return { name: 'widget default/one', comparison: { workflowId: 'w', verdict, differences, ...error } }
}
