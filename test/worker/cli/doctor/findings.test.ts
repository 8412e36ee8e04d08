import { describe, expect, it } from 'vitest'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import {
  clockFinding,
  exitCodeOf,
  findingsText,
  retentionFinding,
  rightsFinding,
  schemaFinding,
} from '../../../../worker/cli/doctor/findings.ts'

const NOW = new Date('2026-02-03T04:05:06Z')

describe('a finding', () => {
  it.each([
    [
      'clocks that go together',
      clockFinding('of x', 4000, 0),
      'ok',
      'the clock of x is 4.0s behind the clock of this machine',
    ],
    [
      'a clock that is ahead',
      clockFinding('of x', -9000, 0),
      'warn',
      'the clock of x is 9.0s ahead of the clock of this machine, which is more',
    ],
    ['a clock of which little is known', clockFinding('of x', 6500, 2000), 'ok', ''],
    ['all migrations', schemaFinding({ missing: [], newer: [] }), 'ok', 'all migrations are applied'],
    [
      'a migration that is missing',
      schemaFinding({ missing: ['a'], newer: ['b'] }),
      'bad',
      'a are missing; run pawl migrate up',
    ],
    ['a newer build', schemaFinding({ missing: [], newer: ['b'] }), 'warn', 'a newer Pawl has applied b'],
    [
      'jobs that are kept',
      retentionFinding({ oldest: new Date(NOW.getTime() - 7_200_000), hasLeftOver: false, now: NOW }),
      'ok',
      'ended 2h ago',
    ],
    [
      'days without a partition',
      retentionFinding({ oldest: null, hasLeftOver: true, now: NOW }),
      'warn',
      'some events have no daily partition',
    ],
  ])('about %s states the problem', (_what, finding, verdict, text) => {
    expect(finding.verdict).toBe(verdict)
    expect(finding.text).toContain(text)
  })

  it('about permissions lists the missing ones and the commands that need them', () => {
    const right = { verb: 'patch', resource: 'installations', serves: 'reconcile', isAllowed: true }
    expect(rightsFinding([right], 'alice', 'ns').verdict).toBe('ok')
    expect(rightsFinding([{ ...right, isAllowed: false }], 'alice', 'ns')).toMatchObject({
      verdict: 'warn',
      text: 'user "alice" lacks permissions in namespace "ns": patch installations (reconcile)',
    })
  })

  it('is a row of a table, and only "bad" sets the exit code', () => {
    const warn = { part: 'rights', verdict: 'warn', text: 'x' } as const
    const bad = { part: 'journal', verdict: 'bad', text: 'y' } as const
    expect(findingsText([warn, bad], plainPaint)).toBe(
      'PART      VERDICT   FOUND\nrights    warn      x\njournal   bad       y\n',
    )
    expect([exitCodeOf([warn]), exitCodeOf([warn, bad])]).toEqual([0, 1])
  })
})
