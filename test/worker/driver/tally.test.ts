import { describe, expect, it } from 'vitest'

import { tally } from '../../support/reporters/tally.js'

const good = { name: 'good.test.ts', status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'passed' }] }

describe('the closing line of npm test', () => {
  it('counts passed and failed tests', () => {
    const bad = { name: 'bad.test.ts', status: 'failed', assertionResults: [{ status: 'failed' }] }
    const report = { numPassedTests: 2, numFailedTests: 1, testResults: [good, bad] }
    expect(tally(report, 1)).toEqual({ passed: 2, failed: 1, notes: [] })
  })

  it('counts a suite that did not load as a failure', () => {
    const broken = { name: 'broken.test.ts', status: 'failed', assertionResults: [] }
    const report = { numPassedTests: 2, numFailedTests: 0, testResults: [good, broken] }
    expect(tally(report, 1)).toEqual({ passed: 2, failed: 1, notes: ['suite broken.test.ts did not run'] })
  })

  it('counts no test at all as a failure', () => {
    expect(tally({ numPassedTests: 0, numFailedTests: 0, testResults: [] }, 0)).toMatchObject({ passed: 0, failed: 1 })
  })

  it('counts an error outside of tests as a failure', () => {
    const report = { numPassedTests: 2, numFailedTests: 0, testResults: [good] }
    expect(tally(report, 1)).toMatchObject({ passed: 2, failed: 1 })
    expect(tally(report, 0)).toEqual({ passed: 2, failed: 0, notes: [] })
  })

  it('counts a missing report as a failure', () => {
    expect(tally(undefined, 137)).toMatchObject({ passed: 0, failed: 1 })
  })

  it('counts a skipped test as a failure where all have to run, unless the machine cannot run it', () => {
    const skipped = (name: string, ...titles: readonly string[]) => ({
      name,
      status: 'passed',
      assertionResults: titles.map((fullName) => ({ status: 'skipped', fullName })),
    })
    const left = skipped('/x/test/e2e/temporal-store.test.ts', 'a Temporal whose store lies')
    const unable = skipped('/x/test/e2e/journal-faults.test.ts', 'a journal T4: has no room on its disk for a while')
    const other = skipped('/x/test/e2e/journal-faults.test.ts', 'a journal T4: is killed twice')
    const report = { numPassedTests: 2, numFailedTests: 0, testResults: [good, left, unable, other] }
    const { notes, ...counts } = tally(report, 0, { mustRun: true })
    expect(counts).toEqual({ passed: 2, failed: 2 })
    expect(notes).toEqual([
      '/x/test/e2e/temporal-store.test.ts: skipped, and all tests have to run: a Temporal whose store lies',
      expect.stringContaining('since it needs root') as string,
      expect.stringContaining('is killed twice') as string,
    ])
    expect(tally(report, 0)).toMatchObject({ passed: 2, failed: 0 })
  })
})
